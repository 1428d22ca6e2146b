/** @file The gamma function's kin: lgamma, digamma, polygamma, zeta, incomplete gamma functions. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { TorchError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { asTensor } from "./combination.js";
import { binary, unary } from "./families.js";
import { cast, fullLike, inComputeType, requireDtype, toFloatType } from "./helpers.js";
import { isReal } from "./pointwise.js";
import { op, type Torch } from "./registry.js";

unary("lgamma", {
  lower: (h, x) => h.chlo_lgamma(x),
  grad: (t, x, dy) => t.mul(dy, t.digamma(x)),
  accepts: isReal,
  float: true,
  doc: "Logarithm of |Γ(x)|.",
});
unary("digamma", {
  lower: (h, x) => {
    const zero = h.compare(x, fullLike(h, x, 0), "EQ");
    const pole = h.divide(fullLike(h, x, -1), x); // -∞ at 0, +∞ at -0
    return h.select(zero, pole, h.chlo_digamma(x));
  },
  grad: (t, x, dy) => t.mul(dy, t.polygamma(1, x)),
  accepts: isReal,
  float: true,
  doc: "Derivative of lgamma.",
});
const maxIterations = 5000;

/** Repeats a step for all elements until none is left to improve. */
function iterate(
  h: Builder,
  values: readonly Value[],
  step: (values: readonly Value[]) => readonly Value[],
  open: (values: readonly Value[]) => Value,
): Value[] {
  const limit = h.constant(maxIterations, dt.int32);
  const [, ...out] = h.while(
    [h.constant(0, dt.int32), ...values],
    ([count, ...v]) => {
      const left = open(v);
      const some =
        left.rank === 0
          ? left
          : h.reduceWith(
              left,
              h.constant(false, dt.bool),
              left.shape.map((_, i) => i),
              "or",
            );
      return h.and(some, h.compare(count, limit, "LT"));
    },
    ([count, ...v]) => [h.add(count, h.constant(1, dt.int32)), ...step(v)],
  );
  return out;
}

/** The derivative of digamma; below one half by reflection: ψ'(1 - x) + ψ'(x) = π² / sin²(πx). */
function trigamma(h: Builder, x: Value): Value {
  const c = (v: number): Value => fullLike(h, x, v);
  const low = h.compare(x, c(0.5), "LT");
  const z = h.select(low, h.subtract(c(1), x), x);
  const value = zetaOf(h, c(2), z);
  const sine = h.divide(c(Math.PI), h.sine(h.multiply(c(Math.PI), x)));
  return h.select(low, h.subtract(h.multiply(sine, sine), value), value);
}

/** (2k)! / B(2k) for k = 1 to 12, B being Bernoulli's numbers. */
const bernoulli = [
  12, -720, 30240, -1209600, 47900160, -1892437580.3183792, 74724249600, -2950130727918.1642, 116467828143500.67,
  -4597978722407472.6, 181521054019435460, -7166165256175667000,
];

/** Hurwitz zeta in float64: terms up to q + k > 9, then the Euler-Maclaurin formula for the rest. */
function zetaSum(h: Builder, x: Value, q: Value): Value {
  const c = (v: number): Value => fullLike(h, x, v);
  const power = (base: Value): Value => h.power(base, h.negate(x));
  const short = (base: Value, count: Value): Value => h.or(h.compare(base, c(9), "LE"), h.compare(count, c(9), "LT"));
  const first = power(q);
  const [base, sum, last] = iterate(
    h,
    [q, first, first, c(0)],
    ([b, total, term, n]) => {
      const go = short(b, n);
      const next = h.select(go, h.add(b, c(1)), b);
      const nextTerm = h.select(go, power(next), term);
      return [next, h.select(go, h.add(total, nextTerm), total), nextTerm, h.add(n, c(1))];
    },
    ([b, , , n]) => short(b, n),
  );
  const nonzero = h.compare(last, c(0), "NE");
  let total = h.add(sum, h.divide(h.multiply(last, base), h.subtract(x, c(1))));
  total = h.subtract(total, h.multiply(last, c(0.5)));
  let rising = c(1);
  let term = last;
  for (const [i, b] of bernoulli.entries()) {
    rising = h.multiply(rising, h.add(x, c(2 * i)));
    term = h.divide(term, base);
    total = h.add(total, h.select(nonzero, h.divide(h.multiply(rising, term), c(b)), c(0)));
    rising = h.multiply(rising, h.add(x, c(2 * i + 1)));
    term = h.divide(term, base);
  }
  return h.select(nonzero, total, sum);
}

