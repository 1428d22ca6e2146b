/** @file Operations that move elements: broadcast, reshape, transpose, slice, pad, concatenate. */
import { ElementwiseBuilder } from "./elementwise.js";
import { ints, signature } from "./print.js";
import { checkDim, checkDims, checkLength, checkShape, fail, formatType, list, numelOf, sameShape } from "./types.js";
import type { OpDef, Value } from "./value.js";

type Dims = readonly number[];

const BROADCAST_IN_DIM: OpDef<Dims> = {
  name: "stablehlo.broadcast_in_dim",
  form: "function",
  attributes: (d) => `, dims = ${ints(d)}`,
};
const RESHAPE: OpDef<null> = { name: "stablehlo.reshape", form: "function" };
const TRANSPOSE: OpDef<Dims> = {
  name: "stablehlo.transpose",
  form: "function",
  attributes: (d) => `, dims = ${ints(d)}`,
};
const REVERSE: OpDef<Dims> = { name: "stablehlo.reverse", form: "same", attributes: (d) => `, dims = ${ints(d)}` };
const SLICE: OpDef<{ start: Dims; limit: Dims; strides: Dims }> = {
  name: "stablehlo.slice",
  form: "function",
  print: ({ start, limit, strides }, op) => {
    const ranges = start.map((s, i) => `${s}:${limit[i]}${strides[i] === 1 ? "" : `:${strides[i]}`}`);
    return `stablehlo.slice ${op.operands[0].ssa} [${ranges.join(", ")}] : ${signature(op)}`;
  },
};
const DYNAMIC_SLICE: OpDef<Dims> = {
  name: "stablehlo.dynamic_slice",
  form: "function",
  attributes: (d) => `, sizes = ${ints(d)}`,
};
const DYNAMIC_UPDATE_SLICE: OpDef<null> = { name: "stablehlo.dynamic_update_slice", form: "function" };
const PAD: OpDef<{ low: Dims; high: Dims; interior: Dims }> = {
  name: "stablehlo.pad",
  form: "function",
  attributes: ({ low, high, interior }) => `, low = ${ints(low)}, high = ${ints(high)}, interior = ${ints(interior)}`,
};
const CONCATENATE: OpDef<number> = {
  name: "stablehlo.concatenate",
  form: "function",
  attributes: (dim) => `, dim = ${dim}`,
};

/** How many elements a strided range has. */
const rangeSize = (start: number, limit: number, stride: number): number =>
  Math.max(0, Math.ceil((limit - start) / stride));

export class MovementBuilder extends ElementwiseBuilder {
  /** Input dimension i becomes result dimension `dims[i]`; sizes of 1 and new dimensions repeat. */
  broadcast_in_dim(x: Value, shape: Dims, dims: Dims): Value {
    this.checkTensor("broadcast_in_dim", x);
    checkShape("broadcast_in_dim", shape);
    if (dims.length !== x.rank) fail("broadcast_in_dim", `${x.rank} dims for ${formatType(x)}`, list(dims));
    checkDims("broadcast_in_dim", "dims", dims, shape.length);
    let identity = shape.length === x.rank;
    for (let i = 0; i < dims.length; i++) {
      const from = x.shape[i];
      const to = shape[dims[i]];
      if (from !== to && from !== 1) {
        fail(
          "broadcast_in_dim",
          `dimension ${i} of ${formatType(x)} to be 1 or ${to}, for shape ${list(shape)} and dims ${list(dims)}`,
          String(from),
        );
      }
      if (from !== to || dims[i] !== i) identity = false;
    }
    if (identity) return x;
    return this.emit1("broadcast_in_dim", BROADCAST_IN_DIM, [x], x.dtype, [...shape], [...dims]);
  }

  /** `x` repeated to `shape` by the rules of NumPy and PyTorch: dimensions align at the end. */
  broadcastTo(x: Value, shape: Dims): Value {
    if (sameShape(x.shape, shape)) return x;
    const lead = shape.length - x.rank;
    const fits = lead >= 0 && x.shape.every((n, i) => n === 1 || n === shape[lead + i]);
    if (!fits) fail("broadcastTo", `a shape that broadcasts to ${list(shape)}`, formatType(x));
    return this.broadcast_in_dim(
      x,
      shape,
      x.shape.map((_, i) => lead + i),
    );
  }

