/** @file The options of a convolution, the shape of its result and its attributes. */
import type { DType } from "../schema/dtype.js";
import type { Precision } from "./linalg.js";
import { i1Array, i64Array, i64Matrix } from "./print.js";
import { checkLength, fail, formatType, list, type TensorType } from "./types.js";

export interface ConvolutionOptions {
  readonly inputBatch: number;
  readonly inputFeature: number;
  readonly inputSpatial: readonly number[];
  readonly kernelInput: number;
  readonly kernelOutput: number;
  readonly kernelSpatial: readonly number[];
  readonly outputBatch: number;
  readonly outputFeature: number;
  readonly outputSpatial: readonly number[];
  readonly strides?: readonly number[];
  readonly padding?: readonly (readonly [low: number, high: number])[];
  readonly lhsDilation?: readonly number[];
  readonly rhsDilation?: readonly number[];
  readonly windowReversal?: readonly boolean[];
  readonly featureGroupCount?: number;
  readonly batchGroupCount?: number;
  readonly precision?: Precision;
  /** Element type of the result. Default: the operands'. */
  readonly outDtype?: DType;
}

/** How one spatial dimension is walked by a window. */
export interface WindowDim {
  readonly size: number;
  readonly stride: number;
  readonly low: number;
  readonly high: number;
  readonly baseDilation: number;
  readonly windowDilation: number;
}

/** How many positions a window has along a dimension of size `n`. */
export function windowOutput(n: number, w: WindowDim): number {
  const base = (n === 0 ? 0 : (n - 1) * w.baseDilation + 1) + w.low + w.high;
  const window = w.size === 0 ? 0 : (w.size - 1) * w.windowDilation + 1;
  return base === 0 || window > base ? 0 : Math.floor((base - window) / w.stride) + 1;
}

function checkLayout(what: string, dims: readonly number[], rank: number): void {
  const ok =
    dims.length === rank && dims.every((d, i) => Number.isInteger(d) && d >= 0 && d < rank && dims.indexOf(d) === i);
  if (!ok) fail("convolution", `${what} dimensions that are a permutation of ${rank} dimensions`, list(dims));
}

/** The shape of the result; throws where the operands do not fit each other. */
export function convolutionShape(lhs: TensorType, rhs: TensorType, o: ConvolutionOptions): number[] {
  const rank = lhs.shape.length;
  if (rank < 2 || rhs.shape.length !== rank)
    fail("convolution", "operands of one rank >= 2", `${formatType(lhs)} and ${formatType(rhs)}`);
  checkLayout("input", [o.inputBatch, o.inputFeature, ...o.inputSpatial], rank);
  checkLayout("kernel", [o.kernelInput, o.kernelOutput, ...o.kernelSpatial], rank);
  checkLayout("output", [o.outputBatch, o.outputFeature, ...o.outputSpatial], rank);
  const n = rank - 2;
  const { featureGroupCount: groups = 1, batchGroupCount: batchGroups = 1 } = o;
  for (const [what, xs] of [
    ["strides", o.strides],
    ["lhsDilation", o.lhsDilation],
    ["rhsDilation", o.rhsDilation],
  ] as const) {
    if (xs === undefined) continue;
    checkLength("convolution", what, xs, n);
    if (!xs.every((x) => Number.isInteger(x) && x > 0)) fail("convolution", `positive ${what}`, list(xs));
  }
  if (o.padding) checkLength("convolution", "pairs of paddings", o.padding, n);
  if (o.windowReversal) checkLength("convolution", "windowReversal", o.windowReversal, n);
  if (groups > 1 && batchGroups > 1)
    fail("convolution", "featureGroupCount or batchGroupCount to be 1", `${groups} and ${batchGroups}`);
  const features = lhs.shape[o.inputFeature];
  const batch = lhs.shape[o.inputBatch];
  const outFeatures = rhs.shape[o.kernelOutput];
  if (!(groups >= 1 && features % groups === 0))
    fail("convolution", `featureGroupCount that divides ${features} input features`, String(groups));
  if (!(batchGroups >= 1 && batch % batchGroups === 0))
    fail("convolution", `batchGroupCount that divides a batch of ${batch}`, String(batchGroups));
  if (rhs.shape[o.kernelInput] !== features / groups) {
    fail(
      "convolution",
      `${features / groups} kernel input features (${features} input features in ${groups} groups)`,
      String(rhs.shape[o.kernelInput]),
    );
  }
  if (outFeatures % groups !== 0)
    fail("convolution", `kernel output features divisible by featureGroupCount ${groups}`, String(outFeatures));
  if (outFeatures % batchGroups !== 0)
    fail("convolution", `kernel output features divisible by batchGroupCount ${batchGroups}`, String(outFeatures));
  const shape = new Array<number>(rank);
  shape[o.outputBatch] = batch / batchGroups;
  shape[o.outputFeature] = outFeatures;
  o.outputSpatial.forEach((d, i) => {
    shape[d] = windowOutput(lhs.shape[o.inputSpatial[i]], {
      size: rhs.shape[o.kernelSpatial[i]],
      stride: o.strides?.[i] ?? 1,
      low: o.padding?.[i][0] ?? 0,
      high: o.padding?.[i][1] ?? 0,
      baseDilation: o.lhsDilation?.[i] ?? 1,
      windowDilation: o.rhsDilation?.[i] ?? 1,
    });
  });
  return shape;
}

function layout(first: [string, number], second: [string, number], spatial: readonly number[]): string {
  const names = new Array<string>(spatial.length + 2);
  names[first[1]] = first[0];
  names[second[1]] = second[0];
  spatial.forEach((d, i) => (names[d] = String(i)));
  return `[${names.join(", ")}]`;
}

/** The attributes in MLIR; those with default values are left out. */
export function convolutionAttributes(o: ConvolutionOptions): string {
  const input = layout(["b", o.inputBatch], ["f", o.inputFeature], o.inputSpatial);
  const kernel = layout(["i", o.kernelInput], ["o", o.kernelOutput], o.kernelSpatial);
  const output = layout(["b", o.outputBatch], ["f", o.outputFeature], o.outputSpatial);
  const parts = [
    `dimension_numbers = #stablehlo.conv<${input}x${kernel}->${output}>`,
    `feature_group_count = ${o.featureGroupCount ?? 1} : i64, batch_group_count = ${o.batchGroupCount ?? 1} : i64`,
  ];
  if (o.strides) parts.push(`window_strides = ${i64Array(o.strides)}`);
  if (o.padding?.length) parts.push(`padding = ${i64Matrix(o.padding)}`);
  if (o.lhsDilation) parts.push(`lhs_dilation = ${i64Array(o.lhsDilation)}`);
  if (o.rhsDilation) parts.push(`rhs_dilation = ${i64Array(o.rhsDilation)}`);
  if (o.windowReversal) parts.push(`window_reversal = ${i1Array(o.windowReversal)}`);
  if (o.precision)
    parts.push(`precision_config = [#stablehlo<precision ${o.precision}>, #stablehlo<precision ${o.precision}>]`);
  return parts.join(", ");
}
