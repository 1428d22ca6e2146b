/** @file What lowerings of factorizations share: positions in matrices, diagonals, conjugate transposes, permuted rows. */
import type { Builder, Value } from "../hlo/index.js";
import { int32 } from "../schema/index.js";
import { cast } from "./helpers.js";

/** The row and the column of each element. */
export interface MatrixIndex {
  readonly row: Value;
  readonly column: Value;
}

export const matrixIndex = (h: Builder, shape: readonly number[]): MatrixIndex => ({
  row: h.iota(int32, shape, shape.length - 2),
  column: h.iota(int32, shape, shape.length - 1),
});

/** The identity, in each matrix of `shape`. */
export function identity(h: Builder, like: Value, shape: readonly number[]): Value {
  const { row, column } = matrixIndex(h, shape);
  return cast(h, h.compare(row, column, "EQ"), like.dtype);
}

export const conjugate = (h: Builder, x: Value): Value =>
  x.dtype.is_complex ? h.complex(h.real(x), h.negate(h.imag(x))) : x;

/** The conjugate transpose. */
export function adjointOf(h: Builder, x: Value): Value {
  const r = x.rank;
  return h.transpose(conjugate(h, x), [...Array.from({ length: r - 2 }, (_, i) => i), r - 1, r - 2]);
}

/** The diagonals of square matrices, without the rest. */
export function diagonalOf(h: Builder, x: Value): Value {
  const { row, column } = matrixIndex(h, x.shape);
  const only = h.select(h.compare(row, column, "EQ"), x, h.zerosLike(x));
  return h.reduceWith(only, h.constant(0, x.dtype), [x.rank - 1], "add");
}

/** A Hermitian matrix's diagonal is real: LAPACK does not read its imaginary part. */
export function realDiagonal(h: Builder, x: Value): Value {
  if (!x.dtype.is_complex) return x;
  const { row, column } = matrixIndex(h, x.shape);
  const im = h.imag(x);
  return h.complex(h.real(x), h.select(h.compare(row, column, "EQ"), h.zerosLike(im), im));
}

/** Row `order[b, i]` of matrix `b` as row `i`. `x` has one batch dimension. */
export function takeMatrixRows(h: Builder, x: Value, order: Value): Value {
  const [, m, n] = x.shape;
  if (x.numel === 0) return x;
  return h.gather(x, h.reshape(order, [order.shape[0], m, 1]), {
    offsetDims: [2],
    collapsedSliceDims: [1],
    operandBatchingDims: [0],
    startIndicesBatchingDims: [0],
    startIndexMap: [1],
    indexVectorDim: 2,
    sliceSizes: [1, 1, n],
  });
}
