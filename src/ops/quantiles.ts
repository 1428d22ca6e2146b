/** @file Elements by rank: median, mode, kthvalue, quantiles. */
import type { Builder, Value } from "../hlo/index.js";
import { int64, TorchError, TorchIndexError, wrapDim } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { withKeptDim } from "./extrema.js";
import { requireDtype } from "./helpers.js";
import { takeAlong } from "./index_values.js";
import { extremeAlong, nanMask } from "./order_values.js";
import { scan } from "./scan.js";
import { op, type Torch } from "./registry.js";
import { sortAlong } from "./sorting.js";

/** The elements of sorted rows, and where they were, at one position of each row; the dimension disappears. */
function pick(h: Builder, sorted: readonly Value[], dim: number, at: Value): Value[] {
  const shape = sorted[0].shape.filter((_, i) => i !== dim);
  return sorted.map((v) => h.reshape(takeAlong(h, v, dim, at), shape));
}

const rowShape = (x: Value, dim: number): number[] => x.shape.map((n, i) => (i === dim ? 1 : n));

/** The median of each row: of two in the middle the lower. NaN where the row has one, unless `ignoreNan`. */
function medianAlong(h: Builder, x: Value, dim: number, ignoreNan: boolean): Value[] {
  const n = x.shape[dim];
  const sorted = sortAlong(h, x, dim, false);
  const shape = rowShape(x, dim);
  const nan = nanMask(h, x);
  let at = h.splat(Math.floor((n - 1) / 2), int64, shape);
  if (nan !== null) {
    const nans = h.reshape(h.reduceWith(h.convert(nan, int64), h.constant(0, int64), [dim], "add"), shape);
    const real = h.subtract(h.splat(n, int64, shape), nans);
    const one = h.splat(1, int64, shape);
    const none = h.compare(nans, h.zerosLike(nans), "EQ");
    if (ignoreNan) {
      const half = h.divide(h.maximum(h.subtract(real, one), h.zerosLike(real)), h.splat(2, int64, shape));
      at = half;
    } else at = h.select(none, at, h.minimum(real, h.splat(n - 1, int64, shape)));
  }
  return pick(h, sorted, dim, at);
}

for (const [name, ignoreNan, doc] of [
  ["median", false, "The middle element by size, of two the lower; NaN where there is one."],
  ["nanmedian", true, "The middle element by size of those that are not NaN."],
] as const) {
  const check = (x: Value): void => requireDtype(x, !x.dtype.is_complex && x.dtype.kind !== "bool", "median_out_impl");
  op(`${name}(Tensor self) -> Tensor` as "median(Tensor self) -> Tensor", {
    lower: (h, { self }) => {
      check(self);
      if (self.numel === 0)
        return self.dtype.is_floating_point
          ? h.constant(NaN, self.dtype)
          : h.constant(self.dtype === int64 ? -(2n ** 63n) : 0, self.dtype);
      return medianAlong(h, h.reshape(self, [self.numel]), 0, ignoreNan)[0];
    },
    grad: (t, { self }, dy, out) => {
      const mask = t.logical_or(t.eq(self, out), t.logical_and(t.isnan(self), t.isnan(out)));
      const hits = t._to_copy(mask, { dtype: dy.dtype });
      return { self: t.mul(hits, t.div(dy, t.sum(hits))) };
    },
    doc,
  });
  op(
    `${name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)` as "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    {
      lower: (h, { self, dim, keepdim }) => {
        check(self);
        const d = wrapDim(dim, self.rank);
        if (self.rank === 0) return [self, h.constant(0n, int64)];
        if (self.shape[d] === 0)
          throw new TorchIndexError(`median(): Expected reduction dim ${d} to have non-zero size.`);
        return withKeptDim(h, self, d, keepdim, medianAlong(h, self, d, ignoreNan));
      },
      grad: (t, { self, dim, keepdim }, [dy], [, indices]) => ({
        self: t.value_selecting_reduction_backward(dy, dim, indices, self.shape, keepdim),
      }),
    },
  );
}

op("kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", {
  lower: (h, { self, k, dim, keepdim }) => {
    requireDtype(self, !self.dtype.is_complex && self.dtype.kind !== "bool", "kthvalue_cpu");
    const d = wrapDim(dim, self.rank);
    const size = self.rank === 0 ? 1 : self.shape[d];
    if (k < 1 || k > size) throw new TorchError(`kthvalue(): selected number k out of range for dimension ${d}`);
    if (self.rank === 0) return [self, h.constant(0n, int64)];
    const at = h.splat(k - 1, int64, rowShape(self, d));
    return withKeptDim(h, self, d, keepdim, pick(h, sortAlong(h, self, d, false), d, at));
  },
  grad: (t, { self, dim, keepdim }, [dy], [, indices]) => ({
    self: t.value_selecting_reduction_backward(dy, dim, indices, self.shape, keepdim),
  }),
  doc: "The `k`-th smallest element of each row, and where it is.",
});

op("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", {
  lower: (h, { self, dim, keepdim }) => {
    requireDtype(self, !self.dtype.is_complex, "mode");
    const d = wrapDim(dim, self.rank);
    if (self.rank === 0) return [self, h.constant(0n, int64)];
    if (self.shape[d] === 0) throw new TorchIndexError(`mode(): Expected reduction dim ${d} to have non-zero size.`);
    const sorted = sortAlong(h, self, d, false);
    const [values] = sorted;
    const place = h.iota(int64, self.shape, d);
    // the length of the run of equal elements that ends at each place
    const earlier = takeBefore(h, values, d);
    const starts = h.or(h.compare(values, earlier, "NE"), h.compare(place, h.zerosLike(place), "EQ"));
    const start = h.select(starts, place, h.zerosLike(place));
    const [run] = scan(h, [start], d, [h.constant(0n, int64)], ([a], [b]) => [h.maximum(a, b)]);
    const [, at] = extremeAlong(h, h.subtract(place, run), d, true);
    return withKeptDim(h, self, d, keepdim, pick(h, sorted, d, h.reshape(at, rowShape(self, d))));
  },
  grad: (t, { self, dim, keepdim }, [dy], [, indices]) => ({
    self: t.value_selecting_reduction_backward(dy, dim, indices, self.shape, keepdim),
  }),
  doc: "The most frequent element of each row, of several the smallest, and where its last one is.",
});

