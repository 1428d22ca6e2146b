/** @file Sorting: sort, argsort, topk, msort, searchsorted, bucketize. */
import type { Builder, Value } from "../hlo/index.js";
import { float32, int32, int64, TorchError, wrapDim } from "../schema/index.js";
import { cast, promotedType, requireDtype } from "./helpers.js";
import { takeAlong, takeRows } from "./index_values.js";
import { isBefore, nanMask, positionType } from "./order_values.js";
import { notDifferentiable, op } from "./registry.js";
import { range } from "./scan.js";

/** Values in order along a dimension, NaN last when ascending, and where they were (int64). Equal ones keep their order. */
export function sortAlong(h: Builder, x: Value, dim: number, descending: boolean): [values: Value, indices: Value] {
  const type = positionType(x.shape[dim]);
  const [values, at] = h.sort([x, h.iota(type, x.shape, dim)], dim, true, (a, b) => isBefore(h, a, b, descending));
  return [values, h.convert(at, int64)];
}

for (const [schema, doc] of [
  [
    "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    undefined,
  ],
  [
    "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    "The elements in order along a dimension, and where they were. Equal elements keep their order.",
  ],
] as const) {
  op(schema as "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", {
    lower: (h, { self, dim, descending }) => {
      requireDtype(self, !self.dtype.is_complex, "sort_stable");
      const d = wrapDim(dim, self.rank);
      return self.rank === 0 ? [self, h.constant(0n, int64)] : sortAlong(h, self, d, descending);
    },
    grad: (t, { self, dim }, [dy], [, indices]) => ({
      self: t.value_selecting_reduction_backward(dy, dim, indices, self.shape, true),
    }),
    doc,
  });
}

op("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", {
  composite: (t, { self, dim, descending }) => t.sort(self, dim, descending)[1],
  doc: "Where the elements in order along a dimension are.",
});
op("argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", {
  composite: (t, { self, stable, dim, descending }) => t.sort(self, { stable, dim, descending })[1],
});
op("msort(Tensor self) -> Tensor", {
  composite: (t, { self }) => t.sort(self, 0, false)[0],
  doc: "The elements in order along the first dimension.",
});

/** The `k` largest along a dimension by XLA's own top_k, many times faster than sorting. It orders bits: -NaN and -0 are made plain. */
function largestAlong(h: Builder, x: Value, dim: number, k: number): Value[] {
  const order = x.shape.map((_, i) => i).filter((i) => i !== dim);
  const rows = h.transpose(cast(h, x, float32), [...order, dim]);
  // not rows + 0, which XLA simplifies to rows
  const positive = h.select(h.compare(rows, h.zerosLike(rows), "EQ"), h.zerosLike(rows), rows);
  const keys = h.select(nanMask(h, rows)!, h.fullLike(rows, NaN), positive);
  const [, at] = h.chlo_top_k(keys, k);
  const back = x.shape.map((_, i) => (i === dim ? x.rank - 1 : order.indexOf(i)));
  const index = h.transpose(at, back);
  return [takeAlong(h, x, dim, index), h.convert(index, int64)];
}

op("topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)", {
  lower: (h, { self, k, dim, largest }) => {
    requireDtype(self, !self.dtype.is_complex && self.dtype.kind !== "bool", "topk");
    const d = wrapDim(dim, self.rank);
    const size = self.rank === 0 ? 1 : self.shape[d];
    if (k < 0 || k > size) throw new TorchError("selected index k out of range");
    if (self.rank === 0) return [self, h.constant(0n, int64)];
    if (largest && k > 0 && self.dtype.is_floating_point && self.dtype.bits >= 16 && self.dtype.bits <= 32)
      return largestAlong(h, self, d, k);
    return sortAlong(h, self, d, largest).map((v) => range(h, v, d, 0, k));
  },
  grad: (t, { self, dim }, [dy], [, indices]) => ({
    self: t.value_selecting_reduction_backward(dy, dim, indices, self.shape, true),
  }),
  doc: "The `k` largest (or smallest) elements along a dimension, in order, and where they are.",
});

