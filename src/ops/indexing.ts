/** @file Reading by index tensors and masks: index, index_select, gather, take, masked_select, nonzero. */
import type { Builder, Value } from "../hlo/index.js";
import { bool, broadcastShapes, int64, numelOf, TorchError, TorchIndexError, wrapDim } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast } from "./helpers.js";
import { atLeast1d, checkedIndex, requireIndexType, takeAlong, takeRows } from "./index_values.js";
import { scan } from "./scan.js";
import { notDifferentiable, op, type Torch } from "./registry.js";

const isMask = (t: Tensor): boolean => t.dtype === bool || t.dtype.name === "uint8";

/** Index tensors with each mask replaced by the positions where it holds: one index for each of its dimensions. */
export function withoutMasks(t: Torch, self: Tensor, indices: readonly (Tensor | null)[]): (Tensor | null)[] {
  const out: (Tensor | null)[] = [];
  for (const index of indices) {
    if (index === null || !isMask(index)) {
      if (index !== null && !["int64", "int32"].includes(index.dtype.name))
        throw new TorchIndexError("tensors used as indices must be long, int, byte or bool tensors");
      out.push(index);
      continue;
    }
    index.shape.forEach((n, i) => {
      if (self.shape[out.length + i] !== n)
        throw new TorchIndexError(
          `The shape of the mask [${index.shape.join(", ")}] at index ${i} does not match the shape of the indexed tensor [${self.shape.join(", ")}] at index ${out.length + i}`,
        );
    });
    const at = t.nonzero(index);
    if (index.ndim === 0) {
      // a mask without dimensions indexes one dimension of size one, added before
      out.push(t.new_zeros(at, [at.shape[0]]));
    } else index.shape.forEach((_, i) => out.push(t.select(at, 1, i)));
  }
  if (out.length > self.ndim)
    throw new TorchIndexError(`too many indices for tensor of dimension ${self.ndim} (got ${out.length})`);
  return out;
}

/** Where the parts of an indexed tensor stand: the dimensions that are indexed, and the result's shape. */
export interface IndexPlan {
  readonly dims: readonly number[];
  /** The broadcast shape of the index tensors. */
  readonly batch: readonly number[];
  readonly shape: readonly number[];
  /** Result dimensions that are whole dimensions of the tensor. */
  readonly offsetDims: readonly number[];
}

/** PyTorch's rule: index dimensions stand where the indexed ones were if those are neighbours, in front otherwise. */
export function planIndex(
  shape: readonly number[],
  indices: readonly ({ readonly shape: readonly number[] } | null)[],
): IndexPlan {
  const dims = indices.flatMap((x, i) => (x === null ? [] : [i]));
  let batch: number[];
  try {
    batch = broadcastShapes(...dims.map((d) => indices[d]!.shape));
  } catch {
    throw new TorchIndexError(
      `shape mismatch: indexing tensors could not be broadcast together with shapes ${dims.map((d) => `[${indices[d]!.shape.join(", ")}]`).join(", ")}`,
    );
  }
  const together = dims.every((d, i) => i === 0 || d === dims[i - 1] + 1);
  const rest = shape.map((_, i) => i).filter((i) => !dims.includes(i));
  const before = together ? rest.filter((d) => d < dims[0]).length : 0;
  const sizes = rest.map((d) => shape[d]);
  const out = [...sizes.slice(0, before), ...batch, ...sizes.slice(before)];
  const empty = dims.find((d) => shape[d] === 0);
  if (empty !== undefined && numelOf(batch) !== 0)
    throw new TorchIndexError(`index is out of bounds for dimension with size 0`);
  return { dims, batch, shape: out, offsetDims: rest.map((_, i) => (i < before ? i : i + batch.length)) };
}

/** The index vectors of all positions: [..., number of indexed dimensions]. */
export function indexVectors(h: Builder, self: Value, indices: readonly (Value | null)[], plan: IndexPlan): Value {
  const parts = plan.dims.map((d) => {
    const at = checkedIndex(h, indices[d]!, self.shape[d], true);
    return h.reshape(h.broadcastTo(at, plan.batch), [...plan.batch, 1]);
  });
  const wide = parts.find((p) => p.dtype === int64)?.dtype ?? parts[0].dtype;
  return h.concatenate(
    parts.map((p) => h.convert(p, wide)),
    plan.batch.length,
  );
}

for (const name of ["_unsafe_index", "_index"] as const) {
  op(
    `${name}.Tensor(Tensor self, Tensor?[] indices) -> Tensor` as "_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    {
      lower: (h, { self, indices }) => {
        const plan = planIndex(self.shape, indices);
        if (plan.dims.length === 0) return self;
        if (numelOf(plan.shape) === 0) return h.splat(0, self.dtype, plan.shape);
        return h.gather(self, indexVectors(h, self, indices, plan), {
          offsetDims: plan.offsetDims,
          collapsedSliceDims: plan.dims,
          startIndexMap: plan.dims,
          indexVectorDim: plan.batch.length,
          sliceSizes: self.shape.map((n, d) => (plan.dims.includes(d) ? 1 : n)),
        });
      },
      grad: (t, { self, indices }, dy) => ({
        self: t._unsafe_index_put(t.new_zeros(dy, self.shape), indices, dy, true),
      }),
      doc: "The elements at index tensors, none of which is a mask.",
    },
  );
}

