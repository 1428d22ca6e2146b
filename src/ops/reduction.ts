/** @file Reductions over dimensions. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { TorchError, wrapDim, wrapDims, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast, computeType, inComputeType, toFloatType } from "./helpers.js";
import { notDifferentiable, op, type Torch } from "./registry.js";

/** Reduces dimensions; with `keepdim` they stay, of size one. */
export function reduceDims(
  h: Builder,
  x: Value,
  dims: readonly number[],
  keepdim: boolean,
  f: (x: Value, dims: readonly number[]) => Value,
): Value {
  const out = f(x, dims);
  return keepdim
    ? h.reshape(
        out,
        x.shape.map((n, i) => (dims.includes(i) ? 1 : n)),
      )
    : out;
}

const sumType = (dtype: DType, asked: DType | null): DType => asked ?? (dtype.is_differentiable ? dtype : dt.int64);

/** A sum, accumulated in the compute type. */
export function sumOf(h: Builder, x: Value, dims: readonly number[], keepdim: boolean, out: DType): Value {
  const wide = computeType(out);
  const v = cast(h, x, wide);
  return cast(
    h,
    reduceDims(h, v, dims, keepdim, (y, d) =>
      wide === dt.bool ? h.reduceWith(y, h.constant(0, wide), d, "or") : h.reduceWith(y, h.constant(0, wide), d, "add"),
    ),
    out,
  );
}

/** A reduced cotangent at every element that it was reduced from. */
export function spread(
  t: Torch,
  dy: Tensor,
  self: Tensor,
  dim: readonly number[] | number | null | undefined,
  keepdim: boolean,
): Tensor {
  const dims = wrapDims(dim, self.ndim);
  let g = dy;
  if (!keepdim && self.ndim > 0) for (const d of [...dims].sort((a, b) => a - b)) g = t.unsqueeze(g, d);
  return t.expand(g, self.shape);
}

op(
  [
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
  ],
  {
    lower: (h, { self, dim, keepdim, dtype }) =>
      sumOf(h, self, wrapDims(dim, self.rank), keepdim, sumType(self.dtype, dtype)),
    grad: (t, { self, dim, keepdim }, dy) => ({ self: spread(t, dy, self, dim, keepdim) }),
    doc: "The sum of all elements, or along dimensions.",
  },
);

op(
  [
    "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
  ],
  {
    lower: (h, { self, dim, keepdim, dtype }) => {
      const out = dtype ?? self.dtype;
      if (!out.is_differentiable) {
        throw new TorchError(
          `mean(): could not infer output dtype. ${dtype ? "Optional dtype" : "Input dtype"} must be either a floating point or complex dtype. Got: ${out.name}`,
        );
      }
      const dims = wrapDims(dim, self.rank);
      const count = dims.reduce((n, d) => n * self.shape[d], 1);
      const wide = computeType(out);
      const sum = sumOf(h, cast(h, self, wide), dims, keepdim, wide);
      return cast(h, h.divide(sum, h.splat(count, wide, sum.shape)), out);
    },
    grad: (t, { self, dim, keepdim }, dy) => {
      const count = wrapDims(dim, self.ndim).reduce((n, d) => n * self.shape[d], 1);
      return { self: t.div(spread(t, dy, self, dim, keepdim), Math.max(1, count)) };
    },
    doc: "The mean of all elements, or along dimensions.",
  },
);

/** Sums a tensor to a shape that broadcasts to its own: the gradient of broadcasting. */
op("sum_to_size(Tensor self, SymInt[] size) -> Tensor", {
  composite: (t, { self, size }) => {
    const lead = self.ndim - size.length;
    if (lead < 0 || size.some((n, i) => n !== 1 && n !== self.shape[i + lead])) {
      throw new TorchError(`size {[${size.join(", ")}]} is not expandable to size {[${self.shape.join(", ")}]}.`);
    }
    const dims = self.shape.map((_, i) => i).filter((i) => i < lead || (size[i - lead] === 1 && self.shape[i] !== 1));
    if (size.length === 0) return t.sum(self);
    if (dims.length === 0) return lead === 0 ? self : t.reshape(self, size);
    const out = t.sum(self, dims, true);
    return lead === 0 ? out : t.reshape(out, size);
  },
  doc: "Sums to a shape that broadcasts to the tensor's own.",
});

