/** @file Constants as MLIR text: exact for every float, integer and complex number. */
import type { DType } from "../schema/dtype.js";
import { float32, float64 } from "../schema/dtype.js";
import { floatToBits, smallestNormal } from "./float_bits.js";
import { fail, numelOf } from "./types.js";

/** One element of a constant. A complex number is a pair; a real number also stands for a complex one. */
export type Scalar = number | bigint | boolean | readonly [number, number];

export type TypedArray =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

/**
 * Elements of a dense constant in row-major order. A Uint8Array for an 8-bit float and a Uint16Array for a 16-bit float
 * hold bits; every other array holds numbers. A Float32Array or Float64Array for a complex type holds (re, im) pairs.
 */
export type ConstantData = TypedArray | readonly Scalar[];

/** The value of a recorded constant: one element for all, or the bytes of all elements. */
export type Literal = { readonly splat: Scalar } | { readonly bytes: Uint8Array };

const hex = (bits: number | bigint, width: number): string =>
  `0x${bits
    .toString(16)
    .toUpperCase()
    .padStart(width / 4, "0")}`;

/** A float literal. Decimal where the parser rounds it to the same number, the bits in hexadecimal elsewhere. */
function floatText(value: number, dtype: DType): string {
  const size = Math.abs(value);
  const plain = Object.is(value, 0) || (size >= smallestNormal(dtype) && size < 2 ** 15 && dtype.bits >= 16);
  if (!plain) return hex(floatToBits(value, dtype), dtype.bits);
  const text = String(value);
  if (text.includes(".")) return text;
  const e = text.indexOf("e");
  return e < 0 ? `${text}.0` : `${text.slice(0, e)}.0${text.slice(e)}`;
}

/** The text of one element, as it stands between `dense<` and `>`. */
export function scalarText(value: Scalar, dtype: DType): string {
  switch (dtype.kind) {
    case "bool":
      return Array.isArray(value) ? String(value[0] !== 0) : String(Boolean(value));
    case "int":
    case "uint":
      return typeof value === "boolean" ? String(Number(value)) : String(BigInt(value as number | bigint));
    case "float":
      return floatText(Number(value), dtype);
    case "complex": {
      const [re, im] = typeof value === "object" ? value : [Number(value), 0];
      const part = dtype.to_real();
      return `(${floatText(re, part)}, ${floatText(im, part)})`;
    }
  }
}

/** Bools as nested lists: how MLIR packs them in hexadecimal literals has changed between versions. */
function boolList(bytes: Uint8Array, shape: readonly number[], depth: number, start: number, stride: number): string {
  if (depth === shape.length) return bytes[start] ? "true" : "false";
  const parts = new Array<string>(shape[depth]);
  const inner = stride / shape[depth];
  for (let i = 0; i < parts.length; i++) parts[i] = boolList(bytes, shape, depth + 1, start + i * inner, inner);
  return `[${parts.join(", ")}]`;
}

/** `dense<...> : tensor<...>` without the type. */
export function literalText(literal: Literal, dtype: DType, shape: readonly number[]): string {
  if ("splat" in literal) return `dense<${scalarText(literal.splat, dtype)}>`;
  const { bytes } = literal;
  if (bytes.length === 0) return "dense<>";
  if (dtype.kind === "bool") return `dense<${boolList(bytes, shape, 0, 0, bytes.length)}>`;
  return `dense<"0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex").toUpperCase()}">`;
}

/** Smallest and largest number of an integer type. */
function integerRange(dtype: DType): [bigint, bigint] {
  const n = BigInt(dtype.bits);
  return dtype.kind === "uint" ? [0n, (1n << n) - 1n] : [-(1n << (n - 1n)), (1n << (n - 1n)) - 1n];
}

