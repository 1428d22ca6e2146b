/** @file Activation functions of neural networks. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { TorchError, wrapDim, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { keep } from "./comparison.js";
import { unary, checkAccepts, type Accepts } from "./families.js";
import { fullLike, inComputeType } from "./helpers.js";
import { isFloat } from "./pointwise.js";
import { op, type Torch } from "./registry.js";
import type { ScalarArgument } from "./schema_types.js";
import type { ScalarValue } from "./scalar_value.js";

const noBool =
  (why: string): Accepts =>
  (d: DType) =>
    d === dt.bool ? why : d.is_complex ? "clamp is not supported for complex types" : true;

const above = (h: Builder, x: Value, limit: number): Value => h.compare(x, fullLike(h, x, limit), "GT");
const below = (h: Builder, x: Value, limit: number): Value => h.compare(x, fullLike(h, x, limit), "LT");

unary("relu", {
  lower: (h, x) => h.select(below(h, x, 0), fullLike(h, x, 0), x),
  grad: (t, _, dy, y) => keep(t, t.gt(y, 0), dy),
  accepts: noBool("Boolean inputs not supported for relu"),
  exact: true,
  doc: "Zero for negative elements.",
});
unary("relu6", {
  lower: (h, x) => {
    const low = h.select(below(h, x, 0), fullLike(h, x, 0), x);
    return h.select(above(h, low, 6), fullLike(h, x, 6), low);
  },
  grad: (t, x, dy) => keep(t, t.logical_and(t.gt(x, 0), t.lt(x, 6)), dy),
  accepts: noBool("Bool inputs not supported for hardtanh"),
  exact: true,
  doc: "Elements kept between 0 and 6.",
});

op("hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", {
  lower: (h, { self, min_val, max_val }) => {
    checkAccepts(self, noBool("Bool inputs not supported for hardtanh"), "hardtanh");
    if (self.dtype.kind === "uint" && min_val.literal !== null && Number(min_val.literal) < 0)
      throw new TorchError("cannot do hardtanh on an unsigned type with negative limits");
    return inComputeType(h, [self], (x) => {
      const [lo, hi] = [min_val.fill(x.dtype, x.shape), max_val.fill(x.dtype, x.shape)];
      const low = h.select(h.compare(x, lo, "LT"), lo, x);
      return h.select(h.compare(low, hi, "GT"), hi, low);
    });
  },
  grad: (t, { self, min_val, max_val }, dy) => ({
    self: keep(t, t.logical_and(t.gt(self, min_val), t.lt(self, max_val)), dy),
  }),
  doc: "Elements kept between two numbers.",
});

const rootHalf = Math.SQRT1_2;
const gauss = (2 / Math.sqrt(Math.PI)) * rootHalf; // √(2/π)
const cubic = 0.044715;

op('gelu(Tensor self, *, str approximate="none") -> Tensor', {
  lower: (h, { self, approximate }) => {
    checkAccepts(self, isFloat, "GeluKernelImpl");
    if (approximate !== "none" && approximate !== "tanh")
      throw new TorchError("approximate argument must be either none or tanh.");
    return inComputeType(h, [self], (x) => {
      const c = (v: number): Value => fullLike(h, x, v);
      const half = h.multiply(x, c(0.5));
      if (approximate === "none") return h.multiply(half, h.add(c(1), h.chlo_erf(h.multiply(x, c(rootHalf)))));
      const cube = h.multiply(h.multiply(x, x), x);
      const inner = h.multiply(c(gauss), h.add(x, h.multiply(c(cubic), cube)));
      return h.multiply(half, h.add(c(1), h.tanh(inner)));
    });
  },
  grad: (t, { self: x, approximate }, dy) => {
    if (approximate === "none") {
      const cdf = t.mul(t.add(t.erf(t.mul(x, rootHalf)), 1), 0.5);
      const pdf = t.mul(t.exp(t.mul(t.mul(x, x), -0.5)), gauss * 0.5);
      return { self: t.mul(dy, t.add(cdf, t.mul(x, pdf))) };
    }
    const square = t.mul(x, x);
    const inner = t.mul(t.add(x, t.mul(t.mul(square, x), cubic)), gauss);
    const y = t.tanh(inner);
    const slope = t.mul(t.add(t.mul(square, 3 * cubic), 1), gauss);
    const right = t.mul(t.mul(t.mul(x, 0.5), t.rsub(t.mul(y, y), 1)), slope);
    return { self: t.mul(dy, t.add(t.mul(t.add(y, 1), 0.5), right)) };
  },
  doc: "x · Φ(x), Φ the normal distribution function, or its approximation by tanh.",
});

unary("silu", {
  lower: (h, x) => {
    if (!x.dtype.is_complex) return h.divide(x, h.add(fullLike(h, x, 1), h.exponential(h.negate(x))));
    return h.divide(x, h.add(fullLike(h, x, 1), h.exponential(h.negate(x))));
  },
  grad: (t, x, dy) => {
    const s = t.sigmoid(x);
    return t.mul(dy, t.conj(t.mul(s, t.add(t.mul(x, t.rsub(s, 1)), 1))));
  },
  accepts: (d) => d.is_differentiable,
  doc: "x · sigmoid(x).",
});
unary("mish", {
  lower: (h, x) => h.multiply(x, h.tanh(softplusOf(h, x))),
  grad: (t, x, dy) => {
    const th = t.tanh(t.softplus(x));
    return t.mul(dy, t.add(th, t.mul(t.mul(x, t.sigmoid(x)), t.rsub(t.mul(th, th), 1))));
  },
  accepts: isFloat,
  doc: "x · tanh(softplus(x)).",
});

/** log(1 + exp(x)) without overflow. */
function softplusOf(h: Builder, x: Value): Value {
  const zero = fullLike(h, x, 0);
  const sum = h.add(h.maximum(x, zero), h.log_plus_one(h.exponential(h.negate(h.abs(x)))));
  return h.select(h.compare(x, x, "NE"), x, sum);
}

