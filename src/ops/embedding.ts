/** @file Embeddings: rows of a table, and sums of rows. */
import { bool, int64, sizeText, TorchError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast } from "./helpers.js";
import { checkedIndex, requireIndexType, takeRows } from "./index_values.js";
import { notDifferentiable, op, type Torch } from "./registry.js";
import { scatterRows } from "./scatter.js";

op(
  "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
  {
    lower: (h, { weight, indices }) => {
      if (weight.rank !== 2) throw new TorchError("'weight' must be 2-D");
      requireIndexType("embedding", indices, "indices");
      const at = checkedIndex(h, h.reshape(indices, [indices.numel]), weight.shape[0], false);
      return h.reshape(takeRows(h, weight, 0, at), [...indices.shape, weight.shape[1]]);
    },
    grad: (t, { weight, indices, padding_idx, scale_grad_by_freq }, dy) => ({
      weight: t.embedding_dense_backward(dy, indices, weight.shape[0], padding_idx, scale_grad_by_freq),
    }),
    doc: "Rows of a table at integer positions.",
  },
);

op(
  "embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq, bool sparse) -> Tensor",
  {
    composite: (t, { grad, indices, num_weights, padding_idx, scale_grad_by_freq }) =>
      t.embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq),
    doc: "The gradient of an embedding's table.",
  },
);

/** How often each row is used. */
const frequencies = (t: Torch, indices: Tensor, rows: number, like: Tensor): Tensor =>
  t.index_add(t.new_zeros(like, [rows]), 0, indices, t.new_ones(like, [indices.numel()]));

op(
  "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
  {
    decompose: (t, { grad_output, indices, num_weights, padding_idx, scale_grad_by_freq }) => {
      const width = grad_output.shape[grad_output.ndim - 1];
      const at = t.reshape(indices, [-1]);
      let rows = t.reshape(grad_output, [at.numel(), width]);
      if (scale_grad_by_freq) {
        const count = t.index_select(frequencies(t, at, num_weights, rows), 0, at);
        rows = t.div(rows, t.unsqueeze(count, 1));
      }
      if (padding_idx >= 0) rows = t.masked_fill(rows, t.unsqueeze(t.eq(at, padding_idx), 1), 0);
      return t.index_add(t.new_zeros(rows, [num_weights, width]), 0, at, rows);
    },
    doc: "The gradient of an embedding's table.",
  },
);

/** Rows whose norm is above a limit are scaled down to it. Differs from `renorm` in that only used rows change. */
op("embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)", {
  lower: (h, { self, indices, max_norm, norm_type }) => {
    if (self.rank !== 2)
      throw new TorchError(`Expected 2-D tensor, but got ${self.rank}-D tensor for argument #1 'self'`);
    const [n] = self.shape;
    const at = checkedIndex(h, h.reshape(indices, [indices.numel]), n, false);
    const ones = h.splat(true, bool, [indices.numel]);
    const hit = scatterRows(h, h.splat(false, bool, [n]), 0, at, ones, "replace");
    const power = h.splat(norm_type, self.dtype, self.shape);
    const sum = h.reduceWith(h.power(h.abs(self), power), h.constant(0, self.dtype), [1], "add");
    const norm = h.power(sum, h.splat(1 / norm_type, self.dtype, [n]));
    const limit = h.splat(max_norm, self.dtype, [n]);
    const scale = h.divide(limit, h.add(norm, h.splat(1e-7, self.dtype, [n])));
    const shrink = h.and(hit, h.compare(norm, limit, "GT"));
    const factor = h.select(shrink, scale, h.splat(1, self.dtype, [n]));
    return h.multiply(self, h.broadcast_in_dim(factor, self.shape, [0]));
  },
  grad: notDifferentiable,
  doc: "Scales down, in place, the used rows of a table whose norm exceeds `max_norm`.",
});

interface Bags {
  readonly indices: Tensor;
  readonly offset2bag: Tensor;
  readonly bagSize: Tensor;
  readonly count: number;
}

