/** @file Distinct elements and rows. The number of results depends on values, so these read it on the host. */
import { bool, int64, TorchError, wrapDim } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { notDifferentiable, op, type Torch } from "./registry.js";

/** Whether each row differs from the one before it; the first does. Rows are what remains of dimension 0. */
op("_starts(Tensor self) -> Tensor", {
  decompose: (t, { self }) => {
    const n = self.shape[0];
    const rows = t.reshape(self, [n, -1]);
    const differ = t.any(t.ne(t.slice(rows, 0, 1, n, 1), t.slice(rows, 0, 0, n - 1, 1)), 1);
    return t.cat([t.ones([1], { dtype: bool, device: self.device }), differ]);
  },
  grad: notDifferentiable,
  doc: "Whether each row differs from the one before it.",
});

interface Distinct {
  readonly values: Tensor;
  readonly inverse: Tensor;
  readonly counts: Tensor;
}

/** Runs of equal neighbours along dimension 0. */
function runs(t: Torch, x: Tensor): Distinct {
  const n = x.shape[0];
  const none = t.zeros([0], { dtype: int64, device: x.device });
  if (n === 0) return { values: x, inverse: none, counts: none };
  const starts = t._starts(x);
  const at = t.select(t.nonzero(starts), 1, 0);
  const ends = t.cat([t.slice(at, 0, 1, at.shape[0], 1), t.full([1], n, { dtype: int64, device: x.device })]);
  return { values: t.index_select(x, 0, at), inverse: t.sub(t.cumsum(starts, 0), 1), counts: t.sub(ends, at) };
}

/** Rows in lexicographic order: sorted by each column in turn, from the last. */
function rowOrder(t: Torch, rows: Tensor): Tensor {
  const [n, width] = rows.shape;
  let order = t.arange(0, n, { dtype: int64, device: rows.device });
  for (let c = width - 1; c >= 0; c--) {
    const column = t.index_select(t.select(rows, 1, c), 0, order);
    order = t.index_select(order, 0, t.sort(column, { stable: true, dim: 0 })[1]);
  }
  return order;
}

/** Distinct rows along dimension 0, in order. */
function distinct(t: Torch, x: Tensor): Distinct {
  const n = x.shape[0];
  const flat = x.ndim === 1;
  const order = flat ? t.sort(x, { stable: true, dim: 0 })[1] : rowOrder(t, t.reshape(x, [n, -1]));
  const found = runs(t, t.index_select(x, 0, order));
  const inverse = t.scatter(t.zeros_like(found.inverse), 0, order, found.inverse);
  return { ...found, inverse };
}

const comparable = (t: Torch, x: Tensor): Tensor => (x.dtype === bool ? t._to_copy(x, { dtype: int64 }) : x);

function along(t: Torch, self: Tensor, dim: number | null, find: (t: Torch, x: Tensor) => Distinct): Distinct {
  if (dim === null) {
    const flat = find(t, comparable(t, t.reshape(self.detach(), [-1])));
    const values = self.dtype === bool ? t._to_copy(flat.values, { dtype: bool }) : flat.values;
    return { values, inverse: t.reshape(flat.inverse, self.shape), counts: flat.counts };
  }
  const d = wrapDim(dim, self.ndim);
  if (self.numel() === 0) {
    if (self.shape[d] !== 0)
      throw new TorchError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
    const none = t.zeros([0], { dtype: int64, device: self.device });
    return { values: t.clone(self), inverse: none, counts: none };
  }
  const rows = find(t, comparable(t, t.transpose(self.detach(), 0, d).contiguous()));
  const values = t.transpose(rows.values, 0, d);
  return { ...rows, values: self.dtype === bool ? t._to_copy(values, { dtype: bool }) : values };
}

/** The results that were asked for; those that were not are empty. */
function asked(t: Torch, found: Distinct, inverse: boolean, counts: boolean): Tensor[] {
  const none = t.zeros([0], { dtype: int64, device: found.values.device });
  return [found.values, inverse ? found.inverse : none, counts ? found.counts : none];
}

/** As the Python functions give them: the values alone, or a list with what was asked for. */
function python(found: Distinct, inverse: boolean, counts: boolean): Tensor | Tensor[] {
  const out = [found.values, ...(inverse ? [found.inverse] : []), ...(counts ? [found.counts] : [])];
  return out.length === 1 ? out[0] : out;
}

op(
  "unique(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor",
  {
    composite: (t, { self, return_inverse, return_counts, dim }) =>
      python(along(t, self, dim, distinct), return_inverse, return_counts),
    doc: "The distinct elements, or slices along a dimension, in order; with where each element went and how often it occurs.",
  },
);
op(
  "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)",
  {
    composite: (t, { self, return_inverse, return_counts }) =>
      asked(t, along(t, self, null, distinct), return_inverse, return_counts),
    doc: "`unique` of all elements; what is not asked for is empty.",
  },
);
op("_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)", {
  composite: (t, { self, return_inverse }) =>
    asked(t, along(t, self, null, distinct), return_inverse, false).slice(0, 2),
  doc: "`unique` of all elements, with where each one went.",
});
op(
  "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)",
  {
    composite: (t, { self, dim, return_inverse, return_counts }) =>
      asked(t, along(t, self, dim, distinct), return_inverse, return_counts),
    doc: "`unique` along a dimension.",
  },
);
op(
  "unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)",
  {
    composite: (t, { self, dim, return_inverse, return_counts }) =>
      asked(t, along(t, self, dim, runs), return_inverse, return_counts),
    doc: "`unique_consecutive` along a dimension.",
  },
);
op(
  "unique_consecutive.python(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor",
  {
    composite: (t, { self, return_inverse, return_counts, dim }) =>
      python(along(t, self, dim, runs), return_inverse, return_counts),
    doc: "The elements without those equal to the one before them.",
  },
);
op(
  "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)",
  {
    composite: (t, { self, return_inverse, return_counts, dim }) =>
      asked(t, along(t, self, dim, runs), return_inverse, return_counts),
  },
);
