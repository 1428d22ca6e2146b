/** @file Index operands: every index that an operator reads from a tensor passes through here. */
import type { Builder, GatherOptions, Value } from "../hlo/index.js";
import { TorchError, TorchIndexError, type DType } from "../schema/index.js";
import { positionType } from "./order_values.js";

/**
 * Index values as positions in a dimension of `size` elements. With `wrap`, negative ones count from the end.
 * What is out of range is not defined: reads take the nearest element, writes are dropped. The one place for a check
 * on the device.
 */
export function checkedIndex(h: Builder, index: Value, size: number, wrap: boolean): Value {
  const type = positionType(size);
  const at = index.dtype === type ? index : h.convert(index, type);
  if (!wrap || index.dtype.kind !== "int") return at;
  const shifted = h.add(at, h.splat(size, type, at.shape));
  return h.select(h.compare(at, h.splat(0, type, at.shape), "LT"), shifted, at);
}

/** Throws, in PyTorch's words, unless `index` is of an integer type that it takes as positions. */
export function requireIndexType(name: string, index: { readonly dtype: DType }, argument = "index"): void {
  if (index.dtype.name !== "int64" && index.dtype.name !== "int32")
    throw new TorchError(`${name}(): Expected dtype int32 or int64 for ${argument}`);
}

/** A 0-dim value as one row; others as they are. */
export const atLeast1d = (h: Builder, x: Value): Value => (x.rank === 0 ? h.reshape(x, [1]) : x);

/** The rows of `x` along `dim` at the positions of a 1-d index. */
export function takeRows(h: Builder, x: Value, dim: number, index: Value): Value {
  const rank = x.rank;
  const shape = x.shape.map((n, i) => (i === dim ? index.shape[0] : n));
  if (shape.includes(0)) return h.splat(0, x.dtype, shape);
  if (x.shape[dim] === 0) throw new TorchIndexError("index out of range in self");
  const options: GatherOptions = {
    offsetDims: Array.from({ length: rank }, (_, i) => i).filter((i) => i !== dim),
    collapsedSliceDims: [dim],
    startIndexMap: [dim],
    indexVectorDim: 1,
    sliceSizes: x.shape.map((n, i) => (i === dim ? 1 : n)),
  };
  return h.gather(x, h.reshape(index, [index.shape[0], 1]), options);
}

/** `x` cut to the first `sizes` elements of each dimension but `dim`. */
export function cutTo(h: Builder, x: Value, sizes: readonly number[], dim: number): Value {
  const limit = x.shape.map((n, i) => (i === dim ? n : sizes[i]));
  return h.slice(
    x,
    x.shape.map(() => 0),
    limit,
  );
}

/** `x[…, index[…], …]` with the index in dimension `dim`: both have one rank, and equal sizes but for `dim`. */
export function takeAlong(h: Builder, x: Value, dim: number, index: Value): Value {
  if (index.numel === 0) return h.splat(0, x.dtype, index.shape);
  const batch = x.shape.map((_, i) => i).filter((i) => i !== dim);
  return h.gather(cutTo(h, x, index.shape, dim), h.reshape(index, [...index.shape, 1]), {
    offsetDims: [],
    collapsedSliceDims: [dim],
    operandBatchingDims: batch,
    startIndicesBatchingDims: batch,
    startIndexMap: [dim],
    indexVectorDim: index.rank,
    sliceSizes: x.shape.map(() => 1),
  });
}