const asLong = (t: Torch, x: Tensor): Tensor => (x.dtype === int64 ? x : t._to_copy(x, { dtype: int64 }));

/** Which bag each index belongs to, and how many each bag holds. */
function bagsOf(t: Torch, indices: Tensor, offsets: Tensor, includeLast: boolean): Bags {
  if (indices.ndim !== 1)
    throw new TorchError(`input has to be a 1D Tensor, but got Tensor of dimension ${indices.ndim}`);
  if (offsets.ndim !== 1)
    throw new TorchError(`offsets has to be a 1D Tensor, but got Tensor of dimension ${offsets.ndim}`);
  const count = includeLast ? offsets.shape[0] - 1 : offsets.shape[0];
  if (includeLast && offsets.shape[0] < 1)
    throw new TorchError("include_last_offset: number of offset should be at least 1");
  const starts = asLong(t, t.slice(offsets, 0, 0, count, 1));
  const n = indices.numel();
  const every = t.arange(0, n, { dtype: int64, device: indices.device });
  const bag = t.sub(t.searchsorted(starts, every, { right: true }), 1);
  const ends = includeLast
    ? asLong(t, t.slice(offsets, 0, 1, count + 1, 1))
    : t.cat([t.slice(starts, 0, 1, count, 1), t.new_full(starts, [Math.min(1, count)], n)]);
  return { indices, offset2bag: bag, bagSize: t.sub(ends, starts), count };
}

/** Sums, means or maxima of the rows in each bag. */
function bagged(
  t: Torch,
  args: { weight: Tensor; mode: number; per_sample_weights: Tensor | null; padding_idx: number },
  bags: Bags,
): { out: Tensor; size: Tensor; arg: Tensor } {
  const { weight, mode, per_sample_weights, padding_idx } = args;
  const { indices, offset2bag, bagSize, count } = bags;
  const width = weight.shape[1];
  let rows = t.index_select(weight, 0, indices);
  const skip = padding_idx >= 0 ? t.eq(indices, padding_idx) : null;
  const size = skip ? t.index_add(t.zeros_like(bagSize), 0, offset2bag, asLong(t, t.logical_not(skip))) : bagSize;
  if (mode === 2) {
    const lowest = t.new_full(rows, [], -Infinity);
    if (skip) rows = t.where(t.unsqueeze(skip, 1), lowest, rows);
    const top = t.index_reduce(t.new_full(rows, [count, width], -Infinity), 0, offset2bag, rows, "amax");
    const empty = t.unsqueeze(t.eq(size, 0), 1);
    const is = t.logical_and(t.eq(rows, t.index_select(top, 0, offset2bag)), t.ge(rows, lowest));
    const n = indices.numel();
    const place = t.expand(t.unsqueeze(t.arange(0, n, { dtype: int64, device: weight.device }), 1), [n, width]);
    const candidate = t.where(is, place, n);
    const first = t.index_reduce(t.new_full(place, [count, width], n), 0, offset2bag, candidate, "amin");
    const out = t.take_along_dim(rows, t.clamp(first, 0, Math.max(0, n - 1)), 0);
    const arg = t.take(indices, t.clamp(first, 0, Math.max(0, n - 1)));
    return { out: t.masked_fill(out, empty, 0), size, arg: t.masked_fill(arg, empty, 0) };
  }
  if (per_sample_weights) rows = t.mul(rows, t.unsqueeze(per_sample_weights, 1));
  if (skip) rows = t.masked_fill(rows, t.unsqueeze(skip, 1), 0);
  const sum = t.index_add(t.new_zeros(rows, [count, width]), 0, offset2bag, rows);
  const out = mode === 1 ? t.div(sum, t.unsqueeze(t.clamp_min(size, 1), 1)) : sum;
  return {
    out: out.dtype === weight.dtype ? out : t._to_copy(out, { dtype: weight.dtype }),
    size,
    arg: t.zeros_like(size),
  };
}