op("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", {
  composite: (t, { self, indices }) => t._index(self, withoutMasks(t, self, indices)),
  doc: "The elements at index tensors, one for each dimension; a mask stands for the positions where it holds.",
});

op("_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor", {
  decompose: (t, { self, mask, indices, fill }) => {
    const clamped = indices.map((index, d) =>
      index === null ? null : t.clamp(index, -self.shape[d], self.shape[d] - 1),
    );
    return t.masked_fill(t._unsafe_index(self, clamped), t.logical_not(mask), fill);
  },
  doc: "The elements at index tensors; `fill` where the mask does not hold.",
});

op("index_select(Tensor self, int dim, Tensor index) -> Tensor", {
  lower: (h, { self, dim, index }) => {
    const d = wrapDim(dim, self.rank);
    if (index.rank > 1) throw new TorchIndexError("index_select(): Index is supposed to be a vector");
    requireIndexType("index_select", index);
    const rows = checkedIndex(h, atLeast1d(h, index), self.rank === 0 ? 1 : self.shape[d], false);
    const out = takeRows(h, atLeast1d(h, self), d, rows);
    return self.rank === 0 ? h.reshape(out, []) : out;
  },
  grad: (t, { self, dim, index }, dy) => ({
    self: t.index_add(t.new_zeros(dy, self.shape), dim, index, dy),
  }),
  doc: "The rows of a dimension at the positions of a vector.",
});

op("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", {
  lower: (h, { self, dim, index }) => {
    const d = wrapDim(dim, self.rank);
    if (index.numel > 0) {
      requireIndexType("gather", index);
      if (Math.max(1, index.rank) !== Math.max(1, self.rank))
        throw new TorchError("Index tensor must have the same number of dimensions as input tensor");
      index.shape.forEach((n, i) => {
        if (i !== d && n > self.shape[i])
          throw new TorchError(
            `Size does not match at dimension ${i} expected index [${index.shape.join(", ")}] to be no larger than self [${self.shape.join(", ")}] apart from dimension ${d}`,
          );
      });
    } else return h.splat(0, self.dtype, index.shape);
    const x = atLeast1d(h, self);
    const at = checkedIndex(h, atLeast1d(h, index), x.shape[d], false);
    return h.reshape(takeAlong(h, x, d, at), index.shape);
  },
  grad: (t, { self, dim, index }, dy) => ({
    self:
      index.numel() === 0 ? t.new_zeros(dy, self.shape) : t.scatter_add(t.new_zeros(dy, self.shape), dim, index, dy),
  }),
  exactOut: true,
  doc: "One element for each position: the index takes the place of one dimension's coordinate.",
});

op("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", {
  decompose: (t, { self, indices, dim }) => {
    if (indices.dtype !== int64)
      throw new TorchError(`torch.take_along_dim(): dtype of indices should be Long but got ${indices.dtype.name}`);
    const fromEnd = (x: Tensor, n: number): Tensor => t.where(t.lt(x, 0), t.add(x, n), x);
    if (dim === null) return t.gather(t.reshape(self, [-1]), 0, fromEnd(t.reshape(indices, [-1]), self.numel()));
    const d = wrapDim(dim, self.ndim);
    if (self.ndim !== indices.ndim)
      throw new TorchError(
        `torch.take_along_dim(): input and indices should have the same number of dimensions, but got ${self.ndim} dimensions for input, and ${indices.ndim} dimensions for indices`,
      );
    const without = (s: readonly number[], n: number): number[] => s.map((x, i) => (i === d ? n : x));
    const shape = broadcastShapes(without(self.shape, 1), without(indices.shape, 1));
    return t.gather(
      t.expand(self, without(shape, self.shape[d])),
      d,
      fromEnd(t.expand(indices, without(shape, indices.shape[d])), self.shape[d]),
    );
  },
  doc: "`gather` with the other dimensions broadcast.",
});

op("take(Tensor self, Tensor index) -> Tensor", {
  lower: (h, { self, index }) => {
    if (index.dtype !== int64)
      throw new TorchError(`take(): Expected a long tensor for index, but got ${index.dtype.name}`);
    if (self.numel === 0 && index.numel !== 0) throw new TorchIndexError("take(): tried to take from an empty tensor");
    const at = checkedIndex(h, h.reshape(index, [index.numel]), self.numel, true);
    return h.reshape(takeRows(h, h.reshape(self, [self.numel]), 0, at), index.shape);
  },
  grad: (t, { self, index }, dy) => ({ self: t.put(t.new_zeros(dy, self.shape), index, dy, true) }),
  doc: "The elements at positions of the flattened tensor.",
});