/** A Scalar argument in every element, of the type of `x`. */
const filled = (x: Value, s: ScalarValue): Value => s.fill(x.dtype, x.shape);

op("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", {
  lower: (h, { self, beta, threshold }) => {
    checkAccepts(self, isFloat, "softplus_cpu");
    return inComputeType(h, [self], (x) => {
      const z = h.multiply(x, filled(x, beta));
      const soft = h.divide(h.log_plus_one(h.exponential(z)), filled(x, beta));
      return h.select(h.compare(z, filled(x, threshold), "GT"), x, soft);
    });
  },
  grad: (t, { self, beta, threshold }, dy) => {
    const z = t.mul(self, beta);
    return { self: t.where(t.gt(z, threshold), dy, t.mul(dy, t.sigmoid(z))) };
  },
  doc: "log(1 + exp(beta · x)) / beta; x itself above the threshold.",
});
op("log_sigmoid(Tensor self) -> Tensor", {
  lower: (h, { self }) => {
    checkAccepts(self, isFloat, "log_sigmoid_cpu");
    return inComputeType(h, [self], (x) => {
      const low = h.select(below(h, x, 0), x, fullLike(h, x, 0));
      const sum = h.subtract(low, h.log_plus_one(h.exponential(h.negate(h.abs(x)))));
      return h.select(h.compare(x, x, "NE"), x, sum);
    });
  },
  grad: (t, { self }, dy) => ({ self: t.mul(dy, t.sigmoid(t.neg(self))) }),
  doc: "log(sigmoid(x)), without underflow.",
});
op("log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)", {
  decompose: (t, { self }) => [t.log_sigmoid(self), t.exp(t.neg(t.abs(self)))],
  doc: "log(sigmoid(x)), and a buffer that PyTorch's own backward uses.",
});

function eluLower(h: Builder, self: Value, alpha: ScalarValue, scale: ScalarValue, inputScale: ScalarValue): Value {
  checkAccepts(self, isFloat, "elu_cpu");
  return inComputeType(h, [self], (x) => {
    const curve = h.exponential_minus_one(h.multiply(x, filled(x, inputScale)));
    const negative = h.multiply(h.multiply(curve, filled(x, alpha)), filled(x, scale));
    return h.select(below(h, x, 0), negative, h.multiply(x, filled(x, scale)));
  });
}