/** Hurwitz zeta with its poles: ∞ at x = 1 and at q = 0, -1, …; NaN for x < 1 and for powers of negative q. */
function zetaOf(h: Builder, x: Value, q: Value): Value {
  const c = (v: number): Value => fullLike(h, x, v);
  const sum = cast(h, zetaSum(h, cast(h, x, dt.float64), cast(h, q, dt.float64)), x.dtype);
  const notPositive = h.compare(q, c(0), "LE");
  const pole = h.and(notPositive, h.compare(q, h.floor(q), "EQ"));
  const root = h.and(notPositive, h.compare(x, h.floor(x), "NE"));
  let value = h.select(root, c(NaN), sum);
  value = h.select(pole, c(Infinity), value);
  value = h.select(h.compare(x, c(1), "LT"), c(NaN), value);
  return h.select(h.compare(x, c(1), "EQ"), c(Infinity), value);
}

op("polygamma(int n, Tensor self) -> Tensor", {
  lower: (h, { n, self }) => {
    if (n < 0) throw new TorchError("polygamma(n, x) does not support negative n.");
    requireDtype(self, isReal(self.dtype), "polygamma");
    return inComputeType(h, [cast(h, self, toFloatType(self.dtype))], (x) => {
      if (n === 0) return h.chlo_digamma(x);
      if (n === 1) return trigamma(h, x);
      const zeta = zetaOf(h, fullLike(h, x, n + 1), x);
      let factorial = n % 2 === 1 ? 1 : -1;
      for (let k = 2; k <= n; k++) factorial *= k;
      return h.multiply(zeta, fullLike(h, x, factorial));
    });
  },
  grad: (t, { n, self }, dy) => ({ self: t.mul(dy, t.polygamma(n + 1, self)) }),
  doc: "The n-th derivative of digamma.",
});
op("mvlgamma(Tensor self, int p) -> Tensor", {
  decompose: (t, { self, p }) => {
    if (p < 1) throw new TorchError("p has to be greater than or equal to 1");
    if (self.is_complex()) throw new TorchError(`"mvlgamma" not implemented for complex numbers`);
    let sum = t.lgamma(self);
    for (let j = 1; j < p; j++) sum = t.add(sum, t.lgamma(t.sub(self, j / 2)));
    return t.add(sum, ((p * (p - 1)) / 4) * Math.log(Math.PI));
  },
  doc: "Logarithm of the multivariate gamma function of dimension p.",
});

/** What a gradient that PyTorch does not have is: not a number, so that it cannot pass for zero. */
const unknownGradient = (t: Torch, dy: Tensor): Tensor => t.full_like(dy, NaN);

binary(
  "special_zeta",
  {
    lower: zetaOf,
    grad: (t, { self, other }, dy) => {
      const x = asTensor(t, self, dy);
      return {
        self: unknownGradient(t, dy),
        other: t.mul(dy, t.mul(t.neg(x), t.special_zeta(t.add(x, 1), other))),
      };
    },
    accepts: isReal,
    float: true,
    doc: "Hurwitz zeta function; no gradient in its first argument.",
  },
  [
    "special_zeta(Tensor self, Tensor other) -> Tensor",
    "special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor",
    "special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor",
  ],
);

