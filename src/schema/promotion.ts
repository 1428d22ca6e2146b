/** @file Type promotion as in PyTorch: dimensioned tensors, 0-dim tensors and numbers are three categories. */
import * as dt from "./dtype.js";
import type { DType } from "./dtype.js";
import type { ScalarKind } from "./scalar.js";

let defaultDtype: DType = dt.float32;

/** The floating point type of results that have no other source of one; float32 unless set. */
export const get_default_dtype = (): DType => defaultDtype;

/** Sets the default floating point type. Throws TypeError for other types. */
export function set_default_dtype(dtype: DType): void {
  if (!dtype.is_floating_point)
    throw new TypeError(
      `set_default_dtype(): only floating-point types are supported as the default type, got ${dtype.toString()}`,
    );
  defaultDtype = dtype;
}

const category = (d: DType): number =>
  d.kind === "bool" ? 0 : d.kind === "int" || d.kind === "uint" ? 1 : d.kind === "float" ? 2 : 3;

function promoteIntegers(a: DType, b: DType): DType {
  if (a.kind === b.kind) return a.bits >= b.bits ? a : b;
  const [signed, unsigned] = a.kind === "int" ? [a, b] : [b, a];
  if (signed.bits > unsigned.bits) return signed;
  if (unsigned.bits >= 64) {
    throw new TypeError(
      `Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ${a.name} and ${b.name}`,
    );
  }
  return unsigned.bits === 8 ? dt.int16 : unsigned.bits === 16 ? dt.int32 : dt.int64;
}

function promoteFloats(a: DType, b: DType): DType {
  if (a === b) return a;
  if (a.bits < 16 || b.bits < 16) {
    throw new TypeError(`Promotion for Float8 Types is not supported, attempted to promote ${a.name} and ${b.name}`);
  }
  if (a.bits !== b.bits) return a.bits > b.bits ? a : b;
  return dt.float32; // float16 with bfloat16
}

/** The smallest type that holds values of both (`torch.promote_types`). */
export function promote_types(a: DType, b: DType): DType {
  if (a === b) return a;
  const ca = category(a);
  const cb = category(b);
  if (ca === 3 || cb === 3) {
    const precision = a === dt.complex128 || b === dt.complex128 || a === dt.float64 || b === dt.float64;
    return precision ? dt.complex128 : dt.complex64;
  }
  if (ca !== cb) return ca > cb ? a : b;
  return ca === 1 ? promoteIntegers(a, b) : promoteFloats(a, b);
}

/** An operand of type promotion: a tensor's dtype and whether it has dimensions, or the kind of a number. */
export type PromotionOperand = { readonly dtype: DType; readonly rank: number } | { readonly kind: ScalarKind };

function defaultOf(kind: ScalarKind): DType {
  if (kind === "bool") return dt.bool;
  if (kind === "int") return dt.int64;
  return kind === "float" ? defaultDtype : defaultDtype.to_complex();
}

const join = (a: DType | null, b: DType): DType => (a === null ? b : promote_types(a, b));

/** Joins a lower-priority operand: it counts only when its category (bool, int, float, complex) is higher. */
function combine(high: DType | null, low: DType | null): DType | null {
  if (high === null) return low;
  if (low === null) return high;
  return category(low) > category(high)
    ? category(low) === 3 && high.is_floating_point
      ? high.to_complex()
      : low
    : high;
}

/** The type of the result of an arithmetic operator on these operands (`torch.result_type`). */
export function resultType(operands: readonly PromotionOperand[]): DType {
  let dims: DType | null = null;
  let zeros: DType | null = null;
  let numbers: DType | null = null;
  for (const o of operands) {
    if ("kind" in o) numbers = join(numbers, defaultOf(o.kind));
    else if (o.rank > 0) dims = join(dims, o.dtype);
    else zeros = join(zeros, o.dtype);
  }
  return combine(combine(dims, zeros), numbers) ?? defaultDtype;
}

/** Whether a value of type `from` may be written to a tensor of type `to` (`torch.can_cast`). */
export const can_cast = (from: DType, to: DType): boolean =>
  category(from) <= category(to) || (category(from) === 1 && category(to) === 1);
