/** @file Functions of several tensors: powers, interpolation, products added on, logarithms of sums, divisors. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { TorchError, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { binary, checkAccepts } from "./families.js";
import { align, cast, computeType, fullLike, inComputeType, isTensorArgument, promotedType } from "./helpers.js";
import { isNan, isNumber, isReal } from "./pointwise.js";
import { notDifferentiable, op, type Torch } from "./registry.js";

/** A number as a 0-dim tensor of the type of `like`; a tensor as it is. */
export const asTensor = (t: Torch, x: Tensor, like: Tensor): Tensor =>
  isTensorArgument(x) ? x : t.scalar_tensor(x, { dtype: like.dtype, device: like.device });

/** d(x^p)/dx, which is 0 for p = 0. */
function powSelfFactor(t: Torch, x: Tensor, p: Tensor, out: Tensor): Tensor {
  const exponent = asTensor(t, p, out);
  const slope = t.mul(exponent, t.pow(x, t.sub(exponent, 1)));
  return t.where(t.eq(exponent, 0), t.zeros_like(slope), slope);
}

/** d(x^p)/dp, which is 0 for x = 0 and p ≥ 0. */
function powExponentFactor(t: Torch, x: Tensor, p: Tensor, out: Tensor): Tensor {
  const base = asTensor(t, x, out);
  const atZero = t.logical_and(t.eq(base, 0), p.is_complex() ? t.ge(t.real(p), 0) : t.ge(p, 0));
  return t.where(atZero, t.zeros_like(out), t.mul(out, t.log(base)));
}

/** Integers to integer powers: negative powers of 1 and -1 are exact, those of others are 0. */
function integerPower(h: Builder, x: Value, y: Value): Value {
  const negative = h.compare(y, fullLike(h, y, 0), "LT");
  const odd = h.compare(h.and(y, fullLike(h, y, 1)), fullLike(h, y, 1), "EQ");
  const one = fullLike(h, x, 1);
  const unit = h.select(odd, x, one);
  const isUnit = x.dtype.is_signed
    ? h.or(h.compare(x, one, "EQ"), h.compare(x, fullLike(h, x, -1), "EQ"))
    : h.compare(x, one, "EQ");
  const reciprocal = h.select(isUnit, unit, fullLike(h, x, 0));
  return h.select(negative, reciprocal, h.power(x, h.select(negative, fullLike(h, y, 0), y)));
}

/** x^y for complex numbers; 0^0 is 1. */
function complexPower(h: Builder, x: Value, y: Value): Value {
  const zero = h.compare(y, fullLike(h, y, 0), "EQ");
  return h.select(zero, fullLike(h, x, 1), h.power(x, y));
}

function power(h: Builder, x: Value, y: Value): Value {
  if (x.dtype.is_complex) return complexPower(h, x, y);
  if (x.dtype.kind === "int") return integerPower(h, x, y);
  return h.power(x, y);
}

op(
  [
    "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
  ],
  {
    lower: (h, { self, exponent }) => {
      const [a, b] = align(h, [self, exponent], promotedType(self, exponent));
      checkAccepts(a, isNumber, "pow");
      return inComputeType(h, [a, b], (x, y) => power(h, x, y));
    },
    grad: (t, { self, exponent }, dy, out) => ({
      self: isTensorArgument(self) ? t.mul(dy, t.conj(powSelfFactor(t, self, exponent, out))) : null,
      exponent: isTensorArgument(exponent) ? t.mul(dy, t.conj(powExponentFactor(t, self, exponent, out))) : null,
    }),
    numbers: ["self", "exponent"],
    check: ({ self, exponent }) => {
      const isInt = !isTensorArgument(self) || !self.dtype.is_differentiable;
      if (
        isInt &&
        (typeof exponent === "number" || typeof exponent === "bigint") &&
        Number.isInteger(Number(exponent)) &&
        exponent < 0
      )
        throw new TorchError("Integers to negative integer powers are not allowed.");
    },
    doc: "`self` to the power of `exponent`.",
  },
);
op(
  [
    "float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    "float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    "float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
  ],
  {
    lower: (h, { self, exponent }) => {
      const wide = promotedType(self, exponent).is_complex ? dt.complex128 : dt.float64;
      const [a, b] = align(h, [self, exponent], wide);
      return power(h, a, b);
    },
    grad: (t, { self, exponent }, dy, out) => ({
      self: isTensorArgument(self)
        ? t.mul(dy, t.conj(powSelfFactor(t, t._to_copy(self, { dtype: out.dtype }), exponent, out)))
        : null,
      exponent: isTensorArgument(exponent) ? t.mul(dy, t.conj(powExponentFactor(t, self, exponent, out))) : null,
    }),
    numbers: ["self", "exponent"],
    doc: "`self` to the power of `exponent`, in float64 or complex128.",
  },
);