op(["prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"], {
  lower: (h, { self, dim, keepdim, dtype }) =>
    productOf(h, self, wrapDims(dim, self.rank), keepdim, sumType(self.dtype, dtype)),
  grad: (t, { self, dim, keepdim }, dy) => {
    if (self.ndim === 0) return { self: dy };
    const d = wrapDim(dim, self.ndim);
    return { self: t.mul(spread(t, dy, self, dim, keepdim), t.conj(productOfOthers(t, self, d))) };
  },
  doc: "The product of all elements, or along a dimension.",
});
op("prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", {
  lower: (h, { self, dtype }) => productOf(h, self, wrapDims(null, self.rank), false, sumType(self.dtype, dtype)),
  grad: (t, { self }, dy) => {
    const flat = t.reshape(self, [-1]);
    return { self: t.mul(dy, t.conj(t.reshape(productOfOthers(t, flat, 0), self.shape))) };
  },
});

function productOf(h: Builder, x: Value, dims: readonly number[], keepdim: boolean, out: DType): Value {
  const wide = computeType(out);
  const v = cast(h, x, wide);
  const kind = wide === dt.bool ? "and" : "multiply";
  return cast(
    h,
    reduceDims(h, v, dims, keepdim, (y, d) => h.reduceWith(y, h.constant(1, wide), d, kind)),
    out,
  );
}

/** For each element the product of all others of its row: right where some are zero. */
function productOfOthers(t: Torch, x: Tensor, dim: number): Tensor {
  const n = x.shape[dim];
  if (n === 0) return x;
  const one = t.new_ones(
    x,
    x.shape.map((s, i) => (i === dim ? 1 : s)),
  );
  const before = t.cumprod(t.cat([one, t.slice(x, dim, 0, n - 1, 1)], dim), dim);
  const after = t.flip(t.cumprod(t.cat([one, t.slice(t.flip(x, [dim]), dim, 0, n - 1, 1)], dim), dim), [dim]);
  return t.mul(before, after);
}

for (const [name, doc] of [
  ["all", "Whether all elements are not zero."],
  ["any", "Whether any element is not zero."],
] as const) {
  const lower = (h: Builder, self: Value, dims: readonly number[], keepdim: boolean): Value => {
    const out = reduceDims(h, cast(h, self, dt.bool), dims, keepdim, (y, d) =>
      h.reduceWith(y, h.constant(name === "all", dt.bool), d, name === "all" ? "and" : "or"),
    );
    return self.dtype === dt.uint8 ? cast(h, out, dt.uint8) : out;
  };
  op(`${name}(Tensor self) -> Tensor` as "all(Tensor self) -> Tensor", {
    lower: (h, { self }) => lower(h, self, wrapDims(null, self.rank), false),
    grad: notDifferentiable,
    doc,
  });
  op(
    `${name}.dim(Tensor self, int dim, bool keepdim=False) -> Tensor` as "all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
    {
      lower: (h, { self, dim, keepdim }) => lower(h, self, wrapDims(dim, self.rank), keepdim),
      grad: notDifferentiable,
    },
  );
  op(
    `${name}.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor` as "all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    {
      lower: (h, { self, dim, keepdim }) => lower(h, self, wrapDims(dim, self.rank, false), keepdim),
      grad: notDifferentiable,
    },
  );
}
op("_is_all_true(Tensor self) -> Tensor", {
  composite: (t, { self }) => t.all(self),
  doc: "Whether all elements are true.",
});
op("_is_any_true(Tensor self) -> Tensor", {
  composite: (t, { self }) => t.any(self),
  doc: "Whether any element is true.",
});

