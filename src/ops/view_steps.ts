/** @file Views: the steps from a storage's value to the tensor that reads it, how each is read, written and transposed. */
import type { Builder, Value } from "../hlo/index.js";
import { aval, contiguousStrides, dtypeFromName, numelOf, TorchError, type Aval, type DType } from "../schema/index.js";

/** One step of a view. `key` identifies it; at most one number (its offset) is left to run time. */
export interface ViewStep {
  readonly key: string;
  readonly hasOffset: boolean;
  /** What the step gives from a value of this kind. */
  apply(input: Aval): Aval;
  /** Strides and the added storage offset of the result; null when it has none that PyTorch could express. */
  strides(input: Aval, strides: readonly number[], offset: number): { strides: number[]; offset: number } | null;
  emit(h: Builder, x: Value, offset: Value | null): Value;
  /** The input after `update` was written through the step. */
  write(h: Builder, x: Value, update: Value, offset: Value | null): Value;
  /** The input's cotangent from the result's: the transpose of `emit`. */
  transpose(h: Builder, dy: Value, input: Aval, offset: Value | null): Value;
}

const zeroOf = (h: Builder, dtype: DType, shape: readonly number[]): Value => h.splat(0, dtype, shape);
const s64 = dtypeFromName("int64");

/** Reorders dimensions: result dimension i is input dimension `dims[i]`. */
export function permuteStep(dims: readonly number[]): ViewStep {
  const inverse = dims.map((_, i) => dims.indexOf(i));
  return {
    key: `p${dims.join()}`,
    hasOffset: false,
    apply: (x) =>
      aval(
        x.dtype,
        dims.map((d) => x.shape[d]),
      ),
    strides: (_x, s, _offset) => ({ strides: dims.map((d) => s[d]), offset: 0 }),
    emit: (h, x) => h.transpose(x, dims),
    write: (h, _x, update) => h.transpose(update, inverse),
    transpose: (h, dy) => h.transpose(dy, inverse),
  };
}

/**
 * The strides with which memory laid out as (shape, strides) can be seen as `target`; null when it cannot.
 * PyTorch's rule: dimensions merge only where they are contiguous with each other.
 */
export function viewStrides(
  shape: readonly number[],
  strides: readonly number[],
  target: readonly number[],
): number[] | null {
  const numel = numelOf(shape);
  if (numel === 0) return shape.join() === target.join() ? [...strides] : contiguousStrides(target);
  const out = new Array<number>(target.length);
  let at = target.length - 1;
  let chunk = 1;
  let base = strides.length > 0 ? strides[strides.length - 1] : 1;
  let filled = 1;
  for (let d = shape.length - 1; d >= 0; d--) {
    chunk *= shape[d];
    const ends = d === 0 || (shape[d - 1] !== 1 && strides[d - 1] !== chunk * base);
    if (!ends) continue;
    while (at >= 0 && (filled < chunk || target[at] === 1)) {
      out[at] = filled * base;
      filled *= target[at];
      at--;
    }
    if (filled !== chunk) return null;
    if (d > 0) {
      base = strides[d - 1];
      chunk = 1;
      filled = 1;
    }
  }
  while (at >= 0) out[at--] = base; // a 0-dim input seen as [1, 1]
  return out;
}

/** The same elements in row-major order under another shape. */
export function reshapeStep(shape: readonly number[]): ViewStep {
  return {
    key: `r${shape.join()}`,
    hasOffset: false,
    apply: (x) => aval(x.dtype, shape),
    strides: (x, s) => {
      const found = viewStrides(x.shape, s, shape);
      return found && { strides: found, offset: 0 };
    },
    emit: (h, x) => h.reshape(x, shape),
    write: (h, x, update) => h.reshape(update, x.shape),
    transpose: (h, dy, input) => h.reshape(dy, input.shape),
  };
}

const withDim = (shape: readonly number[], dim: number, size: number): number[] =>
  shape.map((n, i) => (i === dim ? size : n));

function startsAt(h: Builder, rank: number, dim: number, offset: Value): Value[] {
  const zero = h.constant(0, s64);
  return Array.from({ length: rank }, (_, i) => (i === dim ? h.convert(offset, s64) : zero));
}

