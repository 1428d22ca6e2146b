/** @file Writing whole rows of a dimension at the positions of a vector, and elements of the flattened tensor. */
import type { Builder, Value } from "../hlo/index.js";
import { int64, sizeText, TorchError, TorchIndexError, wrapDim } from "../schema/index.js";
import { atLeast1d, checkedIndex, requireIndexType } from "./index_values.js";
import { cast } from "./helpers.js";
import { op } from "./registry.js";
import { scatterRows, type Join } from "./scatter.js";

const without = (shape: readonly number[], dim: number): number[] => shape.filter((_, i) => i !== dim);

/** `self` with rows joined by `source`, whose dimension `dim` runs over the index. */
export function joinRows(
  h: Builder,
  name: string,
  self: Value,
  dim: number,
  index: Value,
  source: Value,
  join: Join,
): Value {
  const d = wrapDim(dim, self.rank);
  if (index.rank > 1)
    throw new TorchIndexError(`${name}(): Index is supposed to be a vector, but got dim: ${index.rank}`);
  requireIndexType(name, index);
  if (source.dtype !== self.dtype)
    throw new TorchError(
      `${name}(): self (${self.dtype.name}) and source (${source.dtype.name}) must have the same scalar type`,
    );
  const x = atLeast1d(h, self);
  const rows = atLeast1d(h, source);
  const fits = rows.rank === x.rank && without(rows.shape, d).join() === without(x.shape, d).join();
  if (!fits)
    throw new TorchError(
      `source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = ${sizeText(self.shape)} source.shape = ${sizeText(source.shape)}`,
    );
  if (rows.shape[d] !== index.numel)
    throw new TorchError(
      `${name}(): Number of indices (${index.numel}) should be equal to source.size(dim): (${rows.shape[d]}), for dim: ${d}`,
    );
  const at = checkedIndex(h, atLeast1d(h, index), x.shape[d], false);
  return h.reshape(scatterRows(h, x, d, at, rows, join), self.shape);
}

op("index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor", {
  lower: (h, { self, dim, index, source, alpha }) => {
    const scaled =
      alpha.is(1) || source.dtype.kind === "bool" ? source : h.multiply(source, alpha.fill(source.dtype, source.shape));
    return joinRows(h, "index_add", self, dim, index, scaled, "add");
  },
  grad: (t, { self, dim, index, source, alpha }, dy) => {
    const rows = t.index_select(self.ndim === 0 ? t.reshape(dy, [1]) : dy, dim, index);
    const shaped = source.ndim < rows.ndim || rows.ndim < source.ndim ? t.reshape(rows, source.shape) : rows;
    return { self: dy, source: alpha === 1 ? shaped : t.mul(shaped, alpha) };
  },
  doc: "Adds rows, scaled by `alpha`, at the positions of a vector.",
});

op("index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", {
  lower: (h, { self, dim, index, source }) => joinRows(h, "index_copy", self, dim, index, source, "replace"),
  grad: (t, { self, dim, index, source }, dy) => {
    const rows = t.index_select(self.ndim === 0 ? t.reshape(dy, [1]) : dy, dim, index);
    return {
      self: t.index_fill(dy, dim, index, 0),
      source: rows.ndim === source.ndim ? rows : t.reshape(rows, source.shape),
    };
  },
  doc: "Writes rows at the positions of a vector.",
});

/** `self` with one value in the rows at the positions of a vector. */
function fillRows(h: Builder, self: Value, dim: number, index: Value, value: Value): Value {
  const d = wrapDim(dim, self.rank);
  if (index.rank > 1) throw new TorchIndexError("index_fill_(): Index is supposed to be a vector");
  if (index.dtype !== int64) throw new TorchIndexError("index_fill_(): Expected dtype int64 for index.");
  const x = atLeast1d(h, self);
  const at = checkedIndex(h, atLeast1d(h, index), x.shape[d], true);
  const rows = h.broadcast_in_dim(
    value,
    x.shape.map((n, i) => (i === d ? at.numel : n)),
    [],
  );
  return h.reshape(scatterRows(h, x, d, at, rows, "replace"), self.shape);
}

op("index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", {
  lower: (h, { self, dim, index, value }) => fillRows(h, self, dim, index, value.as(self.dtype)),
  grad: (t, { dim, index }, dy) => ({ self: t.index_fill(dy, dim, index, 0) }),
  doc: "Writes one value into the rows at the positions of a vector.",
});
op("index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", {
  lower: (h, { self, dim, index, value }) => {
    if (value.rank !== 0)
      throw new TorchError(
        `index_fill_ only supports a 0-dimensional value tensor, but got tensor with ${value.rank} dimension(s).`,
      );
    return fillRows(h, self, dim, index, cast(h, value, self.dtype));
  },
  grad: (t, { self, dim, index }, dy) => ({
    self: t.index_fill(dy, dim, index, 0),
    value: t.sum(t.mul(dy, t.index_fill(t.zeros_like(self), dim, index, 1))),
  }),
});

op("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", {
  lower: (h, { self, index, source, accumulate }) => {
    if (index.dtype !== int64)
      throw new TorchError(`put_(): Expected a long tensor for index, but got ${index.dtype.name}`);
    if (self.dtype !== source.dtype)
      throw new TorchError(
        `put_(): self and source expected to have the same dtype, but got self.dtype = ${self.dtype.name} and source.dtype = ${source.dtype.name}`,
      );
    if (index.numel !== source.numel)
      throw new TorchError(
        `put_(): Expected source and index to have the same number of elements, but got source.numel() = ${source.numel}, index.numel() = ${index.numel}`,
      );
    if (self.numel === 0 && index.numel !== 0)
      throw new TorchIndexError("put_(): Tried to put elements into an empty tensor");
    const at = checkedIndex(h, h.reshape(index, [index.numel]), self.numel, true);
    const flat = h.reshape(self, [self.numel]);
    const rows = h.reshape(source, [source.numel]);
    return h.reshape(scatterRows(h, flat, 0, at, rows, accumulate ? "add" : "replace"), self.shape);
  },
  grad: (t, { index, source, accumulate }, dy) => ({
    self: accumulate ? dy : t.put(dy, index, t.new_zeros(dy, index.shape), false),
    source: t.reshape(t.take(dy, index), source.shape),
  }),
  doc: "Writes, or adds, elements at positions of the flattened tensor.",
});
