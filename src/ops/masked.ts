/** @file Writing where a mask holds. */
import type { Builder, Value } from "../hlo/index.js";
import { bool, broadcastShapes, TorchError, type DType } from "../schema/index.js";
import { cast, scalarTypeName } from "./helpers.js";
import { op } from "./registry.js";

function fillMasked(h: Builder, self: Value, mask: Value, value: Value): Value {
  if (mask.dtype !== bool)
    throw new TorchError(
      `masked_fill_ only supports boolean masks, but got mask with dtype ${scalarTypeName(mask.dtype)}`,
    );
  const shape = broadcastShapes(self.shape, mask.shape);
  return h.select(h.broadcastTo(mask, shape), h.broadcast_in_dim(value, shape, []), h.broadcastTo(self, shape));
}

const requireReal = (dtype: DType, complex: boolean): void => {
  if (complex && !dtype.is_complex)
    throw new TorchError(`value cannot be converted to type ${scalarTypeName(dtype).toLowerCase()} without overflow`);
};

op("masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", {
  lower: (h, { self, mask, value }) => {
    requireReal(self.dtype, value.kind === "complex");
    return fillMasked(h, self, mask, value.as(self.dtype));
  },
  grad: (t, { mask }, dy) => ({ self: t.masked_fill(dy, mask, 0) }),
  doc: "One value where a mask holds.",
});

op("masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", {
  lower: (h, { self, mask, value }) => {
    if (value.rank !== 0)
      throw new TorchError(
        `masked_fill only supports a 0-dimensional value tensor, but got tensor with ${value.rank} dimension(s).`,
      );
    requireReal(self.dtype, value.dtype.is_complex);
    return fillMasked(h, self, mask, cast(h, value, self.dtype));
  },
  grad: (t, { mask }, dy) => ({
    self: t.masked_fill(dy, mask, 0),
    value: t.sum(t.masked_fill(dy, t.logical_not(mask), 0)),
  }),
});

op("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", {
  decompose: (t, { self, mask, source }) => {
    if (mask.dtype !== bool)
      throw new TorchError(
        `masked_scatter_ only supports boolean masks, but got mask with dtype ${scalarTypeName(mask.dtype)}`,
      );
    if (self.dtype !== source.dtype)
      throw new TorchError(
        `masked_scatter: expected self and source to have same dtypes but got ${scalarTypeName(self.dtype)} and ${scalarTypeName(source.dtype)}`,
      );
    const shape = broadcastShapes(self.shape, mask.shape);
    const wide = t.expand(mask, shape);
    const whole = t.expand(self, shape);
    if (source.numel() === 0 || wide.numel() === 0) return t.clone(whole);
    const order = t.sub(t.cumsum(t.reshape(wide, [-1]), 0), 1);
    const at = t.clamp(order, 0, source.numel() - 1);
    return t.where(wide, t.reshape(t.take(source, at), shape), whole);
  },
  doc: "The elements of `source`, one after another, where a mask holds.",
});
