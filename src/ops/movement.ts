/** @file Views: operators that show the same storage under another shape, and what is built on them. */
import {
  aval,
  inferSize,
  int64,
  numelOf,
  TorchError,
  TorchIndexError,
  wrapDim,
  wrapDims,
  type Aval,
  type DType,
} from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { op, type PlacedStep, type ViewInput } from "./registry.js";
import {
  bitcastStep,
  complexPairsStep,
  expandStep,
  partStep,
  permuteStep,
  realPairsStep,
  reshapeStep,
  sliceStep,
  stridedStep,
  viewStrides,
  type ViewStep,
} from "./view_steps.js";

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const permuted = (dims: readonly number[]): PlacedStep[] => [{ step: permuteStep(dims) }];
const reshaped = (shape: readonly number[]): PlacedStep[] => [{ step: reshapeStep(shape) }];

op("_view_backward(Tensor grad, Any step, Any input, Scalar offset=0) -> Tensor", {
  lower: (h, { grad, step, input, offset }) =>
    (step as ViewStep).transpose(h, grad, withDtype(input as Aval, grad.dtype, step as ViewStep), offset.as(int64)),
  grad: (t, { step, offset }, dy) => ({ grad: t._view_copy_step(dy, step, { offset }) }),
});

/** The input's aval in the type of the cotangent, which may be wider than the value's. */
const withDtype = (input: Aval, dtype: DType, step: ViewStep): Aval =>
  step.apply(input).dtype === input.dtype ? aval(dtype, input.shape) : input;

/** What a step shows, as a copy: its offset may be a number that enters at run time. */
op("_view_copy_step(Tensor self, Any step, *, Scalar offset=0) -> Tensor", {
  lower: (h, { self, step, offset }) => (step as ViewStep).emit(h, self, offset.as(int64)),
  grad: (t, { self, step, offset }, dy) => ({ self: t._view_backward(dy, step, self.spec.aval, offset) }),
});

op("_view_step(Tensor(a) self, Any step, int offset=0) -> Tensor(a)", {
  view: ({ step, offset }) => [{ step: step as ViewStep, offset }],
});

op("alias(Tensor(a) self) -> Tensor(a)", { view: () => [] });
op("view_as(Tensor(a) self, Tensor other) -> Tensor(a)", {
  composite: (t, { self, other }) => t.view(self, other.shape),
});

function dims(self: ViewInput, given: readonly number[]): number[] {
  if (given.length !== self.shape.length) {
    throw new TorchError(
      `permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i.e. input.dim() = ${self.shape.length} is not equal to len(dims) = ${given.length}`,
    );
  }
  return wrapDims(given, self.shape.length, false);
}

op("permute(Tensor(a) self, int[] dims) -> Tensor(a)", {
  view: ({ self, dims: d }) => permuted(dims(self, d)),
  doc: "Reorders the dimensions.",
});

function swapped(rank: number, a: number, b: number): PlacedStep[] {
  const order = range(rank);
  if (rank === 0) return [];
  [order[a], order[b]] = [order[b], order[a]];
  return permuted(order);
}

op("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", {
  view: ({ self, dim0, dim1 }) =>
    swapped(self.shape.length, wrapDim(dim0, self.shape.length), wrapDim(dim1, self.shape.length)),
  doc: "Swaps two dimensions.",
});
op("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", {
  composite: (t, { self, axis0, axis1 }) => t.transpose(self, axis0, axis1),
});
op("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", {
  composite: (t, { self, dim0, dim1 }) => t.transpose(self, dim0, dim1),
});

op("t(Tensor(a) self) -> Tensor(a)", {
  view: ({ self }) => {
    if (self.shape.length > 2)
      throw new TorchError(`t() expects a tensor with <= 2 dimensions, but self is ${self.shape.length}D`);
    return self.shape.length < 2 ? [] : permuted([1, 0]);
  },
  doc: "Transposes a matrix.",
});

