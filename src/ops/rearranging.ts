/** @file Elements in another order or repeated: flip, roll, rot90, repeat, tile, diagonals. */
import type { Value } from "../hlo/index.js";
import { int64, sizeText, TorchError, TorchIndexError, wrapDim, wrapDims } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { range } from "./scan.js";
import { notDifferentiable, op, type Torch } from "./registry.js";

op("flip(Tensor self, int[] dims) -> Tensor", {
  lower: (h, { self, dims }) => h.reverse(self, wrapDims(dims, self.rank, false)),
  grad: (t, { dims }, dy) => ({ self: t.flip(dy, dims) }),
  doc: "The elements in reverse order along dimensions.",
});
op("fliplr(Tensor self) -> Tensor", {
  composite: (t, { self }) => {
    if (self.ndim < 2) throw new TorchError("Input must be >= 2-d.");
    return t.flip(self, [1]);
  },
  doc: "The columns in reverse order.",
});
op("flipud(Tensor self) -> Tensor", {
  composite: (t, { self }) => {
    if (self.ndim < 1) throw new TorchError("Input must be >= 1-d.");
    return t.flip(self, [0]);
  },
  doc: "The rows in reverse order.",
});

op("roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", {
  lower: (h, { self, shifts, dims }) => {
    if (shifts.length === 0) throw new TorchError("`shifts` required");
    if (dims.length === 0 && shifts.length === 1) {
      const flat = h.reshape(self, [self.numel]);
      return h.reshape(rolled(flat, 0, shifts[0]), self.shape);
    }
    if (shifts.length !== dims.length)
      throw new TorchError(`shifts and dimensions must align. shifts: ${shifts.length}, dims:${dims.length}`);
    if (self.rank === 0) throw new TorchIndexError("Dimension specified as 0 but tensor has no dimensions");
    return dims.reduce((x, d, i) => rolled(x, wrapDim(d, self.rank), shifts[i]), self);
    function rolled(x: Value, dim: number, by: number): Value {
      const n = x.shape[dim];
      if (n === 0) return x;
      const at = ((-by % n) + n) % n;
      return at === 0 ? x : h.concatenate([range(h, x, dim, at, n), range(h, x, dim, 0, at)], dim);
    }
  },
  grad: (t, { shifts, dims }, dy) => ({
    self: t.roll(
      dy,
      shifts.map((n) => -n),
      dims,
    ),
  }),
  doc: "The elements moved along dimensions; what leaves at one end enters at the other.",
});

op("rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", {
  composite: (t, { self, k, dims }) => {
    if (dims.length !== 2) throw new TorchError(`expected total rotation dims == 2, but got dims = ${dims.length}`);
    if (self.ndim < 2) throw new TorchError(`expected total dims >= 2, but got total dims = ${self.ndim}`);
    if (dims[0] === dims[1] || Math.abs(dims[0] - dims[1]) === self.ndim)
      throw new TorchError(`expected rotation dims to be different, but got dim0 = ${dims[0]} and dim1 = ${dims[1]}`);
    const turns = ((k % 4) + 4) % 4;
    if (turns === 1) return t.transpose(t.flip(self, [dims[1]]), dims[0], dims[1]);
    if (turns === 2) return t.flip(self, dims);
    return turns === 3 ? t.transpose(t.flip(self, [dims[0]]), dims[0], dims[1]) : t.clone(self);
  },
  doc: "The tensor turned by `k` right angles in the plane of two dimensions.",
});

op("repeat(Tensor self, SymInt[] repeats) -> Tensor", {
  decompose: (t, { self, repeats }) => {
    if (repeats.length < self.ndim)
      throw new TorchError(
        "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
      );
    if (repeats.some((n) => n < 0))
      throw new TorchError(`Trying to create tensor with negative dimension: ${sizeText(repeats)}`);
    const lead = repeats.length - self.ndim;
    const sizes = repeats.map((_, i) => (i < lead ? 1 : self.shape[i - lead]));
    const x = t.reshape(
      self,
      sizes.flatMap((n) => [1, n]),
    );
    const wide = t.expand(
      x,
      sizes.flatMap((n, i) => [repeats[i], n]),
    );
    return t.reshape(
      wide,
      sizes.map((n, i) => n * repeats[i]),
    );
  },
  doc: "Copies of the tensor side by side.",
});
op("tile(Tensor self, SymInt[] dims) -> Tensor", {
  composite: (t, { self, dims }) => {
    const missing = Math.max(0, self.ndim - dims.length);
    return t.repeat(self, [...new Array<number>(missing).fill(1), ...dims]);
  },
  doc: "Copies of the tensor side by side; missing counts are ones.",
});