  /** Both values repeated to the shape that they broadcast to together. */
  broadcastPair(a: Value, b: Value): [Value, Value] {
    if (sameShape(a.shape, b.shape)) return [a, b];
    const rank = Math.max(a.rank, b.rank);
    const shape = new Array<number>(rank);
    for (let i = 1; i <= rank; i++) {
      const m = a.shape[a.rank - i] ?? 1;
      const n = b.shape[b.rank - i] ?? 1;
      if (m !== n && m !== 1 && n !== 1)
        fail("broadcastPair", "shapes that broadcast together", `${formatType(a)} and ${formatType(b)}`);
      shape[rank - i] = m === 1 ? n : m;
    }
    return [this.broadcastTo(a, shape), this.broadcastTo(b, shape)];
  }

  /** The same elements in row-major order under another shape. */
  reshape(x: Value, shape: Dims): Value {
    this.checkTensor("reshape", x);
    checkShape("reshape", shape);
    if (numelOf(shape) !== x.numel)
      fail("reshape", `a shape with ${x.numel} elements for ${formatType(x)}`, list(shape));
    return sameShape(x.shape, shape) ? x : this.emit1("reshape", RESHAPE, [x], x.dtype, [...shape], null);
  }

  /** Reorders dimensions: result dimension i is input dimension `permutation[i]`. */
  transpose(x: Value, permutation: Dims): Value {
    this.checkTensor("transpose", x);
    const ok =
      permutation.length === x.rank &&
      permutation.every((d, i) => d >= 0 && d < x.rank && permutation.indexOf(d) === i && Number.isInteger(d));
    if (!ok) fail("transpose", `a permutation of the dimensions of ${formatType(x)}`, list(permutation));
    if (permutation.every((d, i) => d === i)) return x;
    return this.emit1(
      "transpose",
      TRANSPOSE,
      [x],
      x.dtype,
      permutation.map((d) => x.shape[d]),
      [...permutation],
    );
  }

  /** Reverses the elements along dimensions. */
  reverse(x: Value, dims: Dims): Value {
    this.checkTensor("reverse", x);
    checkDims("reverse", "dims", dims, x.rank);
    return dims.length === 0 ? x : this.emit1("reverse", REVERSE, [x], x.dtype, x.shape, [...dims]);
  }

  /** Elements start, start + stride… below limit, in each dimension. */
  slice(x: Value, start: Dims, limit: Dims, strides: Dims = x.shape.map(() => 1)): Value {
    this.checkTensor("slice", x);
    checkLength("slice", `starts for ${formatType(x)}`, start, x.rank);
    checkLength("slice", `limits for ${formatType(x)}`, limit, x.rank);
    checkLength("slice", `strides for ${formatType(x)}`, strides, x.rank);
    for (let i = 0; i < x.rank; i++) {
      const ok =
        Number.isInteger(start[i]) &&
        Number.isInteger(limit[i]) &&
        0 <= start[i] &&
        start[i] <= limit[i] &&
        limit[i] <= x.shape[i];
      if (!ok)
        fail(
          "slice",
          `0 <= start <= limit <= ${x.shape[i]} in dimension ${i} of ${formatType(x)}`,
          `${start[i]}:${limit[i]}`,
        );
      if (!(Number.isInteger(strides[i]) && strides[i] > 0)) fail("slice", "positive strides", list(strides));
    }
    const shape = x.shape.map((_, i) => rangeSize(start[i], limit[i], strides[i]));
    if (sameShape(shape, x.shape)) return x;
    return this.emit1("slice", SLICE, [x], x.dtype, shape, {
      start: [...start],
      limit: [...limit],
      strides: [...strides],
    });
  }

