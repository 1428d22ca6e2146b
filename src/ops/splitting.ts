/** @file Tensors cut into parts: tensor_split and its kin, and parts that are copies. */
import { TorchError, wrapDim } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { op, type Torch } from "./registry.js";

/** Cuts at given indices. */
function cutAt(t: Torch, self: Tensor, indices: readonly number[], dim: number): Tensor[] {
  let from = 0;
  const out = indices.map((to) => {
    const part = t.slice(self, dim, from, to, 1);
    from = to;
    return part;
  });
  return [...out, t.slice(self, dim, from, null, 1)];
}

/** Cuts into sections of sizes that differ by at most one. */
function sections(t: Torch, self: Tensor, count: number, dim: number): Tensor[] {
  if (count <= 0) throw new TorchError(`number of sections must be larger than 0, got ${count}`);
  const n = self.shape[dim];
  const small = Math.floor(n / count);
  let at = 0;
  return Array.from({ length: count }, (_, i) => t.slice(self, dim, at, (at += small + (i < n % count ? 1 : 0)), 1));
}

function splitDim(self: Tensor, dim: number): number {
  if (self.ndim === 0)
    throw new TorchError(
      `tensor_split expected at least a 1-dimensional tensor, but got a tensor with ${self.ndim} dims`,
    );
  return wrapDim(dim, self.ndim);
}

op("tensor_split.sections(Tensor(a) self, SymInt sections, int dim=0) -> Tensor(a)[]", {
  composite: (t, { self, sections: count, dim }) => sections(t, self, count, splitDim(self, dim)),
  doc: "Views of nearly equal size, or cut at given indices.",
});
op("tensor_split.indices(Tensor(a) self, SymInt[] indices, int dim=0) -> Tensor(a)[]", {
  composite: (t, { self, indices, dim }) => cutAt(t, self, indices, splitDim(self, dim)),
});
op(
  "tensor_split.tensor_indices_or_sections(Tensor(a) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]",
  {
    composite: (t, { self, tensor_indices_or_sections: where, dim }) => {
      if (where.dtype.name !== "int64")
        throw new TorchError("tensor_split expected tensor_indices_or_sections to have dtype of long");
      if (where.ndim > 1)
        throw new TorchError(
          `tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a tensor with ${where.ndim} dims`,
        );
      const d = splitDim(self, dim);
      if (where.ndim === 0) return sections(t, self, Number(where.item()), d);
      return cutAt(t, self, (where.tolist() as (number | bigint)[]).map(Number), d);
    },
  },
);

for (const [name, letter, rank, dimOf, doc] of [
  [
    "hsplit",
    "h",
    1,
    (x: Tensor): number => (x.ndim === 1 ? 0 : 1),
    "Views cut along the second dimension, of vectors along their only one.",
  ],
  ["vsplit", "v", 2, (): number => 0, "Views cut along the first dimension."],
  ["dsplit", "d", 3, (): number => 2, "Views cut along the third dimension."],
] as const) {
  const check = (x: Tensor): void => {
    if (x.ndim < rank)
      throw new TorchError(
        `torch.${name} requires a tensor with at least ${rank} dimension, but got a tensor with ${x.ndim} dimensions!`,
      );
  };
  op(
    `${name}.int(Tensor(a) self, int sections) -> Tensor(a)[]` as "hsplit.int(Tensor(a) self, int sections) -> Tensor(a)[]",
    {
      composite: (t, { self, sections: count }) => {
        check(self);
        const d = dimOf(self);
        if (count === 0 || self.shape[d] % count !== 0)
          throw new TorchError(
            `torch.${letter}split attempted to split along dimension ${d}, but the size of the dimension ${self.shape[d]} is not divisible by the split_size ${count}!`,
          );
        return sections(t, self, count, d);
      },
      doc,
    },
  );
  op(
    `${name}.array(Tensor(a) self, int[] indices) -> Tensor(a)[]` as "hsplit.array(Tensor(a) self, int[] indices) -> Tensor(a)[]",
    {
      composite: (t, { self, indices }) => {
        check(self);
        return cutAt(t, self, indices, dimOf(self));
      },
    },
  );
}

const copies = (t: Torch, parts: readonly Tensor[]): Tensor[] => parts.map((p) => t.clone(p));

op("unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", {
  composite: (t, { self, split_size, dim }) => copies(t, t.split(self, split_size, dim)),
  doc: "`split` with copies.",
});
op("unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", {
  composite: (t, { self, split_sizes, dim }) => copies(t, t.split_with_sizes(self, split_sizes, dim)),
  doc: "`split_with_sizes` with copies.",
});
op("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", {
  composite: (t, { self, chunks, dim }) => copies(t, t.chunk(self, chunks, dim)),
  doc: "`chunk` with copies.",
});
op("split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", {
  composite: (t, { self, split_size, dim }) => copies(t, t.split(self, split_size, dim)),
  doc: "`split` with copies.",
});
op("split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", {
  composite: (t, { self, split_sizes, dim }) => copies(t, t.split_with_sizes(self, split_sizes, dim)),
  doc: "`split_with_sizes` with copies.",
});
op("unbind_copy.int(Tensor self, int dim=0) -> Tensor[]", {
  composite: (t, { self, dim }) => copies(t, t.unbind(self, dim)),
  doc: "`unbind` with copies.",
});

op("_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", {
  decompose: (t, { tensors, dim, num_chunks }) => {
    if (tensors.length === 0) throw new TorchError("_chunk_cat expects a non-empty input tensor list");
    if (num_chunks < 1) throw new TorchError("_chunk_cat expects positive num_chunks");
    const [first] = tensors;
    if (tensors.some((x) => x.numel() === 0)) throw new TorchError("_chunk_cat expects non-empty tensor");
    if (dim < 0 && tensors.some((x) => x.ndim !== first.ndim))
      throw new TorchError("_chunk_cat expects non-negative dim when input tensors have different ndims");
    const d = dim < 0 ? dim + first.ndim : dim;
    if (tensors.some((x) => d >= x.ndim)) throw new TorchError("_chunk_cat expects dim < ndim for all input tensors");
    if (tensors.some((x) => x.shape.slice(0, d).join() !== first.shape.slice(0, d).join()))
      throw new TorchError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors");
    const parts = tensors.map((x) => {
      const each = Math.ceil(x.shape[d] / num_chunks);
      const pad = each * num_chunks - x.shape[d];
      const behind = new Array<number>(2 * (x.ndim - 1 - d)).fill(0);
      const full = pad === 0 ? x : t.constant_pad_nd(x, [...behind, 0, pad], 0);
      return t.reshape(full, [...x.shape.slice(0, d), num_chunks, -1]);
    });
    return t.cat(parts, d + 1);
  },
  doc: "Tensors cut into chunks, the chunks of each number flattened and joined.",
});
