/** @file `torch.masked`: functions along a dimension that keep the shape. */
import { functional as t } from "../api/index.js";
import { define } from "../nn/signature.js";
import type { Tensor } from "../tensor/index.js";
import { as, canonicalDims, filled } from "./elements.js";
import { norm } from "./reductions.js";

/** Running sum of the kept elements. */
export const cumsum = define(
  "cumsum(Tensor input, int dim, ScalarType? dtype=None, Tensor? mask=None)",
  ({ input, dim, dtype, mask }): Tensor => {
    const [d] = canonicalDims(dim, input.ndim);
    const out = dtype ?? input.dtype;
    return as(t.cumsum(filled("sum", input, mask), d, { dtype: out }), out);
  },
);

/** Running product of the kept elements. */
export const cumprod = define(
  "cumprod(Tensor input, int dim, ScalarType? dtype=None, Tensor? mask=None)",
  ({ input, dim, dtype, mask }): Tensor => {
    const [d] = canonicalDims(dim, input.ndim);
    const out = dtype ?? input.dtype;
    return as(t.cumprod(filled("prod", input, mask), d, { dtype: out }), out);
  },
);

/** Softmax of the kept elements; 0 elsewhere, NaN where nothing is kept. */
export const softmax = define(
  "softmax(Tensor input, int dim, ScalarType? dtype=None, Tensor? mask=None)",
  ({ input, dim, dtype, mask }): Tensor => {
    const [d] = canonicalDims(dim, input.ndim);
    return t.softmax(filled("amax", input, mask), d, dtype ?? input.dtype);
  },
);

/** Logarithm of the softmax. */
export const log_softmax = define(
  "log_softmax(Tensor input, int dim, ScalarType? dtype=None, Tensor? mask=None)",
  ({ input, dim, dtype, mask }): Tensor => {
    const [d] = canonicalDims(dim, input.ndim);
    return t.log_softmax(filled("amax", input, mask), d, dtype ?? input.dtype);
  },
);

/** Softmax of the negated elements. */
export const softmin = define(
  "softmin(Tensor input, int dim, ScalarType? dtype=None, Tensor? mask=None)",
  ({ input, dim, dtype, mask }): Tensor => {
    const [d] = canonicalDims(dim, input.ndim);
    return t.softmax(t.neg(filled("amin", input, mask)), d, dtype ?? input.dtype);
  },
);

/** Elements over the norm along a dimension. */
export const normalize = define(
  "normalize(Tensor input, float ord, int dim, float eps=1e-12, ScalarType? dtype=None, Tensor? mask=None)",
  ({ input, ord, dim, eps, dtype, mask }): Tensor => {
    const size = norm(input, ord, dim, true, dtype ?? input.dtype, mask);
    return t.div(filled("sum", input, mask), t.maximum(size, t.new_full(size, [], eps)));
  },
);
