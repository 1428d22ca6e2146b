/** @file View operators that copy: the same result in memory of its own. And the gradients of views. */
import { int64, TorchError, wrapDim } from "../schema/index.js";
import { op } from "./registry.js";

op("alias_copy(Tensor self) -> Tensor", {
  composite: (t, { self }) => t.clone(self),
  doc: "`alias` with memory of its own.",
});
op("detach(Tensor(a) self) -> Tensor(a)", {
  composite: (_t, { self }) => self.detach(),
  doc: "The tensor without its history.",
});
op("detach_copy(Tensor self) -> Tensor", {
  composite: (t, { self }) => t.clone(self.detach()),
  doc: "`detach` with memory of its own.",
});
op("lift_fresh_copy(Tensor self) -> Tensor", {
  composite: (t, { self }) => t.clone(self),
  doc: "`lift_fresh` with memory of its own.",
});
op("_conj_copy(Tensor self) -> Tensor", {
  composite: (t, { self }) => t.conj(self),
  doc: "`conj` with memory of its own.",
});
op("_reshape_copy(Tensor self, SymInt[] size) -> Tensor", {
  composite: (t, { self, size }) => t.clone(t.reshape(self, size)),
  doc: "`reshape` with memory of its own.",
});
op("_reshape_alias_copy(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor", {
  composite: (t, { self, size }) => t.clone(t.reshape(self, size)),
  doc: "`reshape_alias` with memory of its own.",
});
op("as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor", {
  composite: (t, { self, size, stride, storage_offset }) => t.clone(t.as_strided(self, size, stride, storage_offset)),
  doc: "`as_strided` with memory of its own.",
});
op("diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", {
  composite: (t, { self, offset, dim1, dim2 }) => t.clone(t.diagonal(self, offset, dim1, dim2)),
  doc: "`diagonal` with memory of its own.",
});
op("expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor", {
  composite: (t, { self, size }) => t.clone(t.expand(self, size)),
  doc: "`expand` with memory of its own.",
});
op("permute_copy(Tensor self, int[] dims) -> Tensor", {
  composite: (t, { self, dims }) => t.clone(t.permute(self, dims)),
  doc: "`permute` with memory of its own.",
});
op("select_copy.int(Tensor self, int dim, SymInt index) -> Tensor", {
  composite: (t, { self, dim, index }) => t.clone(t.select(self, dim, index)),
  doc: "`select` with memory of its own.",
});
op("slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor", {
  composite: (t, { self, dim, start, end, step }) => t.clone(t.slice(self, dim, start, end, step)),
  doc: "`slice` with memory of its own.",
});
op("squeeze_copy(Tensor self) -> Tensor", {
  composite: (t, { self }) => t.clone(t.squeeze(self)),
  doc: "`squeeze` with memory of its own.",
});
op("squeeze_copy.dim(Tensor self, int dim) -> Tensor", {
  composite: (t, { self, dim }) => t.clone(t.squeeze(self, dim)),
  doc: "`squeeze` with memory of its own.",
});
op("squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", {
  composite: (t, { self, dim }) => t.clone(t.squeeze(self, dim)),
  doc: "`squeeze` with memory of its own.",
});
op("t_copy(Tensor self) -> Tensor", {
  composite: (t, { self }) => t.clone(t.t(self)),
  doc: "`t` with memory of its own.",
});
op("transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor", {
  composite: (t, { self, dim0, dim1 }) => t.clone(t.transpose(self, dim0, dim1)),
  doc: "`transpose` with memory of its own.",
});
op("unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor", {
  composite: (t, { self, dimension, size, step }) => t.clone(t.unfold(self, dimension, size, step)),
  doc: "`unfold` with memory of its own.",
});
op("unsqueeze_copy(Tensor self, int dim) -> Tensor", {
  composite: (t, { self, dim }) => t.clone(t.unsqueeze(self, dim)),
  doc: "`unsqueeze` with memory of its own.",
});
op("view_copy(Tensor self, SymInt[] size) -> Tensor", {
  composite: (t, { self, size }) => t.clone(t.view(self, size)),
  doc: "`view` with memory of its own.",
});
op("view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor", {
  composite: (t, { self, dtype }) => t.clone(t.view(self, dtype)),
  doc: "`view` with memory of its own.",
});
op("view_as_real_copy(Tensor self) -> Tensor", {
  composite: (t, { self }) => t.clone(t.view_as_real(self)),
  doc: "`view_as_real` with memory of its own.",
});
op("view_as_complex_copy(Tensor self) -> Tensor", {
  composite: (t, { self }) => t.clone(t.view_as_complex(self)),
  doc: "`view_as_complex` with memory of its own.",
});

