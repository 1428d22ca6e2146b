/** @file Copies, casts and writes. */
import type { Builder, Value } from "../hlo/index.js";
import { TorchError, broadcastShapes, sizeText, type DType } from "../schema/index.js";
import { cast } from "./helpers.js";
import { op } from "./registry.js";

op("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", {
  lower: (_h, { self }) => self,
  grad: (_t, _, dy) => ({ self: dy }),
  doc: "A copy.",
});

op(
  "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
  {
    lower: (h, { self, dtype }) => cast(h, self, dtype ?? self.dtype),
    grad: (t, { self }, dy) => ({ self: t._to_copy(dy, { dtype: self.dtype }) }),
  },
);

/** A value as it will be written over `self`: cast and broadcast to it. */
function fitted(h: Builder, name: string, value: Value, dtype: DType, shape: readonly number[]): Value {
  let ok = value.rank <= shape.length;
  if (ok) ok = broadcastShapes(value.shape, shape).join() === shape.join();
  if (!ok)
    throw new TorchError(
      `${name}: output with shape ${sizeText(shape)} doesn't match the broadcast shape ${sizeText(value.shape)}`,
    );
  return h.broadcastTo(cast(h, value, dtype), shape);
}

op("copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", {
  lower: (h, { self, src }) => fitted(h, "copy_", src, self.dtype, self.shape),
  grad: (t, { self, src }, dy) => ({ self: t.zeros_like(self), src: t.sum_to_size(dy, src.shape) }),
  doc: "Writes `src` over this tensor.",
});

op("fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)", {
  lower: (_h, { self, value }) => value.fill(self.dtype, self.shape),
  grad: (t, { self }) => ({ self: t.zeros_like(self) }),
  doc: "Writes one number over every element.",
});
op("fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)", {
  lower: (h, { self, value }) => {
    if (value.rank !== 0)
      throw new TorchError(
        `fill_ only supports 0-dimension value tensor but got tensor with ${value.rank} dimensions.`,
      );
    return fitted(h, "fill_", value, self.dtype, self.shape);
  },
  grad: (t, { self }, dy) => ({ self: t.zeros_like(self), value: t.sum(dy) }),
});
op("zero_(Tensor(a!) self) -> Tensor(a!)", {
  lower: (h, { self }) => h.splat(0, self.dtype, self.shape),
  grad: (t, { self }) => ({ self: t.zeros_like(self) }),
  doc: "Writes zeros.",
});
