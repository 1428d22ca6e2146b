/** @file Gather, scatter and sort. */
import { bool } from "../schema/dtype.js";
import { LinalgBuilder } from "./linalg.js";
import { i64Array, ints } from "./print.js";
import {
  checkDim,
  checkDims,
  checkLength,
  checkSorted,
  fail,
  formatType,
  list,
  sameShape,
  type TensorType,
} from "./types.js";
import type { OpDef, Value } from "./value.js";

type Dims = readonly number[];
const predicate: TensorType = { dtype: bool, shape: [] };

export interface GatherOptions {
  /** Result dimensions that run over the slice. */
  readonly offsetDims: Dims;
  /** Operand dimensions with slice size 1 that the result lacks. */
  readonly collapsedSliceDims: Dims;
  readonly operandBatchingDims?: Dims;
  readonly startIndicesBatchingDims?: Dims;
  /** The operand dimension that each number of an index vector is for. */
  readonly startIndexMap: Dims;
  /** The dimension of `indices` that holds index vectors; its rank when each element is a vector of one. */
  readonly indexVectorDim: number;
  readonly sliceSizes: Dims;
  readonly indicesAreSorted?: boolean;
}

export interface ScatterOptions {
  /** Update dimensions that run over the window. */
  readonly updateWindowDims: Dims;
  /** Input dimensions with window size 1 that the updates lack. */
  readonly insertedWindowDims: Dims;
  readonly inputBatchingDims?: Dims;
  readonly scatterIndicesBatchingDims?: Dims;
  /** The input dimension that each number of an index vector is for. */
  readonly scatterDimsToOperandDims: Dims;
  readonly indexVectorDim: number;
  readonly indicesAreSorted?: boolean;
  readonly uniqueIndices?: boolean;
}

const dimsAttribute = (name: string, dims: Dims | undefined): string =>
  dims?.length ? `${name} = ${ints(dims)}, ` : "";

/** The dimension numbers of a gather, in MLIR. */
export const gatherDimensions = (o: Omit<GatherOptions, "sliceSizes">): string =>
  `dimension_numbers = #stablehlo.gather<${dimsAttribute("offset_dims", o.offsetDims)}` +
  dimsAttribute("collapsed_slice_dims", o.collapsedSliceDims) +
  dimsAttribute("operand_batching_dims", o.operandBatchingDims) +
  dimsAttribute("start_indices_batching_dims", o.startIndicesBatchingDims) +
  `${dimsAttribute("start_index_map", o.startIndexMap)}index_vector_dim = ${o.indexVectorDim}>, ` +
  `indices_are_sorted = ${o.indicesAreSorted ?? false}`;

const GATHER: OpDef<GatherOptions> = {
  name: "stablehlo.gather",
  form: "generic",
  attributes: (o) => `${gatherDimensions(o)}, slice_sizes = ${i64Array(o.sliceSizes)}`,
};
const SCATTER: OpDef<ScatterOptions> = {
  name: "stablehlo.scatter",
  form: "generic",
  attributes: (o) =>
    `scatter_dimension_numbers = #stablehlo.scatter<${dimsAttribute("update_window_dims", o.updateWindowDims)}` +
    dimsAttribute("inserted_window_dims", o.insertedWindowDims) +
    dimsAttribute("input_batching_dims", o.inputBatchingDims) +
    dimsAttribute("scatter_indices_batching_dims", o.scatterIndicesBatchingDims) +
    `${dimsAttribute("scatter_dims_to_operand_dims", o.scatterDimsToOperandDims)}index_vector_dim = ${o.indexVectorDim}>, ` +
    `indices_are_sorted = ${o.indicesAreSorted ?? false}, unique_indices = ${o.uniqueIndices ?? false}`,
};
const SORT: OpDef<{ dim: number; isStable: boolean }> = {
  name: "stablehlo.sort",
  form: "generic",
  attributes: ({ dim, isStable }) => `dimension = ${dim} : i64, is_stable = ${isStable}`,
};

/** What gather and scatter say in different words about the dimensions of the operand and of the indices. */
interface IndexLayout {
  readonly operand: TensorType;
  readonly indices: TensorType;
  readonly dropped: Dims;
  readonly droppedName: string;
  readonly operandBatching: Dims;
  readonly indicesBatching: Dims;
  readonly indexMap: Dims;
  readonly indexMapName: string;
  readonly indexVectorDim: number;
}