op("narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor", {
  composite: (t, { self, dim, start, length }) => {
    if (self.ndim > 0) {
      const n = self.shape[wrapDim(dim, self.ndim)];
      if (length < 0 && start >= 0 && start <= n)
        throw new TorchError(`start (${start}) + length (${length}) exceeds dimension size (${n}).`);
    }
    return t.clone(t.narrow(self, dim, start, length));
  },
  doc: "A copy of `length` indices of a dimension from `start`.",
});

op("linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)", {
  composite: (t, { A, offset, dim1, dim2 }) => t.diagonal(A, offset, dim1, dim2),
  doc: "The diagonals of matrices.",
});

op("select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor", {
  decompose: (t, { grad_output, input_sizes, dim, index }) =>
    t.select_scatter(t.new_zeros(grad_output, input_sizes), grad_output, dim, index),
  doc: "The gradient of `select`.",
});
op(
  "slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor",
  {
    decompose: (t, { grad_output, input_sizes, dim, start, end, step }) =>
      t.slice_scatter(t.new_zeros(grad_output, input_sizes), grad_output, dim, start, end, step),
    doc: "The gradient of `slice`.",
  },
);
op("diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor", {
  decompose: (t, { grad_output, input_sizes, offset, dim1, dim2 }) =>
    t.diagonal_scatter(t.new_zeros(grad_output, input_sizes), grad_output, offset, dim1, dim2),
  doc: "The gradient of `diagonal`.",
});
op("index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index) -> Tensor", {
  decompose: (t, { grad, self_sizes, dim, index }) => t.index_add(t.new_zeros(grad, self_sizes), dim, index, grad),
  doc: "The gradient of `index_select`.",
});
op("gather_backward(Tensor grad, Tensor self, int dim, Tensor index, bool sparse_grad) -> Tensor", {
  decompose: (t, { grad, self, dim, index }) => t.scatter_add(t.new_zeros(grad, self.shape), dim, index, grad),
  doc: "The gradient of `gather`.",
});
op("masked_select_backward(Tensor grad, Tensor input, Tensor mask) -> Tensor", {
  decompose: (t, { grad, input, mask }) => t.masked_scatter(t.zeros_like(t.expand(input, mask.shape)), mask, grad),
  doc: "The gradient of `masked_select`.",
});
op("unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor", {
  decompose: (t, { grad_in, input_sizes, dim, size, step }) => {
    const rank = input_sizes.length;
    if (rank === 0) return t.sum(grad_in);
    const d = wrapDim(dim, rank);
    const zeros = t.new_zeros(grad_in, input_sizes);
    const count = grad_in.shape[d];
    const window = t.unsqueeze(t.mul(t.arange(0, count, { dtype: int64, device: grad_in.device }), step), 1);
    const at = t.reshape(t.add(window, t.arange(0, size, { dtype: int64, device: grad_in.device })), [-1]);
    const rows = t.reshape(t.movedim(grad_in, [-1], [d + 1]), [
      ...input_sizes.slice(0, d),
      count * size,
      ...input_sizes.slice(d + 1),
    ]);
    return t.index_add(zeros, d, at, rows);
  },
  doc: "The gradient of `unfold`: each window's cotangents added where the window was.",
});
