/** @file Reductions over dimensions. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { TorchError, wrapDims, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast, computeType } from "./helpers.js";
import { op, type Torch } from "./registry.js";

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
    if (dims.length === 0) return lead === 0 ? self : t.reshape(self, size);
    const out = t.sum(self, dims, true);
    return lead === 0 ? out : t.reshape(out, size);
  },
});