op("numpy_T(Tensor(a) self) -> Tensor(a)", { view: ({ self }) => permuted(range(self.shape.length).reverse()) });
op("matrix_H(Tensor(a) self) -> Tensor(a)", { composite: (t, { self }) => t.conj(t.transpose(self, -2, -1)) });
op("mT(Tensor(a) self) -> Tensor(a)", {
  view: ({ self }) => {
    const rank = self.shape.length;
    if (rank < 2)
      throw new TorchError(`tensor.mT is only supported on matrices or batches of matrices. Got ${rank}-D tensor.`);
    return swapped(rank, rank - 2, rank - 1);
  },
});
op("mH(Tensor(a) self) -> Tensor(a)", { composite: (t, { self }) => t.conj(t.mT(self)) });
op("adjoint(Tensor(a) self) -> Tensor(a)", { composite: (t, { self }) => t.conj(t.transpose(self, -2, -1)) });

op("movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", {
  view: ({ self, source, destination }) => {
    const rank = self.shape.length;
    if (source.length !== destination.length)
      throw new TorchError(
        `movedim: Invalid source or destination dims: source (${source.join(", ")}) should contain the same number of dims as destination (${destination.join(", ")})`,
      );
    const from = wrapDims(source, rank, false);
    const to = wrapDims(destination, rank, false);
    const order = new Array<number>(rank).fill(-1);
    from.forEach((s, i) => (order[to[i]] = s));
    const rest = range(rank).filter((d) => !from.includes(d));
    return permuted(order.map((d) => (d === -1 ? rest.shift()! : d)));
  },
  doc: "Moves dimensions to other places.",
});
op("movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)", {
  composite: (t, { self, source, destination }) => t.movedim(self, [source], [destination]),
});
op("moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", {
  composite: (t, { self, source, destination }) => t.movedim(self, source, destination),
});
op("moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)", {
  composite: (t, { self, source, destination }) => t.movedim(self, [source], [destination]),
});

const canView = (self: ViewInput, shape: readonly number[]): boolean =>
  viewStrides(self.shape, self.strides, shape) !== null;

op("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", {
  view: ({ self, size }) => {
    const shape = inferSize(size, numelOf(self.shape));
    if (!canView(self, shape)) {
      throw new TorchError(
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
      );
    }
    return reshaped(shape);
  },
  doc: "The same elements under another shape.",
});

op("_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)", {
  view: ({ size }) => reshaped(size),
});
op("_unsafe_view(Tensor self, SymInt[] size) -> Tensor", { composite: (t, { self, size }) => t.view(self, size) });

op("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", {
  composite: (t, { self, shape }) => {
    const size = inferSize(shape, self.numel());
    const { strides } = self.spec.layout(self.offsets);
    return viewStrides(self.shape, strides, size) ? t.view(self, size) : t.view(t.clone(self), size);
  },
  doc: "The same elements under another shape; a copy where no view can show it.",
});
op("reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", {
  composite: (t, { self, other }) => t.reshape(self, other.shape),
});

op("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)", {
  composite: (t, { self, start_dim, end_dim }) => {
    const start = wrapDim(start_dim, self.ndim);
    const end = wrapDim(end_dim, self.ndim);
    if (start > end) throw new TorchError("flatten() has invalid args: start_dim cannot come after end_dim");
    if (self.ndim === 0) return t.reshape(self, [1]);
    if (start === end) return self;
    return t.reshape(self, [
      ...self.shape.slice(0, start),
      numelOf(self.shape.slice(start, end + 1)),
      ...self.shape.slice(end + 1),
    ]);
  },
  doc: "Joins a range of dimensions into one.",
});
op("ravel(Tensor(a) self) -> Tensor(a)", { composite: (t, { self }) => t.reshape(self, [-1]) });
op("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", {
  composite: (t, { self, dim, sizes }) => {
    const d = wrapDim(dim, self.ndim);
    if (sizes.length === 0) throw new TorchError("unflatten: sizes must be non-empty");
    const known = sizes.filter((n) => n !== -1).reduce((a, b) => a * b, 1);
    const inferred = sizes.includes(-1) ? (known === 0 ? 0 : Math.floor(self.shape[d] / known)) : 0;
    const full = sizes.map((n) => (n === -1 ? inferred : n));
    if (numelOf(full) !== self.shape[d])
      throw new TorchError(
        `unflatten: Provided sizes [${sizes.join(", ")}] don't multiply up to the size of dim ${d} (${self.shape[d]}) in the input tensor`,
      );
    return t.view(self, [...self.shape.slice(0, d), ...full, ...self.shape.slice(d + 1)]);
  },
  doc: "Splits one dimension into several.",
});