/** Checks the layout and returns the sizes of the dimensions of `indices` other than the index vector. */
function checkIndexLayout(op: string, l: IndexLayout): number[] {
  const rank = l.operand.shape.length;
  const { shape, dtype } = l.indices;
  if (dtype.kind !== "int" && dtype.kind !== "uint") fail(op, "integer indices", formatType(l.indices));
  if (!(Number.isInteger(l.indexVectorDim) && l.indexVectorDim >= 0 && l.indexVectorDim <= shape.length)) {
    fail(op, `indexVectorDim in [0,${shape.length}]`, String(l.indexVectorDim));
  }
  checkDims(op, `${l.droppedName} and batching dims`, [...l.dropped, ...l.operandBatching], rank);
  checkSorted(op, l.droppedName, l.dropped);
  checkSorted(op, "operand batching dims", l.operandBatching);
  checkDims(op, l.indexMapName, l.indexMap, rank);
  const width = l.indexVectorDim === shape.length ? 1 : shape[l.indexVectorDim];
  if (l.indexMap.length !== width)
    fail(op, `${l.indexMapName} with ${width} dimensions for indices ${formatType(l.indices)}`, list(l.indexMap));
  if (l.indexMap.some((d) => l.operandBatching.includes(d)))
    fail(op, `${l.indexMapName} without batching dims`, list(l.indexMap));
  if (l.operandBatching.length !== l.indicesBatching.length) {
    fail(
      op,
      "as many batching dims of the operand as of the indices",
      `${list(l.operandBatching)} and ${list(l.indicesBatching)}`,
    );
  }
  checkDims(op, "batching dims of the indices", l.indicesBatching, shape.length);
  l.operandBatching.forEach((d, i) => {
    const at = l.indicesBatching[i];
    if (at === l.indexVectorDim)
      fail(op, "batching dims of the indices without indexVectorDim", list(l.indicesBatching));
    if (l.operand.shape[d] !== shape[at])
      fail(op, "batching dims of equal sizes", `${l.operand.shape[d]} and ${shape[at]}`);
  });
  return shape.filter((_, d) => d !== l.indexVectorDim);
}

/** Spreads `inner` over the positions `dims` of a shape whose other positions are `outer`, in order. */
function interleave(dims: Dims, inner: Dims, outer: Dims): number[] {
  let at = 0;
  return Array.from({ length: inner.length + outer.length }, (_, d) => {
    const i = dims.indexOf(d);
    return i >= 0 ? inner[i] : outer[at++];
  });
}

export class IndexingBuilder extends LinalgBuilder {
  /** The shape of a gather's result; throws where the options do not fit the operands. */
  protected gatherShape(op: string, operand: Value, indices: Value, options: GatherOptions): number[] {
    this.checkTensor(op, operand);
    const {
      offsetDims,
      collapsedSliceDims,
      operandBatchingDims = [],
      startIndicesBatchingDims = [],
      startIndexMap,
      indexVectorDim,
      sliceSizes,
    } = options;
    const outer = checkIndexLayout(op, {
      operand,
      indices,
      dropped: collapsedSliceDims,
      droppedName: "collapsedSliceDims",
      operandBatching: operandBatchingDims,
      indicesBatching: startIndicesBatchingDims,
      indexMap: startIndexMap,
      indexMapName: "startIndexMap",
      indexVectorDim,
    });
    checkLength(op, `sliceSizes for ${formatType(operand)}`, sliceSizes, operand.rank);
    sliceSizes.forEach((n, d) => {
      const dropped = collapsedSliceDims.includes(d) || operandBatchingDims.includes(d);
      const max = dropped ? Math.min(1, operand.shape[d]) : operand.shape[d];
      if (!(Number.isInteger(n) && n >= 0 && n <= max))
        fail(op, `a slice size in [0,${max}] for dimension ${d} of ${formatType(operand)}`, String(n));
    });
    const inner = sliceSizes.filter((_, d) => !collapsedSliceDims.includes(d) && !operandBatchingDims.includes(d));
    if (offsetDims.length !== inner.length) fail(op, `${inner.length} offsetDims`, list(offsetDims));
    checkDims(op, "offsetDims", offsetDims, inner.length + outer.length);
    checkSorted(op, "offsetDims", offsetDims);
    return interleave(offsetDims, inner, outer);
  }

