/** @file Elements between the host's bytes and JavaScript's numbers. */
import type { DType } from "../schema/index.js";
import { Complex, FloatScalar, TorchError, TorchTypeError, type Scalar } from "../schema/index.js";

/** A JavaScript number, bigint (for 64-bit integers that a number cannot hold), boolean or Complex. */
export type HostValue = number | boolean | bigint | Complex;

const scratch = new DataView(new ArrayBuffer(8));

/** Bits of a narrow float, with `exponent` and `mantissa` bits. `variant`: how infinities and NaN are encoded. */
interface NarrowFloat {
  readonly exponent: number;
  readonly mantissa: number;
  readonly bias: number;
  readonly variant: "ieee" | "fn" | "fnuz" | "scale";
}

const narrow: Record<string, NarrowFloat> = {
  float16: { exponent: 5, mantissa: 10, bias: 15, variant: "ieee" },
  float8_e5m2: { exponent: 5, mantissa: 2, bias: 15, variant: "ieee" },
  float8_e4m3: { exponent: 4, mantissa: 3, bias: 7, variant: "ieee" },
  float8_e3m4: { exponent: 3, mantissa: 4, bias: 3, variant: "ieee" },
  float8_e4m3fn: { exponent: 4, mantissa: 3, bias: 7, variant: "fn" },
  float8_e4m3b11fnuz: { exponent: 4, mantissa: 3, bias: 11, variant: "fnuz" },
  float8_e5m2fnuz: { exponent: 5, mantissa: 2, bias: 16, variant: "fnuz" },
  float8_e4m3fnuz: { exponent: 4, mantissa: 3, bias: 8, variant: "fnuz" },
  float8_e8m0fnu: { exponent: 8, mantissa: 0, bias: 127, variant: "scale" },
  float4_e2m1fn: { exponent: 2, mantissa: 1, bias: 1, variant: "fn" },
};

function decodeNarrow(bits: number, f: NarrowFloat): number {
  const width = f.exponent + f.mantissa;
  if (f.variant === "scale") return bits === 0xff ? NaN : 2 ** (bits - f.bias);
  const sign = (bits >> width) & 1 ? -1 : 1;
  const exponent = (bits >> f.mantissa) & ((1 << f.exponent) - 1);
  const fraction = bits & ((1 << f.mantissa) - 1);
  const top = (1 << f.exponent) - 1;
  if (f.variant === "ieee" && exponent === top) return fraction === 0 ? sign * Infinity : NaN;
  if (f.variant === "fn" && f.exponent + f.mantissa === 7 && exponent === top && fraction === (1 << f.mantissa) - 1)
    return NaN;
  if (f.variant === "fnuz" && sign < 0 && exponent === 0 && fraction === 0) return NaN;
  if (exponent === 0) return sign * fraction * 2 ** (1 - f.bias - f.mantissa);
  return sign * (1 + fraction / (1 << f.mantissa)) * 2 ** (exponent - f.bias);
}

const tables = new Map<string, Float64Array>();

/** All values of a narrow type, sorted, with their bits: for rounding to nearest, ties to even. */
function decodeTable(name: string, f: NarrowFloat): Float64Array {
  let table = tables.get(name);
  if (!table) {
    const bits = f.variant === "scale" ? 8 : 1 + f.exponent + f.mantissa;
    table = Float64Array.from({ length: 1 << bits }, (_, i) => decodeNarrow(i, f));
    tables.set(name, table);
  }
  return table;
}

function encodeNarrow(value: number, name: string, f: NarrowFloat): number {
  const width = f.exponent + f.mantissa;
  const table = decodeTable(name, f);
  const half = f.variant === "scale" ? table.length : 1 << width;
  const negative = f.variant !== "scale" && (value < 0 || Object.is(value, -0)) ? 1 : 0;
  const nan =
    f.variant === "fnuz"
      ? 1 << width
      : f.variant === "fn" && width === 7
        ? 0x7f
        : f.variant === "scale"
          ? 0xff
          : (((1 << f.exponent) - 1) << f.mantissa) | (f.mantissa ? 1 << (f.mantissa - 1) : 0);
  if (Number.isNaN(value)) return nan;
  const magnitude = Math.abs(value);
  let low = 0;
  let high = half - 1;
  while (high > 0 && !Number.isFinite(table[high])) high--;
  const largest = high;
  if (magnitude >= table[largest]) {
    const step = table[largest] - table[largest - 1];
    const overflow = magnitude >= table[largest] + step / 2;
    if (!overflow) return (negative << width) | largest;
    return f.variant === "ieee"
      ? (negative << width) | (((1 << f.exponent) - 1) << f.mantissa)
      : f.variant === "fn" && width !== 7
        ? (negative << width) | largest
        : nan === 0x7f
          ? (negative << 7) | 0x7f
          : nan;
  }
  while (high - low > 1) {
    const mid = (low + high) >> 1;
    if (table[mid] <= magnitude) low = mid;
    else high = mid;
  }
  const below = magnitude - table[low];
  const above = table[high] - magnitude;
  const pick = below < above || (below === above && low % 2 === 0) ? low : high;
  return f.variant === "fnuz" && pick === 0 ? 0 : (negative << width) | pick;
}

