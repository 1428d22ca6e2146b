/** @file Reductions: whole dimensions, moving windows, and map over elements. */
import { bool } from "../schema/dtype.js";
import type { ReduceKind } from "./builder_core.js";
import { windowOutput } from "./convolution.js";
import { IndexingBuilder } from "./indexing.js";
import { i64Array, i64Matrix, ints, signature } from "./print.js";
import { checkDims, checkLength, fail, formatType, list, sameShape, type TensorType } from "./types.js";
import type { OpDef, Value } from "./value.js";

type Dims = readonly number[];
type Paddings = readonly (readonly [low: number, high: number])[];
/** Combines accumulators with elements, one of each per input; both have rank 0. */
export type ReduceBody = (accumulators: Value[], elements: Value[]) => readonly Value[];

export interface ReduceWindowOptions {
  readonly windowDimensions: Dims;
  readonly windowStrides?: Dims;
  readonly baseDilations?: Dims;
  readonly windowDilations?: Dims;
  readonly padding?: Paddings;
}

export interface SelectAndScatterOptions {
  readonly windowDimensions: Dims;
  readonly windowStrides?: Dims;
  readonly padding?: Paddings;
}

const REDUCE: OpDef<Dims> = {
  name: "stablehlo.reduce",
  form: "generic",
  attributes: (dims) => `dimensions = ${i64Array(dims)}`,
};
const REDUCE_WITH: OpDef<{ dims: Dims; kind: ReduceKind }> = {
  name: "stablehlo.reduce",
  form: "generic",
  print: ({ dims, kind }, op) => {
    const [x, init] = op.operands;
    return `stablehlo.reduce(${x.ssa} init: ${init.ssa}) applies stablehlo.${kind} across dimensions = ${ints(dims)} : ${signature(op)}`;
  },
};
const optional = (name: string, text: string | undefined): string => (text === undefined ? "" : `, ${name} = ${text}`);
const REDUCE_WINDOW: OpDef<ReduceWindowOptions> = {
  name: "stablehlo.reduce_window",
  form: "generic",
  attributes: (o) =>
    `window_dimensions = ${i64Array(o.windowDimensions)}` +
    optional("window_strides", o.windowStrides && i64Array(o.windowStrides)) +
    optional("base_dilations", o.baseDilations && i64Array(o.baseDilations)) +
    optional("window_dilations", o.windowDilations && i64Array(o.windowDilations)) +
    optional("padding", o.padding?.length ? i64Matrix(o.padding) : undefined),
};
const SELECT_AND_SCATTER: OpDef<SelectAndScatterOptions> = {
  name: "stablehlo.select_and_scatter",
  form: "generic",
  attributes: (o) =>
    `window_dimensions = ${i64Array(o.windowDimensions)}` +
    optional("window_strides", o.windowStrides && i64Array(o.windowStrides)) +
    optional("padding", o.padding?.length ? i64Matrix(o.padding) : undefined),
};
const MAP: OpDef<number> = {
  name: "stablehlo.map",
  form: "generic",
  attributes: (rank) => `dimensions = ${i64Array(Array.from({ length: rank }, (_, i) => i))}`,
};
const reduceKinds = new Set<string>(["add", "multiply", "maximum", "minimum", "and", "or", "xor"]);
const predicate: TensorType = { dtype: bool, shape: [] };

/** The shape of the values of a moving window. */
function windowedShape(op: string, x: TensorType, o: ReduceWindowOptions): number[] {
  const rank = x.shape.length;
  const { windowDimensions, windowStrides, baseDilations, windowDilations, padding } = o;
  for (const [what, xs] of Object.entries({ windowDimensions, windowStrides, baseDilations, windowDilations })) {
    if (xs === undefined) continue;
    checkLength(op, `${what} for ${formatType(x)}`, xs, rank);
    if (!xs.every((n) => Number.isInteger(n) && n > 0)) fail(op, `positive ${what}`, list(xs));
  }
  if (padding) checkLength(op, `pairs of paddings for ${formatType(x)}`, padding, rank);
  return x.shape.map((n, d) =>
    windowOutput(n, {
      size: windowDimensions[d],
      stride: windowStrides?.[d] ?? 1,
      low: padding?.[d][0] ?? 0,
      high: padding?.[d][1] ?? 0,
      baseDilation: baseDilations?.[d] ?? 1,
      windowDilation: windowDilations?.[d] ?? 1,
    }),
  );
}

export class ReductionBuilder extends IndexingBuilder {
  private checkReduced(op: string, inputs: readonly Value[], inits: readonly Value[]): void {
    if (inputs.length === 0 || inputs.length !== inits.length)
      fail(
        op,
        "as many initial values as inputs, at least one",
        `${inputs.length} inputs and ${inits.length} initial values`,
      );
    inputs.forEach((x, i) => {
      this.checkTensor(op, x);
      if (!sameShape(x.shape, inputs[0].shape)) fail(op, `inputs of shape ${list(inputs[0].shape)}`, formatType(x));
      if (inits[i].rank !== 0 || inits[i].dtype !== x.dtype)
        fail(op, `an initial value ${x.dtype.hlo}[]`, formatType(inits[i]));
    });
  }

