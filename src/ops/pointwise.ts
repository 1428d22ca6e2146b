/** @file Mathematical functions of every element: signs, powers, exponentials, logarithms. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { TorchError, type DType } from "../schema/index.js";
import { unary } from "./families.js";
import { cast, fullLike, inComputeType, isTensorArgument, requireDtype, toFloatType } from "./helpers.js";
import { notDifferentiable, op } from "./registry.js";

export const isReal = (d: DType): boolean => !d.is_complex;
export const isFloat = (d: DType): boolean => d.is_floating_point;
export const isNumber = (d: DType): boolean => d !== dt.bool;

/** Whether each element is NaN. */
export const isNan = (h: Builder, x: Value): Value => h.compare(x, x, "NE");

unary("neg", {
  lower: (h, x) => h.negate(x),
  grad: (t, _, dy) => t.neg(dy),
  accepts: (d) =>
    d !== dt.bool ||
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
  exact: true,
  doc: "Negative.",
});
op("positive(Tensor(a) self) -> Tensor(a)", {
  composite: (_t, { self }) => {
    if (self.dtype === dt.bool) throw new TorchError("The `+` operator, on a bool tensor is not supported.");
    return self;
  },
  doc: "The tensor itself.",
});
unary("abs", {
  lower: (h, x) => (x.dtype.kind === "uint" ? x : h.abs(x)),
  grad: (t, x, dy) => t.mul(dy, t.sgn(x)),
  accepts: isNumber,
  exact: true,
  doc: "Absolute value.",
});

/** -1, 0 or 1; 0 for NaN. */
function signOf(h: Builder, x: Value): Value {
  if (x.dtype === dt.bool) return x;
  const one = fullLike(h, x, 1);
  const zero = fullLike(h, x, 0);
  const positive = h.select(h.compare(x, zero, "GT"), one, zero);
  return x.dtype.is_signed ? h.select(h.compare(x, zero, "LT"), fullLike(h, x, -1), positive) : positive;
}

unary("sign", {
  lower: signOf,
  grad: (t, x) => t.zeros_like(x),
  accepts: (d) =>
    isReal(d) || "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.",
  exact: true,
  doc: "-1, 0 or 1.",
});
unary("sgn", {
  lower: (h, x) => {
    if (!x.dtype.is_complex) return signOf(h, x);
    const size = h.abs(x);
    const zero = h.compare(size, fullLike(h, size, 0), "EQ");
    return h.select(zero, fullLike(h, x, 0), h.divide(x, cast(h, size, x.dtype)));
  },
  grad: (t, x, dy, y) => {
    if (!x.is_complex()) return t.zeros_like(x);
    const size = t.abs(x);
    const along = t.mul(t.real(t.div(dy, y)), y);
    return t.where(t.eq(size, 0), t.zeros_like(x), t.div(t.sub(dy, along), size));
  },
  exact: true,
  doc: "x / |x|; 0 for 0.",
});
unary("signbit", {
  lower: (h, x) => {
    if (!x.dtype.is_signed) return h.splat(false, dt.bool, x.shape);
    if (!x.dtype.is_floating_point) return h.compare(x, fullLike(h, x, 0), "LT");
    const bits = x.dtype.bits === 64 ? dt.int64 : x.dtype.bits === 32 ? dt.int32 : dt.int16;
    const raw = h.bitcast_convert(x.dtype.bits < 16 ? h.convert(x, dt.bfloat16) : x, bits);
    return h.compare(raw, fullLike(h, raw, 0), "LT");
  },
  grad: notDifferentiable,
  accepts: (d) => isReal(d) || "signbit is not implemented for complex tensors.",
  exact: true,
  doc: "Whether the sign bit is set, which -0 has too.",
});

