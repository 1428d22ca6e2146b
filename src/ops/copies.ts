/** @file View operators that copy: the same result in memory of its own. And the gradients of views. */
import { int64, TorchError, wrapDim } from "../schema/index.js";
import { op } from "./registry.js";

op("alias_copy(Tensor self) -> Tensor", { composite: (t, { self }) => t.clone(self) });
op("detach_copy(Tensor self) -> Tensor", { composite: (t, { self }) => t.clone(self.detach()) });
op("lift_fresh_copy(Tensor self) -> Tensor", { composite: (t, { self }) => t.clone(self) });
op("_conj_copy(Tensor self) -> Tensor", { composite: (t, { self }) => t.conj(self) });
op("_reshape_copy(Tensor self, SymInt[] size) -> Tensor", {
  composite: (t, { self, size }) => t.clone(t.reshape(self, size)),
});
op("_reshape_alias_copy(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor", {
  composite: (t, { self, size }) => t.clone(t.reshape(self, size)),
});
op("as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor", {
  composite: (t, { self, size, stride, storage_offset }) => t.clone(t.as_strided(self, size, stride, storage_offset)),
});
op("diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", {
  composite: (t, { self, offset, dim1, dim2 }) => t.clone(t.diagonal(self, offset, dim1, dim2)),
});
op("expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor", {
  composite: (t, { self, size }) => t.clone(t.expand(self, size)),
});
op("permute_copy(Tensor self, int[] dims) -> Tensor", {
  composite: (t, { self, dims }) => t.clone(t.permute(self, dims)),
});
op("select_copy.int(Tensor self, int dim, SymInt index) -> Tensor", {
  composite: (t, { self, dim, index }) => t.clone(t.select(self, dim, index)),
});
op("slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor", {
  composite: (t, { self, dim, start, end, step }) => t.clone(t.slice(self, dim, start, end, step)),
});
op("squeeze_copy(Tensor self) -> Tensor", { composite: (t, { self }) => t.clone(t.squeeze(self)) });
op("squeeze_copy.dim(Tensor self, int dim) -> Tensor", {
  composite: (t, { self, dim }) => t.clone(t.squeeze(self, dim)),
});
op("squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", {
  composite: (t, { self, dim }) => t.clone(t.squeeze(self, dim)),
});
op("t_copy(Tensor self) -> Tensor", { composite: (t, { self }) => t.clone(t.t(self)) });
op("transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor", {
  composite: (t, { self, dim0, dim1 }) => t.clone(t.transpose(self, dim0, dim1)),
});
op("unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor", {
  composite: (t, { self, dimension, size, step }) => t.clone(t.unfold(self, dimension, size, step)),
});
op("unsqueeze_copy(Tensor self, int dim) -> Tensor", {
  composite: (t, { self, dim }) => t.clone(t.unsqueeze(self, dim)),
});
op("view_copy(Tensor self, SymInt[] size) -> Tensor", {
  composite: (t, { self, size }) => t.clone(t.view(self, size)),
});
op("view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor", {
  composite: (t, { self, dtype }) => t.clone(t.view(self, dtype)),
});
op("view_as_real_copy(Tensor self) -> Tensor", { composite: (t, { self }) => t.clone(t.view_as_real(self)) });
op("view_as_complex_copy(Tensor self) -> Tensor", { composite: (t, { self }) => t.clone(t.view_as_complex(self)) });

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
});
op(
  "slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor",
  {
    decompose: (t, { grad_output, input_sizes, dim, start, end, step }) =>
      t.slice_scatter(t.new_zeros(grad_output, input_sizes), grad_output, dim, start, end, step),
  },
);
op("diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor", {
  decompose: (t, { grad_output, input_sizes, offset, dim1, dim2 }) =>
    t.diagonal_scatter(t.new_zeros(grad_output, input_sizes), grad_output, offset, dim1, dim2),
});
op("index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index) -> Tensor", {
  decompose: (t, { grad, self_sizes, dim, index }) => t.index_add(t.new_zeros(grad, self_sizes), dim, index, grad),
});
op("gather_backward(Tensor grad, Tensor self, int dim, Tensor index, bool sparse_grad) -> Tensor", {
  decompose: (t, { grad, self, dim, index }) => t.scatter_add(t.new_zeros(grad, self.shape), dim, index, grad),
});
op("masked_select_backward(Tensor grad, Tensor input, Tensor mask) -> Tensor", {
  decompose: (t, { grad, input, mask }) => t.masked_scatter(t.zeros_like(t.expand(input, mask.shape)), mask, grad),
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