  private checkStarts(op: string, x: Value, starts: readonly Value[]): void {
    checkLength(op, `start indices for ${formatType(x)}`, starts, x.rank);
    for (const s of starts) {
      const ok = s.rank === 0 && (s.dtype.kind === "int" || s.dtype.kind === "uint");
      if (!ok) fail(op, "start indices that are integers of rank 0", formatType(s));
      if (s.dtype !== starts[0].dtype) fail(op, "start indices of one type", starts.map(formatType).join(", "));
    }
  }

  /** The block of `sizes` at run-time `starts`, which are clamped so that the block fits. */
  dynamic_slice(x: Value, starts: readonly Value[], sizes: Dims): Value {
    this.checkTensor("dynamic_slice", x);
    this.checkStarts("dynamic_slice", x, starts);
    checkShape("dynamic_slice", sizes);
    const fits = sizes.length === x.rank && sizes.every((n, i) => n <= x.shape[i]);
    if (!fits) fail("dynamic_slice", `sizes that fit in ${formatType(x)}`, list(sizes));
    return this.emit1("dynamic_slice", DYNAMIC_SLICE, [x, ...starts], x.dtype, [...sizes], [...sizes]);
  }

  /** `x` with the block at run-time `starts` replaced by `update`; starts are clamped so that it fits. */
  dynamic_update_slice(x: Value, update: Value, starts: readonly Value[]): Value {
    this.checkTensor("dynamic_update_slice", x);
    this.checkStarts("dynamic_update_slice", x, starts);
    const fits = update.dtype === x.dtype && update.rank === x.rank && update.shape.every((n, i) => n <= x.shape[i]);
    if (!fits) fail("dynamic_update_slice", `an update that fits in ${formatType(x)}`, formatType(update));
    return this.emit1("dynamic_update_slice", DYNAMIC_UPDATE_SLICE, [x, update, ...starts], x.dtype, x.shape, null);
  }

  /** Adds `padValue` before, after and between the elements of each dimension. Negative low and high cut. */
  pad(x: Value, padValue: Value, low: Dims, high: Dims, interior: Dims = x.shape.map(() => 0)): Value {
    this.checkTensor("pad", x);
    if (padValue.dtype !== x.dtype || padValue.rank !== 0)
      fail("pad", `a padding value ${x.dtype.hlo}[]`, formatType(padValue));
    for (const [what, xs] of [
      ["low", low],
      ["high", high],
      ["interior", interior],
    ] as const) {
      checkLength("pad", `${what} paddings for ${formatType(x)}`, xs, x.rank);
      if (!xs.every(Number.isInteger)) fail("pad", `${what} paddings that are integers`, list(xs));
    }
    if (interior.some((n) => n < 0)) fail("pad", "interior paddings that are not negative", list(interior));
    const shape = x.shape.map((n, i) => low[i] + n + Math.max(0, n - 1) * interior[i] + high[i]);
    if (shape.some((n) => n < 0)) fail("pad", `paddings that leave sizes >= 0 of ${formatType(x)}`, list(shape));
    return this.emit1("pad", PAD, [x, padValue], x.dtype, shape, {
      low: [...low],
      high: [...high],
      interior: [...interior],
    });
  }

  /** The values one after another along `dim`. */
  concatenate(xs: readonly Value[], dim: number): Value {
    if (xs.length === 0) fail("concatenate", "at least one value", "none");
    const [first] = xs;
    this.checkTensor("concatenate", first);
    checkDim("concatenate", dim, first.rank);
    let size = 0;
    for (const x of xs) {
      const ok =
        x.dtype === first.dtype && x.rank === first.rank && x.shape.every((n, i) => i === dim || n === first.shape[i]);
      if (!ok) fail("concatenate", `${formatType(first)} up to dimension ${dim}`, formatType(x));
      size += x.shape[dim];
    }
    if (xs.length === 1) return first;
    return this.emit1(
      "concatenate",
      CONCATENATE,
      [...xs],
      first.dtype,
      first.shape.map((n, i) => (i === dim ? size : n)),
      dim,
    );
  }
}