op("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", {
  view: ({ self, dim }) => {
    const d = wrapDim(dim, self.shape.length + 1);
    return reshaped([...self.shape.slice(0, d), 1, ...self.shape.slice(d)]);
  },
  doc: "Adds a dimension of size one.",
});
op("squeeze(Tensor(a) self) -> Tensor(a)", {
  view: ({ self }) => reshaped(self.shape.filter((n) => n !== 1)),
  doc: "Removes dimensions of size one.",
});
const squeezed = (self: ViewInput, given: readonly number[]): PlacedStep[] => {
  const drop = wrapDims(given, self.shape.length, false);
  return reshaped(self.shape.filter((n, i) => n !== 1 || !drop.includes(i)));
};
op("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", { view: ({ self, dim }) => squeezed(self, [dim]) });
op("squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", { view: ({ self, dim }) => squeezed(self, dim) });

op("expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", {
  view: ({ self, size }) => {
    const lead = size.length - self.shape.length;
    if (lead < 0)
      throw new TorchError(
        `expand(${size.join(", ")}): the number of sizes provided (${size.length}) must be greater or equal to the number of dimensions in the tensor (${self.shape.length})`,
      );
    const shape = size.map((n, i) => {
      const have = i < lead ? 1 : self.shape[i - lead];
      if (n === -1) {
        if (i < lead)
          throw new TorchError(
            `expand(): The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension ${i}`,
          );
        return have;
      }
      if (n < 0) throw new TorchError(`expand(): expected sizes of at least -1, got ${n}`);
      if (have !== 1 && have !== n) {
        throw new TorchError(
          `The expanded size of the tensor (${n}) must match the existing size (${have}) at non-singleton dimension ${i}.  Target sizes: [${size.join(", ")}].  Tensor sizes: [${self.shape.join(", ")}]`,
        );
      }
      return n;
    });
    return shape.join() === self.shape.join() ? [] : [{ step: expandStep(shape) }];
  },
  doc: "Repeats dimensions of size one, without copying.",
});
op("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", {
  composite: (t, { self, other }) => t.expand(self, other.shape),
});
op("broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", {
  composite: (t, { self, size }) => t.expand(self, size),
});

op("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", {
  view: ({ self, dim, index }) => {
    if (self.shape.length === 0) throw new TorchIndexError("select() cannot be applied to a 0-dim tensor.");
    const d = wrapDim(dim, self.shape.length);
    const size = self.shape[d];
    if (index < -size || index >= size)
      throw new TorchIndexError(
        `select(): index ${index} out of range for tensor of size [${self.shape.join(", ")}] at dimension ${d}`,
      );
    return [
      { step: sliceStep(d, 1, 1), offset: index < 0 ? index + size : index },
      ...reshaped(self.shape.filter((_, i) => i !== d)),
    ];
  },
  doc: "One index of a dimension, which disappears.",
});

op("slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)", {
  view: ({ self, dim, start, end, step }) => {
    if (self.shape.length === 0) throw new TorchError("slice() cannot be applied to a 0-dim tensor.");
    const d = wrapDim(dim, self.shape.length);
    if (step <= 0) throw new TorchError("slice step must be positive");
    const size = self.shape[d];
    const clampTo = (n: number, low: number): number => Math.min(size, Math.max(low, n < 0 ? n + size : n));
    const from = clampTo(start ?? 0, 0);
    const to = clampTo(end ?? size, from);
    const count = Math.ceil((to - from) / step);
    return count === size && step === 1 ? [] : [{ step: sliceStep(d, count, step), offset: from }];
  },
  doc: "A range of a dimension.",
});