/** For each value the first position in its sorted row that is not before it; with `right`, that is after it. */
export function searchSorted(h: Builder, rows: Value, values: Value, right: boolean): Value {
  const n = rows.shape[rows.rank - 1];
  const type = positionType(n + 1);
  const fill = (v: number): Value => h.splat(v, type, values.shape);
  let low = fill(0);
  if (n === 0) return low;
  for (let step = 2 ** Math.floor(Math.log2(n)); step >= 1; step = Math.floor(step / 2)) {
    const probe = h.add(low, fill(step));
    const inside = h.compare(probe, fill(n), "LE");
    const at = h.minimum(h.subtract(probe, fill(1)), fill(n - 1));
    const value =
      rows.rank === 1
        ? h.reshape(takeRows(h, rows, 0, h.reshape(at, [at.numel])), at.shape)
        : takeAlong(h, rows, rows.rank - 1, at);
    const before = right ? h.not(isBefore(h, values, value, false)) : isBefore(h, value, values, false);
    low = h.select(h.and(inside, before), probe, low);
  }
  return low;
}

function checkSearch(rows: Value, values: Value, side: string | null, right: boolean, sorter: Value | null): boolean {
  if (side !== null && side !== "left" && side !== "right")
    throw new TorchError(`torch.searchsorted(): side can only be 'left' or 'right' but got ${side}`);
  if (side === "left" && right)
    throw new TorchError(
      "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True",
    );
  if (rows.rank === 0)
    throw new TorchError(
      "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1",
    );
  if (rows.rank > 1 && values.rank === 0)
    throw new TorchError(
      `torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries tensor dim(${rows.rank}) and input value's dim(0) numel(1)`,
    );
  if (
    rows.rank > 1 &&
    (rows.rank !== values.rank || rows.shape.slice(0, -1).join() !== values.shape.slice(0, -1).join())
  )
    throw new TorchError(
      `torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value tensor must match, but we got boundaries tensor [${rows.shape.join(", ")}] and input value tensor [${values.shape.join(", ")}]`,
    );
  if (sorter && sorter.shape.join() !== rows.shape.join())
    throw new TorchError("torch.searchsorted(): boundary and sorter must have the same size");
  return right || side === "right";
}

op(
  [
    "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
    "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
  ],
  {
    lower: (h, { sorted_sequence, self, out_int32, right, side, sorter }) => {
      const after = checkSearch(sorted_sequence, self, side, right, sorter);
      const type = promotedType(sorted_sequence, self);
      let rows = cast(h, sorted_sequence, type);
      if (sorter) {
        if (sorter.dtype !== int64) throw new TorchError("torch.searchsorted(): sorter must be a tensor of long dtype");
        rows = rows.rank === 1 ? takeRows(h, rows, 0, sorter) : takeAlong(h, rows, rows.rank - 1, sorter);
      }
      return h.convert(searchSorted(h, rows, cast(h, self, type), after), out_int32 ? int32 : int64);
    },
    grad: notDifferentiable,
    numbers: ["self"],
    doc: "Where values would stand in sorted rows.",
  },
);

op(
  [
    "bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    "bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
  ],
  {
    lower: (h, { self, boundaries, out_int32, right }) => {
      if (boundaries.rank !== 1)
        throw new TorchError(`boundaries tensor must be 1 dimension, but got dim(${boundaries.rank})`);
      const type = promotedType(boundaries, self);
      const out = searchSorted(h, cast(h, boundaries, type), cast(h, self, type), right);
      return h.convert(out, out_int32 ? int32 : int64);
    },
    grad: notDifferentiable,
    numbers: ["self"],
    doc: "The number of the interval between sorted boundaries in which each value lies.",
  },
);