/** The first `size` positions where a flat mask holds, and how many there are. Later ones are `-1`. */
function positions(h: Builder, mask: Value, size: number): { at: Value; valid: Value } {
  const n = mask.shape[0];
  if (n === 0 || size === 0) return { at: h.splat(0, int64, [size]), valid: h.splat(false, bool, [size]) };
  const counts = scan(h, [h.convert(mask, int64)], 0, [h.constant(0n, int64)], ([a], [b]) => [h.add(a, b)])[0];
  const wanted = h.add(h.iota(int64, [size], 0), h.splat(1, int64, [size]));
  const total = h.slice(counts, [n - 1], [n]);
  const at = lowerBound(h, counts, wanted);
  return { at, valid: h.compare(wanted, h.broadcastTo(total, [size]), "LE") };
}

/** For each wanted number the first position of a rising vector whose value is not below it. */
function lowerBound(h: Builder, rising: Value, wanted: Value): Value {
  const n = rising.shape[0];
  const fill = (v: number): Value => h.splat(v, int64, wanted.shape);
  let low = fill(0);
  for (let step = 2 ** Math.floor(Math.log2(Math.max(1, n))); step >= 1; step = Math.floor(step / 2)) {
    const probe = h.add(low, fill(step));
    const inside = h.compare(probe, fill(n), "LE");
    const value = takeRows(h, rising, 0, h.minimum(h.subtract(probe, fill(1)), fill(n - 1)));
    low = h.select(h.and(inside, h.compare(value, wanted, "LT")), probe, low);
  }
  return low;
}

/** Flat positions as coordinates: [positions, dimensions]. */
function coordinates(h: Builder, at: Value, shape: readonly number[]): Value {
  if (shape.length === 0) return h.splat(0, int64, [at.shape[0], 0]);
  let rest = at;
  const columns: Value[] = [];
  for (let d = shape.length - 1; d >= 0; d--) {
    const n = h.splat(Math.max(1, shape[d]), int64, at.shape);
    columns.unshift(h.reshape(h.remainder(rest, n), [at.shape[0], 1]));
    rest = h.divide(rest, n);
  }
  return h.concatenate(columns, 1);
}

op("nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor", {
  lower: (h, { self, size, fill_value }) => {
    if (size < 0) throw new TorchError("nonzero_static: 'size' must be an non-negative integer");
    const { at, valid } = positions(h, h.reshape(cast(h, self, bool), [self.numel]), size);
    const table = coordinates(h, at, self.shape);
    const keep = h.broadcast_in_dim(valid, table.shape, [0]);
    return h.select(keep, table, h.splat(fill_value, int64, table.shape));
  },
  grad: notDifferentiable,
  doc: "The coordinates of the first `size` elements that are not zero; `fill_value` beyond them.",
});

op("nonzero(Tensor self) -> Tensor", {
  composite: (t, { self }) => {
    const x = self.detach();
    return t.nonzero_static(x, { size: Number(t.count_nonzero(x).item()) });
  },
  doc: "The coordinates of the elements that are not zero. Reads their number on the host.",
});
op("nonzero.as_tuple(Tensor self, *, bool as_tuple) -> Tensor", {
  composite: (t, { self, as_tuple }) => (as_tuple ? t.nonzero_numpy(self) : t.nonzero(self)),
});
op("nonzero_numpy(Tensor self) -> Tensor[]", {
  composite: (t, { self }) => t.unbind(t.nonzero(self.ndim === 0 ? t.unsqueeze(self, 0) : self), 1),
  doc: "The coordinates of the elements that are not zero, one tensor for each dimension.",
});
op("argwhere(Tensor self) -> Tensor", {
  composite: (t, { self }) => t.nonzero(self),
  doc: "The coordinates of the elements that are not zero.",
});

op("masked_select(Tensor self, Tensor mask) -> Tensor", {
  composite: (t, { self, mask }) => {
    if (mask.dtype !== bool)
      throw new TorchError(`masked_select: expected BoolTensor for mask, got ${mask.dtype.name}`);
    const shape = broadcastShapes(self.shape, mask.shape);
    const flat = t.reshape(t.expand(self, shape), [-1]);
    const at = t.nonzero(t.reshape(t.expand(mask, shape), [-1]));
    return t.index_select(flat, 0, t.select(at, 1, 0));
  },
  doc: "The elements where a mask holds, as a vector. Reads their number on the host.",
});

op("_int_vector(SymInt[] values, *, Device? device=None) -> Tensor", {
  lower: (h, { values }) =>
    values.length === 0
      ? h.splat(0, int64, [0])
      : h.constant(BigInt64Array.from(values, BigInt), int64, [values.length]),
  grad: notDifferentiable,
  factory: true,
  doc: "A vector of integers that are part of the program.",
});