op(
  [
    "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
  ],
  {
    lower: (h, { self, end, weight }) => {
      if (self.dtype !== end.dtype)
        throw new TorchError(`expected dtype ${self.dtype.name} for \`end\` but got dtype ${end.dtype.name}`);
      checkAccepts(self, (d) => d.is_differentiable, "lerp_kernel");
      // A number as weight is not rounded to a 16-bit float.
      const wide = computeType(self.dtype);
      const w0 = weight.rank === 0 ? cast(h, weight, wide) : cast(h, cast(h, weight, self.dtype), wide);
      const [a, b, w] = align(h, [self, end, w0], wide);
      const between = (x: Value, y: Value, v: Value): Value => {
        const size = h.abs(v);
        const near = h.compare(size, fullLike(h, size, 0.5), "LT");
        const difference = h.subtract(y, x);
        const rest = h.subtract(fullLike(h, v, 1), v);
        return h.select(near, h.add(x, h.multiply(v, difference)), h.subtract(y, h.multiply(difference, rest)));
      };
      return cast(h, between(a, b, w), self.dtype);
    },
    grad: (t, { self, end, weight }, dy) => ({
      self: t.mul(dy, t.conj(t.rsub(asTensor(t, weight, dy), 1))),
      end: t.mul(dy, t.conj(asTensor(t, weight, dy))),
      weight: isTensorArgument(weight) ? t.mul(dy, t.conj(t.sub(end, self))) : null,
    }),
    numbers: ["weight"],
    doc: "Between `self` and `end`, `weight` of the way.",
  },
);

op("addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", {
  lower: (h, { self, tensor1, tensor2, value }) => {
    const [a, b, c] = align(h, [self, tensor1, tensor2], promotedType(self, tensor1, tensor2));
    checkAccepts(a, isNumber, "addcmul_cpu_out");
    return inComputeType(h, [a, b, c], (x, y, z) => {
      const product = value.is(1) ? h.multiply(y, z) : h.multiply(h.multiply(value.fill(x.dtype, x.shape), y), z);
      return h.add(x, product);
    });
  },
  grad: (t, { tensor1, tensor2, value }, dy) => ({
    self: dy,
    tensor1: t.mul(dy, t.conj(t.mul(tensor2, value))),
    tensor2: t.mul(dy, t.conj(t.mul(tensor1, value))),
  }),
  doc: "self + value · tensor1 · tensor2.",
});
op("addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", {
  lower: (h, { self, tensor1, tensor2, value }) => {
    if (!tensor1.dtype.is_differentiable && !tensor2.dtype.is_differentiable)
      throw new TorchError(
        "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes.",
      );
    const [a, b, c] = align(h, [self, tensor1, tensor2], promotedType(self, tensor1, tensor2));
    return inComputeType(h, [a, b, c], (x, y, z) =>
      h.add(x, h.divide(value.is(1) ? y : h.multiply(value.fill(x.dtype, x.shape), y), z)),
    );
  },
  grad: (t, { tensor1, tensor2, value }, dy) => ({
    self: dy,
    tensor1: t.mul(dy, t.conj(t.div(value as unknown as Tensor, tensor2))),
    tensor2: t.neg(t.mul(dy, t.conj(t.div(t.mul(tensor1, value), t.mul(tensor2, tensor2))))),
  }),
  doc: "self + value · tensor1 / tensor2.",
});

