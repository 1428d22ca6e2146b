/** @file Vector norms over dimensions. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { TorchError, toNumber, wrapDims, type Scalar } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast, computeType, fullLike } from "./helpers.js";
import { reduceDims, spread } from "./reduction.js";
import { op, type Torch } from "./registry.js";

/** |x|, real also for complex x. */
const magnitude = (h: Builder, x: Value): Value => h.abs(x);

/** The norm of order `p` of non-negative values. */
function normOf(h: Builder, x: Value, p: number, dims: readonly number[], keepdim: boolean): Value {
  const sum = (v: Value): Value => reduceDims(h, v, dims, keepdim, (y, d) => h.reduceWith(y, h.constant(0, y.dtype), d, "add"));
  if (p === Infinity) return reduceDims(h, x, dims, keepdim, (y, d) => h.reduceWith(y, h.constant(0, y.dtype), d, "maximum"));
  if (p === -Infinity) return reduceDims(h, x, dims, keepdim, (y, d) => h.reduceWith(y, h.constant(Infinity, y.dtype), d, "minimum"));
  if (p === 0) return sum(h.convert(h.compare(x, fullLike(h, x, 0), "NE"), x.dtype));
  if (p === 1) return sum(x);
  if (p === 2) return h.sqrt(sum(h.multiply(x, x)));
  const total = sum(h.power(x, fullLike(h, x, p)));
  return h.power(total, fullLike(h, total, 1 / p));
}

/** Cotangent of a norm; zero where the norm has no slope. */
function normGradient(t: Torch, self: Tensor, p: number, dy: Tensor, norm: Tensor): Tensor {
  const size = t.abs(self);
  const sign = t.sgn(self);
  const zero = t.zeros_like(size);
  if (p === 0) return t.zeros_like(self);
  if (p === 1) return t.mul(sign, dy);
  if (p === 2) return t.mul(self, t.where(t.eq(norm, 0), zero, t.div(dy, norm)));
  if (Math.abs(p) === Infinity) {
    const hit = t.eq(size, norm);
    return t.mul(t.mul(sign, t._to_copy(hit, { dtype: size.dtype })), dy);
  }
  const slope = t.mul(t.where(t.eq(size, 0), zero, t.pow(size, p - 1)), t.where(t.eq(norm, 0), t.zeros_like(norm), t.pow(norm, 1 - p)));
  return t.mul(t.mul(sign, slope), dy);
}

op("linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", {
  lower: (h, { self, ord, dim, keepdim, dtype }) => {
    if (!self.dtype.is_differentiable) throw new TorchError(`linalg.vector_norm: Expected a floating point or complex tensor as input. Got ${self.dtype.name}`);
    if (dtype && !dtype.is_differentiable) throw new TorchError(`linalg.vector_norm: dtype should be floating point or complex, but got ${dtype.name}`);
    const out = (dtype ?? self.dtype).to_real();
    const p = toNumber(ord.literal as Scalar);
    const dims = wrapDims(dim, self.rank);
    if (dims.some((d) => self.shape[d] === 0) && (p < 0 || p === Infinity)) {
      throw new TorchError(`linalg.vector_norm cannot compute the ${p} norm on an empty tensor because the operation does not have an identity`);
    }
    const wide = computeType(out);
    const x = magnitude(h, cast(h, self, self.dtype.is_complex ? (wide === dt.float64 ? dt.complex128 : dt.complex64) : wide));
    return cast(h, normOf(h, cast(h, x, wide), p, dims, keepdim), out);
  },
  grad: (t, { self, ord, dim, keepdim }, dy, out) => {
    const p = toNumber(ord as Scalar);
    let g = normGradient(t, self, p, spread(t, dy, self, dim, keepdim), spread(t, out, self, dim, keepdim));
    if (Math.abs(p) === Infinity) {
      const count = t.sum(t._to_copy(t.eq(t.abs(self), spread(t, out, self, dim, keepdim)), { dtype: out.dtype }), wrapDims(dim, self.ndim), true);
      g = t.div(g, count);
    }
    return { self: g };
  },
  statics: ["ord"],
  doc: "The norm of order `ord` of vectors.",
});
