/** @file `torch.finfo`, `torch.iinfo`: limits of the element types. */
import type { DType } from "../schema/index.js";
import { get_default_dtype, TorchTypeError } from "../schema/index.js";

const floats: Record<string, { mantissa: number; maxExponent: number; minExponent: number; max?: number }> = {
  float64: { mantissa: 52, maxExponent: 1023, minExponent: -1022 },
  float32: { mantissa: 23, maxExponent: 127, minExponent: -126 },
  float16: { mantissa: 10, maxExponent: 15, minExponent: -14 },
  bfloat16: { mantissa: 7, maxExponent: 127, minExponent: -126 },
  float8_e5m2: { mantissa: 2, maxExponent: 15, minExponent: -14 },
  float8_e4m3fn: { mantissa: 3, maxExponent: 8, minExponent: -6, max: 448 },
  float8_e5m2fnuz: { mantissa: 2, maxExponent: 15, minExponent: -15 },
  float8_e4m3fnuz: { mantissa: 3, maxExponent: 7, minExponent: -7 },
};

/** Limits of a floating point type; of a complex one, those of its parts. */
export class finfo {
  readonly bits: number;
  readonly dtype: string;
  /** The distance from 1 to the next number. */
  readonly eps: number;
  readonly max: number;
  readonly min: number;
  /** The smallest normal number. */
  readonly tiny: number;
  readonly smallest_normal: number;
  /** Decimal digits that survive. */
  readonly resolution: number;
  constructor(type: DType = get_default_dtype()) {
    const real = type.to_real();
    const f = floats[real.name];
    if (!f)
      throw new TorchTypeError(
        `torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.iinfo', got ${type.toString()}`,
      );
    this.bits = real.bits;
    this.dtype = real.name;
    this.eps = 2 ** -f.mantissa;
    this.max = f.max ?? (2 - this.eps) * 2 ** f.maxExponent;
    this.min = -this.max;
    this.tiny = this.smallest_normal = 2 ** f.minExponent;
    this.resolution = Number(`1e-${Math.floor(f.mantissa * Math.log10(2))}`);
  }
}

/** Limits of an integer type. `min` and `max` of 64-bit types are exact as bigint only. */
export class iinfo {
  readonly bits: number;
  readonly dtype: string;
  readonly min: number | bigint;
  readonly max: number | bigint;
  constructor(type: DType) {
    if (type.kind !== "int" && type.kind !== "uint")
      throw new TorchTypeError(
        `torch.iinfo() requires an integer input type. Use torch.finfo to handle '${type.name}'`,
      );
    this.bits = type.bits;
    this.dtype = type.name;
    const signed = type.kind === "int";
    const min = signed ? -(2n ** BigInt(type.bits - 1)) : 0n;
    const max = 2n ** BigInt(signed ? type.bits - 1 : type.bits) - 1n;
    const exact = (n: bigint): number | bigint => (type.bits > 53 ? n : Number(n));
    this.min = exact(min);
    this.max = exact(max);
  }
}
