/**
 * @file Operations whose shapes are operands. Values of this builder have static shapes, so the caller says the result's;
 * XLA compiles these operations when it can compute the shape operands while compiling.
 */
import { int32, type DType } from "../schema/dtype.js";
import { gatherDimensions, type GatherOptions } from "./indexing.js";
import { NormalizationBuilder } from "./normalization.js";
import { i64Array } from "./print.js";
import { checkDim, checkDims, checkShape, fail, formatType, list, numelOf } from "./types.js";
import type { OpDef, Value } from "./value.js";

type Dims = readonly number[];

const GET_DIMENSION_SIZE: OpDef<number> = {
  name: "stablehlo.get_dimension_size",
  form: "generic",
  attributes: (d) => `dimension = ${d} : i64`,
};
const RESHAPE: OpDef<null> = { name: "stablehlo.dynamic_reshape", form: "generic" };
const BROADCAST: OpDef<Dims> = {
  name: "stablehlo.dynamic_broadcast_in_dim",
  form: "generic",
  attributes: (dims) => `broadcast_dimensions = ${i64Array(dims)}`,
};
const IOTA: OpDef<number> = {
  name: "stablehlo.dynamic_iota",
  form: "generic",
  attributes: (dim) => `iota_dimension = ${dim} : i64`,
};
const PAD: OpDef<null> = { name: "stablehlo.dynamic_pad", form: "generic" };
const SLICE: OpDef<null> = { name: "stablehlo.real_dynamic_slice", form: "generic" };
const GATHER: OpDef<GatherOptions> = {
  name: "stablehlo.dynamic_gather",
  form: "generic",
  attributes: gatherDimensions,
};

export class DynamicBuilder extends NormalizationBuilder {
  /** The size of a dimension, i32[]. */
  get_dimension_size(x: Value, dim: number): Value {
    this.checkTensor("get_dimension_size", x);
    checkDim("get_dimension_size", dim, x.rank);
    return this.emit1("get_dimension_size", GET_DIMENSION_SIZE, [x], int32, [], dim);
  }

  /** Throws unless `v` is a list of `length` integers. */
  private checkList(op: string, what: string, v: Value, length: number): void {
    const ok = v.rank === 1 && v.shape[0] === length && (v.dtype.kind === "int" || v.dtype.kind === "uint");
    if (!ok) fail(op, `${what} of ${length} integers`, formatType(v));
  }

  dynamic_reshape(x: Value, outputShape: Value, shape: Dims): Value {
    const op = "dynamic_reshape";
    this.checkTensor(op, x);
    checkShape(op, shape);
    this.checkList(op, "an output shape", outputShape, shape.length);
    if (numelOf(shape) !== x.numel) fail(op, `a shape with ${x.numel} elements for ${formatType(x)}`, list(shape));
    return this.emit1(op, RESHAPE, [x, outputShape], x.dtype, [...shape], null);
  }

  dynamic_broadcast_in_dim(x: Value, outputShape: Value, dims: Dims, shape: Dims): Value {
    const op = "dynamic_broadcast_in_dim";
    this.checkTensor(op, x);
    checkShape(op, shape);
    this.checkList(op, "an output shape", outputShape, shape.length);
    checkDims(op, "dims", dims, shape.length);
    const ok = dims.length === x.rank && dims.every((d, i) => x.shape[i] === 1 || x.shape[i] === shape[d]);
    if (!ok) fail(op, `a value that broadcasts to ${list(shape)} along dims ${list(dims)}`, formatType(x));
    return this.emit1(op, BROADCAST, [x, outputShape], x.dtype, [...shape], [...dims]);
  }

  dynamic_iota(outputShape: Value, dim: number, dtype: DType, shape: Dims): Value {
    const op = "dynamic_iota";
    if (dtype.kind === "bool") fail(op, "an integer, float or complex type", dtype.hlo);
    checkShape(op, shape);
    this.checkList(op, "an output shape", outputShape, shape.length);
    checkDim(op, dim, shape.length);
    return this.emit1(op, IOTA, [outputShape], dtype, [...shape], dim);
  }

  dynamic_pad(x: Value, padValue: Value, low: Value, high: Value, interior: Value, shape: Dims): Value {
    const op = "dynamic_pad";
    this.checkTensor(op, x);
    if (padValue.dtype !== x.dtype || padValue.rank !== 0)
      fail(op, `a padding value ${x.dtype.hlo}[]`, formatType(padValue));
    for (const [what, v] of [
      ["low paddings", low],
      ["high paddings", high],
      ["interior paddings", interior],
    ] as const)
      this.checkList(op, what, v, x.rank);
    checkShape(op, shape);
    if (shape.length !== x.rank) fail(op, `a shape of rank ${x.rank}`, list(shape));
    return this.emit1(op, PAD, [x, padValue, low, high, interior], x.dtype, [...shape], null);
  }

  real_dynamic_slice(x: Value, start: Value, limit: Value, strides: Value, shape: Dims): Value {
    const op = "real_dynamic_slice";
    this.checkTensor(op, x);
    for (const [what, v] of [
      ["starts", start],
      ["limits", limit],
      ["strides", strides],
    ] as const)
      this.checkList(op, what, v, x.rank);
    checkShape(op, shape);
    if (shape.length !== x.rank) fail(op, `a shape of rank ${x.rank}`, list(shape));
    return this.emit1(op, SLICE, [x, start, limit, strides], x.dtype, [...shape], null);
  }

  /** gather() whose slice sizes are an operand; `options.sliceSizes` says what they will be. */
  dynamic_gather(operand: Value, indices: Value, sliceSizes: Value, options: GatherOptions): Value {
    const op = "dynamic_gather";
    const shape = this.gatherShape(op, operand, indices, options);
    this.checkList(op, "slice sizes", sliceSizes, operand.rank);
    if (sliceSizes.dtype !== indices.dtype)
      fail(op, `slice sizes ${indices.dtype.hlo}${list(sliceSizes.shape)}`, formatType(sliceSizes));
    return this.emit1(op, GATHER, [operand, indices, sliceSizes], operand.dtype, shape, { ...options });
  }
}
