/** @file Writing by index tensors and masks: index_put, scatter, index_add, masked_fill, put. */
import type { Builder, Value } from "../hlo/index.js";
import { bool, int64, numelOf, TorchError, wrapDim, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast, computeType, scalarTypeName } from "./helpers.js";
import { atLeast1d, checkedIndex, cutTo, requireIndexType } from "./index_values.js";
import { indexVectors, planIndex, withoutMasks } from "./indexing.js";
import { op, type Torch } from "./registry.js";

/** How an update joins what is there. */
export type Join = "replace" | "add" | "multiply" | "maximum" | "minimum";

export function joined(h: Builder, join: Join, a: Value, b: Value): Value {
  if (join === "replace") return b;
  if (a.dtype === bool) return join === "add" || join === "maximum" ? h.or(a, b) : h.and(a, b);
  return h[join](a, b);
}

/** The type in which updates are joined. */
export const joinType = (dtype: DType, join: Join): DType =>
  join === "add" || join === "multiply" ? computeType(dtype) : dtype;

/** Writes rows along `dim` at the positions of a 1-d index. */
export function scatterRows(h: Builder, x: Value, dim: number, index: Value, rows: Value, join: Join): Value {
  if (rows.numel === 0) return x;
  const type = joinType(x.dtype, join);
  const [out] = h.scatter(
    [cast(h, x, type)],
    h.reshape(index, [index.numel, 1]),
    [cast(h, rows, type)],
    {
      updateWindowDims: x.shape.map((_, i) => i).filter((i) => i !== dim),
      insertedWindowDims: [dim],
      scatterDimsToOperandDims: [dim],
      indexVectorDim: 1,
    },
    ([a], [b]) => [joined(h, join, a, b)],
  );
  return cast(h, out, x.dtype);
}

/** Writes elements at `x[…, index[…], …]`, the index in dimension `dim`. All have one rank. */
function scatterAlong(h: Builder, x: Value, dim: number, index: Value, updates: Value, join: Join): Value {
  if (index.numel === 0) return x;
  const type = joinType(x.dtype, join);
  const batch = x.shape.map((_, i) => i).filter((i) => i !== dim);
  const part = cutTo(h, x, index.shape, dim);
  const [out] = h.scatter(
    [cast(h, part, type)],
    h.reshape(index, [...index.shape, 1]),
    [cast(h, updates, type)],
    {
      updateWindowDims: [],
      insertedWindowDims: [dim],
      inputBatchingDims: batch,
      scatterIndicesBatchingDims: batch,
      scatterDimsToOperandDims: [dim],
      indexVectorDim: index.rank,
    },
    ([a], [b]) => [joined(h, join, a, b)],
  );
  const result = cast(h, out, x.dtype);
  if (result.shape.join() === x.shape.join()) return result;
  return h.dynamic_update_slice(
    x,
    result,
    x.shape.map(() => h.constant(0n, int64)),
  );
}

/** `self` with `values` at index tensors. */
function put(h: Builder, self: Value, indices: readonly (Value | null)[], values: Value, accumulate: boolean): Value {
  if (self.dtype !== values.dtype)
    throw new TorchError(
      `Index put requires the source and destination dtypes match, got ${scalarTypeName(self.dtype)} for the destination and ${scalarTypeName(values.dtype)} for the source.`,
    );
  const plan = planIndex(self.shape, indices);
  const lead = values.rank - plan.shape.length;
  const source =
    lead > 0 && values.shape.slice(0, lead).every((n) => n === 1)
      ? h.reshape(values, values.shape.slice(lead))
      : values;
  let fits = source.rank <= plan.shape.length;
  if (fits) fits = source.shape.every((n, i) => n === 1 || n === plan.shape[i + plan.shape.length - source.rank]);
  if (!fits)
    throw new TorchError(
      `shape mismatch: value tensor of shape [${values.shape.join(", ")}] cannot be broadcast to indexing result of shape [${plan.shape.join(", ")}]`,
    );
  if (plan.dims.length === 0) {
    const whole = h.broadcastTo(source, self.shape);
    return accumulate ? joined(h, "add", self, whole) : whole;
  }
  if (numelOf(plan.shape) === 0) return self;
  const join = accumulate ? "add" : "replace";
  const type = joinType(self.dtype, join);
  const [out] = h.scatter(
    [cast(h, self, type)],
    indexVectors(h, self, indices, plan),
    [cast(h, h.broadcastTo(source, plan.shape), type)],
    {
      updateWindowDims: plan.offsetDims,
      insertedWindowDims: plan.dims,
      scatterDimsToOperandDims: plan.dims,
      indexVectorDim: plan.batch.length,
    },
    ([a], [b]) => [joined(h, join, a, b)],
  );
  return cast(h, out, self.dtype);
}

