/** @file Core ATen operators that exported graphs name: functional writes, and what is known of a tensor. */
import { TorchError, wrapDim } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast, isTensorArgument } from "./helpers.js";
import { op } from "./registry.js";

op(["fill.Tensor(Tensor self, Tensor value) -> Tensor", "fill.Scalar(Tensor self, Scalar value) -> Tensor"], {
  lower: (h, { self, value }) => {
    if (value.rank > 0)
      throw new TorchError(`fill only supports 0-dimension value tensor but got tensor with ${value.rank} dimensions.`);
    return h.broadcastTo(cast(h, value, self.dtype), self.shape);
  },
  grad: (t, { value }, dy) => ({ self: t.zeros_like(dy), value: isTensorArgument(value) ? t.sum(dy) : null }),
  numbers: ["value"],
  doc: "`value` in every element, with the shape and type of `self`.",
});

op("copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", {
  composite: (t, { self, src }) => {
    const moved: Tensor = t._to_copy(src, { dtype: self.dtype, device: self.device });
    return src.shape.join() === self.shape.join() ? moved : t.clone(t.expand(moved, self.shape));
  },
  doc: "`src` with the shape, type and device of `self`.",
});

op("_local_scalar_dense(Tensor self) -> Scalar", {
  composite: (_t, { self }) => self.item(),
  doc: "The element of a tensor that has one.",
});
op("sym_size.int(Tensor self, int dim) -> SymInt", {
  composite: (_t, { self, dim }) => self.shape[wrapDim(dim, self.ndim)],
  doc: "The size of a dimension.",
});
op("sym_stride.int(Tensor self, int dim) -> SymInt", {
  composite: (_t, { self, dim }) => self.stride()[wrapDim(dim, self.ndim)],
  doc: "The stride of a dimension.",
});
op("sym_numel(Tensor self) -> SymInt", {
  composite: (_t, { self }) => self.numel(),
  doc: "The number of elements.",
});
op("sym_storage_offset(Tensor self) -> SymInt", {
  composite: (_t, { self }) => self.storage_offset(),
  doc: "Where the tensor's first element is in its storage.",
});
