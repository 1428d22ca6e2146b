/** @file Joining tensors: cat, stack and what is built on them. */
import { promote_types, resultType, TorchError, wrapDim, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast } from "./helpers.js";
import { op, type Torch } from "./registry.js";

/** One-dimensional empty tensors count as nothing, whatever the others' shape: PyTorch's old rule. */
const isNothing = (x: { readonly shape: readonly number[] }): boolean => x.shape.length === 1 && x.shape[0] === 0;

interface Shaped {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

const commonType = (xs: readonly Shaped[]): DType =>
  resultType(xs.map((x) => ({ dtype: x.dtype, rank: x.shape.length })));

/** The dimension along which tensors are joined; throws where their shapes do not fit. */
function joinDim(tensors: readonly Shaped[], dim: number): number {
  if (tensors.length === 0) throw new TorchError("torch.cat(): expected a non-empty list of Tensors");
  const zero = tensors.findIndex((x) => x.shape.length === 0);
  if (zero >= 0) throw new TorchError(`zero-dimensional tensor (at position ${zero}) cannot be concatenated`);
  const like = tensors.find((x) => !isNothing(x)) ?? tensors[0];
  const d = wrapDim(dim, like.shape.length);
  tensors.forEach((x, i) => {
    if (isNothing(x)) return;
    if (x.shape.length !== like.shape.length)
      throw new TorchError(
        `Tensors must have same number of dimensions: got ${like.shape.length} and ${x.shape.length}`,
      );
    const bad = x.shape.findIndex((n, k) => k !== d && n !== like.shape[k]);
    if (bad >= 0)
      throw new TorchError(
        `Sizes of tensors must match except in dimension ${d}. Expected size ${like.shape[bad]} but got size ${x.shape[bad]} for tensor number ${i} in the list.`,
      );
  });
  return d;
}

op("cat(Tensor[] tensors, int dim=0) -> Tensor", {
  lower: (h, { tensors, dim }) => {
    const d = joinDim(tensors, dim);
    const dtype = tensors.map((x) => x.dtype).reduce((a, b) => promote_types(a, b));
    const parts = tensors.filter((x) => !isNothing(x)).map((x) => cast(h, x, dtype));
    return parts.length === 0 ? h.splat(0, dtype, [0]) : h.concatenate(parts, d);
  },
  grad: (t, { tensors, dim }, dy) => {
    const d = joinDim(tensors, dim);
    let at = 0;
    return {
      tensors: tensors.map((x) => {
        if (isNothing(x)) return t.new_zeros(dy, [0]);
        const part = t.slice(dy, d, at, at + x.shape[d], 1);
        at += x.shape[d];
        return part;
      }),
    };
  },
  doc: "Tensors one after another along a dimension.",
});
op("concat(Tensor[] tensors, int dim=0) -> Tensor", {
  composite: (t, { tensors, dim }) => t.cat(tensors, dim),
  doc: "Another name of `cat`.",
});
op("concatenate(Tensor[] tensors, int dim=0) -> Tensor", {
  composite: (t, { tensors, dim }) => t.cat(tensors, dim),
  doc: "Another name of `cat`.",
});

op("stack(Tensor[] tensors, int dim=0) -> Tensor", {
  decompose: (t, { tensors, dim }) => {
    if (tensors.length === 0) throw new TorchError("stack expects a non-empty TensorList");
    const [first] = tensors;
    const d = wrapDim(dim, first.ndim + 1);
    tensors.forEach((x, i) => {
      if (x.shape.join() !== first.shape.join())
        throw new TorchError(
          `stack expects each tensor to be equal size, but got [${first.shape.join(", ")}] at entry 0 and [${x.shape.join(", ")}] at entry ${i}`,
        );
    });
    return t.cat(
      tensors.map((x) => t.unsqueeze(x, d)),
      d,
    );
  },
  doc: "Tensors of one shape side by side along a new dimension.",
});

for (const [rank, doc] of [
  [1, "At least one dimension: a number becomes a vector."],
  [2, "At least two dimensions: a vector becomes a row."],
  [3, "At least three dimensions."],
] as const) {
  const name = `atleast_${rank}d` as const;
  op(`${name}(Tensor self) -> Tensor` as "atleast_1d(Tensor self) -> Tensor", {
    composite: (t, { self }) => atLeast(t, self, rank),
    doc,
  });
  op(`${name}.Sequence(Tensor[] tensors) -> Tensor[]` as "atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", {
    composite: (t, { tensors }) => tensors.map((x) => t[name](x)),
    variadic: true,
  });
}

function atLeast(t: Torch, x: Tensor, rank: 1 | 2 | 3): Tensor {
  if (x.ndim >= rank) return x;
  if (rank === 1 || x.ndim === 0) return t.reshape(x, new Array<number>(rank).fill(1));
  if (rank === 2) return t.unsqueeze(x, 0);
  return x.ndim === 1 ? t.unsqueeze(t.unsqueeze(x, 0), -1) : t.unsqueeze(x, -1);
}

/** hstack, vstack, dstack and their kin: tensors of at least some rank, joined along a dimension. */
function defineStack(
  name: string,
  doc: string,
  prepare: (t: Torch, x: Tensor) => Tensor,
  dim: (first: Tensor) => number,
): void {
  op(`${name}(Tensor[] tensors) -> Tensor` as "hstack(Tensor[] tensors) -> Tensor", {
    decompose: (t, { tensors }) => {
      if (tensors.length === 0) throw new TorchError(`${name} expects a non-empty TensorList`);
      const ready = tensors.map((x) => prepare(t, x));
      return t.cat(ready, dim(ready[0]));
    },
    doc,
  });
}
defineStack(
  "hstack",
  "Tensors side by side: along the second dimension, vectors along their only one.",
  (t, x) => atLeast(t, x, 1),
  (x) => (x.ndim === 1 ? 0 : 1),
);
defineStack(
  "vstack",
  "Tensors below each other: along the first dimension, vectors as rows.",
  (t, x) => atLeast(t, x, 2),
  () => 0,
);
defineStack(
  "row_stack",
  "Another name of `vstack`.",
  (t, x) => atLeast(t, x, 2),
  () => 0,
);
defineStack(
  "dstack",
  "Tensors behind each other: along the third dimension.",
  (t, x) => atLeast(t, x, 3),
  () => 2,
);
defineStack(
  "column_stack",
  "Tensors side by side, vectors as columns.",
  (t, x) => (x.ndim <= 1 ? t.reshape(x, [x.numel(), 1]) : x),
  () => 1,
);

op("block_diag(Tensor[] tensors) -> Tensor", {
  decompose: (t, { tensors }) => {
    const dtype = tensors.length === 0 ? null : commonType(tensors);
    if (dtype === null) return t.zeros([1, 0]);
    const blocks = tensors.map((x, i) => {
      if (x.ndim > 2)
        throw new TorchError(
          `torch.block_diag: Input tensors must have 2 or fewer dimensions. Input ${i} has ${x.ndim} dimensions`,
        );
      const m = atLeast(t, x, 2);
      return m.dtype === dtype ? m : t._to_copy(m, { dtype });
    });
    const columns = blocks.reduce((n, b) => n + b.shape[1], 0);
    let left = 0;
    const rows = blocks.map((b) => {
      const row = t.constant_pad_nd(b, [left, columns - left - b.shape[1]], 0);
      left += b.shape[1];
      return row;
    });
    return t.cat(rows, 0);
  },
  variadic: true,
  doc: "A matrix with the given matrices along its diagonal.",
});

op(
  ["meshgrid.indexing(Tensor[] tensors, *, str indexing='ij') -> Tensor[]", "meshgrid(Tensor[] tensors) -> Tensor[]"],
  {
    composite: (t, { tensors, indexing }) => {
      if (tensors.length === 0) throw new TorchError("meshgrid expects a non-empty TensorList");
      if (indexing !== "ij" && indexing !== "xy")
        throw new TorchError(`torch.meshgrid: indexing must be one of "xy" or "ij", but received: ${indexing}`);
      tensors.forEach((x) => {
        if (x.ndim > 1)
          throw new TorchError(`torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: ${x.ndim}D`);
        if (x.dtype !== tensors[0].dtype)
          throw new TorchError("torch.meshgrid expects all tensors to have the same dtype");
      });
      const swap = indexing === "xy" && tensors.length >= 2;
      const order = swap ? [tensors[1], tensors[0], ...tensors.slice(2)] : tensors;
      const shape = order.map((x) => x.numel());
      const grids = order.map((x, i) =>
        t.expand(
          t.reshape(
            x,
            shape.map((n, k) => (k === i ? n : 1)),
          ),
          shape,
        ),
      );
      return swap ? [grids[1], grids[0], ...grids.slice(2)] : grids;
    },
    variadic: true,
    doc: "The coordinates of a grid, from vectors of coordinates.",
  },
);

op("cartesian_prod(Tensor[] tensors) -> Tensor", {
  composite: (t, { tensors }) => {
    tensors.forEach((x) => {
      if (x.ndim !== 1) throw new TorchError(`Expect a 1D vector, but got shape [${x.shape.join(", ")}]`);
    });
    if (tensors.length === 1) return tensors[0];
    return t.stack(
      t.meshgrid(tensors, { indexing: "ij" }).map((g) => t.reshape(g, [-1])),
      1,
    );
  },
  variadic: true,
  doc: "Every combination of one element from each vector, as rows.",
});

op("combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor", {
  composite: (t, { self, r, with_replacement }) => {
    if (self.ndim !== 1) throw new TorchError(`Expect a 1D vector, but got shape [${self.shape.join(", ")}]`);
    if (r < 0) throw new TorchError(`Expect a non-negative number, but got ${r}`);
    if (r === 0) return t.new_empty(self, [0]);
    const n = self.shape[0];
    const rows: number[][] = [];
    const grow = (row: number[]): void => {
      if (row.length === r) {
        rows.push(row);
        return;
      }
      const from = row.length === 0 ? 0 : row[row.length - 1] + (with_replacement ? 0 : 1);
      for (let i = from; i < n; i++) grow([...row, i]);
    };
    grow([]);
    const columns = Array.from({ length: r }, (_, k) =>
      t._int_vector(
        rows.map((row) => row[k]),
        { device: self.device },
      ),
    );
    return t.stack(
      columns.map((c) => t.index_select(self, 0, c)),
      1,
    );
  },
  doc: "Every selection of `r` elements, as rows.",
});

op("broadcast_tensors(Tensor[] tensors) -> Tensor[]", {
  composite: (t, { tensors }) => {
    const rank = Math.max(0, ...tensors.map((x) => x.ndim));
    const shape = new Array<number>(rank).fill(1);
    tensors.forEach((x) =>
      x.shape.forEach((n, i) => {
        const d = rank - x.ndim + i;
        if (n !== 1 && shape[d] !== 1 && n !== shape[d])
          throw new TorchError(
            `The size of tensor a (${shape[d]}) must match the size of tensor b (${n}) at non-singleton dimension ${d}`,
          );
        if (n !== 1) shape[d] = n;
      }),
    );
    return tensors.map((x) => t.expand(x, shape));
  },
  variadic: true,
  doc: "All tensors expanded to one shape.",
});