binary(
  "hypot",
  {
    lower: (h, a, b) => {
      const [x, y] = [h.abs(a), h.abs(b)];
      const [large, small] = [h.maximum(x, y), h.minimum(x, y)];
      const ratio = h.divide(small, h.select(h.compare(large, fullLike(h, x, 0), "EQ"), fullLike(h, x, 1), large));
      const size = h.multiply(large, h.sqrt(h.add(h.multiply(ratio, ratio), fullLike(h, x, 1))));
      const inf = fullLike(h, x, Infinity);
      return h.select(h.or(h.compare(x, inf, "EQ"), h.compare(y, inf, "EQ")), inf, size);
    },
    accepts: (d) => d.is_floating_point,
    grad: (t, { self, other }, dy, y) => ({ self: t.mul(dy, t.div(self, y)), other: t.mul(dy, t.div(other, y)) }),
    doc: "√(self² + other²), without overflow on the way.",
  },
  ["hypot(Tensor self, Tensor other) -> Tensor"],
);

/** The bits of a float as an integer of its size. */
const bitsOf = (h: Builder, x: Value): Value =>
  h.bitcast_convert(x, x.dtype.bits === 64 ? dt.int64 : x.dtype.bits === 32 ? dt.int32 : dt.int16);

binary(
  "copysign",
  {
    lower: (h, a, b) => {
      const bits = bitsOf(h, b);
      const negative = h.compare(bits, fullLike(h, bits, 0), "LT");
      const size = h.abs(a);
      return h.select(negative, h.negate(size), size);
    },
    grad: (t, { self }, dy, y) => {
      const ratio = t.div(y, self);
      return { self: t.where(t.eq(self, 0), t.zeros_like(dy), t.mul(dy, ratio)), other: t.zeros_like(dy) };
    },
    accepts: (d) => isReal(d),
    float: true,
    exact: true,
    doc: "The size of `self` with the sign of `other`.",
  },
  ["copysign.Tensor(Tensor self, Tensor other) -> Tensor", "copysign.Scalar(Tensor self, Scalar other) -> Tensor"],
);

op("heaviside(Tensor self, Tensor values) -> Tensor", {
  lower: (h, { self, values }) => {
    if (self.dtype.is_complex || values.dtype.is_complex)
      throw new TorchError("heaviside is not yet implemented for complex tensors.");
    if (self.dtype !== values.dtype)
      throw new TorchError("heaviside is not yet implemented for tensors with different dtypes.");
    const [x, v] = align(h, [self, values], self.dtype);
    const zero = fullLike(h, x, 0);
    const step = cast(h, h.compare(x, zero, "GT"), x.dtype);
    return h.select(h.compare(x, zero, "EQ"), v, step);
  },
  grad: notDifferentiable,
  doc: "0 below zero, 1 above, `values` at zero.",
});

/** Greatest common divisor of each pair, by Euclid's algorithm on all elements at once. */
function gcd(h: Builder, a: Value, b: Value): Value {
  const size = (x: Value): Value => (x.dtype.is_signed ? h.abs(x) : x);
  const zero = fullLike(h, a, 0);
  const some = (x: Value): Value =>
    h.reduceWith(
      h.compare(x, zero, "NE"),
      h.constant(false, dt.bool),
      x.shape.map((_, i) => i),
      "or",
    );
  const [result] = h.while(
    [size(a), size(b)],
    ([, y]) => (y.rank === 0 ? h.compare(y, zero, "NE") : some(y)),
    ([x, y]) => {
      const done = h.compare(y, zero, "EQ");
      const rest = h.remainder(x, h.select(done, fullLike(h, y, 1), y));
      return [h.select(done, x, y), h.select(done, zero, rest)];
    },
  );
  return result;
}
const isInteger = (d: DType): boolean => d.kind === "int" || d.kind === "uint";
binary("gcd", { lower: gcd, accepts: isInteger, grad: notDifferentiable, doc: "Greatest common divisor." }, [
  "gcd(Tensor self, Tensor other) -> Tensor",
]);
binary(
  "lcm",
  {
    lower: (h, a, b) => {
      const g = gcd(h, a, b);
      const zero = h.compare(g, fullLike(h, g, 0), "EQ");
      const product = h.multiply(h.divide(a, h.select(zero, fullLike(h, g, 1), g)), b);
      return h.select(zero, fullLike(h, g, 0), g.dtype.is_signed ? h.abs(product) : product);
    },
    accepts: isInteger,
    grad: notDifferentiable,
    doc: "Least common multiple.",
  },
  ["lcm(Tensor self, Tensor other) -> Tensor"],
);

