/** @file Softmax and its logarithm. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { wrapDim, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast, computeType, requireDtype } from "./helpers.js";
import { op, type Torch } from "./registry.js";

/** x - max(x) along a dimension, its exponential and the sum of that, in the compute type. */
function shifted(h: Builder, x: Value, dim: number): { z: Value; exp: Value; sum: Value } {
  const keptDims = x.shape.map((_, i) => i).filter((i) => i !== dim);
  const spread = (v: Value): Value => h.broadcast_in_dim(v, x.shape, keptDims);
  const largest = h.reduceWith(x, h.constant(-Infinity, x.dtype), [dim], "maximum");
  const z = h.subtract(x, spread(largest));
  const exp = h.exponential(z);
  return { z, exp, sum: spread(h.reduceWith(exp, h.constant(0, x.dtype), [dim], "add")) };
}

function softmaxOf(h: Builder, self: Value, dim: number, log: boolean, out: DType): Value {
  requireDtype(self, self.dtype.is_floating_point, `${log ? "log_" : ""}softmax_lastdim_kernel_impl`);
  const d = wrapDim(dim, self.rank);
  const x = cast(h, self, computeType(self.dtype));
  if (x.rank === 0) {
    const zero = h.subtract(x, x);
    return cast(h, log ? zero : h.exponential(zero), out);
  }
  const { z, exp, sum } = shifted(h, x, d);
  return cast(h, log ? h.subtract(z, h.log(sum)) : h.divide(exp, sum), out);
}

/** A cotangent cast to the type of the input, which half_to_float made wider. */
const sumAlong = (t: Torch, x: Tensor, dim: number): Tensor => (x.ndim === 0 ? x : t.sum(x, [dim], true));

for (const log of [false, true]) {
  const name = log ? "_log_softmax" : "_softmax";
  op(
    `${name}(Tensor self, int dim, bool half_to_float) -> Tensor` as "x(Tensor self, int dim, bool half_to_float) -> Tensor",
    {
      lower: (h, { self, dim, half_to_float }) => softmaxOf(h, self, dim, log, half_to_float ? dt.float32 : self.dtype),
      grad: (t, { self, dim }, dy, y) => ({
        self: log
          ? t._log_softmax_backward_data(dy, y, dim, self.dtype)
          : t._softmax_backward_data(dy, y, dim, self.dtype),
      }),
      doc: log ? "Logarithm of softmax." : "Exponentials along a dimension, divided by their sum.",
    },
  );
}

op("_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor", {
  decompose: (t, { grad_output, output, dim, input_dtype }) => {
    const wide = computeType(output.dtype);
    const [dy, y] = [t._to_copy(grad_output, { dtype: wide }), t._to_copy(output, { dtype: wide })];
    const product = t.mul(dy, y);
    const result = t.sub(product, t.mul(y, sumAlong(t, product, dim)));
    return t._to_copy(result, { dtype: input_dtype });
  },
  doc: "The gradient of softmax from its result.",
});
op("_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor", {
  decompose: (t, { grad_output, output, dim, input_dtype }) => {
    const wide = computeType(output.dtype);
    const [dy, y] = [t._to_copy(grad_output, { dtype: wide }), t._to_copy(output, { dtype: wide })];
    const result = t.sub(dy, t.mul(t.exp(y), sumAlong(t, dy, dim)));
    return t._to_copy(result, { dtype: input_dtype });
  },
  doc: "The gradient of log_softmax from its result.",
});

/** The input in the type asked for, which softmax computes in. */
const asked = (t: Torch, self: Tensor, dtype: DType | null): Tensor =>
  dtype === null || dtype === self.dtype ? self : t._to_copy(self, { dtype });

op("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", {
  decompose: (t, { self, dim, dtype }) => t._softmax(asked(t, self, dtype), dim, false),
  grad: (t, { self, dim }, dy, y) => ({ self: t._softmax_backward_data(dy, y, dim, self.dtype) }),
  doc: "Exponentials along a dimension, divided by their sum.",
});
op("log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", {
  decompose: (t, { self, dim, dtype }) => t._log_softmax(asked(t, self, dtype), dim, false),
  grad: (t, { self, dim }, dy, y) => ({ self: t._log_softmax_backward_data(dy, y, dim, self.dtype) }),
  doc: "Logarithm of softmax.",
});
op("softmin(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", {
  decompose: (t, { self, dim, dtype }) => t.softmax(t.neg(self), dim, { dtype }),
  doc: "Softmax of the negative.",
});
op("_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", {
  decompose: (t, { self, dim, dtype }) => {
    const x = asked(t, self, dtype);
    const empty = t.all(t.eq(x, -Infinity), dim, true);
    const y = t._softmax(x, dim, false);
    return t.where(empty, t.zeros_like(y), y);
  },
  grad: (t, { self, dim }, dy, y) => ({ self: t._softmax_backward_data(dy, y, dim, self.dtype) }),
  doc: "Softmax that is zero where every element along the dimension is -∞.",
});