for (const name of ["_embedding_bag", "_embedding_bag_forward_only"] as const) {
  op(
    `${name}(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)` as "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    {
      decompose: (t, args) => {
        const { weight, indices, offsets, mode, per_sample_weights, include_last_offset } = args;
        requireIndexType("embedding_bag", indices, "indices");
        if (per_sample_weights && mode !== 0)
          throw new TorchError("embedding_bag: per_sample_weights only supported with mode='sum'");
        if (per_sample_weights && per_sample_weights.shape.join() !== indices.shape.join())
          throw new TorchError(
            `expected per_sample_weights (${sizeText(per_sample_weights.shape)}) to have the same shape as indices (${sizeText(indices.shape)})`,
          );
        const scaled = args.scale_grad_by_freq ? scaledByFrequency(t, weight, indices) : weight;
        const bags = bagsOf(t, indices, offsets, include_last_offset);
        const { out, size, arg } = bagged(t, { ...args, weight: scaled }, bags);
        // PyTorch leaves empty or zero what its mode has no use for: the bag of each index, and for sums the bags' sizes
        const bagOf = mode !== 2 && args.padding_idx < 0 ? t.slice(bags.offset2bag, 0, 0, 0, 1) : bags.offset2bag;
        return [out, bagOf, mode === 0 ? t.zeros_like(size) : size, mode === 2 ? arg : t.zeros_like(size)];
      },
      doc: "Sums (mode 0), means (1) or maxima (2) of bags of rows of a table.",
    },
  );
}

/** The table itself, whose gradient is divided by how often each row is used. */
function scaledByFrequency(t: Torch, weight: Tensor, indices: Tensor): Tensor {
  const count = t.clamp_min(frequencies(t, indices, weight.shape[0], weight.detach()), 1);
  const part = t.div(weight, t.unsqueeze(count, 1));
  return t.add(part, t.sub(weight, part).detach());
}

op(
  [
    "embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
    "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)",
  ],
  {
    composite: (t, a) => {
      const rows = a.weight.shape[0];
      const padding = a.padding_idx ?? -1;
      if (a.padding_idx !== null && (padding < -rows || padding >= rows))
        throw new TorchError(
          `padding_idx must be within the number of embeddings, -${rows} through ${rows - 1}, but got ${padding}`,
        );
      const wrapped = a.padding_idx !== null && padding < 0 ? padding + rows : padding;
      return t._embedding_bag(
        a.weight,
        a.indices,
        a.offsets,
        a.scale_grad_by_freq,
        a.mode,
        a.sparse,
        a.per_sample_weights,
        a.include_last_offset,
        wrapped,
      );
    },
    doc: "Sums, means or maxima of bags of rows of a table.",
  },
);

op("one_hot(Tensor self, int num_classes=-1) -> Tensor", {
  composite: (t, { self, num_classes }) => {
    if (self.dtype !== int64) throw new TorchError(`one_hot is only applicable to index tensor of type LongTensor.`);
    if (self.numel() === 0) {
      if (num_classes <= 0) throw new TorchError("Can not infer total number of classes from empty tensor.");
      return t.new_zeros(self, [...self.shape, num_classes]);
    }
    let count = num_classes;
    if (count === -1) count = Number(t.max(self).item()) + 1;
    if (count < 1) throw new TorchError("num_classes should be positive");
    return t._one_hot(self, count);
  },
  doc: "Each class index as a row of zeros with a one at its place. Without `num_classes`, reads the largest index.",
});
op("_one_hot(Tensor self, int num_classes) -> Tensor", {
  lower: (h, { self, num_classes }) => {
    const shape = [...self.shape, num_classes];
    const dims = self.shape.map((_, i) => i);
    const place = h.iota(int64, shape, shape.length - 1);
    return cast(h, h.compare(h.broadcast_in_dim(self, shape, dims), place, "EQ"), int64);
  },
  grad: notDifferentiable,
  doc: "`one_hot` with a known number of classes.",
});