/** log(exp(a) + exp(b)) to the base whose natural logarithm is `ln`. */
function logAddExp(h: Builder, a: Value, b: Value, ln: number): Value {
  if (a.dtype.is_complex) {
    const firstLarger = h.compare(h.real(a), h.real(b), "GE");
    const [large, small] = [h.select(firstLarger, a, b), h.select(firstLarger, b, a)];
    return h.add(large, h.log_plus_one(h.exponential(h.subtract(small, large))));
  }
  const large = h.maximum(a, b);
  const gap = h.negate(h.abs(h.subtract(a, b)));
  const tail = h.log_plus_one(h.exponential(ln === 1 ? gap : h.multiply(gap, fullLike(h, gap, ln))));
  const sum = h.add(large, ln === 1 ? tail : h.divide(tail, fullLike(h, tail, ln)));
  const equalInfinities = h.and(h.compare(a, b, "EQ"), h.not(h.is_finite(a)));
  return h.select(equalInfinities, a, sum);
}
for (const [name, ln, doc] of [
  ["logaddexp", 1, "log(exp(self) + exp(other)), without overflow."],
  ["logaddexp2", Math.LN2, "log2(2^self + 2^other), without overflow."],
] as const) {
  binary(
    name,
    {
      lower: (h, a, b) => logAddExp(h, a, b, ln),
      accepts: (d) => d.is_floating_point || (ln === 1 && d.is_complex),
      grad: (t, { self, other }, dy, y) => {
        const share = (x: Tensor): Tensor => {
          const part = ln === 1 ? t.exp(t.sub(x, y)) : t.exp2(t.sub(x, y));
          // Equal infinities share as equal numbers do.
          return x.is_complex() ? part : t.where(t.isnan(part), 0.5, part);
        };
        return { self: t.mul(dy, t.conj(share(self))), other: t.mul(dy, t.conj(share(other))) };
      },
      doc,
    },
    [`${name}(Tensor self, Tensor other) -> Tensor`],
  );
}

for (const [name, log, doc] of [
  ["xlogy", (h: Builder, y: Value) => h.log(y), "self · log(other), 0 where self is 0."],
  ["special_xlog1py", (h: Builder, y: Value) => h.log_plus_one(y), "self · log1p(other), 0 where self is 0."],
] as const) {
  const isXlogy = name === "xlogy";
  binary(
    name,
    {
      lower: (h, x, y) => {
        const zero = fullLike(h, x, 0);
        const product = h.select(h.compare(x, zero, "EQ"), zero, h.multiply(x, log(h, y)));
        return h.select(isNan(h, y), y, product);
      },
      grad: (t, { self, other }, dy) => {
        const x = asTensor(t, self, dy);
        const y = asTensor(t, other, dy);
        const outside = t.logical_and(t.eq(x, 0), isXlogy ? t.le(y, 0) : t.le(y, -1));
        const slope = isXlogy ? t.log(y) : t.log1p(y);
        return {
          self: t.mul(dy, t.where(outside, t.zeros_like(slope), slope)),
          other: t.mul(dy, t.div(x, isXlogy ? y : t.add(y, 1))),
        };
      },
      accepts: (d) => isReal(d),
      float: true,
      doc,
    },
    isXlogy
      ? [
          "xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
          "xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor",
          "xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor",
        ]
      : [
          "special_xlog1py(Tensor self, Tensor other) -> Tensor",
          "special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor",
          "special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor",
        ],
  );
}