op("narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)", {
  composite: (t, { self, dim, start, length }) => {
    if (self.ndim === 0) throw new TorchError("narrow() cannot be applied to a 0-dim tensor.");
    if (length < 0) throw new TorchError("narrow(): length must be non-negative.");
    const size = self.shape[wrapDim(dim, self.ndim)];
    if (start < -size || start > size)
      throw new TorchIndexError(
        `start out of range (expected to be in range of [${-size}, ${size}], but got ${start})`,
      );
    const from = start < 0 ? start + size : start;
    if (from + length > size)
      throw new TorchError(`start (${from}) + length (${length}) exceeds dimension size (${size}).`);
    return t.slice(self, dim, from, from + length, 1);
  },
  doc: "`length` indices of a dimension from `start`.",
});

op("as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)", {
  view: ({ self, size, stride, storage_offset }) => {
    if (size.length !== stride.length) throw new TorchError("mismatch in length of strides and shape");
    if (stride.some((n) => n < 0))
      throw new TorchError(
        `as_strided: Negative strides are not supported at the moment, got strides: [${stride.join(", ")}]`,
      );
    const offset = storage_offset ?? self.storage_offset;
    const last = size.some((n) => n === 0) ? 0 : offset + size.reduce((sum, n, i) => sum + (n - 1) * stride[i], 0) + 1;
    if (last > self.base.numel) {
      throw new TorchError(
        `setStorage: sizes [${size.join(", ")}], strides [${stride.join(", ")}], storage offset ${offset}, and itemsize ${self.base.dtype.itemsize} requiring a storage size of ${last * self.base.dtype.itemsize} are out of bounds for storage of size ${self.base.nbytes}`,
      );
    }
    return [{ step: stridedStep(size, stride, offset), fromBase: true }];
  },
  doc: "The storage seen with given sizes and strides.",
});

const dense = (shape: readonly number[]): number[] => shape.map((_, i) => numelOf(shape.slice(i + 1)));

op("diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", {
  view: ({ self, offset, dim1, dim2 }) => {
    const rank = self.shape.length;
    const a = wrapDim(dim1, rank);
    const b = wrapDim(dim2, rank);
    if (a === b) throw new TorchError(`diagonal dimensions cannot be identical ${dim1}, ${dim2}`);
    const strides = dense(self.shape);
    const length = Math.max(
      0,
      offset >= 0 ? Math.min(self.shape[a], self.shape[b] - offset) : Math.min(self.shape[a] + offset, self.shape[b]),
    );
    const start = length === 0 ? 0 : offset >= 0 ? offset * strides[b] : -offset * strides[a];
    const keep = range(rank).filter((d) => d !== a && d !== b);
    return [
      {
        step: stridedStep(
          [...keep.map((d) => self.shape[d]), length],
          [...keep.map((d) => strides[d]), strides[a] + strides[b]],
          start,
        ),
      },
    ];
  },
  doc: "The diagonal of two dimensions, as a new last dimension.",
});

op("unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", {
  view: ({ self, dimension, size, step }) => {
    const rank = self.shape.length;
    const d = wrapDim(dimension, rank);
    const have = rank === 0 ? 1 : self.shape[d];
    if (size < 0) throw new TorchError(`size is ${size} but must be >= 0`);
    if (size > have) throw new TorchError(`maximum size for tensor at dimension ${d} is ${have} but size is ${size}`);
    if (step <= 0) throw new TorchError(`step is ${step} but must be > 0`);
    const strides = dense(self.shape);
    if (rank === 0) return [{ step: stridedStep([size], [1], 0) }];
    const count = Math.floor((have - size) / step) + 1;
    return [
      {
        step: stridedStep(
          [...self.shape.map((n, i) => (i === d ? count : n)), size],
          [...strides.map((n, i) => (i === d ? n * step : n)), strides[d]],
          0,
        ),
      },
    ];
  },
  doc: "Windows of a dimension, as a new last dimension.",
});

/** Marks views that come several from one call: autograd forbids to change them in place. */
function severalViews(views: Tensor[]): Tensor[] {
  for (const v of views) if (v.meta) v.meta.viewCreation = "multi_output";
  return views;
}

op("unbind.int(Tensor(a) self, int dim=0) -> Tensor(a)[]", {
  composite: (t, { self, dim }) => {
    if (self.ndim === 0) throw new TorchError("Dimension specified as 0 but tensor has no dimensions");
    return severalViews(range(self.shape[wrapDim(dim, self.ndim)]).map((i) => t.select(self, dim, i)));
  },
  doc: "One view for each index of a dimension.",
});

