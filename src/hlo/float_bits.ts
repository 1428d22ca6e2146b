/** @file Floating-point numbers to and from the bits of every float type, rounding to nearest even. */
import type { DType } from "../schema/dtype.js";

/**
 * How a format below 32 bits spends its bits. `special`: "ieee" has infinities and NaNs, "fn" only the NaN of all ones,
 * "fnuz" only the NaN where -0 would be, "none" neither, "exponent" is a bare power of two with one NaN.
 */
interface FloatFormat {
  readonly exponent: number;
  readonly mantissa: number;
  readonly bias: number;
  readonly special: "ieee" | "fn" | "fnuz" | "none" | "exponent";
}

const format = (exponent: number, mantissa: number, bias: number, special: FloatFormat["special"]): FloatFormat => ({
  exponent,
  mantissa,
  bias,
  special,
});

const formats = new Map<string, FloatFormat>([
  ["f16", format(5, 10, 15, "ieee")],
  ["bf16", format(8, 7, 127, "ieee")],
  ["f8E5M2", format(5, 2, 15, "ieee")],
  ["f8E4M3", format(4, 3, 7, "ieee")],
  ["f8E3M4", format(3, 4, 3, "ieee")],
  ["f8E4M3FN", format(4, 3, 7, "fn")],
  ["f8E4M3FNUZ", format(4, 3, 8, "fnuz")],
  ["f8E4M3B11FNUZ", format(4, 3, 11, "fnuz")],
  ["f8E5M2FNUZ", format(5, 2, 16, "fnuz")],
  ["f8E8M0FNU", format(8, 0, 127, "exponent")],
  ["f4E2M1FN", format(2, 1, 1, "none")],
]);

const scratch = new DataView(new ArrayBuffer(8));

/** The bits of `value` in a float type; a bigint for f64. NaN has the type's canonical NaN. */
export function floatToBits(value: number, dtype: DType): number | bigint {
  if (dtype.hlo === "f64") {
    scratch.setFloat64(0, value);
    return scratch.getBigUint64(0);
  }
  if (dtype.hlo === "f32") {
    scratch.setFloat32(0, value);
    return scratch.getUint32(0);
  }
  return encode(value, formats.get(dtype.hlo)!);
}

/** The number that these bits are in a float type. */
export function bitsToFloat(bits: number | bigint, dtype: DType): number {
  if (dtype.hlo === "f64") {
    scratch.setBigUint64(0, BigInt(bits));
    return scratch.getFloat64(0);
  }
  if (dtype.hlo === "f32") {
    scratch.setUint32(0, Number(bits));
    return scratch.getFloat32(0);
  }
  return decode(Number(bits), formats.get(dtype.hlo)!);
}

/** The smallest positive normal number of a float type. */
export function smallestNormal(dtype: DType): number {
  if (dtype.hlo === "f64") return 2 ** -1022;
  const f = formats.get(dtype.hlo);
  return 2 ** (1 - (f ? f.bias : 127));
}

function roundToEven(x: number): number {
  const down = Math.floor(x);
  const rest = x - down;
  if (rest !== 0.5) return rest < 0.5 ? down : down + 1;
  return down % 2 === 0 ? down : down + 1;
}

/** Largest finite magnitude, as bits without the sign. */
function maxFinite({ exponent, mantissa, special }: FloatFormat): number {
  const all = 2 ** (exponent + mantissa);
  if (special === "ieee") return all - 2 ** mantissa - 1;
  return special === "fn" || special === "exponent" ? all - 2 : all - 1;
}

function nanBits(f: FloatFormat): number {
  const all = 2 ** (f.exponent + f.mantissa);
  if (f.special === "ieee") return all - 2 ** f.mantissa + 2 ** (f.mantissa - 1);
  if (f.special === "none") return 0;
  return f.special === "fnuz" ? all : all - 1;
}

/** log2 of |x|, rounded down, for finite x that is not zero. */
function exponentOf(x: number): number {
  scratch.setFloat64(0, x);
  const biased = (scratch.getUint16(0) >> 4) & 0x7ff;
  return biased === 0 ? exponentOf(x * 2 ** 64) - 64 : biased - 1023;
}

function encode(value: number, f: FloatFormat): number {
  if (Number.isNaN(value)) return nanBits(f);
  const size = Math.abs(value);
  const sign = f.special !== "exponent" && (value < 0 || Object.is(value, -0)) ? 2 ** (f.exponent + f.mantissa) : 0;
  const max = maxFinite(f);
  let bits = max + 1;
  if (f.special === "exponent") {
    // No sign, no zero: what is too small becomes the smallest power of two.
    if (value < 0) return nanBits(f);
    if (size < 2 ** -127) return 0;
    if (size !== Infinity) {
      const e = exponentOf(size);
      bits = e + f.bias + (size / 2 ** e > 1.5 || (size / 2 ** e === 1.5 && (e + f.bias) % 2 === 1) ? 1 : 0);
    }
    return Math.min(bits, max + 1);
  }
  if (size === 0) return f.special === "fnuz" ? 0 : sign;
  if (size !== Infinity) {
    const lowest = 1 - f.bias;
    const e = Math.max(exponentOf(size), lowest);
    const units = roundToEven(size / 2 ** (e - f.mantissa));
    bits = units < 2 ** f.mantissa ? units : (e + f.bias) * 2 ** f.mantissa + (units - 2 ** f.mantissa);
  }
  if (bits > max) {
    if (f.special === "ieee") bits = max + 1;
    else if (f.special === "none") bits = max;
    else return f.special === "fn" ? sign + nanBits(f) : nanBits(f);
  }
  return f.special === "fnuz" && bits === 0 ? 0 : sign + bits;
}

function decode(bits: number, f: FloatFormat): number {
  if (f.special === "exponent") return bits === 255 ? NaN : 2 ** (bits - f.bias);
  const all = 2 ** (f.exponent + f.mantissa);
  if (f.special === "fnuz" && bits === all) return NaN;
  const sign = bits >= all ? -1 : 1;
  const size = bits % all;
  if (size > maxFinite(f)) return f.special === "ieee" && size === maxFinite(f) + 1 ? sign * Infinity : NaN;
  const biased = Math.floor(size / 2 ** f.mantissa);
  const fraction = size % 2 ** f.mantissa;
  if (biased === 0) return sign * fraction * 2 ** (1 - f.bias - f.mantissa);
  return sign * (2 ** f.mantissa + fraction) * 2 ** (biased - f.bias - f.mantissa);
}
