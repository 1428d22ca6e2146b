/** @file Arithmetic on pairs of tensors: add, sub, mul, div, pow, remainders. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { TorchError, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { binary, computedPair, promotedPair } from "./families.js";
import { fullLike, inComputeType } from "./helpers.js";
import { op, type Torch } from "./registry.js";
import { truncate } from "./rounding.js";
import type { ScalarArgument } from "./schema_types.js";
import type { ScalarValue } from "./scalar_value.js";

/** Refuses an `alpha` that does not fit the type of the result. */
function checkAlpha(dtype: DType, alpha: ScalarValue): void {
  if (alpha.kind === "bool" && dtype !== dt.bool)
    throw new TorchError(`Boolean alpha only supported for Boolean results.`);
  if (alpha.kind === "float" && !dtype.is_differentiable)
    throw new TorchError(`For integral input tensors, argument alpha must not be a floating point number.`);
  if (alpha.kind === "complex" && !dtype.is_complex)
    throw new TorchError(`For non-complex input tensors, argument alpha must not be a complex number.`);
}

/** b · alpha, where alpha is not one. */
function scaled(h: Builder, b: Value, alpha: ScalarValue): Value {
  if (alpha.is(1)) return b;
  checkAlpha(b.dtype, alpha);
  const factor = alpha.fill(b.dtype, b.shape);
  return b.dtype === dt.bool ? h.and(b, factor) : h.multiply(b, factor);
}

/** The cotangent of `other` in self + alpha · other. */
function scaledCotangent(t: Torch, dy: Tensor, alpha: ScalarArgument): Tensor {
  if (alpha === 1) return dy;
  return dy.is_complex() ? t.conj(t.mul(t.conj(dy), alpha)) : t.mul(dy, alpha);
}

op(
  [
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
  ],
  {
    lower: (h, { self, other, alpha }) => {
      return computedPair(h, self, other, false, (x, y) =>
        x.dtype === dt.bool ? h.or(x, scaled(h, y, alpha)) : h.add(x, scaled(h, y, alpha)),
      );
    },
    grad: (t, { alpha }, dy) => ({ self: dy, other: scaledCotangent(t, dy, alpha) }),
    numbers: ["self", "other"],
    wrapsNumbers: true,
    doc: "Adds `other`, scaled by `alpha`, to `self`.",
  },
);

op(
  [
    "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
  ],
  {
    lower: (h, { self, other, alpha }) => {
      if (self.dtype === dt.bool && other.dtype === dt.bool) {
        throw new TorchError(
          "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.",
        );
      }
      if (self.dtype === dt.bool || other.dtype === dt.bool) {
        throw new TorchError(
          "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
        );
      }
      return computedPair(h, self, other, false, (x, y) => h.subtract(x, scaled(h, y, alpha)));
    },
    grad: (t, { alpha }, dy) => ({ self: dy, other: t.neg(scaledCotangent(t, dy, alpha)) }),
    numbers: ["self", "other"],
    wrapsNumbers: true,
    doc: "Subtracts `other`, scaled by `alpha`, from `self`.",
  },
);

op(
  [
    "rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
  ],
  {
    decompose: (t, { self, other, alpha }) => t.sub(other, self, { alpha }),
    numbers: ["other"],
    doc: "`other` minus `self` scaled by `alpha`.",
  },
);

binary(
  "mul",
  {
    lower: (h, a, b) => (a.dtype === dt.bool ? h.and(a, b) : h.multiply(a, b)),
    grad: (t, { self, other }, dy) => ({ self: t.mul(dy, t.conj(other)), other: t.mul(dy, t.conj(self)) }),
    wrapsNumbers: true,
    doc: "Multiplies `self` by `other`.",
  },
  ["mul.Tensor(Tensor self, Tensor other) -> Tensor", "mul.Scalar(Tensor self, Scalar other) -> Tensor"],
);

/** Integer quotient rounded to zero; zero divisors throw in PyTorch, here they give zero. */
function truncDivide(h: Builder, a: Value, b: Value): Value {
  const zero = h.compare(b, fullLike(h, b, 0), "EQ");
  return h.select(zero, fullLike(h, a, 0), h.divide(a, h.select(zero, fullLike(h, b, 1), b)));
}

