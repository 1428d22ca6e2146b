/** @file Element types: PyTorch's names, their StableHLO spelling, their PJRT code and their size. */

export type DTypeKind = "bool" | "int" | "uint" | "float" | "complex";

/** One element type. Instances are interned: compare with `===`. */
export class DType {
  /** Whether gradients can flow through values of this type. */
  readonly is_differentiable: boolean;
  constructor(
    /** PyTorch's name, as in `torch.float32`. */
    readonly name: string,
    /** StableHLO's spelling, as in `f32`. */
    readonly hlo: string,
    /** PJRT_Buffer_Type. */
    readonly pjrt: number,
    readonly kind: DTypeKind,
    /** Bits of one element (sub-byte types are stored one element per byte on the host). */
    readonly bits: number,
    /** Position in the order in which types were declared; a small integer for tables. */
    readonly index: number,
  ) {
    this.is_differentiable = kind === "float" || kind === "complex";
  }

  /** Bytes of one element, as in PyTorch. */
  get itemsize(): number {
    return Math.max(1, this.bits >> 3);
  }
  get is_floating_point(): boolean {
    return this.kind === "float";
  }
  get is_complex(): boolean {
    return this.kind === "complex";
  }
  get is_signed(): boolean {
    return this.kind !== "bool" && this.kind !== "uint";
  }
  /** The type of the real part: `float32` for `complex64`, itself for real types. */
  to_real(): DType {
    if (this === complex64) return float32;
    if (this === complex128) return float64;
    return this;
  }
  /** `complex64` for `float32` and narrower floats, `complex128` for `float64`; itself for complex types. */
  to_complex(): DType {
    if (this.kind === "complex") return this;
    return this === float64 ? complex128 : complex64;
  }
  toString(): string {
    return `torch.${this.name}`;
  }
  toJSON(): string {
    return this.toString();
  }
}

const all: DType[] = [];

function define(name: string, hlo: string, pjrt: number, kind: DTypeKind, bits: number): DType {
  const dtype = new DType(name, hlo, pjrt, kind, bits, all.length);
  all.push(dtype);
  return dtype;
}

// PJRT_Buffer_Type numbers follow pjrt_c_api.h.
export const bool = define("bool", "i1", 1, "bool", 8);
export const int8 = define("int8", "i8", 2, "int", 8);
export const int16 = define("int16", "i16", 3, "int", 16);
export const int32 = define("int32", "i32", 4, "int", 32);
export const int64 = define("int64", "i64", 5, "int", 64);
export const uint8 = define("uint8", "ui8", 6, "uint", 8);
export const uint16 = define("uint16", "ui16", 7, "uint", 16);
export const uint32 = define("uint32", "ui32", 8, "uint", 32);
export const uint64 = define("uint64", "ui64", 9, "uint", 64);
export const float16 = define("float16", "f16", 10, "float", 16);
export const float32 = define("float32", "f32", 11, "float", 32);
export const float64 = define("float64", "f64", 12, "float", 64);
export const bfloat16 = define("bfloat16", "bf16", 13, "float", 16);
export const complex64 = define("complex64", "complex<f32>", 14, "complex", 64);
export const complex128 = define("complex128", "complex<f64>", 15, "complex", 128);
export const float8_e5m2 = define("float8_e5m2", "f8E5M2", 16, "float", 8);
export const float8_e4m3fn = define("float8_e4m3fn", "f8E4M3FN", 17, "float", 8);
export const float8_e4m3b11fnuz = define("float8_e4m3b11fnuz", "f8E4M3B11FNUZ", 18, "float", 8);
export const float8_e5m2fnuz = define("float8_e5m2fnuz", "f8E5M2FNUZ", 19, "float", 8);
export const float8_e4m3fnuz = define("float8_e4m3fnuz", "f8E4M3FNUZ", 20, "float", 8);
export const int4 = define("int4", "i4", 21, "int", 4);
export const uint4 = define("uint4", "ui4", 22, "uint", 4);
export const int2 = define("int2", "i2", 24, "int", 2);
export const uint2 = define("uint2", "ui2", 25, "uint", 2);
export const float8_e4m3 = define("float8_e4m3", "f8E4M3", 26, "float", 8);
export const float8_e3m4 = define("float8_e3m4", "f8E3M4", 27, "float", 8);
export const float8_e8m0fnu = define("float8_e8m0fnu", "f8E8M0FNU", 28, "float", 8);
export const float4_e2m1fn = define("float4_e2m1fn", "f4E2M1FN", 29, "float", 4);

/** Every element type. */
export const dtypes: readonly DType[] = all;

const aliases: Record<string, DType> = {
  half: float16,
  float: float32,
  double: float64,
  short: int16,
  int: int32,
  long: int64,
  cfloat: complex64,
  cdouble: complex128,
};
const byName = new Map<string, DType>([...all.map((d): [string, DType] => [d.name, d]), ...Object.entries(aliases)]);
const byHlo = new Map(all.map((d) => [d.hlo, d]));
const byPjrt = new Map(all.map((d) => [d.pjrt, d]));

function find(map: Map<string | number, DType>, key: string | number, what: string): DType {
  const found = map.get(key);
  if (!found) throw new TypeError(`dtype(): expected ${what}, got ${String(key)}`);
  return found;
}

/** The type that PyTorch calls `name` (`"float32"`, `"torch.float32"`, `"long"`). */
export const dtypeFromName = (name: string): DType =>
  find(byName, name.startsWith("torch.") ? name.slice(6) : name, "the name of a dtype");
/** The type that StableHLO spells so (`"bf16"`). */
export const dtypeFromHlo = (hlo: string): DType => find(byHlo, hlo, "a StableHLO element type");
/** The type with this PJRT_Buffer_Type number. */
export const dtypeFromPjrt = (code: number): DType => find(byPjrt, code, "a PJRT buffer type");
