/** @file `torch.masked`: reductions of the elements that a mask keeps. */
import { functional as t } from "../api/index.js";
import { define } from "../nn/signature.js";
import * as dt from "../schema/dtype.js";
import { TorchError, TorchValueError, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { as, canonicalDims, filled, inputMask, type Dims } from "./elements.js";

/** Sums and products of small integers are int64. */
const wideInteger = (dtype: DType): DType =>
  [dt.uint8, dt.bool, dt.int8, dt.int16, dt.int32].includes(dtype) ? dt.int64 : dtype;

/** The sum over sorted dimensions. */
const total = (x: Tensor, dims: readonly number[], keepdim: boolean, dtype: DType): Tensor =>
  t.sum(x, dims, keepdim, { dtype });

/** Sum; 0 where nothing is kept. */
export const sum = define(
  "sum(Tensor input, ints? dim=None, bool? keepdim=False, ScalarType? dtype=None, Tensor? mask=None)",
  ({ input, dim, keepdim, dtype, mask }): Tensor => {
    const dims = canonicalDims(dim, input.ndim);
    return total(filled("sum", input, mask), dims, keepdim ?? false, dtype ?? wideInteger(input.dtype));
  },
);

/** Product; 1 where nothing is kept. */
export const prod = define(
  "prod(Tensor input, ints? dim=None, bool? keepdim=False, ScalarType? dtype=None, Tensor? mask=None)",
  ({ input, dim, keepdim, dtype, mask }): Tensor => {
    const dims = canonicalDims(dim, input.ndim);
    const x = as(filled("prod", input, mask), dtype ?? wideInteger(input.dtype));
    return dims.reduceRight((y, d) => t.prod(y, d, keepdim ?? false), x);
  },
);

/** Largest element; the type's smallest where nothing is kept. */
export const amax = define(
  "amax(Tensor input, ints? dim=None, bool? keepdim=False, ScalarType? dtype=None, Tensor? mask=None)",
  ({ input, dim, keepdim, dtype, mask }): Tensor => {
    const x = filled("amax", input, mask);
    return as(t.amax(x, canonicalDims(dim, x.ndim), keepdim ?? false), dtype ?? input.dtype);
  },
);

/** Smallest element; the type's largest where nothing is kept. */
export const amin = define(
  "amin(Tensor input, ints? dim=None, bool? keepdim=False, ScalarType? dtype=None, Tensor? mask=None)",
  ({ input, dim, keepdim, dtype, mask }): Tensor => {
    const x = filled("amin", input, mask);
    return as(t.amin(x, canonicalDims(dim, x.ndim), keepdim ?? false), dtype ?? input.dtype);
  },
);

/** Where the largest element is, in the type of the input unless another is asked for. */
export const argmax = define(
  "argmax(Tensor input, int? dim=None, bool? keepdim=False, ScalarType? dtype=None, Tensor? mask=None)",
  ({ input, dim, keepdim, dtype, mask }): Tensor =>
    as(t.argmax(filled("argmax", input, mask), dim, keepdim ?? false), dtype ?? input.dtype),
);

/** Where the smallest element is, in the type of the input unless another is asked for. */
export const argmin = define(
  "argmin(Tensor input, int? dim=None, bool? keepdim=False, ScalarType? dtype=None, Tensor? mask=None)",
  ({ input, dim, keepdim, dtype, mask }): Tensor =>
    as(t.argmin(filled("argmin", input, mask), dim, keepdim ?? false), dtype ?? input.dtype),
);

/** How many elements are kept. */
function countOf(input: Tensor, dim: Dims, keepdim: boolean, keep: Tensor | null): Tensor {
  const ones = keep ?? t.ones(input.shape, { dtype: dt.int64, device: input.device });
  return total(ones, canonicalDims(dim, input.ndim), keepdim, dt.int64);
}

/** Mean; NaN where nothing is kept. */
export const mean = define(
  "mean(Tensor input, ints? dim=None, bool? keepdim=False, ScalarType? dtype=None, Tensor? mask=None)",
  ({ input, dim, keepdim, dtype, mask }): Tensor => {
    const out = dtype ?? input.dtype;
    if (!out.is_differentiable)
      throw new TorchValueError(
        `mean(): Could not infer output dtype. ${dtype ? "Optional" : "Input"} dtype must be either a floating point or complex dtype. Got: ${out.toString()}`,
      );
    const keep = mask && inputMask(input, mask);
    const count = countOf(input, dim, keepdim ?? false, keep);
    return t.div(sum(input, dim, keepdim, out, keep), count);
  },
);

/** Median, the lower one of two; NaN where nothing is kept, and an error there for integers. */
export const median = define(
  "median(Tensor input, int dim=-1, bool keepdim=False, ScalarType? dtype=None, Tensor? mask=None)",
  ({ input, dim, keepdim, dtype, mask }): Tensor => {
    const [d] = canonicalDims(dim, input.ndim);
    const isFloat = input.is_floating_point();
    const x = isFloat ? input : as(input, dt.float32);
    const [out] = t.nanmedian(filled("median", x, mask), d, keepdim);
    if (isFloat) return out;
    if (t.any(t.isnan(out)).item())
      throw new TorchValueError("masked median expects no fully masked out rows if dtype is not floating point");
    return as(out, dtype ?? input.dtype);
  },
);

/** log Σ exp. */
export const logsumexp = define(
  "logsumexp(Tensor input, ints? dim=None, bool keepdim=False, ScalarType? dtype=None, Tensor? mask=None)",
  ({ input, dim, keepdim, dtype, mask }): Tensor => {
    const dims = canonicalDims(dim, input.ndim);
    return as(t.logsumexp(filled("logsumexp", input, mask), dims, keepdim), dtype ?? input.dtype);
  },
);

/** log(exp(input) + exp(other)), each with a mask of its own. */
export const logaddexp = define(
  "logaddexp(Tensor input, Tensor other, ScalarType? dtype=None, Tensor? input_mask=None, Tensor? other_mask=None)",
  ({ input, other, dtype, input_mask, other_mask }): Tensor =>
    as(
      t.logaddexp(filled("logaddexp", input, input_mask), filled("logaddexp", other, other_mask)),
      dtype ?? input.dtype,
    ),
);

/** The vector norm of order `ord`. */
export const norm = define(
  "norm(Tensor input, float? ord=2, ints? dim=None, bool? keepdim=False, ScalarType? dtype=None, Tensor? mask=None)",
  ({ input, ord, dim, keepdim, dtype, mask }): Tensor =>
    t.linalg_vector_norm(filled("norm", input, mask, ord), ord ?? 2, canonicalDims(dim, input.ndim), keepdim ?? false, {
      dtype: dtype ?? input.dtype,
    }),
);

interface Spread {
  readonly input: Tensor;
  readonly dim: Dims;
  readonly unbiased: boolean | null;
  readonly correction: number | null;
  readonly keepdim: boolean | null;
  readonly dtype: DType | null;
  readonly mask: Tensor | null;
}

function variance({ input, dim, unbiased, correction, keepdim, dtype, mask }: Spread): Tensor {
  if (unbiased !== null && correction !== null)
    throw new TorchError("Only one of unbiased and correction may be given");
  const less = correction ?? (unbiased === false ? 0 : 1);
  const out = dtype ?? (input.dtype.is_differentiable ? input.dtype : dt.float32);
  const computed = out.is_differentiable ? out : dt.float32;
  const keep = mask && inputMask(input, mask);
  let count = countOf(input, dim, true, keep);
  const x = t.sub(input, t.div(sum(input, dim, true, out, keep), count));
  const squares = sum(t.mul(x, t.conj(x)), dim, keepdim, computed, keep);
  if (!keepdim) count = t.reshape(count, squares.shape);
  if (less !== 0) count = t.clamp_min(t.sub(as(count, computed.to_real()), less), 0);
  return as(t.div(squares, count), out);
}

/** Variance; `correction` is 1 unless given, or 0 with `unbiased` false. */
export const var_ = define(
  "var(Tensor input, ints? dim=None, bool? unbiased=None, float? correction=None, bool? keepdim=False, ScalarType? dtype=None, Tensor? mask=None)",
  (args): Tensor => variance(args),
);

/** Standard deviation: the root of the variance. */
export const std = define(
  "std(Tensor input, ints? dim=None, bool? unbiased=None, float? correction=None, bool? keepdim=False, ScalarType? dtype=None, Tensor? mask=None)",
  (args): Tensor => t.sqrt(variance(args)),
);