unary("exp", {
  lower: (h, x) => h.exponential(x),
  grad: (t, _, dy, y) => t.mul(dy, t.conj(y)),
  float: true,
  doc: "e to the power of each element.",
});
unary("exp2", {
  lower: (h, x) =>
    x.dtype.is_complex ? h.exponential(h.multiply(x, fullLike(h, x, Math.LN2))) : h.power(fullLike(h, x, 2), x),
  grad: (t, _, dy, y) => t.mul(dy, t.mul(t.conj(y), Math.LN2)),
  float: true,
  doc: "2 to the power of each element.",
});
unary("expm1", {
  lower: (h, x) => h.exponential_minus_one(x),
  grad: (t, _, dy, y) => t.mul(dy, t.conj(t.add(y, 1))),
  float: true,
  doc: "exp(x) - 1, accurate near 0.",
});
unary("log", {
  lower: (h, x) => h.log(x),
  grad: (t, x, dy) => t.div(dy, t.conj(x)),
  float: true,
  doc: "Natural logarithm.",
});
for (const [name, base] of [
  ["log2", Math.LN2],
  ["log10", Math.LN10],
] as const) {
  unary(name, {
    lower: (h, x) => {
      const scaled = h.divide(h.log(x), fullLike(h, x, base));
      if (x.dtype.is_complex) return scaled;
      // Powers of the base come out whole, as the C library has them.
      const whole = h.round_nearest_even(scaled);
      const exact = h.compare(h.power(fullLike(h, x, name === "log2" ? 2 : 10), whole), x, "EQ");
      return h.select(h.and(exact, h.is_finite(x)), whole, scaled);
    },
    grad: (t, x, dy) => t.div(dy, t.conj(t.mul(x, base))),
    float: true,
    doc: `Logarithm to base ${name.slice(3)}.`,
  });
}
unary("log1p", {
  lower: (h, x) => h.log_plus_one(x),
  grad: (t, x, dy) => t.div(dy, t.conj(t.add(x, 1))),
  float: true,
  doc: "log(1 + x), accurate near 0.",
});
unary("sqrt", {
  lower: (h, x) => h.sqrt(x),
  grad: (t, _, dy, y) => t.div(dy, t.mul(t.conj(y), 2)),
  float: true,
  doc: "Square root.",
});
unary("rsqrt", {
  lower: (h, x) => (x.dtype.is_complex ? h.divide(fullLike(h, x, 1), h.sqrt(x)) : h.rsqrt(x)),
  grad: (t, _, dy, y) => t.mul(dy, t.mul(t.pow(t.conj(y), 3), -0.5)),
  float: true,
  doc: "One over the square root.",
});
unary("reciprocal", {
  lower: (h, x) => h.divide(fullLike(h, x, 1), x),
  grad: (t, _, dy, y) => t.neg(t.mul(dy, t.conj(t.mul(y, y)))),
  float: true,
  doc: "1 / x.",
});
op("square(Tensor self) -> Tensor", {
  lower: (h, { self }) => {
    const x = self.dtype === dt.bool ? cast(h, self, dt.int64) : self;
    return inComputeType(h, [x], (v) => h.multiply(v, v));
  },
  grad: (t, { self }, dy) => ({ self: t.mul(dy, t.conj(t.mul(self, 2))) }),
  doc: "x · x.",
});
unary("sigmoid", {
  lower: (h, x) => {
    if (!x.dtype.is_complex) return h.logistic(x);
    return h.divide(fullLike(h, x, 1), h.add(fullLike(h, x, 1), h.exponential(h.negate(x))));
  },
  grad: (t, _, dy, y) => t.mul(dy, t.conj(t.mul(y, t.rsub(y, 1)))),
  float: true,
  doc: "1 / (1 + exp(-x)).",
});

op("logit(Tensor self, float? eps=None) -> Tensor", {
  lower: (h, { self, eps }) => {
    requireDtype(self, isReal(self.dtype), "logit_cpu");
    return inComputeType(h, [cast(h, self, toFloatType(self.dtype))], (x) => {
      const z = eps === null ? x : limit(h, x, eps, 1 - eps);
      return h.log(h.divide(z, h.subtract(fullLike(h, z, 1), z)));
    });
  },
  grad: (t, { self, eps }, dy) => {
    const slope = t.div(dy, t.mul(self, t.rsub(self, 1)));
    const [lo, hi] = eps === null ? [0, 1] : [eps, 1 - eps];
    const inside = t.logical_and(t.ge(self, lo), t.le(self, hi));
    return { self: t.where(inside, slope, t.full_like(slope, eps === null ? NaN : 0)) };
  },
  doc: "log(x / (1 - x)); `eps` keeps x between eps and 1 - eps.",
});

/** `x` kept between two numbers, NaN as it is. */
export function limit(h: Builder, x: Value, lo: number, hi: number): Value {
  const low = fullLike(h, x, lo);
  const high = fullLike(h, x, hi);
  const raised = h.select(h.compare(x, low, "LT"), low, x);
  return h.select(h.compare(raised, high, "GT"), high, raised);
}

for (const [name, factor, doc] of [
  ["deg2rad", Math.PI / 180, "Degrees to radians."],
  ["rad2deg", 180 / Math.PI, "Radians to degrees."],
] as const) {
  unary(name, {
    lower: (h, x) => h.multiply(x, fullLike(h, x, factor)),
    grad: (t, _, dy) => t.mul(dy, factor),
    accepts: (d) => isReal(d) || `${name} is not supported for complex tensors.`,
    float: true,
    doc,
  });
}

op("nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor", {
  lower: (h, { self, nan, posinf, neginf }) => {
    if (!self.dtype.is_differentiable) return self;
    const real = self.dtype.to_real();
    const [high, low] = [posinf ?? largest(real), neginf ?? -largest(real)];
    const replace = (x: Value): Value => {
      const noNan = h.select(isNan(h, x), fullLike(h, x, nan ?? 0), x);
      const noInf = h.select(h.compare(noNan, fullLike(h, x, Infinity), "EQ"), fullLike(h, x, high), noNan);
      return h.select(h.compare(noInf, fullLike(h, x, -Infinity), "EQ"), fullLike(h, x, low), noInf);
    };
    return self.dtype.is_complex ? h.complex(replace(h.real(self)), replace(h.imag(self))) : replace(self);
  },
  grad: (t, { self }, dy) => ({
    self: self.is_complex()
      ? t.complex(t.mul(t.real(dy), t.isfinite(t.real(self))), t.mul(t.imag(dy), t.isfinite(t.imag(self))))
      : t.mul(dy, t.isfinite(self)),
  }),
  doc: "Numbers in place of NaN and infinities.",
});

/** The largest finite number of a float type. */
export function largest(dtype: DType): number {
  if (dtype === dt.float64) return Number.MAX_VALUE;
  if (dtype === dt.float16) return 65504;
  return dtype === dt.bfloat16 ? 3.3895313892515355e38 : 3.4028234663852886e38;
}

/** The conjugate; a real tensor is its own. */
op("conj(Tensor(a) self) -> Tensor(a)", {
  composite: (t, { self }) => (isTensorArgument(self) && self.is_complex() ? t._conj_physical(self) : self),
  numbers: ["self"],
  doc: "Complex conjugate.",
});
