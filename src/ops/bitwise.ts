/** @file Operators on the bits of integers. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import type { DType } from "../schema/index.js";
import { binary, unary } from "./families.js";
import { fullLike } from "./helpers.js";
import { notDifferentiable } from "./registry.js";

const isInteger = (d: DType): boolean => d.kind === "int" || d.kind === "uint";
const isIntegral = (d: DType): boolean => isInteger(d) || d === dt.bool;

unary("bitwise_not", {
  lower: (h, x) => h.not(x),
  grad: notDifferentiable,
  accepts: isIntegral,
  doc: "Complement of every bit; logical not for bool.",
});

type Name = string;

/** `bitwise_and` and its kin, with the operator form `__and__`. */
function bitwise(
  name: Name,
  operator: Name,
  scalar: string,
  lower: (h: Builder, a: Value, b: Value) => Value,
  accepts: (d: DType) => boolean,
  doc: string,
): void {
  binary(name, { lower, accepts, grad: notDifferentiable, doc }, [
    `${name}.Tensor(Tensor self, Tensor other) -> Tensor`,
    `${name}.${scalar}(Tensor self, Scalar other) -> Tensor`,
    `${name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor`,
  ]);
  binary(operator, { lower, accepts, grad: notDifferentiable, doc }, [
    `${operator}.Tensor(Tensor self, Tensor other) -> Tensor`,
    `${operator}.Scalar(Tensor self, Scalar other) -> Tensor`,
  ]);
}

bitwise("bitwise_and", "__and__", "Scalar", (h, a, b) => h.and(a, b), isIntegral, "And of every bit.");
bitwise("bitwise_or", "__or__", "Scalar", (h, a, b) => h.or(a, b), isIntegral, "Or of every bit.");
bitwise("bitwise_xor", "__xor__", "Scalar", (h, a, b) => h.xor(a, b), isIntegral, "Exclusive or of every bit.");

/** Whether a count of bits is negative or not smaller than the type's width: such shifts move every bit out. */
const outOfRange = (h: Builder, bits: Value): Value => {
  const wide = h.compare(bits, fullLike(h, bits, bits.dtype.bits), "GE");
  return bits.dtype.is_signed ? h.or(wide, h.compare(bits, fullLike(h, bits, 0), "LT")) : wide;
};

bitwise(
  "bitwise_left_shift",
  "__lshift__",
  "Tensor_Scalar",
  (h, a, b) => h.select(outOfRange(h, b), fullLike(h, a, 0), h.shift_left(a, b)),
  isInteger,
  "Moves bits up: self · 2^other.",
);
bitwise(
  "bitwise_right_shift",
  "__rshift__",
  "Tensor_Scalar",
  (h, a, b) => {
    if (!a.dtype.is_signed) return h.select(outOfRange(h, b), fullLike(h, a, 0), h.shift_right_logical(a, b));
    const all = fullLike(h, b, a.dtype.bits - 1);
    return h.shift_right_arithmetic(a, h.select(outOfRange(h, b), all, b));
  },
  isInteger,
  "Moves bits down, keeping the sign: self / 2^other rounded down.",
);