op(
  [
    "count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
    "count_nonzero(Tensor self, int? dim=None) -> Tensor",
  ],
  {
    lower: (h, { self, dim }) => sumOf(h, cast(h, self, dt.bool), wrapDims(dim, self.rank), false, dt.int64),
    grad: notDifferentiable,
    doc: "How many elements are not zero.",
  },
);

const notNan = (t: Torch, x: Tensor): Tensor => t.logical_not(t.isnan(x));

op("nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", {
  decompose: (t, { self, dim, keepdim, dtype }) => {
    if (self.is_complex()) throw new TorchError("nansum does not support complex inputs");
    const x = self.is_floating_point() ? t.masked_fill(self, t.isnan(self), 0) : self;
    return t.sum(x, dim, keepdim, { dtype });
  },
  doc: "The sum with NaN counted as zero.",
});

op("nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", {
  decompose: (t, { self, dim, keepdim, dtype }) => {
    if (!self.dtype.is_differentiable)
      throw new TorchError(
        `nanmean(): expected input to have floating point or complex dtype but got ${self.dtype.name}`,
      );
    if (self.is_complex()) {
      const ok = notNan(t, self);
      const x = t.masked_fill(self, t.logical_not(ok), 0);
      return t.div(t.sum(x, dim, keepdim, { dtype }), t.sum(ok, dim, keepdim));
    }
    return t.div(t.nansum(self, dim, keepdim, { dtype }), t.sum(notNan(t, self), dim, keepdim));
  },
  doc: "The mean of the elements that are not NaN.",
});

op("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", {
  lower: (h, { self, dim, keepdim }) => {
    const x = cast(h, self, toFloatType(self.dtype));
    const dims = wrapDims(dim, x.rank, false);
    const over = dim.length === 0 ? wrapDims(null, x.rank) : dims;
    return inComputeType(h, [x], (v) => logSumExp(h, v, over, keepdim));
  },
  grad: (t, { self, dim, keepdim }, dy, out) => {
    const value = spread(t, out, self, dim, keepdim);
    const weight = t.exp(t.sub(self, t.masked_fill(value, t.isinf(value), 0)));
    return { self: t.mul(spread(t, dy, self, dim, keepdim), t.conj(weight)) };
  },
  doc: "The logarithm of the sum of exponentials, without overflow.",
});

function logSumExp(h: Builder, x: Value, dims: readonly number[], keepdim: boolean): Value {
  const real = x.dtype.is_complex ? h.real(x) : x;
  const top = h.reduceWith(real, h.constant(-Infinity, real.dtype), dims, "maximum");
  const finite = h.compare(h.abs(top), h.splat(Infinity, top.dtype, top.shape), "EQ");
  const shift = cast(h, h.select(finite, h.zerosLike(top), top), x.dtype);
  const kept = x.shape.map((_, i) => i).filter((i) => !dims.includes(i));
  const powers = h.exponential(h.subtract(x, h.broadcast_in_dim(shift, x.shape, kept)));
  const sum = h.reduceWith(powers, h.constant(0, x.dtype), dims, "add");
  const out = h.add(h.log(sum), shift);
  return keepdim
    ? h.reshape(
        out,
        x.shape.map((n, i) => (dims.includes(i) ? 1 : n)),
      )
    : out;
}

op("trace(Tensor self) -> Tensor", {
  decompose: (t, { self }) => {
    if (self.ndim !== 2) throw new TorchError("trace: expected a matrix");
    return t.sum(t.diagonal(self));
  },
  doc: "The sum of a matrix's diagonal.",
});
op("trace_backward(Tensor grad, SymInt[] sizes) -> Tensor", {
  decompose: (t, { grad, sizes }) => t.mul(t.eye(sizes[0], sizes[1], { dtype: grad.dtype, device: grad.device }), grad),
  doc: "The gradient of a trace.",
});