/** The regularized lower incomplete gamma function in float64, and the upper one. Series where x < a + 1, else Lentz's continued fraction. */
function incompleteGamma(h: Builder, a: Value, x: Value): { lower: Value; upper: Value } {
  const c = (v: number): Value => fullLike(h, a, v);
  const tiny = c(1e-300);
  const precision = c(1e-16);
  const valid = h.and(h.compare(a, c(0), "GT"), h.and(h.compare(x, c(0), "GT"), h.and(h.is_finite(a), h.is_finite(x))));
  const [s, y] = [h.select(valid, a, c(1)), h.select(valid, x, c(1))];
  const useSeries = h.compare(y, h.add(s, c(1)), "LT");
  const scale = h.exponential(h.subtract(h.subtract(h.multiply(s, h.log(y)), y), h.chlo_lgamma(s)));
  const seriesX = h.select(useSeries, y, c(0));
  const first = h.divide(c(1), s);
  const [sum] = iterate(
    h,
    [first, first, s],
    ([total, term, n]) => {
      const next = h.add(n, c(1));
      const nextTerm = h.multiply(term, h.divide(seriesX, next));
      return [h.add(total, nextTerm), nextTerm, next];
    },
    ([total, term]) => h.compare(h.abs(term), h.multiply(h.abs(total), precision), "GT"),
  );
  const lowerSeries = h.multiply(sum, scale);
  const guard = (v: Value): Value => h.select(h.compare(h.abs(v), tiny, "LT"), tiny, v);
  const z = h.select(useSeries, h.add(s, c(2)), y);
  const b0 = h.add(h.subtract(z, s), c(1));
  const d0 = h.divide(c(1), guard(b0));
  const [fraction] = iterate(
    h,
    [d0, h.divide(c(1), tiny), d0, b0, c(0), c(0)],
    ([value, cc, d, b, n]) => {
      const k = h.add(n, c(1));
      const an = h.multiply(h.negate(k), h.subtract(k, s));
      const nextB = h.add(b, c(2));
      const nextD = h.divide(c(1), guard(h.add(h.multiply(an, d), nextB)));
      const nextC = guard(h.add(nextB, h.divide(an, cc)));
      const change = h.multiply(nextD, nextC);
      return [h.multiply(value, change), nextC, nextD, nextB, k, change];
    },
    ([, , , , , change]) => h.compare(h.abs(h.subtract(change, c(1))), precision, "GT"),
  );
  const upperFraction = h.multiply(fraction, scale);
  const one = c(1);
  const edge = (value: Value, atZero: number): Value => {
    const negative = h.or(h.compare(a, c(0), "LT"), h.compare(x, c(0), "LT"));
    const bothSame = h.or(
      h.and(h.compare(a, c(0), "EQ"), h.compare(x, c(0), "EQ")),
      h.and(h.compare(a, c(Infinity), "EQ"), h.compare(x, c(Infinity), "EQ")),
    );
    const full = h.or(h.compare(a, c(0), "EQ"), h.compare(x, c(Infinity), "EQ"));
    const nan = h.or(h.compare(a, a, "NE"), h.compare(x, x, "NE"));
    const limit = h.select(full, c(1 - atZero), c(atZero));
    return h.select(valid, value, h.select(h.or(h.or(negative, bothSame), nan), c(NaN), limit));
  };
  return {
    lower: edge(h.select(useSeries, lowerSeries, h.subtract(one, upperFraction)), 0),
    upper: edge(h.select(useSeries, h.subtract(one, lowerSeries), upperFraction), 1),
  };
}

for (const [name, part, sign, doc] of [
  ["igamma", "lower", 1, "Regularized lower incomplete gamma function; no gradient in its first argument."],
  ["igammac", "upper", -1, "Regularized upper incomplete gamma function; no gradient in its first argument."],
] as const) {
  for (const alias of [name, name === "igamma" ? "special_gammainc" : "special_gammaincc"]) {
    binary(
      alias,
      {
        lower: (h, a, x) => cast(h, incompleteGamma(h, cast(h, a, dt.float64), cast(h, x, dt.float64))[part], a.dtype),
        grad: (t, { self: a, other: x }, dy) => {
          const density = t.exp(t.sub(t.sub(t.mul(t.sub(a, 1), t.log(x)), x), t.lgamma(a)));
          return { self: unknownGradient(t, dy), other: t.mul(dy, sign === 1 ? density : t.neg(density)) };
        },
        accepts: (d) => d.is_floating_point,
        doc,
      },
      [`${alias}(Tensor self, Tensor other) -> Tensor`],
    );
  }
}