/** Quotient rounded down, with Python's care for the last bit (PyTorch's div_floor_floating). */
function floorDivide(h: Builder, a: Value, b: Value): Value {
  if (!a.dtype.is_floating_point) {
    if (a.dtype.kind === "uint") return truncDivide(h, a, b);
    const q = truncDivide(h, a, b);
    const r = h.subtract(a, h.multiply(q, b));
    const adjust = h.and(
      h.compare(r, fullLike(h, r, 0), "NE"),
      h.compare(h.compare(r, fullLike(h, r, 0), "LT"), h.compare(b, fullLike(h, b, 0), "LT"), "NE"),
    );
    return h.select(adjust, h.subtract(q, fullLike(h, q, 1)), q);
  }
  const mod = h.remainder(a, b);
  const zero = fullLike(h, a, 0);
  let div = h.divide(h.subtract(a, mod), b);
  const differ = h.and(
    h.compare(mod, zero, "NE"),
    h.compare(h.compare(b, zero, "LT"), h.compare(mod, zero, "LT"), "NE"),
  );
  div = h.select(differ, h.subtract(div, fullLike(h, a, 1)), div);
  const floor = h.floor(div);
  const up = h.compare(h.subtract(div, floor), fullLike(h, a, 0.5), "GT");
  const rounded = h.select(up, h.add(floor, fullLike(h, a, 1)), floor);
  const quotient = h.divide(a, b);
  const signedZero = h.multiply(zero, quotient);
  const result = h.select(h.compare(div, zero, "EQ"), signedZero, rounded);
  return h.select(h.compare(b, zero, "EQ"), quotient, result);
}

op(
  [
    "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode=None) -> Tensor",
    "div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
    "div.Tensor(Tensor self, Tensor other) -> Tensor",
    "div.Scalar(Tensor self, Scalar other) -> Tensor",
  ],
  {
    lower: (h, { self, other, rounding_mode }) => {
      if (rounding_mode === null) return computedPair(h, self, other, true, (x, y) => h.divide(x, y));
      const [a, b] = promotedPair(h, self, other);
      if (rounding_mode === "floor") return inComputeType(h, [a, b], (x, y) => floorDivide(h, x, y));
      if (rounding_mode !== "trunc")
        throw new TorchError(
          `div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '${rounding_mode}'`,
        );
      if (!a.dtype.is_floating_point) return truncDivide(h, a, b);
      return inComputeType(h, [a, b], (x, y) => truncate(h, h.divide(x, y)));
    },
    grad: (t, { self, other, rounding_mode }, dy) => {
      if (rounding_mode !== null) return { self: t.zeros_like(dy), other: t.zeros_like(dy) };
      const other_ = t.conj(other);
      return { self: t.div(dy, other_), other: t.neg(t.mul(dy, t.conj(t.div(t.div(self, other), other)))) };
    },
    numbers: ["self", "other"],
    wrapsNumbers: true,
    doc: "Divides `self` by `other`; integers give the default float type unless `rounding_mode` is 'trunc' or 'floor'.",
  },
);

op(["floor_divide(Tensor self, Tensor other) -> Tensor", "floor_divide.Scalar(Tensor self, Scalar other) -> Tensor"], {
  decompose: (t, { self, other }) => t.div(self, other, { rounding_mode: "floor" }),
  numbers: ["self", "other"],
  wrapsNumbers: true,
  doc: "Divides and rounds down.",
});

/** The remainder with the sign of the divisor, as in Python. */
function pythonRemainder(h: Builder, a: Value, b: Value): Value {
  const zero = fullLike(h, b, 0);
  const isInt = !a.dtype.is_floating_point;
  const divisor = isInt ? h.select(h.compare(b, zero, "EQ"), fullLike(h, b, 1), b) : b;
  const mod = h.remainder(a, divisor);
  const wrong = h.and(
    h.compare(mod, zero, "NE"),
    h.compare(h.compare(b, zero, "LT"), h.compare(mod, zero, "LT"), "NE"),
  );
  return a.dtype.kind === "uint" ? mod : h.select(wrong, h.add(mod, b), mod);
}

binary(
  "remainder",
  {
    lower: pythonRemainder,
    accepts: (d) => !d.is_complex && d !== dt.bool,
    grad: (t, { self, other }, dy) => ({
      self: dy,
      other: t.neg(t.mul(dy, t.div(self, other, { rounding_mode: "floor" }))),
    }),
    doc: "The remainder of division, with the sign of the divisor.",
  },
  [
    "remainder.Tensor(Tensor self, Tensor other) -> Tensor",
    "remainder.Scalar(Tensor self, Scalar other) -> Tensor",
    "remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
  ],
);

binary(
  "fmod",
  {
    lower: (h, a, b) =>
      a.dtype.is_floating_point ? h.remainder(a, b) : h.subtract(a, h.multiply(truncDivide(h, a, b), b)),
    accepts: (d) => !d.is_complex && d !== dt.bool,
    grad: (t, { self, other }, dy) => ({
      self: dy,
      other: t.neg(t.mul(dy, t.div(self, other, { rounding_mode: "trunc" }))),
    }),
    doc: "The remainder of division, with the sign of the dividend.",
  },
  ["fmod.Tensor(Tensor self, Tensor other) -> Tensor", "fmod.Scalar(Tensor self, Scalar other) -> Tensor"],
);

op(
  [
    "true_divide.Tensor(Tensor self, Tensor other) -> Tensor",
    "true_divide.Scalar(Tensor self, Scalar other) -> Tensor",
  ],
  {
    decompose: (t, { self, other }) => t.div(self, other),
    numbers: ["self", "other"],
    wrapsNumbers: true,
    doc: "Divides `self` by `other`; integers give the default float type.",
  },
);