function encodeBfloat16(value: number): number {
  scratch.setFloat32(0, value);
  const bits = scratch.getUint32(0);
  if (Number.isNaN(value)) return 0x7fc0;
  // float64 → float32 → bfloat16 would round twice; the sticky bit keeps what the first rounding lost
  const single = scratch.getFloat32(0);
  const lost = single === value ? 0 : Math.abs(single) < Math.abs(value) ? 1 : -1;
  const rest = bits & 0xffff;
  const up = rest > 0x8000 || (rest === 0x8000 && (lost > 0 || (lost === 0 && ((bits >> 16) & 1) === 1)));
  return ((bits >>> 16) + (up ? 1 : 0)) & 0xffff;
}

function decodeBfloat16(bits: number): number {
  scratch.setUint32(0, bits << 16);
  return scratch.getFloat32(0);
}

type View = { readonly length: number; [i: number]: number | bigint };

/** The typed array that PyTorch's element type has on the host; 16-bit and narrower floats are their bits. */
export function typedView(
  bytes: Uint8Array,
  dtype: DType,
):
  | Uint8Array
  | Int8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array {
  const aligned = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
  const make = <T>(Type: {
    new (b: ArrayBufferLike, o: number, n: number): T;
    readonly BYTES_PER_ELEMENT: number;
  }): T => new Type(aligned.buffer, aligned.byteOffset, aligned.byteLength / Type.BYTES_PER_ELEMENT);
  switch (dtype.name) {
    case "float32":
    case "complex64":
      return make(Float32Array);
    case "float64":
    case "complex128":
      return make(Float64Array);
    case "int64":
      return make(BigInt64Array);
    case "uint64":
      return make(BigUint64Array);
    case "int32":
      return make(Int32Array);
    case "uint32":
      return make(Uint32Array);
    case "int16":
      return make(Int16Array);
    case "uint16":
    case "float16":
    case "bfloat16":
      return make(Uint16Array);
    case "int8":
    case "int4":
    case "int2":
      return make(Int8Array);
    default:
      return aligned;
  }
}

/** Reads element `i`. */
export function readElement(view: View, i: number, dtype: DType): HostValue {
  if (dtype.is_complex) return new Complex(view[2 * i] as number, view[2 * i + 1] as number);
  const raw = view[i];
  if (typeof raw === "bigint") return raw >= -9007199254740991n && raw <= 9007199254740991n ? Number(raw) : raw;
  if (dtype.name === "bool") return raw !== 0;
  if (dtype.name === "bfloat16") return decodeBfloat16(raw);
  const f = narrow[dtype.name];
  return f ? decodeNarrow(raw, f) : raw;
}

function encodeElement(value: Scalar, dtype: DType): number | bigint {
  if (dtype.name === "int64" || dtype.name === "uint64") {
    return BigInt.asIntN(
      64,
      typeof value === "bigint"
        ? value
        : BigInt(Math.trunc(Number(value instanceof FloatScalar ? value.value : value))),
    );
  }
  const n = value instanceof Complex ? value.re : Number(value);
  if (dtype.name === "bool") return n !== 0 ? 1 : 0;
  if (dtype.name === "bfloat16") return encodeBfloat16(n);
  const f = narrow[dtype.name];
  return f ? encodeNarrow(n, dtype.name, f) : n;
}

/** The bytes of these numbers as elements of `dtype`. */
export function encodeElements(values: readonly Scalar[], dtype: DType): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(values.length * dtype.itemsize);
  const view = typedView(bytes, dtype) as unknown as (number | bigint)[];
  if (dtype.is_complex) {
    values.forEach((v, i) => {
      view[2 * i] = v instanceof Complex ? v.re : Number(v);
      view[2 * i + 1] = v instanceof Complex ? v.im : 0;
    });
    return bytes;
  }
  for (let i = 0; i < values.length; i++) view[i] = encodeElement(values[i], dtype);
  return bytes;
}

export type NestedArray<T> = T | readonly NestedArray<T>[];

/** The shape and the elements, in order, of nested arrays. Throws when they are ragged. */
export function flattenNested(data: NestedArray<Scalar>): { shape: number[]; values: Scalar[] } {
  const shape: number[] = [];
  let probe: unknown = data;
  while (Array.isArray(probe)) {
    shape.push(probe.length);
    if (probe.length === 0) break;
    probe = probe[0];
  }
  const values: Scalar[] = [];
  const visit = (x: NestedArray<Scalar>, depth: number): void => {
    if (Array.isArray(x)) {
      if (depth >= shape.length) throw new TorchTypeError("tensor(): expected a number, got an array");
      if (x.length !== shape[depth])
        throw new TorchError(`expected sequence of length ${shape[depth]} at dim ${depth} (got ${x.length})`);
      for (const e of x as NestedArray<Scalar>[]) visit(e, depth + 1);
      return;
    }
    if (depth < shape.length) throw new TorchTypeError("tensor(): expected an array, got a number: the data is ragged");
    values.push(x as Scalar);
  };
  visit(data, 0);
  return { shape, values };
}

/** Elements in row-major order as nested arrays. */
export function nest(values: readonly HostValue[], shape: readonly number[]): NestedArray<HostValue> {
  if (shape.length === 0) return values[0];
  let level: NestedArray<HostValue>[] = [...values];
  for (let d = shape.length - 1; d > 0; d--) {
    const size = shape[d];
    const count = shape.slice(0, d).reduce((a, b) => a * b, 1);
    level = Array.from({ length: count }, (_, i) => level.slice(i * size, (i + 1) * size));
  }
  return level;
}
