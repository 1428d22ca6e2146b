/** @file Types of values, how they print for people (`f32[2,3]`) and for MLIR (`tensor<2x3xf32>`), and the builder's error. */
import { DType } from "../schema/dtype.js";

/** The type of a value: element type and static shape. */
export interface TensorType {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Types of the elements, when `dtype` is `tupleDType`. */
  readonly elements?: readonly TensorType[] | null;
}

/** A call of the builder that StableHLO does not allow. Messages read `<op>(): expected <X>, got <Y>`. */
export class HloError extends Error {
  override name = "HloError";
}

/** Throws the HloError of operation `op`. */
export function fail(op: string, expected: string, got: string): never {
  throw new HloError(`${op}(): expected ${expected}, got ${got}`);
}

// Not element types of tensors: they let tokens and tuples be Values. The index is outside of every table by dtype.
/** The type of values that order side effects. */
export const tokenDType = new DType("token", "!stablehlo.token", -1, "bool", 0, -1);
/** The type of tuples; their element types are in `TensorType.elements`. */
export const tupleDType = new DType("tuple", "tuple", -1, "bool", 0, -2);
/** The type of a token. */
export const tokenType: TensorType = { dtype: tokenDType, shape: [] };

export const isTensor = (t: TensorType): boolean => t.dtype.index >= 0;

/** `f32[2,3]`, as errors name types. */
export function formatType(t: TensorType): string {
  if (t.dtype === tokenDType) return "token";
  if (t.dtype === tupleDType) return `tuple(${t.elements!.map(formatType).join(", ")})`;
  return `${t.dtype.hlo}[${t.shape.join(",")}]`;
}

/** `tensor<2x3xf32>`, as MLIR spells types. */
export function mlirType(t: TensorType): string {
  if (t.dtype === tokenDType) return t.dtype.hlo;
  if (t.dtype === tupleDType) return `tuple<${t.elements!.map(mlirType).join(", ")}>`;
  const { shape } = t;
  let text = "tensor<";
  for (let i = 0; i < shape.length; i++) text += `${shape[i]}x`;
  return `${text}${t.dtype.hlo}>`;
}

export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export const sameType = (a: TensorType, b: TensorType): boolean =>
  a.dtype === b.dtype && sameShape(a.shape, b.shape) && sameElements(a.elements, b.elements);

function sameElements(a: TensorType["elements"], b: TensorType["elements"]): boolean {
  if (!a || !b) return !a === !b;
  return a.length === b.length && a.every((t, i) => sameType(t, b[i]));
}

export function numelOf(shape: readonly number[]): number {
  let n = 1;
  for (let i = 0; i < shape.length; i++) n *= shape[i];
  return n;
}

/** `[1,2]`, as errors name lists of numbers. */
export const list = (xs: readonly (number | bigint)[]): string => `[${xs.join(",")}]`;

/** Throws unless `shape` is a list of non-negative integers. */
export function checkShape(op: string, shape: readonly number[]): void {
  for (let i = 0; i < shape.length; i++) {
    if (!(Number.isSafeInteger(shape[i]) && shape[i] >= 0))
      fail(op, "sizes that are non-negative integers", list(shape));
  }
}

/** Throws unless `dim` is a dimension of a value of this rank. */
export function checkDim(op: string, dim: number, rank: number): void {
  if (!(Number.isInteger(dim) && dim >= 0 && dim < rank)) {
    fail(op, rank === 0 ? "no dimension (the value has rank 0)" : `a dimension in [0,${rank - 1}]`, String(dim));
  }
}

/** Throws unless `dims` are different dimensions of a value of this rank. */
export function checkDims(op: string, what: string, dims: readonly number[], rank: number): void {
  for (let i = 0; i < dims.length; i++) {
    const d = dims[i];
    if (!(Number.isInteger(d) && d >= 0 && d < rank)) fail(op, `${what} in [0,${rank})`, list(dims));
    if (dims.indexOf(d) !== i) fail(op, `${what} that differ`, list(dims));
  }
}

/** Throws unless `xs` are strictly ascending. */
export function checkSorted(op: string, what: string, xs: readonly number[]): void {
  for (let i = 1; i < xs.length; i++) if (xs[i - 1] >= xs[i]) fail(op, `${what} in ascending order`, list(xs));
}

/** Throws unless there is one number per dimension. */
export function checkLength(op: string, what: string, xs: readonly unknown[], length: number): void {
  if (xs.length !== length) fail(op, `${length} ${what}`, `${xs.length}`);
}