op("split.Tensor(Tensor(a) self, SymInt split_size, int dim=0) -> Tensor(a)[]", {
  composite: (t, { self, split_size, dim }) => {
    if (self.ndim === 0) throw new TorchError("split expects at least a 1-dimensional tensor");
    if (split_size < 0)
      throw new TorchError(`split expects split_size be non-negative, but got split_size=${split_size}`);
    const size = self.shape[wrapDim(dim, self.ndim)];
    if (split_size === 0 && size !== 0)
      throw new TorchError(`split_size can only be 0 if dimension size is 0, but got dimension size of ${size}`);
    const count = split_size === 0 ? 1 : Math.max(1, Math.ceil(size / split_size));
    return severalViews(
      range(count).map((i) => t.slice(self, dim, i * split_size, Math.min(size, (i + 1) * split_size), 1)),
    );
  },
  doc: "Views of `split_size` indices each.",
});

op("split_with_sizes(Tensor(a) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]", {
  composite: (t, { self, split_sizes, dim }) => {
    if (self.ndim === 0) throw new TorchError("split expects at least a 1-dimensional tensor");
    const size = self.shape[wrapDim(dim, self.ndim)];
    if (split_sizes.some((n) => n < 0))
      throw new TorchError(
        `split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=[${split_sizes.join(", ")}]`,
      );
    if (split_sizes.reduce((a, b) => a + b, 0) !== size) {
      throw new TorchError(
        `split_with_sizes expects split_sizes to sum exactly to ${size} (input tensor's size at dimension ${dim}), but got split_sizes=[${split_sizes.join(", ")}]`,
      );
    }
    let at = 0;
    return severalViews(split_sizes.map((n) => t.slice(self, dim, at, (at += n), 1)));
  },
});
op("split.sizes(Tensor(a) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]", {
  composite: (t, { self, split_size, dim }) => t.split_with_sizes(self, split_size, dim),
});

op("chunk(Tensor(a) self, int chunks, int dim=0) -> Tensor(a)[]", {
  composite: (t, { self, chunks, dim }) => {
    if (self.ndim === 0) throw new TorchError("chunk expects at least a 1-dimensional tensor");
    if (chunks <= 0) throw new TorchError(`chunk expects \`chunks\` to be greater than 0, got: ${chunks}`);
    const size = self.shape[wrapDim(dim, self.ndim)];
    const each = Math.ceil(size / chunks);
    return each === 0 ? t.split_with_sizes(self, new Array<number>(chunks).fill(0), dim) : t.split(self, each, dim);
  },
  doc: "At most `chunks` views of equal size, the last one smaller.",
});

op("real(Tensor(a) self) -> Tensor(a)", {
  view: ({ self }) => (self.aval.dtype.is_complex ? [{ step: partStep("real") }] : []),
  doc: "The real part.",
});
op("imag(Tensor(a) self) -> Tensor(a)", {
  view: ({ self }) => {
    if (!self.aval.dtype.is_complex)
      throw new TorchError("imag is not implemented for tensors with non-complex dtypes.");
    return [{ step: partStep("imag") }];
  },
  doc: "The imaginary part.",
});
op("view_as_real(Tensor(a) self) -> Tensor(a)", {
  view: ({ self }) => {
    if (!self.aval.dtype.is_complex) throw new TorchError("view_as_real is only supported for complex tensors");
    return [{ step: realPairsStep }];
  },
});
op("view_as_complex(Tensor(a) self) -> Tensor(a)", {
  view: ({ self }) => {
    if (!self.aval.dtype.is_floating_point)
      throw new TorchError(
        `view_as_complex is only supported for floating point tensors, but got a tensor of scalar type: ${self.aval.dtype.name}`,
      );
    if (self.shape.length === 0) throw new TorchError("Input tensor must have one or more dimensions");
    if (self.shape[self.shape.length - 1] !== 2) throw new TorchError("Tensor must have a last dimension of size 2");
    return [{ step: complexPairsStep }];
  },
});
op("view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", {
  view: ({ self, dtype }) => (self.aval.dtype === dtype ? [] : [{ step: bitcastStep(dtype) }]),
});