/** Throws unless `value` is one that `dtype` can hold (floats round). */
export function checkScalar(op: string, value: Scalar, dtype: DType): void {
  if (typeof value === "object") {
    if (dtype.kind !== "complex") fail(op, `a real number for ${dtype.hlo}`, `[${value.join(",")}]`);
    return;
  }
  if (dtype.kind !== "int" && dtype.kind !== "uint") return;
  if (typeof value === "boolean") return;
  // The common case without bigints.
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** (Math.min(dtype.bits, 54) - 1))
    return;
  const [low, high] = integerRange(dtype);
  const whole = typeof value === "bigint" || Number.isInteger(value);
  if (!whole || BigInt(value) < low || BigInt(value) > high)
    fail(op, `an integer in the range of ${dtype.hlo}`, String(value));
}

/** Bytes of one element in a dense literal: types below a byte take one. */
const elementBytes = (dtype: DType): number => Math.max(1, dtype.bits >> 3);

function writer(dtype: DType, view: DataView): (index: number, value: Scalar) => void {
  const size = elementBytes(dtype);
  if (dtype.kind === "complex") {
    const part = dtype.to_real();
    const write = writer(part, view);
    return (i, v) => {
      const [re, im] = typeof v === "object" ? v : [Number(v), 0];
      write(2 * i, re);
      write(2 * i + 1, im);
    };
  }
  if (dtype === float32) return (i, v) => view.setFloat32(4 * i, Number(v), true);
  if (dtype === float64) return (i, v) => view.setFloat64(8 * i, Number(v), true);
  if (dtype.kind === "float") {
    if (size === 1) return (i, v) => view.setUint8(i, floatToBits(Number(v), dtype) as number);
    return (i, v) => view.setUint16(2 * i, floatToBits(Number(v), dtype) as number, true);
  }
  if (dtype.kind === "bool") return (i, v) => view.setUint8(i, v ? 1 : 0);
  if (size === 8) return (i, v) => view.setBigInt64(8 * i, BigInt(v as number), true);
  if (size === 4) return (i, v) => view.setInt32(4 * i, Number(v), true);
  if (size === 2) return (i, v) => view.setInt16(2 * i, Number(v), true);
  return (i, v) => view.setInt8(i, Number(v));
}

const isBits = (data: ConstantData, dtype: DType): boolean =>
  dtype.kind === "float" &&
  ((dtype.bits <= 8 && data instanceof Uint8Array) || (dtype.bits === 16 && data instanceof Uint16Array));

const isPairs = (data: ConstantData, dtype: DType): boolean =>
  dtype.kind === "complex" && (data instanceof Float32Array || data instanceof Float64Array);

const equal = (a: Scalar, b: Scalar): boolean =>
  typeof a === "object" && typeof b === "object" ? Object.is(a[0], b[0]) && Object.is(a[1], b[1]) : Object.is(a, b);

/** The literal of row-major elements. The data is copied. */
export function denseLiteral(op: string, data: ConstantData, dtype: DType, shape: readonly number[]): Literal {
  const numel = numelOf(shape);
  const pairs = isPairs(data, dtype);
  const length = pairs ? 2 * numel : numel;
  if (data.length !== length) fail(op, `${length} elements for ${dtype.hlo}[${shape.join(",")}]`, String(data.length));
  if (numel === 0) return { bytes: new Uint8Array(0) };
  if (isBits(data, dtype)) {
    const { buffer, byteOffset, byteLength } = data as TypedArray;
    return { bytes: new Uint8Array(buffer.slice(byteOffset, byteOffset + byteLength)) };
  }
  const at = (i: number): Scalar => (pairs ? [data[2 * i] as number, data[2 * i + 1] as number] : (data[i] as Scalar));
  let splat = true;
  for (let i = 0; i < numel; i++) {
    checkScalar(op, at(i), dtype);
    if (splat && i > 0 && !equal(at(i), at(0))) splat = false;
  }
  if (splat) return { splat: at(0) };
  const bytes = new Uint8Array(numel * elementBytes(dtype));
  const write = writer(dtype, new DataView(bytes.buffer));
  for (let i = 0; i < numel; i++) write(i, at(i));
  return { bytes };
}
