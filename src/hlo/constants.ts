/** @file Constants and iota. */
import type { DType } from "../schema/dtype.js";
import { BuilderCore } from "./builder_core.js";
import { checkScalar, denseLiteral, literalText, type ConstantData, type Literal, type Scalar } from "./literal.js";
import { checkDim, checkShape, fail, mlirType } from "./types.js";
import type { Value } from "./value.js";
import { type OpDef } from "./value.js";

const CONSTANT: OpDef<Literal> = {
  name: "stablehlo.constant",
  form: "same",
  print: (literal, op) => {
    const [result] = op.results;
    return `stablehlo.constant ${literalText(literal, result.dtype, result.shape)} : ${mlirType(result)}`;
  },
};
const IOTA: OpDef<number> = {
  name: "stablehlo.iota",
  form: "same",
  print: (dim, op) => `stablehlo.iota dim = ${dim} : ${mlirType(op.results[0])}`,
};
const noShape: readonly number[] = [];
const noValues: readonly Value[] = [];

const isData = (
  value: Scalar | ConstantData,
  dtype: DType,
  shape: readonly number[] | undefined,
): value is ConstantData => {
  if (ArrayBuffer.isView(value)) return true;
  if (!Array.isArray(value)) return false;
  const pair = dtype.kind === "complex" && value.length === 2 && value.every((v) => typeof v === "number");
  return !pair || (shape !== undefined && shape.length > 0);
};

export class ConstantsBuilder extends BuilderCore {
  /**
   * A constant: one element for every position of `shape` (default: rank 0), or the elements in row-major order.
   * Exact for NaN, infinities, -0 and subnormals; 64-bit integers are exact as bigints; floats round to nearest even.
   *
   * @example
   * h.constant(1.5, float32);
   * h.constant(2n ** 63n - 1n, int64, [4]);
   * h.constant([1, 2, 3], int32, [3]);
   */
  constant(value: Scalar | ConstantData, dtype: DType, shape?: readonly number[]): Value {
    if (!isData(value, dtype, shape)) return this.splat(value, dtype, shape ?? noShape, "constant");
    const of = shape ? [...shape] : [value.length];
    checkShape("constant", of);
    return this.emit1("constant", CONSTANT, noValues, dtype, of, denseLiteral("constant", value, dtype, of));
  }

  /** `value` in every element. */
  splat(value: Scalar, dtype: DType, shape: readonly number[], op = "splat"): Value {
    if (dtype.index < 0) fail(op, "an element type", dtype.name);
    checkShape(op, shape);
    checkScalar(op, value, dtype);
    let numel = 1;
    for (const n of shape) numel *= n;
    const literal: Literal = numel === 0 ? { bytes: new Uint8Array(0) } : { splat: value };
    return this.emit1(op, CONSTANT, noValues, dtype, shape.length === 0 ? noShape : [...shape], literal);
  }

  /** Zeros of the type of `x`. */
  zerosLike(x: Value): Value {
    return this.splat(0, x.dtype, x.shape, "zerosLike");
  }

  /** Ones of the type of `x`. */
  onesLike(x: Value): Value {
    return this.splat(1, x.dtype, x.shape, "onesLike");
  }

  /** `value` in every element of a constant of the type of `x`. */
  fullLike(x: Value, value: Scalar): Value {
    return this.splat(value, x.dtype, x.shape, "fullLike");
  }

  /** Each element is its position along `dim`. */
  iota(dtype: DType, shape: readonly number[], dim: number): Value {
    if (dtype.kind === "bool") fail("iota", "an integer, float or complex type", dtype.hlo);
    checkShape("iota", shape);
    checkDim("iota", dim, shape.length);
    return this.emit1("iota", IOTA, noValues, dtype, [...shape], dim);
  }
}
