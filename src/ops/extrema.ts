/** @file The largest and smallest elements, and where they are. */
import type { Builder, Value } from "../hlo/index.js";
import { int64, TorchError, TorchIndexError, wrapDim, wrapDims } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { requireDtype } from "./helpers.js";
import { extremeAlong, highest, lowest } from "./order_values.js";
import { reduceDims, spread } from "./reduction.js";
import { notDifferentiable, op, type Torch } from "./registry.js";

type Name = "max" | "min";

/** Throws where a dimension to be reduced is empty: an extreme value of nothing does not exist. */
function requireElements(name: string, shape: readonly number[], dims: readonly number[], all: boolean): void {
  if (all && shape.includes(0))
    throw new TorchError(
      `${name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.`,
    );
  const empty = dims.find((d) => shape[d] === 0);
  if (empty !== undefined)
    throw new TorchIndexError(`${name}(): Expected reduction dim ${empty} to have non-zero size.`);
}

/** The extreme value over dimensions. */
function extremeOver(h: Builder, x: Value, dims: readonly number[], keepdim: boolean, largest: boolean): Value {
  const init = largest ? lowest(h, x.dtype) : highest(h, x.dtype);
  return reduceDims(h, x, dims, keepdim, (v, d) =>
    v.dtype.kind === "bool"
      ? h.reduceWith(v, init, d, largest ? "or" : "and")
      : h.reduceWith(v, init, d, largest ? "maximum" : "minimum"),
  );
}

/** Cotangents of an extreme value over dimensions, shared evenly among the elements that equal it. */
function shareEvenly(
  t: Torch,
  self: Tensor,
  dim: readonly number[] | number | null,
  keepdim: boolean,
  dy: Tensor,
  out: Tensor,
): Tensor {
  const value = spread(t, out, self, dim, keepdim);
  const mask = t.logical_or(t.eq(self, value), t.logical_and(t.ne(self, self), t.ne(value, value)));
  const hits = t._to_copy(mask, { dtype: dy.dtype });
  const dims = wrapDims(dim, self.ndim);
  const count = dims.length === 0 ? hits : t.sum(hits, dims, true);
  return t.div(t.mul(spread(t, dy, self, dim, keepdim), hits), count);
}

function defineExtreme(name: Name, largest: boolean): void {
  const word = largest ? "largest" : "smallest";
  const over = `a${name}` as const;

  op(`${over}(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor`, {
    lower: (h, { self, dim, keepdim }) => {
      requireDtype(self, !self.dtype.is_complex, over);
      const dims = wrapDims(dim, self.rank);
      requireElements(over, self.shape, dims, dim.length === 0);
      return extremeOver(h, self, dims, keepdim, largest);
    },
    grad: (t, { self, dim, keepdim }, dy, out) => ({ self: shareEvenly(t, self, dim, keepdim, dy, out) }),
    exactOut: true,
    doc: `The ${word} element along dimensions; its gradient is shared evenly among equal elements.`,
  });

  op(`${name}(Tensor self) -> Tensor`, {
    lower: (h, { self }) => {
      requireDtype(self, !self.dtype.is_complex, `${name}_all`);
      const dims = wrapDims(null, self.rank);
      requireElements(name, self.shape, dims, true);
      return extremeOver(h, self, dims, false, largest);
    },
    grad: (t, { self }, dy, out) => ({ self: shareEvenly(t, self, null, false, dy, out) }),
    doc: `The ${word} element, of all or along a dimension; or, of two tensors, element by element.`,
  });

  op(`${name}.other(Tensor self, Tensor other) -> Tensor`, {
    composite: (t, { self, other }) => (largest ? t.maximum(self, other) : t.minimum(self, other)),
  });

  op(`${name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)`, {
    lower: (h, { self, dim, keepdim }) => {
      requireDtype(self, !self.dtype.is_complex, name);
      const d = wrapDim(dim, self.rank);
      if (self.rank === 0) return [self, h.constant(0n, int64)];
      requireElements(name, self.shape, [d], false);
      return withKeptDim(h, self, d, keepdim, extremeAlong(h, self, d, largest));
    },
    grad: (t, { self, dim, keepdim }, [dy], [, indices]) => ({
      self: t.value_selecting_reduction_backward(dy, dim, indices, self.shape, keepdim),
    }),
  });

  op(`arg${name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor`, {
    lower: (h, { self, dim, keepdim }) => {
      requireDtype(self, !self.dtype.is_complex && self.dtype.kind !== "bool", `arg${name}_cpu`);
      requireElements(`arg${name}`, self.shape, [], dim === null);
      if (dim === null) {
        const [, index] = extremeAlong(h, h.reshape(self, [self.numel]), 0, largest);
        return keepdim
          ? h.reshape(
              index,
              self.shape.map(() => 1),
            )
          : index;
      }
      const d = wrapDim(dim, self.rank);
      requireElements(`arg${name}`, self.shape, [d], false);
      if (self.rank === 0) return h.constant(0n, int64);
      return withKeptDim(h, self, d, keepdim, extremeAlong(h, self, d, largest))[1];
    },
    grad: notDifferentiable,
    doc: `The position of the ${word} element; the first one where several are equal.`,
  });
}

/** Results of a reduction of dimension `dim`, which stays with size one when `keepdim` says so. */
export function withKeptDim(h: Builder, x: Value, dim: number, keepdim: boolean, results: readonly Value[]): Value[] {
  const shape = x.shape.map((n, i) => (i === dim ? 1 : n));
  return results.map((r) => (keepdim ? h.reshape(r, shape) : r));
}

op("value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor", {
  decompose: (t, { grad, dim, indices, sizes, keepdim }) => {
    const zeros = t.new_zeros(grad, sizes);
    if (sizes.length === 0) return t.reshape(grad, []);
    const [dy, index] = keepdim ? [grad, indices] : [t.unsqueeze(grad, dim), t.unsqueeze(indices, dim)];
    return t.scatter(zeros, dim, index, dy);
  },
  doc: "The gradient of a reduction that picks one element of each row.",
});

defineExtreme("max", true);
defineExtreme("min", false);

op("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", {
  decompose: (t, { self, dim, keepdim }) => {
    if (dim === null && self.numel() === 0)
      throw new TorchError(
        "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.",
      );
    if (dim === null) {
      const over = keepdim ? self.shape.map((_, i) => i) : [];
      return [t.amin(self, over, keepdim), t.amax(self, over, keepdim)];
    }
    if (self.ndim > 0 && self.shape[wrapDim(dim, self.ndim)] === 0)
      throw new TorchIndexError(`aminmax(): Expected reduction dim ${wrapDim(dim, self.ndim)} to have non-zero size.`);
    return [t.amin(self, [dim], keepdim), t.amax(self, [dim], keepdim)];
  },
  exactOut: true,
  doc: "The smallest and the largest element together.",
});