function eluGrad(t: Torch, x: Tensor, [alpha, scale, inputScale]: readonly ScalarArgument[], dy: Tensor): Tensor {
  const curve = t.mul(t.mul(t.mul(t.exp(t.mul(x, inputScale)), alpha), scale), inputScale);
  return t.mul(dy, t.where(t.le(x, 0), curve, t.mul(t.ones_like(x), scale)));
}

op("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", {
  lower: (h, { self, alpha, scale, input_scale }) => eluLower(h, self, alpha, scale, input_scale),
  grad: (t, { self, alpha, scale, input_scale }, dy) => ({ self: eluGrad(t, self, [alpha, scale, input_scale], dy) }),
  doc: "x for positive elements, alpha · (exp(x) - 1) for the others.",
});
op("celu(Tensor self, Scalar alpha=1.) -> Tensor", {
  lower: (h, { self, alpha }) => {
    checkAccepts(self, isFloat, "elu_cpu");
    return inComputeType(h, [self], (x) => {
      const a = filled(x, alpha);
      return h.select(below(h, x, 0), h.multiply(a, h.exponential_minus_one(h.divide(x, a))), x);
    });
  },
  grad: (t, { self, alpha }, dy) => ({
    self: t.where(t.le(self, 0), t.mul(dy, t.exp(t.div(self, alpha))), dy),
  }),
  check: ({ alpha }) => {
    if (Number(alpha) === 0) throw new TorchError("ZeroDivisionError: alpha cannot be 0 for CELU");
  },
  doc: "x for positive elements, alpha · (exp(x / alpha) - 1) for the others.",
});
const seluAlpha = 1.6732632423543772848170429916717;
const seluScale = 1.0507009873554804934193349852946;
op("selu(Tensor self) -> Tensor", {
  decompose: (t, { self }) => t.elu(self, seluAlpha, seluScale),
  doc: "elu with the constants that keep mean 0 and variance 1 through layers.",
});

op("leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", {
  lower: (h, { self, negative_slope }) => {
    checkAccepts(self, isFloat, "leaky_relu_cpu");
    return inComputeType(h, [self], (x) => h.select(above(h, x, 0), x, h.multiply(x, filled(x, negative_slope))));
  },
  grad: (t, { self, negative_slope }, dy) => ({
    self: t.where(t.gt(self, 0), dy, t.mul(dy, negative_slope)),
  }),
  doc: "x for positive elements, negative_slope · x for the others.",
});

op("prelu(Tensor self, Tensor weight) -> Tensor", {
  composite: (t, { self, weight }) => {
    if (self.dtype !== weight.dtype)
      throw new TorchError(
        `prelu: Type promoting not supported. Got ${self.dtype.toString()} and ${weight.dtype.toString()}`,
      );
    let w = weight;
    if (weight.numel() !== 1) {
      if (self.ndim === 0) throw new TorchError("Not allow zero-dim input tensor.");
      const channels = self.ndim >= 2 ? self.shape[1] : 1;
      if (channels !== weight.numel())
        throw new TorchError(
          `Mismatch of parameter numbers and input channel size. Found parameter numbers = ${weight.numel()} and channel size = ${channels}.`,
        );
    }
    if (weight.ndim > 1)
      throw new TorchError(`prelu: Expected \`weight\` to be a scalar or 1D tensor, but got: ndim = ${weight.ndim}`);
    if (self.ndim === 0) w = t.reshape(weight, []);
    else if (self.ndim >= 2) w = t.reshape(weight, [1, -1, ...new Array<number>(self.ndim - 2).fill(1)]);
    return t._prelu_kernel(self, w);
  },
  doc: "x for positive elements, weight · x for the others; one weight, or one a channel.",
});
op("_prelu_kernel(Tensor self, Tensor weight) -> Tensor", {
  decompose: (t, { self, weight }) => t.where(t.gt(self, 0), self, t.mul(self, weight)),
  doc: "prelu with a weight that broadcasts.",
});

