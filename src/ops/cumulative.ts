/** @file Running sums, products and extreme values; differences and integrals. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { TorchError, wrapDim, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast, computeType, requireDtype } from "./helpers.js";
import { extremeBody, highest, lowest } from "./order_values.js";
import { op, type Torch } from "./registry.js";
import { scan } from "./scan.js";

const accumulated = (dtype: DType, asked: DType | null): DType => asked ?? (dtype.is_differentiable ? dtype : dt.int64);

/** A running combination along a dimension, in the compute type of the result. */
function running(h: Builder, self: Value, dim: number, out: DType, kind: "add" | "multiply"): Value {
  const d = wrapDim(dim, self.rank);
  if (self.rank === 0) return cast(h, self, out);
  const wide = computeType(out === dt.bool ? dt.int64 : out);
  const x = cast(h, cast(h, self, out), wide);
  const identity = h.constant(kind === "add" ? 0 : 1, wide);
  return cast(h, scan(h, [x], d, [identity], ([a], [b]) => [h[kind](a, b)])[0], out);
}

/** Running sums from the end. */
const sumsFromEnd = (t: Torch, x: Tensor, dim: number): Tensor =>
  x.ndim === 0 ? x : t.flip(t.cumsum(t.flip(x, [dim]), dim), [dim]);

op("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", {
  lower: (h, { self, dim, dtype }) => running(h, self, dim, accumulated(self.dtype, dtype), "add"),
  grad: (t, { dim }, dy) => ({ self: sumsFromEnd(t, dy, dim) }),
  doc: "Running sums along a dimension.",
});

/** Each element's cotangent, where elements may be zero: products that leave it out, step by step. */
function productGrad(t: Torch, x: Tensor, dim: number, dy: Tensor): Tensor {
  const d = wrapDim(dim, x.ndim);
  const n = x.shape[d];
  const sliceOf = (v: Tensor, from: number, to: number): Tensor => t.slice(v, d, from, to, 1);
  const reaches: number[] = [];
  for (let reach = 1; reach < n; reach *= 2) reaches.push(reach);
  const levels: Tensor[] = [x];
  for (const reach of reaches) {
    const last = levels[levels.length - 1];
    levels.push(t.cat([sliceOf(last, 0, reach), t.mul(sliceOf(last, reach, n), sliceOf(last, 0, n - reach))], d));
  }
  let g = dy;
  for (let i = reaches.length - 1; i >= 0; i--) {
    const reach = reaches[i];
    const level = t.conj(levels[i]);
    const tail = sliceOf(g, reach, n);
    const own = t.cat([sliceOf(g, 0, reach), t.mul(tail, sliceOf(level, 0, n - reach))], d);
    const other = t.mul(tail, sliceOf(level, reach, n));
    const zeros = t.new_zeros(
      g,
      g.shape.map((s, k) => (k === d ? reach : s)),
    );
    g = t.add(own, t.cat([other, zeros], d));
  }
  return g;
}

op("cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", {
  lower: (h, { self, dim, dtype }) => running(h, self, dim, accumulated(self.dtype, dtype), "multiply"),
  grad: (t, { self, dim }, dy) => ({
    self:
      self.ndim === 0 || self.numel() === 0
        ? dy
        : productGrad(t, self.dtype === dy.dtype ? self : t._to_copy(self, { dtype: dy.dtype }), dim, dy),
  }),
  doc: "Running products along a dimension.",
});

for (const [name, largest, word] of [
  ["cummax", true, "largest"],
  ["cummin", false, "smallest"],
] as const) {
  op(
    `${name}(Tensor self, int dim) -> (Tensor values, Tensor indices)` as "cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    {
      lower: (h, { self, dim }) => {
        requireDtype(self, !self.dtype.is_complex, `${name}_helper_cpu`);
        const d = wrapDim(dim, self.rank);
        if (self.rank === 0) return [self, h.constant(0n, dt.int64)];
        const index = h.iota(dt.int64, self.shape, d);
        const identities = [largest ? lowest(h, self.dtype) : highest(h, self.dtype), h.constant(-1n, dt.int64)];
        const body = extremeBody(h, largest, true, true);
        return [...scan(h, [self, index], d, identities, (a, b) => body([...a], [...b]))];
      },
      grad: (t, { self, dim }, [dy], [, indices]) => ({
        self: self.ndim === 0 ? dy : t.scatter_add(t.new_zeros(dy, self.shape), dim, indices, dy),
      }),
      doc: `Running ${word} elements along a dimension and where they are.`,
    },
  );
}

/** log(exp(a) + exp(b)), without overflow. */
function logAddExp(h: Builder, a: Value, b: Value): Value {
  if (a.dtype.is_complex) return complexLogAddExp(h, a, b);
  const top = h.maximum(a, b);
  const low = h.minimum(a, b);
  const infinite = h.compare(h.abs(top), h.splat(Infinity, top.dtype, top.shape), "EQ");
  const sum = h.add(top, h.log_plus_one(h.exponential(h.subtract(low, top))));
  return h.select(infinite, top, sum);
}