function checkRepeats(dtypeName: string): void {
  if (dtypeName !== "int64" && dtypeName !== "int32") throw new TorchError("repeats has to be Long or Int tensor");
}

op("_repeat_positions(Tensor repeats, int output_size) -> Tensor", {
  decompose: (t, { repeats, output_size }) => {
    const ends = t.cumsum(repeats, 0);
    const at = t.arange(0, output_size, { dtype: int64, device: repeats.device });
    return t.searchsorted(ends, at, { right: true });
  },
  grad: notDifferentiable,
  doc: "Each position as often as `repeats` says, `output_size` in all.",
});

/** Each position as often as `repeats` says. Reads their sum on the host unless it is given. */
function repeatPositions(t: Torch, repeats: Tensor, outputSize: number | null): Tensor {
  checkRepeats(repeats.dtype.name);
  if (repeats.ndim !== 1) throw new TorchError("repeat_interleave only accept 1D vector as repeat");
  return t._repeat_positions(repeats, outputSize ?? Number(t.sum(repeats).item()));
}

op("repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor", {
  composite: (t, { repeats, output_size }) => repeatPositions(t, repeats, output_size),
});
op("repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor", {
  decompose: (t, { self, repeats, dim }) => {
    if (repeats < 0) throw new TorchError("Repeats must be non-negative");
    const x = dim === null ? t.reshape(self, [-1]) : self.ndim === 0 ? t.reshape(self, [1]) : self;
    const d = wrapDim(dim ?? 0, x.ndim);
    const shape = [...x.shape.slice(0, d + 1), repeats, ...x.shape.slice(d + 1)];
    const wide = t.expand(t.unsqueeze(x, d + 1), shape);
    return t.reshape(
      wide,
      x.shape.map((n, i) => (i === d ? n * repeats : n)),
    );
  },
  doc: "Each element repeated, its copies next to it.",
});
op("repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor", {
  composite: (t, { self, repeats, dim, output_size }) => {
    const x = dim === null ? t.reshape(self, [-1]) : self.ndim === 0 ? t.reshape(self, [1]) : self;
    const d = wrapDim(dim ?? 0, x.ndim);
    const n = x.shape[d];
    const counts = repeats.numel() === 1 ? t.expand(t.reshape(repeats, [1]), [n]) : repeats;
    if (counts.numel() !== n)
      throw new TorchError(
        `repeats must have the same size as input along dim, but got repeats.size(0) = ${repeats.numel()} and input.size(${d}) = ${n}`,
      );
    return t.index_select(x, d, repeatPositions(t, counts, output_size));
  },
});

op("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", {
  decompose: (t, { self, offset, dim1, dim2 }) => {
    const rank = self.ndim + 1;
    const a = wrapDim(dim1, rank);
    const b = wrapDim(dim2, rank);
    if (a === b) throw new TorchError(`diagonal dimensions cannot be identical ${dim1}, ${dim2}`);
    const n = self.shape[self.ndim - 1] + Math.abs(offset);
    const shape = self.shape.slice(0, -1);
    for (const d of [a, b].sort((x, y) => x - y)) shape.splice(d, 0, n);
    return t.diagonal_scatter(t.new_zeros(self, shape), self, offset, a, b);
  },
  doc: "The last dimension as the diagonal of two new ones.",
});
op("diag(Tensor self, int diagonal=0) -> Tensor", {
  composite: (t, { self, diagonal }) => {
    if (self.ndim !== 1 && self.ndim !== 2)
      throw new TorchError(`diag(): Supports 1D or 2D tensors. Got ${self.ndim}D`);
    return self.ndim === 1 ? t.diag_embed(self, diagonal) : t.diagonal_copy(self, diagonal);
  },
  doc: "A vector as a matrix with that diagonal; or a matrix's diagonal.",
});
op("diagflat(Tensor self, int offset=0) -> Tensor", {
  composite: (t, { self, offset }) => t.diag_embed(t.reshape(self, [-1]), offset),
  doc: "The flattened tensor as a matrix with that diagonal.",
});

