/** @file Circular and hyperbolic functions and their inverses. */
import type { Builder, Value } from "../hlo/index.js";
import type { Tensor } from "../tensor/index.js";
import { binary, unary } from "./families.js";
import { fullLike } from "./helpers.js";
import type { Torch } from "./registry.js";
import { isReal } from "./pointwise.js";

interface Row {
  readonly lower: (h: Builder, x: Value) => Value;
  /** The derivative, from the argument and the result. */
  readonly slope: (t: Torch, x: Tensor, y: Tensor) => Tensor;
  readonly doc: string;
}

/** 1 - x². */
const oneMinusSquare = (t: Torch, x: Tensor): Tensor => t.rsub(t.mul(x, x), 1);
/** x² + 1. */
const squarePlusOne = (t: Torch, x: Tensor): Tensor => t.add(t.mul(x, x), 1);

function atan(h: Builder, x: Value): Value {
  if (x.dtype.is_complex) return h.chlo_atan(x);
  // XLA's CPU compiler (jaxlib 0.11.2) makes nonsense of atan2 with a constant fused with a conversion from int64.
  const [one] = h.optimization_barrier([fullLike(h, x, 1)]);
  return h.atan2(x, one);
}

const functions: Record<string, Row> = {
  sin: { lower: (h, x) => h.sine(x), slope: (t, x) => t.cos(x), doc: "Sine." },
  cos: { lower: (h, x) => h.cosine(x), slope: (t, x) => t.neg(t.sin(x)), doc: "Cosine." },
  tan: { lower: (h, x) => h.tan(x), slope: (t, _, y) => squarePlusOne(t, y), doc: "Tangent." },
  asin: { lower: (h, x) => h.chlo_asin(x), slope: (t, x) => t.rsqrt(oneMinusSquare(t, x)), doc: "Inverse sine." },
  acos: {
    lower: (h, x) => h.chlo_acos(x),
    slope: (t, x) => t.neg(t.rsqrt(oneMinusSquare(t, x))),
    doc: "Inverse cosine.",
  },
  atan: {
    lower: atan,
    slope: (t, x) => t.reciprocal(squarePlusOne(t, x)),
    doc: "Inverse tangent.",
  },
  sinh: { lower: (h, x) => h.chlo_sinh(x), slope: (t, x) => t.cosh(x), doc: "Hyperbolic sine." },
  cosh: { lower: (h, x) => h.chlo_cosh(x), slope: (t, x) => t.sinh(x), doc: "Hyperbolic cosine." },
  tanh: { lower: (h, x) => h.tanh(x), slope: (t, _, y) => oneMinusSquare(t, y), doc: "Hyperbolic tangent." },
  asinh: {
    lower: (h, x) => h.chlo_asinh(x),
    slope: (t, x) => t.rsqrt(squarePlusOne(t, x)),
    doc: "Inverse hyperbolic sine.",
  },
  acosh: {
    lower: (h, x) => h.chlo_acosh(x),
    slope: (t, x) => t.mul(t.rsqrt(t.sub(x, 1)), t.rsqrt(t.add(x, 1))),
    doc: "Inverse hyperbolic cosine.",
  },
  atanh: {
    lower: (h, x) => h.chlo_atanh(x),
    slope: (t, x) => t.reciprocal(oneMinusSquare(t, x)),
    doc: "Inverse hyperbolic tangent.",
  },
};

for (const [name, { lower, slope, doc }] of Object.entries(functions)) {
  unary(name, {
    lower,
    grad: (t, x, dy, y) => t.mul(dy, t.conj(slope(t, x, y))),
    float: true,
    doc,
  });
}

unary("sinc", {
  lower: (h, x) => {
    const zero = h.compare(x, fullLike(h, x, 0), "EQ");
    const scaled = h.multiply(h.select(zero, fullLike(h, x, 1), x), fullLike(h, x, Math.PI));
    return h.select(zero, fullLike(h, x, 1), h.divide(h.sine(scaled), scaled));
  },
  grad: (t, x, dy) => {
    const zero = t.eq(x, 0);
    const safe = t.where(zero, 1, x);
    const z = t.mul(safe, Math.PI);
    const slope = t.div(t.sub(t.mul(t.cos(z), z), t.sin(z)), t.mul(z, safe));
    return t.mul(dy, t.conj(t.where(zero, 0, slope)));
  },
  float: true,
  doc: "sin(πx) / (πx), 1 at 0.",
});

binary(
  "atan2",
  {
    lower: (h, a, b) => h.atan2(a, b),
    grad: (t, { self, other }, dy) => {
      const size = t.add(t.mul(self, self), t.mul(other, other));
      const recip = t.where(t.eq(size, 0), 0, t.reciprocal(size));
      return { self: t.mul(dy, t.mul(other, recip)), other: t.mul(dy, t.mul(t.neg(self), recip)) };
    },
    accepts: (d) => isReal(d),
    float: true,
    doc: "The angle of the point (other, self), in (-π, π].",
  },
  ["atan2(Tensor self, Tensor other) -> Tensor"],
);