/** Each element's predecessor along a dimension; the first stays. */
function takeBefore(h: Builder, x: Value, dim: number): Value {
  const n = x.shape[dim];
  const part = (from: number, to: number): Value =>
    h.slice(
      x,
      x.shape.map((_, i) => (i === dim ? from : 0)),
      x.shape.map((s, i) => (i === dim ? to : s)),
    );
  return h.concatenate([part(0, 1), part(0, n - 1)], dim);
}

const interpolations = ["linear", "lower", "higher", "midpoint", "nearest"];

interface Quantile {
  readonly self: Tensor;
  readonly q: Tensor;
  readonly dim: number | null;
  readonly keepdim: boolean;
  readonly interpolation: string;
}

function checkQuantile(name: string, { self, q, interpolation }: Quantile): void {
  if (self.numel() === 0) throw new TorchError(`${name}() input tensor must be non-empty`);
  if (q.ndim > 1) throw new TorchError(`${name}() q must be a scalar or 1D tensor`);
  if (self.dtype.name !== "float32" && self.dtype.name !== "float64")
    throw new TorchError(`${name}() input tensor must be either float or double dtype`);
  if (self.dtype !== q.dtype) throw new TorchError(`${name}() q tensor must be same dtype as the input tensor`);
  if (!interpolations.includes(interpolation))
    throw new TorchError(
      `${name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got ${interpolation}`,
    );
}

/** The elements of sorted rows at fractional ranks. */
function quantile(t: Torch, name: string, a: Quantile, ignoreNan: boolean): Tensor {
  checkQuantile(name, a);
  const { self, q, dim, keepdim, interpolation } = a;
  const d = dim === null ? 0 : wrapDim(dim, self.ndim);
  const rows = dim === null ? t.reshape(self, [-1]) : self.ndim === 0 ? t.reshape(self, [1]) : t.transpose(self, d, -1);
  const [sorted] = t.sort(rows, -1);
  const n = sorted.shape[sorted.ndim - 1];
  const lead = sorted.shape.slice(0, -1);
  const qs = t.reshape(q, [...lead.map(() => 1), q.numel()]);
  let ranks: Tensor;
  const nan = t.isnan(sorted);
  if (ignoreNan) {
    const count = t.sum(t.logical_not(nan), [-1], true);
    ranks = t.clamp_min(t.mul(qs, t._to_copy(t.sub(count, 1), { dtype: self.dtype })), 0);
  } else {
    ranks = t.masked_fill(t.expand(t.mul(qs, n - 1), [...lead, q.numel()]), t.any(nan, -1, true), n - 1);
  }
  if (interpolation === "lower") ranks = t.floor(ranks);
  else if (interpolation === "higher") ranks = t.ceil(ranks);
  else if (interpolation === "nearest") ranks = t.round(ranks);
  const below = t._to_copy(ranks, { dtype: int64 });
  let out = t.gather(sorted, -1, below);
  if (interpolation === "linear" || interpolation === "midpoint") {
    const above = t.gather(sorted, -1, t._to_copy(t.ceil(ranks), { dtype: int64 }));
    const weight = interpolation === "midpoint" ? t.full_like(ranks, 0.5) : t.sub(ranks, below);
    out = t.lerp(out, above, weight);
  }
  // the ranks come first, the reduced dimension goes or stays with size one
  const moved = q.ndim === 0 ? t.squeeze(out, -1) : t.movedim(out, [-1], [0]);
  const plain = quantileOrder(t, moved, q.ndim, self, dim, d);
  if (!keepdim) return plain;
  const kept = self.shape.map((s, i) => (dim === null || i === d ? 1 : s));
  return t.reshape(plain, q.ndim === 0 ? kept : [q.numel(), ...kept]);
}

/** Undoes, among the dimensions that remain, the transposition that put the reduced one last. */
function quantileOrder(t: Torch, moved: Tensor, lead: number, self: Tensor, dim: number | null, d: number): Tensor {
  if (self.ndim === 0 || dim === null || d === self.ndim - 1) return moved;
  const rest = self.shape.map((_, i) => i).filter((i) => i !== d);
  const order = rest.map((i) => (i === self.ndim - 1 ? d : i) + lead);
  return t.permute(moved, lead === 0 ? order : [0, ...order]);
}

for (const [name, ignoreNan, doc] of [
  ["quantile", false, "The elements at given fractions of each sorted row, interpolated."],
  ["nanquantile", true, "Quantiles of the elements that are not NaN."],
] as const) {
  op(
    `${name}(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor` as "quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
    { decompose: (t, args) => quantile(t, name, args, ignoreNan), doc },
  );
  op(
    `${name}.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor` as "quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
    {
      composite: (t, { self, q, dim, keepdim, interpolation }) => {
        if (!(q >= 0 && q <= 1)) throw new TorchError(`${name}() q must be in the range [0, 1] but got ${q}`);
        return t[name](self, t.scalar_tensor(q, { dtype: self.dtype, device: self.device }), dim, keepdim, {
          interpolation,
        });
      },
    },
  );
}