function putGrad(
  t: Torch,
  args: { indices: readonly (Tensor | null)[]; values: Tensor; accumulate: boolean },
  dy: Tensor,
): Record<string, Tensor> {
  const { indices, values, accumulate } = args;
  const zero = t.new_zeros(dy, []);
  return {
    self: accumulate ? dy : t._unsafe_index_put(dy, indices, zero, false),
    values: sumTo(t, t._unsafe_index(dy, indices), values.shape),
  };
}

/** Sums a cotangent to the shape of a value that may have had leading dimensions of size one. */
function sumTo(t: Torch, dy: Tensor, shape: readonly number[]): Tensor {
  const lead = Math.max(0, shape.length - dy.ndim);
  const sum = t.sum_to_size(dy, shape.slice(lead));
  return lead > 0 ? t.reshape(sum, shape) : sum;
}

op("_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", {
  lower: (h, { self, indices, values, accumulate }) => put(h, self, indices, values, accumulate),
  grad: putGrad,
  doc: "`self` with `values` at index tensors, none of which is a mask.",
});
op(
  "_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor(a!)",
  {
    lower: (h, { self, indices, values, accumulate }) => put(h, self, indices, values, accumulate),
    grad: putGrad,
    doc: "Writes `values` at index tensors, none of which is a mask.",
  },
);

/** A mask that alone, with one value for all of it, needs no list of positions. */
function soleMask(
  self: Tensor,
  indices: readonly (Tensor | null)[],
  values: Tensor,
  accumulate: boolean,
): Tensor | null {
  const [mask] = indices;
  if (accumulate || indices.length !== 1 || mask === null || values.numel() !== 1 || values.dtype !== self.dtype)
    return null;
  const fits = mask.dtype === bool && mask.ndim > 0 && mask.shape.every((n, i) => n === self.shape[i]);
  return fits && values.ndim === 0 ? mask : null;
}

const maskFor = (t: Torch, self: Tensor, mask: Tensor): Tensor =>
  t.reshape(mask, [...mask.shape, ...self.shape.slice(mask.ndim).map(() => 1)]);

op("index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", {
  composite: (t, { self, indices, values, accumulate }) => {
    const mask = soleMask(self, indices, values, accumulate);
    if (mask !== null) return t.masked_fill(self, maskFor(t, self, mask), values);
    return t._unsafe_index_put(self, withoutMasks(t, self, indices), values, accumulate);
  },
  doc: "`self` with `values` at index tensors, or added there with `accumulate`; a mask stands for where it holds.",
});
op("index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)", {
  composite: (t, { self, indices, values, accumulate }) => {
    const mask = soleMask(self, indices, values, accumulate);
    if (mask !== null) return self.masked_fill_(maskFor(t, self, mask), values);
    return t._index_put_impl_(self, withoutMasks(t, self, indices), values, accumulate);
  },
  doc: "Writes `values` at index tensors, or adds them with `accumulate`.",
});
op("_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor", {
  decompose: (t, { self, mask, indices, values }) => {
    const clamped = indices.map((index, d) =>
      index === null ? null : t.clamp(index, -self.shape[d], self.shape[d] - 1),
    );
    return t._unsafe_index_put(self, clamped, t.masked_fill(values, t.logical_not(mask), 0), true);
  },
  doc: "`self` with `values` added at index tensors, where the mask holds.",
});