  /** Slices of `operand` at run-time indices, which are clamped so that each slice fits. */
  gather(operand: Value, indices: Value, options: GatherOptions): Value {
    const shape = this.gatherShape("gather", operand, indices, options);
    return this.emit1("gather", GATHER, [operand, indices], operand.dtype, shape, { ...options });
  }

  /**
   * `inputs` with windows at run-time indices combined with `updates`. Updates that do not fit are dropped. The order in
   * which updates to one place are combined is undefined.
   */
  scatter(
    inputs: readonly Value[],
    indices: Value,
    updates: readonly Value[],
    options: ScatterOptions,
    body: (accumulators: Value[], updates: Value[]) => readonly Value[],
  ): Value[] {
    const op = "scatter";
    if (inputs.length === 0 || inputs.length !== updates.length)
      fail(op, "as many updates as inputs, at least one", `${inputs.length} inputs and ${updates.length} updates`);
    const [input] = inputs;
    const [update] = updates;
    inputs.forEach((x, i) => {
      this.checkTensor(op, x);
      if (!sameShape(x.shape, input.shape)) fail(op, `inputs of shape ${list(input.shape)}`, formatType(x));
      if (!sameShape(updates[i].shape, update.shape))
        fail(op, `updates of shape ${list(update.shape)}`, formatType(updates[i]));
      if (updates[i].dtype !== x.dtype) fail(op, `updates of type ${x.dtype.hlo}`, formatType(updates[i]));
    });
    const {
      updateWindowDims,
      insertedWindowDims,
      inputBatchingDims = [],
      scatterIndicesBatchingDims = [],
      scatterDimsToOperandDims,
      indexVectorDim,
    } = options;
    const outer = checkIndexLayout(op, {
      operand: input,
      indices,
      dropped: insertedWindowDims,
      droppedName: "insertedWindowDims",
      operandBatching: inputBatchingDims,
      indicesBatching: scatterIndicesBatchingDims,
      indexMap: scatterDimsToOperandDims,
      indexMapName: "scatterDimsToOperandDims",
      indexVectorDim,
    });
    const bounds = input.shape.filter((_, d) => !insertedWindowDims.includes(d) && !inputBatchingDims.includes(d));
    if (updateWindowDims.length !== bounds.length)
      fail(op, `${bounds.length} updateWindowDims`, list(updateWindowDims));
    checkDims(op, "updateWindowDims", updateWindowDims, bounds.length + outer.length);
    checkSorted(op, "updateWindowDims", updateWindowDims);
    const window = updateWindowDims.map((d) => update.shape[d]);
    const fits =
      sameShape(update.shape, interleave(updateWindowDims, window, outer)) && window.every((n, i) => n <= bounds[i]);
    if (!fits)
      fail(
        op,
        `updates of shape ${list(interleave(updateWindowDims, bounds, outer))} (windows may be smaller)`,
        formatType(update),
      );
    const scalars = inputs.map((x) => ({ dtype: x.dtype, shape: [] }));
    const n = inputs.length;
    const region = this.block(op, "the body", [...scalars, ...scalars], (p) => body(p.slice(0, n), p.slice(n)), {
      closed: true,
    });
    this.checkReturns(op, "the body", region, scalars);
    return this.emit(op, SCATTER, [...inputs, indices, ...updates], inputs, { ...options }, [region]).results;
  }

  /**
   * Sorts `inputs` together along `dim`. The comparator gets two elements of each input, (a0, b0, a1, b1, …), and returns
   * whether the a's come first.
   */
  sort(inputs: readonly Value[], dim: number, isStable: boolean, comparator: (...pairs: Value[]) => Value): Value[] {
    const op = "sort";
    if (inputs.length === 0) fail(op, "at least one input", "none");
    for (const x of inputs) {
      this.checkTensor(op, x);
      if (!sameShape(x.shape, inputs[0].shape)) fail(op, `inputs of shape ${list(inputs[0].shape)}`, formatType(x));
    }
    checkDim(op, dim, inputs[0].rank);
    const scalars = inputs.flatMap((x) => [
      { dtype: x.dtype, shape: [] },
      { dtype: x.dtype, shape: [] },
    ]);
    const region = this.block(op, "the comparator", scalars, (p) => [comparator(...p)], { closed: true });
    this.checkReturns(op, "the comparator", region, [predicate]);
    return this.emit(op, SORT, [...inputs], inputs, { dim, isStable }, [region]).results;
  }
}
