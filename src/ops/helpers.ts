/** @file What lowerings share: casts, promotion, broadcasting, computing in a wider type. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { broadcastShapes, get_default_dtype, resultType, TorchError, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { operandOf } from "./scalar_value.js";

/** `x` as `dtype` with PyTorch's rules: to bool is "not zero", complex to real drops the imaginary part. */
export function cast(h: Builder, x: Value, dtype: DType): Value {
  if (x.dtype === dtype) return x;
  if (dtype === dt.bool) return h.compare(x, h.splat(0, x.dtype, x.shape), "NE");
  if (x.dtype.is_complex && !dtype.is_complex) return cast(h, h.real(x), dtype);
  if (dtype.is_complex && !x.dtype.is_complex) {
    const part = cast(h, x, dtype.to_real());
    return h.complex(part, h.splat(0, dtype.to_real(), x.shape));
  }
  if (x.dtype.is_complex) return h.complex(cast(h, h.real(x), dtype.to_real()), cast(h, h.imag(x), dtype.to_real()));
  if (x.dtype.is_floating_point && (dtype.kind === "int" || dtype.kind === "uint") && dtype.bits < 32) {
    return h.convert(h.convert(x, dt.int32), dtype); // wraps as C does, where XLA would saturate
  }
  return h.convert(x, dtype);
}

/** The type of the result of an arithmetic operator on these values. */
export const promotedType = (...xs: Value[]): DType => resultType(xs.map(operandOf));

/** Integers and bool as the default float type; others as they are. */
export const toFloatType = (dtype: DType): DType => (dtype.is_differentiable ? dtype : get_default_dtype());

/** The values broadcast to one shape and cast to one type. */
export function align(h: Builder, xs: readonly Value[], dtype: DType): Value[] {
  const shape = broadcastShapes(...xs.map((x) => x.shape));
  return xs.map((x) => h.broadcastTo(cast(h, x, dtype), shape));
}

/** The type in which PyTorch computes with `dtype` inside an operator: float32 for the 16-bit floats. */
export const computeType = (dtype: DType): DType => (dtype.is_floating_point && dtype.bits < 32 ? dt.float32 : dtype);

/** Applies `f` to values in their compute type and casts the result back. */
export function inComputeType(h: Builder, xs: readonly Value[], f: (...xs: Value[]) => Value): Value {
  const dtype = xs[0].dtype;
  const wide = computeType(dtype);
  if (wide === dtype) return f(...xs);
  return cast(h, f(...xs.map((x) => (x.dtype === dtype ? cast(h, x, wide) : x))), dtype);
}

/** `value` in every element, of the type and shape of `x`. */
export const fullLike = (h: Builder, x: Value, value: number): Value => h.splat(value, x.dtype, x.shape);

/** Whether an argument that may be a number is a tensor. */
export const isTensorArgument = (x: unknown): x is Tensor => typeof x === "object" && x !== null && "storageRef" in x;

/** Throws for operators that PyTorch does not define on this type, in its words. */
export function requireDtype(x: Value, ok: boolean, op: string): void {
  if (!ok) throw new TorchError(`"${op}" not implemented for '${scalarTypeName(x.dtype)}'`);
}

const scalarTypeNames: Record<string, string> = {
  bool: "Bool",
  uint8: "Byte",
  int8: "Char",
  int16: "Short",
  int32: "Int",
  int64: "Long",
  float16: "Half",
  bfloat16: "BFloat16",
  float32: "Float",
  float64: "Double",
  complex64: "ComplexFloat",
  complex128: "ComplexDouble",
  uint16: "UInt16",
  uint32: "UInt32",
  uint64: "UInt64",
};

/** PyTorch's C++ name of a type, as its messages use it (`Float`, `Long`). */
export const scalarTypeName = (dtype: DType): string => scalarTypeNames[dtype.name] ?? dtype.name;