/** Checks of scatter and its kin, in PyTorch's words. */
function checkScatter(name: string, self: Value, dim: number, index: Value, src: Value | null): number {
  const d = wrapDim(dim, self.rank);
  if (src !== null && src.dtype !== self.dtype)
    throw new TorchError(`${name}(): Expected self.dtype to be equal to src.dtype`);
  if (index.numel === 0) return d;
  requireIndexType(name, index);
  const ranks = (x: Value): number => Math.max(1, x.rank);
  if (ranks(index) !== ranks(self))
    throw new TorchError("Index tensor must have the same number of dimensions as self tensor");
  if (src !== null && ranks(src) !== ranks(index))
    throw new TorchError("Index tensor must have the same number of dimensions as src tensor");
  const bad = index.shape.some(
    (n, i) => (i !== d && n > self.shape[i]) || (src !== null && n > (src.rank === 0 ? 1 : src.shape[i])),
  );
  if (bad)
    throw new TorchError(
      `Expected index [${index.shape.join(", ")}] to be no larger than self [${self.shape.join(", ")}] apart from dimension ${d}${src ? ` and to be no larger size than src [${src.shape.join(", ")}]` : ""}`,
    );
  return d;
}

/** scatter, with the checks, for tensors of any rank. */
export function scatter(
  h: Builder,
  name: string,
  self: Value,
  dim: number,
  index: Value,
  src: Value | null,
  fill: Value | null,
  join: Join,
): Value {
  const d = checkScatter(name, self, dim, index, src);
  if (index.numel === 0) return self;
  const x = atLeast1d(h, self);
  const at = checkedIndex(h, atLeast1d(h, index), x.shape[d], false);
  const updates = src === null ? h.broadcast_in_dim(fill!, at.shape, []) : cutTo(h, atLeast1d(h, src), at.shape, -1);
  return h.reshape(scatterAlong(h, x, d, at, updates, join), self.shape);
}

const byName: Record<string, Join> = { add: "add", multiply: "multiply" };

function reduceName(reduce: string): Join {
  const join = byName[reduce];
  if (join === undefined) throw new TorchError("reduce argument must be either add or multiply.");
  return join;
}

op("scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", {
  lower: (h, { self, dim, index, src }) => scatter(h, "scatter", self, dim, index, src, null, "replace"),
  grad: (t, { dim, index }, dy) => ({ self: t.scatter(dy, dim, index, 0), src: gatherFor(t, dy, dim, index) }),
  doc: "`self` with elements of `src` written where an index takes the place of one dimension's coordinate.",
});

/** The cotangent of `src`, at the positions that the index covers. */
const gatherFor = (t: Torch, dy: Tensor, dim: number, index: Tensor): Tensor => t.gather(dy, dim, index);

op("scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", {
  lower: (h, { self, dim, index, value }) =>
    scatter(h, "scatter", self, dim, index, null, value.as(self.dtype), "replace"),
  grad: (t, { dim, index }, dy) => ({ self: t.scatter(dy, dim, index, 0) }),
});
op("scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor", {
  lower: (h, { self, dim, index, src, reduce }) =>
    scatter(h, "scatter", self, dim, index, src, null, reduceName(reduce)),
});
op("scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor", {
  lower: (h, { self, dim, index, value, reduce }) =>
    scatter(h, "scatter", self, dim, index, null, value.as(self.dtype), reduceName(reduce)),
});
op("scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", {
  lower: (h, { self, dim, index, src }) => scatter(h, "scatter", self, dim, index, src, null, "add"),
  grad: (t, { dim, index }, dy) => ({ self: dy, src: gatherFor(t, dy, dim, index) }),
  doc: "Adds elements of `src` where an index takes the place of one dimension's coordinate.",
});
