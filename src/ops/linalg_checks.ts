/** @file What the operators of linear algebra check of their arguments, and how they report matrices without a solution. */
import { int32, LinAlgError, TorchError, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { scalarTypeName } from "./helpers.js";
import { notDifferentiable, op, type Torch } from "./registry.js";

/** A tensor, or a value of a lowering. */
export interface Shaped {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

export const rowsOf = (x: Shaped): number => x.shape[x.shape.length - 2];
export const columnsOf = (x: Shaped): number => x.shape[x.shape.length - 1];
export const batchOf = (x: Shaped): readonly number[] => x.shape.slice(0, -2);

export function checkMatrix(x: Shaped, name: string, argument = "A"): void {
  if (x.shape.length < 2)
    throw new TorchError(`${name}: The input tensor ${argument} must have at least 2 dimensions.`);
}

export function checkSquare(x: Shaped, name: string, argument = "A"): void {
  checkMatrix(x, name, argument);
  requireSquare(x, `${name}: `, argument);
}

/** The matrices are square. `prefix` begins the message. */
export function requireSquare(x: Shaped, prefix: string, argument = "A"): void {
  if (rowsOf(x) !== columnsOf(x))
    throw new TorchError(
      `${prefix}${argument} must be batches of square matrices, but they are ${rowsOf(x)} by ${columnsOf(x)} matrices`,
    );
}

export function checkFloatingOrComplex(x: Shaped, name: string): void {
  if (!x.dtype.is_differentiable)
    throw new TorchError(
      `${name}: Expected a floating point or complex tensor as input. Got ${scalarTypeName(x.dtype)}`,
    );
}

/** LAPACK knows float32, float64 and their complex types. `kernel` is PyTorch's name of what would have run. */
export function checkLapackType(x: Shaped, kernel: string): void {
  if (!x.dtype.is_differentiable || (x.dtype.is_floating_point && x.dtype.bits < 32))
    throw new TorchError(`"${kernel}" not implemented for '${scalarTypeName(x.dtype)}'`);
}

/** Whether values can be read: not while a function is traced, not on the meta device. */
export const hasValues = (x: Tensor): boolean => x.storageRef.traced === null && x.device.type !== "meta";

const failures: readonly (readonly [names: RegExp, text: (info: number) => string])[] = [
  [
    /inv/,
    (i) =>
      `The diagonal element ${i} is zero, the inversion could not be completed because the input matrix is singular.`,
  ],
  [/solve/, () => "The solver failed because the input matrix is singular."],
  [
    /cholesky/,
    (i) =>
      `The factorization could not be completed because the input is not positive-definite (the leading minor of order ${i} is not positive-definite).`,
  ],
  [
    /svd/,
    (i) =>
      `The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated singular values (error code: ${i}).`,
  ],
  [
    /eig|syevd/,
    (i) =>
      `The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated eigenvalues (error code: ${i}).`,
  ],
  [
    /lstsq/,
    (i) =>
      `The least squares solution could not be computed because the input matrix does not have full rank (error code: ${i}).`,
  ],
];
const singularFactor =
  "If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)";

function failureOf(name: string, prefix: string, info: number): Error {
  if (info < 0)
    return new TorchError(
      `${prefix}Argument ${-info} has illegal value. Most certainly there is a bug in the implementation calling the backend library.`,
    );
  if (name.includes("lu_factor"))
    return new TorchError(
      `${prefix}U[${info},${info}] is zero and using it on lu_solve would result in a division by zero. ${singularFactor}`,
    );
  const known = failures.find(([names]) => names.test(name));
  return known ? new LinAlgError(prefix + known[1](info)) : new TorchError(`${prefix}Unknown error code: ${info}.`);
}

/** Throws for the first matrix whose factorization failed. Waits for the values, as PyTorch does on every device. */
export function checkErrors(t: Torch, info: Tensor, name: string, isMatrix: boolean): void {
  if (!hasValues(info)) return;
  const failed = t._first_failure(info).tolist() as number[];
  if (failed.length === 0 || failed[1] === 0) return;
  throw failureOf(name, isMatrix ? `${name}: ` : `${name}: (Batch element ${failed[0]}): `, failed[1]);
}

op("_first_failure(Tensor info) -> Tensor", {
  lower: (h, { info }) => {
    if (info.numel === 0) return h.splat(0, int32, [2]);
    const flat = h.convert(h.reshape(info, [info.numel]), int32);
    const at = h.iota(int32, flat.shape, 0);
    const good = h.compare(flat, h.zerosLike(flat), "EQ");
    const last = h.constant(info.numel - 1, int32);
    const first = h.reduceWith(h.select(good, h.fullLike(at, info.numel - 1), at), last, [0], "minimum");
    return h.concatenate([h.reshape(first, [1]), h.dynamic_slice(flat, [first], [1])], 0);
  },
  grad: notDifferentiable,
  doc: "The first number of a list that is not zero, after its position.",
});

op("_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()", {
  composite: (t, { info, api_name, is_matrix }) => {
    checkErrors(t, info, api_name, is_matrix);
    return null;
  },
  doc: "Throws for the first matrix whose factorization failed.",
});