/** A view operator's counterpart that returns `self` with `src` written where the view shows. */
function viewScatter(t: Torch, self: Tensor, src: Tensor, view: (x: Tensor) => Tensor): Tensor {
  const out = t.clone(self);
  const target = view(out);
  if (target.shape.join() !== src.shape.join())
    throw new TorchError(
      `expected src to have a size equal to the slice of self. src size = ${sizeText(src.shape)}, slice size = ${sizeText(target.shape)}`,
    );
  target.copy_(src);
  return out;
}

op("diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor", {
  decompose: (t, { self, src, offset, dim1, dim2 }) =>
    viewScatter(t, self, src, (x) => t.diagonal(x, offset, dim1, dim2)),
  grad: (t, { offset, dim1, dim2, src }, dy) => ({
    self: t.diagonal_scatter(dy, t.new_zeros(dy, src.shape), offset, dim1, dim2),
    src: t.diagonal(dy, offset, dim1, dim2),
  }),
  doc: "The tensor with a diagonal replaced.",
});
op("select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", {
  decompose: (t, { self, src, dim, index }) => viewScatter(t, self, src, (x) => t.select(x, dim, index)),
  grad: (t, { dim, index, src }, dy) => ({
    self: t.select_scatter(dy, t.new_zeros(dy, src.shape), dim, index),
    src: t.select(dy, dim, index),
  }),
  doc: "The tensor with one index of a dimension replaced.",
});
op("slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor", {
  decompose: (t, { self, src, dim, start, end, step }) =>
    viewScatter(t, self, t.expand(src, t.slice(self, dim, start, end, step).shape), (x) =>
      t.slice(x, dim, start, end, step),
    ),
  grad: (t, { dim, start, end, step, src }, dy) => ({
    self: t.slice_scatter(dy, t.new_zeros(dy, src.shape), dim, start, end, step),
    src: t.slice(dy, dim, start, end, step),
  }),
  doc: "The tensor with a range of a dimension replaced.",
});
op(
  "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
  {
    decompose: (t, { self, src, size, stride, storage_offset }) =>
      viewScatter(t, self, src, (x) => t.as_strided(x, size, stride, storage_offset)),
    grad: (t, { size, stride, storage_offset }, dy) => ({
      // PyTorch keeps the cotangent where `src` was written and drops the rest; so do we
      self: t.as_strided_scatter(
        t.zeros_like(dy),
        t.as_strided(t.clone(dy), size, stride, storage_offset),
        size,
        stride,
        storage_offset,
      ),
      src: t.as_strided(t.clone(dy), size, stride, storage_offset),
    }),
    doc: "The tensor with what given sizes and strides show replaced.",
  },
);

for (const name of ["tril", "triu"] as const) {
  op(
    `${name}_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor` as "tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=None) -> Tensor",
    {
      lower: (h, { row, col, offset, dtype }) => {
        if (row < 0) throw new TorchError(`row must be non-negative, got ${row}`);
        if (col < 0) throw new TorchError(`col must be non-negative, got ${col}`);
        const type = dtype === null || typeof dtype === "number" ? int64 : dtype;
        const rows: number[] = [];
        const columns: number[] = [];
        for (let r = 0; r < row; r++)
          for (let c = 0; c < col; c++)
            if (name === "tril" ? c - r <= offset : c - r >= offset) {
              rows.push(r);
              columns.push(c);
            }
        const n = rows.length;
        return n === 0 ? h.splat(0, type, [2, 0]) : h.constant([...rows, ...columns], type, [2, n]);
      },
      grad: notDifferentiable,
      factory: true,
      doc: `The coordinates of a matrix's ${name === "tril" ? "lower" : "upper"} triangle.`,
    },
  );
}
