/** @file Rounding, and the parts of floating-point numbers. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { FloatScalar, TorchError, type DType } from "../schema/index.js";
import { binary, unary } from "./families.js";
import { cast, computeType, fullLike, inComputeType, requireDtype } from "./helpers.js";
import { isFloat } from "./pointwise.js";
import { op } from "./registry.js";

/** Toward zero. */
export const truncate = (h: Builder, x: Value): Value =>
  h.select(h.compare(x, fullLike(h, x, 0), "LT"), h.ceil(x), h.floor(x));

const roundable =
  (name: string) =>
  (d: DType): boolean | string =>
    d.is_complex ? `${name} is not supported for complex inputs` : d !== dt.bool;

for (const [name, round, doc] of [
  ["ceil", (h, x) => h.ceil(x), "The smallest integer not below each element."],
  ["floor", (h, x) => h.floor(x), "The largest integer not above each element."],
  ["trunc", truncate, "Toward zero to an integer."],
] as readonly [string, (h: Builder, x: Value) => Value, string][]) {
  unary(name, {
    lower: (h, x) => (x.dtype.is_floating_point ? round(h, x) : x),
    grad: (t, _, dy) => t.zeros_like(dy),
    accepts: roundable(name),
    doc,
  });
}

op(["round.decimals(Tensor self, *, int decimals=0) -> Tensor", "round(Tensor self) -> Tensor"], {
  lower: (h, { self, decimals }) => {
    requireDtype(self, self.dtype !== dt.bool && !self.dtype.is_complex, "round_vml_cpu");
    if (!self.dtype.is_floating_point) {
      if (decimals !== 0) throw new TorchError(`"round_cpu" not implemented for integers with decimals`);
      return self;
    }
    return inComputeType(h, [self], (x) => {
      if (decimals === 0) return h.round_nearest_even(x);
      const scale = fullLike(h, x, 10 ** Math.abs(decimals));
      return decimals < 0
        ? h.multiply(h.round_nearest_even(h.divide(x, scale)), scale)
        : h.divide(h.round_nearest_even(h.multiply(x, scale)), scale);
    });
  },
  grad: (t, _, dy) => ({ self: t.zeros_like(dy) }),
  doc: "To the nearest integer, halves to even; or to `decimals` places.",
});

unary("frac", {
  lower: (h, x) => h.subtract(x, truncate(h, x)),
  grad: (_t, _, dy) => dy,
  accepts: isFloat,
  doc: "What is left after rounding toward zero.",
});

/** Bits of the exponent and the fraction of a float type that can be computed with. */
const layouts = new Map<DType, { readonly bits: DType; readonly fraction: number; readonly bias: number }>([
  [dt.float64, { bits: dt.int64, fraction: 52, bias: 1023 }],
  [dt.float32, { bits: dt.int32, fraction: 23, bias: 127 }],
  [dt.bfloat16, { bits: dt.int16, fraction: 7, bias: 127 }],
  [dt.float16, { bits: dt.int16, fraction: 10, bias: 15 }],
]);

/** mantissa · 2^exponent with the mantissa in [0.5, 1). On the bits: XLA's CPU plugin takes subnormal numbers for zero. */
function splitFloat(h: Builder, given: Value): [Value, Value] {
  const x = cast(h, given, computeType(given.dtype));
  const { bits, fraction, bias } = layouts.get(x.dtype)!;
  const int = (n: number | bigint): Value => h.splat(n, bits, x.shape);
  const raw = h.bitcast_convert(x, bits);
  const field = h.and(h.shift_right_logical(raw, int(fraction)), int(2 * bias + 1));
  const digits = h.and(raw, int((1n << BigInt(fraction)) - 1n));
  const subnormal = h.compare(field, int(0), "EQ");
  // How far the first digit of a subnormal number is from where a normal number has it.
  const shift = h.subtract(h.count_leading_zeros(digits), int(bits.bits - 1 - fraction));
  const normalized = h.select(subnormal, h.shift_left(digits, shift), digits);
  const exponent = h.subtract(h.select(subnormal, h.subtract(int(1), shift), field), int(bias - 1));
  const sign = h.and(raw, h.shift_left(int(1), int(bits.bits - 1)));
  const cleared = h.and(normalized, int((1n << BigInt(fraction)) - 1n));
  const half = h.or(h.or(sign, cleared), int(BigInt(bias - 1) << BigInt(fraction)));
  const zero = h.and(subnormal, h.compare(digits, int(0), "EQ"));
  const special = h.or(zero, h.compare(field, int(2 * bias + 1), "EQ"));
  const mantissa = h.select(special, x, h.bitcast_convert(half, x.dtype));
  return [cast(h, mantissa, given.dtype), h.convert(h.select(special, int(0), exponent), dt.int32)];
}

op("frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", {
  lower: (h, { self }) => {
    if (!self.dtype.is_floating_point) throw new TorchError("torch.frexp() only supports floating-point dtypes");
    return splitFloat(h, self);
  },
  grad: (t, _, [dy], [, exponent]) => ({ self: t.div(dy, t.pow(2, exponent)) }),
  nonDifferentiableOutputs: [1],
  doc: "Mantissa in [0.5, 1) and exponent of each element.",
});

op("ldexp.Tensor(Tensor self, Tensor other) -> Tensor", {
  decompose: (t, { self, other }) => t.mul(self, t.pow(new FloatScalar(2), other)),
  doc: "self · 2^other.",
});

binary(
  "nextafter",
  {
    lower: (h, a, b) => {
      if (a.dtype === dt.float32 || a.dtype === dt.float64) return h.chlo_next_after(a, b);
      return stepTowards(h, a, b);
    },
    accepts: isFloat,
    exact: true,
    grad: (t, { self, other }, dy) => {
      const same = t.eq(self, other);
      return { self: t.where(same, t.zeros_like(dy), dy), other: t.where(same, dy, t.zeros_like(dy)) };
    },
    doc: "The next number after `self` towards `other`.",
  },
  ["nextafter(Tensor self, Tensor other) -> Tensor"],
);

/** nextafter on the bits of 16-bit floats. */
function stepTowards(h: Builder, a: Value, b: Value): Value {
  const { bits } = layouts.get(a.dtype)!;
  const int = (n: number): Value => h.splat(n, bits, a.shape);
  const [x, y] = [cast(h, a, dt.float32), cast(h, b, dt.float32)];
  const raw = h.bitcast_convert(a, bits);
  const up = h.compare(y, x, "GT");
  const positive = h.compare(raw, int(0), "GE");
  const away = h.compare(up, positive, "EQ");
  const stepped = h.bitcast_convert(h.select(away, h.add(raw, int(1)), h.subtract(raw, int(1))), a.dtype);
  const smallest = h.bitcast_convert(int(1), a.dtype);
  const atZero = h.select(up, smallest, h.negate(smallest));
  const moved = h.select(h.compare(x, fullLike(h, x, 0), "EQ"), atZero, stepped);
  const nan = h.or(h.compare(x, x, "NE"), h.compare(y, y, "NE"));
  return h.select(nan, fullLike(h, a, NaN), h.select(h.compare(x, y, "EQ"), b, moved));
}