  /** Combines the elements along `dims`, which the results lack. The order is undefined. */
  reduce(inputs: readonly Value[], inits: readonly Value[], dims: Dims, body: ReduceBody): Value[] {
    const op = "reduce";
    this.checkReduced(op, inputs, inits);
    checkDims(op, "dims", dims, inputs[0].rank);
    const n = inputs.length;
    const region = this.block(op, "the body", [...inits, ...inits], (p) => body(p.slice(0, n), p.slice(n)), {
      closed: true,
    });
    this.checkReturns(op, "the body", region, inits);
    const shape = inputs[0].shape.filter((_, d) => !dims.includes(d));
    return this.emit(
      op,
      REDUCE,
      [...inputs, ...inits],
      inputs.map((x) => ({ dtype: x.dtype, shape })),
      [...dims],
      [region],
    ).results;
  }

  /** Reduction with one elementwise operation. */
  reduceWith(x: Value, init: Value, dims: Dims, kind: ReduceKind): Value {
    const op = "reduceWith";
    if (!reduceKinds.has(kind)) fail(op, [...reduceKinds].join(", "), kind);
    this.checkReduced(op, [x], [init]);
    checkDims(op, "dims", dims, x.rank);
    const bits = kind === "and" || kind === "or" || kind === "xor";
    if (bits)
      this.checkDType(
        op,
        x,
        x.dtype.kind === "bool" || x.dtype.kind === "int" || x.dtype.kind === "uint",
        `integers or booleans for ${kind}`,
      );
    if (dims.length === 0) return x;
    const shape = x.shape.filter((_, d) => !dims.includes(d));
    return this.emit1(op, REDUCE_WITH, [x, init], x.dtype, shape, { dims: [...dims], kind });
  }

  /** Combines the elements in each position of a moving window. */
  reduce_window(
    inputs: readonly Value[],
    inits: readonly Value[],
    options: ReduceWindowOptions,
    body: ReduceBody,
  ): Value[] {
    const op = "reduce_window";
    this.checkReduced(op, inputs, inits);
    const shape = windowedShape(op, inputs[0], options);
    const n = inputs.length;
    const region = this.block(op, "the body", [...inits, ...inits], (p) => body(p.slice(0, n), p.slice(n)), {
      closed: true,
    });
    this.checkReturns(op, "the body", region, inits);
    return this.emit(
      op,
      REDUCE_WINDOW,
      [...inputs, ...inits],
      inputs.map((x) => ({ dtype: x.dtype, shape })),
      { ...options },
      [region],
    ).results;
  }

  /** In each window of `x` the element that `select` prefers receives the window's `source` element, by `scatter`. */
  select_and_scatter(
    x: Value,
    source: Value,
    init: Value,
    options: SelectAndScatterOptions,
    select: (a: Value, b: Value) => Value,
    scatter: (a: Value, b: Value) => Value,
  ): Value {
    const op = "select_and_scatter";
    this.checkReduced(op, [x], [init]);
    const shape = windowedShape(op, x, options);
    if (source.dtype !== x.dtype || !sameShape(source.shape, shape))
      fail(op, `a source ${x.dtype.hlo}${list(shape)}`, formatType(source));
    const selected = this.block(op, "select", [init, init], ([a, b]) => [select(a, b)], { closed: true });
    this.checkReturns(op, "select", selected, [predicate]);
    const scattered = this.block(op, "scatter", [init, init], ([a, b]) => [scatter(a, b)], { closed: true });
    this.checkReturns(op, "scatter", scattered, [init]);
    return this.emit(op, SELECT_AND_SCATTER, [x, source, init], [x], { ...options }, [selected, scattered]).results[0];
  }

  /** Applies `body` to the elements at each position; its values have rank 0. */
  map(inputs: readonly Value[], body: (...elements: Value[]) => Value): Value {
    const op = "map";
    if (inputs.length === 0) fail(op, "at least one input", "none");
    for (const x of inputs) {
      this.checkTensor(op, x);
      if (!sameShape(x.shape, inputs[0].shape)) fail(op, `inputs of shape ${list(inputs[0].shape)}`, formatType(x));
    }
    const scalars = inputs.map((x) => ({ dtype: x.dtype, shape: [] }));
    const region = this.block(op, "the body", scalars, (p) => [body(...p)], { closed: true });
    const [result] = region.results!;
    if (result.rank !== 0) fail(op, "the body to return a value of rank 0", formatType(result));
    const { shape } = inputs[0];
    return this.emit(op, MAP, [...inputs], [{ dtype: result.dtype, shape }], shape.length, [region]).results[0];
  }
}
