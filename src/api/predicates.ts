/** @file Questions about tensors that need no program. */
import { resultType, scalarKind, isScalar, type DType, type Scalar } from "../schema/index.js";
import { Storage, Tensor } from "../tensor/index.js";

export const is_tensor = (x: unknown): x is Tensor => x instanceof Tensor;
export const is_storage = (x: unknown): x is Storage => x instanceof Storage;
export const is_floating_point = (t: Tensor): boolean => t.is_floating_point();
export const is_complex = (t: Tensor): boolean => t.is_complex();
export const numel = (t: Tensor): number => t.numel();

/** The dtype of the result of arithmetic on these operands. */
export function result_type(a: Tensor | Scalar, b: Tensor | Scalar): DType {
  const operand = (x: Tensor | Scalar): Parameters<typeof resultType>[0][number] =>
    isScalar(x) ? { kind: scalarKind(x) } : { dtype: x.dtype, rank: x.ndim };
  return resultType([operand(a), operand(b)]);
}