function complexLogAddExp(h: Builder, a: Value, b: Value): Value {
  const first = h.compare(h.real(a), h.real(b), "GE");
  const top = h.select(first, a, b);
  const low = h.select(first, b, a);
  const infinite = h.compare(h.abs(h.real(top)), h.splat(Infinity, h.real(top).dtype, top.shape), "EQ");
  const sum = h.add(top, h.log_plus_one(h.exponential(h.subtract(low, top))));
  return h.select(infinite, top, sum);
}

for (const name of ["logcumsumexp", "_logcumsumexp"] as const) {
  op(`${name}(Tensor self, int dim) -> Tensor` as "logcumsumexp(Tensor self, int dim) -> Tensor", {
    lower: (h, { self, dim }) => {
      requireDtype(self, self.dtype.is_differentiable, "logcumsumexp_out_cpu");
      const d = wrapDim(dim, self.rank);
      if (self.rank === 0) return self;
      const type = computeType(self.dtype);
      const none = type.is_complex ? h.constant([-Infinity, 0], type) : h.constant(-Infinity, type);
      const [out] = scan(h, [cast(h, self, type)], d, [none], ([a], [b]) => [logAddExp(h, a, b)]);
      return cast(h, out, self.dtype);
    },
    grad: (t, { self, dim }, dy, out) => ({ self: self.ndim === 0 ? dy : logcumsumexpGrad(t, self, dim, dy, out) }),
    doc: "Running logarithms of sums of exponentials along a dimension.",
  });
}

/** PyTorch's formula: positive and negative parts of the cotangent each through another running log-sum from the end. */
function logcumsumexpGrad(t: Torch, self: Tensor, dim: number, dy: Tensor, out: Tensor): Tensor {
  if (self.is_complex()) {
    const back = sumsFromEnd(t, t.mul(dy, t.exp(t.neg(t.conj(out)))), dim);
    return t.mul(back, t.exp(t.conj(self)));
  }
  const part = (sign: 1 | -1): Tensor => {
    const g = t.mul(dy, sign);
    const size = t.log(t.where(t.gt(g, 0), g, t.zeros_like(g)));
    const sums = t.flip(t.logcumsumexp(t.flip(t.sub(size, out), [dim]), dim), [dim]);
    return t.exp(t.add(sums, self));
  };
  return t.sub(part(1), part(-1));
}

op("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor", {
  decompose: (t, { self, n, dim, prepend, append }) => {
    if (self.ndim === 0) throw new TorchError("diff expects input to be at least one-dimensional");
    if (n < 0) throw new TorchError(`order must be non-negative but got ${n}`);
    const d = wrapDim(dim, self.ndim);
    const parts = [prepend, self, append].filter((x) => x !== null);
    let x = parts.length > 1 ? t.cat(parts, d) : self;
    if (n === 0) return t.clone(x);
    for (let i = 0; i < n && x.shape[d] > 0; i++) {
      const size = x.shape[d];
      const later = t.slice(x, d, 1, size, 1);
      const earlier = t.slice(x, d, 0, size - 1, 1);
      x = x.dtype === dt.bool ? t.logical_xor(later, earlier) : t.sub(later, earlier);
    }
    return x;
  },
  doc: "Differences of neighbours along a dimension, `n` times.",
});

/** Means of neighbours along a dimension, times their distance. */
function trapezoids(t: Torch, y: Tensor, dim: number, x: Tensor | null): Tensor {
  const d = wrapDim(dim, y.ndim);
  const n = y.shape[d];
  const pairs = t.add(t.slice(y, d, 1, n, 1), t.slice(y, d, 0, Math.max(0, n - 1), 1));
  if (x === null) return pairs;
  const shaped =
    x.ndim === 1
      ? t.reshape(
          x,
          y.shape.map((_, i) => (i === d ? x.shape[0] : 1)),
        )
      : x;
  if (x.ndim === 1 && x.shape[0] !== n) throw new TorchError("There must be one `x` value for each sample point");
  const at = x.ndim === 1 ? d : dim;
  const wrapped = wrapDim(at, shaped.ndim);
  const m = shaped.shape[wrapped];
  return t.mul(pairs, t.sub(t.slice(shaped, wrapped, 1, m, 1), t.slice(shaped, wrapped, 0, m - 1, 1)));
}

for (const [name, cumulative, doc] of [
  ["trapezoid", false, "The integral along a dimension by the trapezoid rule."],
  ["trapz", false, "Another name of `trapezoid`."],
  ["cumulative_trapezoid", true, "Running integrals along a dimension by the trapezoid rule."],
] as const) {
  const finish = (t: Torch, parts: Tensor, dim: number): Tensor =>
    t.div(cumulative ? t.cumsum(parts, dim) : t.sum(parts, dim), 2);
  op(
    `${name}.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor` as "trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    {
      decompose: (t, { y, x, dim }) => {
        if (!cumulative && y.shape[wrapDim(dim, y.ndim)] === 0) return t.sum(t.mul(y, 1), dim);
        return finish(t, trapezoids(t, y, dim, x), dim);
      },
      doc,
    },
  );
  op(
    `${name}.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor` as "trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    {
      decompose: (t, { y, dx, dim }) => {
        const out = finish(t, trapezoids(t, y, dim, null), dim);
        return t.mul(out, dx);
      },
    },
  );
}