unary("hardsigmoid", {
  lower: (h, x) => {
    const c = (v: number): Value => fullLike(h, x, v);
    const y = h.divide(h.minimum(h.maximum(h.add(x, c(3)), c(0)), c(6)), c(6));
    return y;
  },
  grad: (t, x, dy) => keep(t, t.logical_and(t.gt(x, -3), t.lt(x, 3)), t.div(dy, 6)),
  accepts: isFloat,
  doc: "(x + 3) / 6 kept between 0 and 1.",
});
unary("hardswish", {
  lower: (h, x) => {
    const c = (v: number): Value => fullLike(h, x, v);
    return h.divide(h.multiply(x, h.minimum(h.maximum(h.add(x, c(3)), c(0)), c(6))), c(6));
  },
  grad: (t, x, dy) => {
    const middle = t.mul(dy, t.add(t.div(x, 3), 0.5));
    return t.where(t.le(x, -3), t.zeros_like(dy), t.where(t.lt(x, 3), middle, dy));
  },
  accepts: isFloat,
  doc: "x · hardsigmoid(x).",
});
op("hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", {
  lower: (h, { self, lambd }) => {
    checkAccepts(self, isFloat, "hardshrink_cpu");
    const l = filled(self, lambd);
    const inside = h.and(h.compare(self, h.negate(l), "GE"), h.compare(self, l, "LE"));
    return h.select(inside, fullLike(h, self, 0), self);
  },
  grad: (t, { self, lambd }, dy) => ({ self: t.where(t.le(t.abs(self), lambd), t.zeros_like(dy), dy) }),
  doc: "Zero for elements between -lambd and lambd.",
});
op("softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", {
  lower: (h, { self, lambd }) => {
    checkAccepts(self, isFloat, "softshrink_check");
    return inComputeType(h, [self], (x) => {
      const l = filled(x, lambd);
      const low = h.select(h.compare(x, h.negate(l), "LT"), h.add(x, l), h.multiply(x, fullLike(h, x, 0)));
      return h.select(h.compare(x, l, "GT"), h.subtract(x, l), low);
    });
  },
  grad: (t, { self, lambd }, dy) => ({ self: t.where(t.le(t.abs(self), lambd), t.zeros_like(dy), dy) }),
  check: ({ self, lambd }) => {
    if (Number(lambd) < 0)
      throw new TorchError(
        `lambda must be in range [0, inf) for input dtype ${self.dtype.name}, found ${Number(lambd)}`,
      );
  },
  doc: "Moves elements toward zero by lambd, stopping at zero.",
});
op("threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", {
  lower: (h, { self, threshold, value }) => {
    checkAccepts(self, (d) => d !== dt.bool && !d.is_complex, "threshold_cpu");
    return h.select(h.compare(self, filled(self, threshold), "LE"), filled(self, value), self);
  },
  grad: (t, { self, threshold }, dy) => ({ self: t.where(t.le(self, threshold), t.zeros_like(dy), dy) }),
  doc: "`value` for elements that are not above the threshold.",
});

op("glu(Tensor self, int dim=-1) -> Tensor", {
  decompose: (t, { self, dim }) => {
    if (self.ndim === 0) throw new TorchError("glu does not support 0-dimensional tensors");
    const d = wrapDim(dim, self.ndim);
    const size = self.shape[d];
    if (size % 2 !== 0) throw new TorchError(`Halving dimension must be even, but dimension ${d} is size ${size}`);
    const [a, b] = [t.narrow(self, d, 0, size / 2), t.narrow(self, d, size / 2, size / 2)];
    return t.mul(a, t.sigmoid(b));
  },
  doc: "The first half along a dimension times the sigmoid of the second.",
});

op("tanhshrink(Tensor self) -> Tensor", {
  decompose: (t, { self }) => t.sub(self, t.tanh(self)),
  doc: "x - tanh(x).",
});
op("softsign(Tensor self) -> Tensor", {
  decompose: (t, { self }) => t.div(self, t.add(t.abs(self), 1)),
  doc: "x / (1 + |x|).",
});
