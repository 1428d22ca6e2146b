/** @file What takes the place of elements that a mask leaves out, and dimensions as `torch.masked` reads them. */
import { functional as t } from "../api/index.js";
import { iinfo } from "../api/info.js";
import * as dt from "../schema/dtype.js";
import { TorchError, TorchIndexError, TorchNotImplementedError, type DType, type Scalar } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";

export type Dims = number | readonly number[] | null;

/** Reductions by the element that changes none of their results. */
export type Identity = "sum" | "prod" | "amax" | "amin" | "argmax" | "argmin" | "logaddexp" | "logsumexp" | "norm" | "median"; // prettier-ignore

/** The smallest or largest number of a type; null: the type has none. */
function bound(dtype: DType, which: "min" | "max"): Scalar | null {
  if (dtype.is_floating_point) return which === "min" ? -Infinity : Infinity;
  if (dtype.is_complex || dtype === dt.bool || (!dtype.is_signed && dtype !== dt.uint8)) return null;
  return new iinfo(dtype)[which];
}

/** The number that leaves the result of a reduction as it is. */
export function identityOf(name: Identity, dtype: DType, ord: number | null = 2): Scalar {
  const none = (): never => {
    throw new TorchNotImplementedError(`identity of ${name} on ${dtype.toString()} input`);
  };
  switch (name) {
    case "sum":
      return 0;
    case "prod":
      return 1;
    case "amin":
    case "argmin":
      return bound(dtype, "max") ?? none();
    case "logsumexp":
      return dtype.is_complex ? -Infinity : (bound(dtype, "min") ?? none());
    case "norm":
      if (ord !== -Infinity) return 0;
      if (!dtype.is_floating_point) throw new TorchError(`input must be floating point, got ${dtype.toString()}`);
      return Infinity;
    case "median":
      return NaN;
    default:
      return bound(dtype, "min") ?? none();
  }
}

/** The mask in the shape of `input`, as booleans. */
export function inputMask(input: Tensor, mask: Tensor): Tensor {
  let out = mask;
  if (mask.shape.join() !== input.shape.join()) {
    if (mask.ndim > input.ndim)
      throw new TorchIndexError(
        "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)",
      );
    out = t.broadcast_to(mask, input.shape);
  }
  return as(out, dt.bool);
}

/** `input` with the identity of the reduction where the mask is false. */
export function filled(name: Identity, input: Tensor, mask: Tensor | null, ord?: number | null): Tensor {
  if (mask === null) return input;
  const keep = inputMask(input, mask);
  const value = identityOf(name, input.dtype, ord);
  return t.where(keep, input, t.scalar_tensor(value, { dtype: input.dtype, device: input.device }));
}

/** `x` in this type. */
export const as = (x: Tensor, dtype: DType): Tensor => (x.dtype === dtype ? x : t._to_copy(x, { dtype }));

/** Dimensions from the front in ascending order; null and the empty list are all of them. */
export function canonicalDims(dim: Dims, ndim: number): number[] {
  const list = typeof dim === "number" ? [dim] : dim;
  if (list === null || list.length === 0) return Array.from({ length: ndim }, (_, i) => i);
  const n = Math.max(ndim, 1);
  const out: number[] = [];
  for (const d of list) {
    if (out.includes(d)) throw new TorchError(`dim=${d} appears multiple times in the list of dims`);
    if (d >= n || d < -n)
      throw new TorchIndexError(`Dimension out of range (expected to be in range of [${-n}, ${n - 1}], but got ${d})`);
    out.push((d + n) % n);
  }
  return out.sort((a, b) => a - b);
}