/** `size` elements of dimension `dim`, `step` apart; the first is the run-time offset. */
export function sliceStep(dim: number, size: number, step: number): ViewStep {
  const span = size === 0 ? 0 : (size - 1) * step + 1;
  const spread = (h: Builder, update: Value): Value => {
    const gaps = update.shape.map((_, i) => (i === dim ? step - 1 : 0));
    const none = update.shape.map(() => 0);
    return step === 1 || size === 0 ? update : h.pad(update, h.constant(0, update.dtype), none, none, gaps);
  };
  return {
    key: `s${dim},${size},${step}`,
    hasOffset: true,
    apply: (x) => aval(x.dtype, withDim(x.shape, dim, size)),
    strides: (_x, s, offset) => ({ strides: s.map((n, i) => (i === dim ? n * step : n)), offset: offset * s[dim] }),
    emit: (h, x, offset) => {
      if (x.shape[dim] === size && step === 1) return x;
      const part = h.dynamic_slice(x, startsAt(h, x.rank, dim, offset!), withDim(x.shape, dim, span));
      if (step === 1) return part;
      return h.slice(
        part,
        part.shape.map(() => 0),
        part.shape,
        part.shape.map((_, i) => (i === dim ? step : 1)),
      );
    },
    write: (h, x, update, offset) => {
      if (x.shape[dim] === size && step === 1) return update;
      if (size === 0) return x;
      const starts = startsAt(h, x.rank, dim, offset!);
      if (step === 1) return h.dynamic_update_slice(x, update, starts);
      const part = h.dynamic_slice(x, starts, withDim(x.shape, dim, span));
      const at = h.iota(s64, part.shape, dim);
      const hit = h.compare(h.remainder(at, h.splat(step, s64, part.shape)), h.splat(0, s64, part.shape), "EQ");
      return h.dynamic_update_slice(x, h.select(hit, spread(h, update), part), starts);
    },
    transpose: (h, dy, input, offset) => {
      if (input.shape[dim] === size && step === 1) return dy;
      const zeros = zeroOf(h, dy.dtype, input.shape);
      return size === 0 ? zeros : h.dynamic_update_slice(zeros, spread(h, dy), startsAt(h, dy.rank, dim, offset!));
    },
  };
}

/** Repeats dimensions of size 1, and adds leading ones. */
export function expandStep(shape: readonly number[]): ViewStep {
  return {
    key: `e${shape.join()}`,
    hasOffset: false,
    apply: (x) => aval(x.dtype, shape),
    strides: (x, s) => {
      const lead = shape.length - x.rank;
      return {
        strides: shape.map((n, i) => (i < lead || (x.shape[i - lead] === 1 && n !== 1) ? 0 : s[i - lead])),
        offset: 0,
      };
    },
    emit: (h, x) => h.broadcastTo(x, shape),
    write: () => {
      throw new TorchError(
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the tensor before performing the operation.",
      );
    },
    transpose: (h, dy, input) => {
      const lead = shape.length - input.rank;
      const dims = shape.map((_, i) => i).filter((i) => i < lead || (input.shape[i - lead] === 1 && shape[i] !== 1));
      const sum = dims.length === 0 ? dy : h.reduceWith(dy, h.constant(0, dy.dtype), dims, "add");
      return h.reshape(sum, input.shape);
    },
  };
}

/** Any strides over the row-major elements of the input, as in `as_strided`, `diagonal` and `unfold`. */
export function stridedStep(size: readonly number[], strides: readonly number[], start: number): ViewStep {
  const indices = (h: Builder): Value => {
    let sum = h.splat(start, s64, size);
    size.forEach((n, d) => {
      if (n > 1) sum = h.add(sum, h.multiply(h.iota(s64, size, d), h.splat(strides[d], s64, size)));
    });
    return h.reshape(sum, [numelOf(size), 1]);
  };
  const scatterInto = (h: Builder, base: Value, update: Value, accumulate: boolean): Value => {
    const flat = h.reshape(base, [numelOf(base.shape)]);
    const [out] = h.scatter(
      [flat],
      indices(h),
      [h.reshape(update, [numelOf(size)])],
      { updateWindowDims: [], insertedWindowDims: [0], scatterDimsToOperandDims: [0], indexVectorDim: 1 },
      ([a]: Value[], [b]: Value[]) => [accumulate ? (a.dtype.name === "bool" ? h.or(a, b) : h.add(a, b)) : b],
    );
    return h.reshape(out, base.shape);
  };
  return {
    key: `a${size.join()};${strides.join()};${start}`,
    hasOffset: false,
    apply: (x) => aval(x.dtype, size),
    strides: (x, s) => {
      const dense = s.every((n, i) => n === contiguousStrides(x.shape)[i] || x.shape[i] === 1);
      return dense ? { strides: [...strides], offset: start } : stridesThrough(x.shape, s, size, strides, start);
    },
    emit: (h, x) => {
      if (numelOf(size) === 0) return zeroOf(h, x.dtype, size);
      const flat = h.reshape(x, [numelOf(x.shape)]);
      const out = h.gather(flat, indices(h), {
        offsetDims: [],
        collapsedSliceDims: [0],
        startIndexMap: [0],
        indexVectorDim: 1,
        sliceSizes: [1],
      });
      return h.reshape(out, size);
    },
    write: (h, x, update) => (numelOf(size) === 0 ? x : scatterInto(h, x, update, false)),
    transpose: (h, dy, input) => {
      const zeros = zeroOf(h, dy.dtype, input.shape);
      return numelOf(size) === 0 ? zeros : scatterInto(h, zeros, dy, true);
    },
  };
}

