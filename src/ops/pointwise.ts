/** @file Operators on every element of one tensor, and the comparisons. */
import * as dt from "../schema/dtype.js";
import { comparison, logical, unary } from "./families.js";
import type { Tensor } from "../tensor/index.js";
import { align, cast, fullLike, inComputeType, isTensorArgument, promotedType } from "./helpers.js";
import { notDifferentiable, op, type Torch } from "./registry.js";

unary("neg", {
  lower: (h, x) => h.negate(x),
  grad: (t, _, dy) => t.neg(dy),
  accepts: (d) => d !== dt.bool,
  doc: "Negative.",
});
unary("exp", {
  lower: (h, x) => h.exponential(x),
  grad: (t, _, dy, y) => t.mul(dy, t.conj(y)),
  float: true,
  doc: "e to the power of each element.",
});
unary("log", {
  lower: (h, x) => h.log(x),
  grad: (t, x, dy) => t.div(dy, t.conj(x)),
  float: true,
  doc: "Natural logarithm.",
});
unary("sqrt", {
  lower: (h, x) => h.sqrt(x),
  grad: (t, _, dy, y) => t.div(dy, t.mul(t.conj(y), 2)),
  float: true,
  doc: "Square root.",
});
unary("rsqrt", {
  lower: (h, x) => h.rsqrt(x),
  grad: (t, _, dy, y) => t.mul(dy, t.mul(t.pow(t.conj(y), 3), -0.5)),
  float: true,
  doc: "One over the square root.",
});
unary("tanh", {
  lower: (h, x) => h.tanh(x),
  grad: (t, _, dy, y) => t.mul(dy, t.conj(t.rsub(t.mul(y, y), 1))),
  float: true,
  doc: "Hyperbolic tangent.",
});
unary("sigmoid", {
  lower: (h, x) => h.logistic(x),
  grad: (t, _, dy, y) => t.mul(dy, t.conj(t.mul(y, t.rsub(y, 1)))),
  float: true,
  doc: "1 / (1 + exp(-x)).",
});
unary("sin", {
  lower: (h, x) => h.sine(x),
  grad: (t, x, dy) => t.mul(dy, t.conj(t.cos(x))),
  float: true,
  doc: "Sine.",
});
unary("cos", {
  lower: (h, x) => h.cosine(x),
  grad: (t, x, dy) => t.neg(t.mul(dy, t.conj(t.sin(x)))),
  float: true,
  doc: "Cosine.",
});
unary("relu", {
  lower: (h, x) => h.maximum(x, fullLike(h, x, 0)),
  grad: (t, _, dy, y) => t.where(t.gt(y, 0), dy, t.zeros_like(dy)),
  accepts: (d) => d !== dt.bool && !d.is_complex,
  exact: true,
  doc: "Zero for negative elements.",
});

/** The conjugate; a real tensor is its own. */
op("conj(Tensor(a) self) -> Tensor(a)", {
  composite: (t, { self }) => (isTensorArgument(self) && self.is_complex() ? t._conj_physical(self) : self),
  numbers: ["self"],
  doc: "Complex conjugate.",
});
op("_conj_physical(Tensor self) -> Tensor", {
  lower: (h, { self }) => h.complex(h.real(self), h.negate(h.imag(self))),
  grad: (t, _, dy) => ({ self: t.conj(dy) }),
});

comparison("eq", "EQ");
comparison("ne", "NE");
comparison("lt", "LT");
comparison("le", "LE");
comparison("gt", "GT");
comparison("ge", "GE");

logical("logical_and", (h, a, b) => h.and(a, b));
logical("logical_or", (h, a, b) => h.or(a, b));
logical("logical_xor", (h, a, b) => h.xor(a, b));
op("logical_not(Tensor self) -> Tensor", {
  lower: (h, { self }) => h.not(cast(h, self, dt.bool)),
  grad: notDifferentiable,
});

op(["where.self(Tensor condition, Tensor self, Tensor other) -> Tensor"], {
  lower: (h, { condition, self, other }) => {
    const dtype = promotedType(self, other);
    const [a, b, c] = align(h, [self, other, condition], dtype);
    const mask = h.broadcastTo(cast(h, condition, dt.bool), c.shape);
    return h.select(mask, a, b);
  },
  grad: (t, { condition }, dy) => ({
    self: t.where(condition, dy, t.zeros_like(dy)),
    other: t.where(condition, t.zeros_like(dy), dy),
  }),
  numbers: ["self", "other"],
  doc: "`self` where the condition holds, `other` elsewhere.",
});

/** d(x^p)/dx, which is 0 for p = 0. */
function powSelfFactor(t: Torch, x: Tensor, p: Tensor): Tensor {
  if (!isTensorArgument(p)) {
    const less = t.pow(
      x,
      t.sub(t.scalar_tensor(p, { dtype: x.dtype.is_differentiable ? x.dtype : undefined, device: x.device }), 1),
    );
    return t.where(t.eq(t.scalar_tensor(p, { device: x.device }), 0), t.zeros_like(less), t.mul(less, p));
  }
  return t.where(t.eq(p, 0), 0, t.mul(p, t.pow(x, t.sub(p, 1))));
}

/** d(x^p)/dp, which is 0 for x = 0 and p ≥ 0. */
function powExponentFactor(t: Torch, x: Tensor, p: Tensor, out: Tensor): Tensor {
  const base = isTensorArgument(x) ? x : t.scalar_tensor(x, { dtype: out.dtype, device: out.device });
  const atZero = t.logical_and(t.eq(base, 0), p.is_complex() ? t.ge(t.real(p), 0) : t.ge(p, 0));
  return t.where(atZero, t.zeros_like(out), t.mul(out, t.log(base)));
}

op(
  [
    "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
  ],
  {
    lower: (h, { self, exponent }) => {
      const [a, b] = align(h, [self, exponent], promotedType(self, exponent));
      return inComputeType(h, [a, b], (x, y) => h.power(x, y));
    },
    grad: (t, { self, exponent }, dy, out) => ({
      self: isTensorArgument(self) ? t.mul(dy, t.conj(powSelfFactor(t, self, exponent))) : null,
      exponent: isTensorArgument(exponent) ? t.mul(dy, t.conj(powExponentFactor(t, self, exponent, out))) : null,
    }),
    numbers: ["self", "exponent"],
    doc: "`self` to the power of `exponent`.",
  },
);