/** Strides of a strided step over an input that is not dense, where each step stays inside input dimensions. */
function stridesThrough(
  shape: readonly number[],
  s: readonly number[],
  size: readonly number[],
  strides: readonly number[],
  start: number,
): { strides: number[]; offset: number } | null {
  const dense = contiguousStrides(shape);
  const physical = (logical: number): number => {
    let rest = logical;
    let sum = 0;
    for (let d = 0; d < shape.length; d++) {
      const i = Math.floor(rest / dense[d]);
      rest -= i * dense[d];
      sum += i * s[d];
    }
    return sum;
  };
  const offset = physical(start);
  const out = strides.map((n, d) => (size[d] > 1 ? physical(start + n) - offset : n));
  return { strides: out, offset };
}

/** The real or the imaginary part of a complex tensor. */
export function partStep(part: "real" | "imag"): ViewStep {
  return {
    key: part,
    hasOffset: false,
    apply: (x) => aval(x.dtype.to_real(), x.shape),
    strides: (_x, s) => ({ strides: s.map((n) => 2 * n), offset: part === "real" ? 0 : 1 }),
    emit: (h, x) => (part === "real" ? h.real(x) : h.imag(x)),
    write: (h, x, update) => (part === "real" ? h.complex(update, h.imag(x)) : h.complex(h.real(x), update)),
    transpose: (h, dy) => {
      const zero = zeroOf(h, dy.dtype, dy.shape);
      return part === "real" ? h.complex(dy, zero) : h.complex(zero, dy);
    },
  };
}

const toPairs = (h: Builder, x: Value): Value =>
  h.concatenate([h.reshape(h.real(x), [...x.shape, 1]), h.reshape(h.imag(x), [...x.shape, 1])], x.rank);

function fromPairs(h: Builder, x: Value): Value {
  const last = x.rank - 1;
  const half = (i: number): Value => {
    const start = x.shape.map((_, d) => (d === last ? i : 0));
    return h.reshape(h.slice(x, start, withDim(x.shape, last, i + 1)), x.shape.slice(0, last));
  };
  return h.complex(half(0), half(1));
}

/** A complex tensor seen as pairs of reals in a new last dimension (`view_as_real`). */
export const realPairsStep: ViewStep = {
  key: "pairs",
  hasOffset: false,
  apply: (x) => aval(x.dtype.to_real(), [...x.shape, 2]),
  strides: (_x, s) => ({ strides: [...s.map((n) => 2 * n), 1], offset: 0 }),
  emit: toPairs,
  write: (h, _x, update) => fromPairs(h, update),
  transpose: (h, dy) => fromPairs(h, dy),
};

/** Pairs of reals in the last dimension seen as complex numbers (`view_as_complex`). */
export const complexPairsStep: ViewStep = {
  key: "complex",
  hasOffset: false,
  apply: (x) => aval(x.dtype.to_complex(), x.shape.slice(0, -1)),
  strides: (_x, s) => ({ strides: s.slice(0, -1).map((n) => n / 2), offset: 0 }),
  emit: fromPairs,
  write: (h, _x, update) => toPairs(h, update),
  transpose: (h, dy) => toPairs(h, dy),
};

/** The same bytes under another type; the last dimension grows or shrinks with the element size (`view.dtype`). */
export function bitcastStep(dtype: DType): ViewStep {
  const ratio = (x: DType): number => x.itemsize / dtype.itemsize;
  const cast = (h: Builder, x: Value, to: DType): Value => {
    const r = x.dtype.itemsize / to.itemsize;
    if (r === 1) return h.bitcast_convert(x, to);
    const last = x.rank - 1;
    if (r > 1) return h.reshape(h.bitcast_convert(x, to), withDim(x.shape, last, x.shape[last] * r));
    return h.bitcast_convert(h.reshape(x, [...x.shape.slice(0, last), x.shape[last] * r, 1 / r]), to);
  };
  return {
    key: `b${dtype.index}`,
    hasOffset: false,
    apply: (x) =>
      aval(dtype, ratio(x.dtype) === 1 ? x.shape : withDim(x.shape, x.rank - 1, x.shape[x.rank - 1] * ratio(x.dtype))),
    strides: (x, s) => ({ strides: s.map((n, i) => (i === s.length - 1 ? n : n * ratio(x.dtype))), offset: 0 }),
    emit: (h, x) => cast(h, x, dtype),
    write: (h, x, update) => cast(h, update, x.dtype),
    transpose: (h, dy, input) => cast(h, dy, input.dtype),
  };
}
