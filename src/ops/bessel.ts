/** @file Bessel functions and the Airy function, from Cephes' approximations. */
import type { Builder, Value } from "../hlo/index.js";
import {
  airyAi,
  besselJ0,
  besselJ1,
  besselY0,
  besselY1,
  modifiedI0,
  modifiedI1,
  modifiedK0,
  modifiedK1,
} from "./cephes.js";
import { unary } from "./families.js";
import { fullLike } from "./helpers.js";
import { isReal } from "./pointwise.js";
import { notDifferentiable, type Torch } from "./registry.js";
import { polynomial } from "./special.js";
import type { Tensor } from "../tensor/index.js";

type Rational = readonly [p: readonly number[], q: readonly number[]];

const ratio = (h: Builder, x: Value, [p, q]: Rational): Value => h.divide(polynomial(h, x, p), polynomial(h, x, q));

/** Sum of Chebyshev polynomials at x / 2, highest order first. */
function chebyshev(h: Builder, x: Value, coefficients: readonly number[]): Value {
  let b0 = fullLike(h, x, coefficients[0]);
  let b1 = fullLike(h, x, 0);
  let b2 = b1;
  for (const c of coefficients.slice(1)) {
    b2 = b1;
    b1 = b0;
    b0 = h.add(h.subtract(h.multiply(x, b1), b2), fullLike(h, x, c));
  }
  return h.multiply(h.subtract(b0, b2), fullLike(h, x, 0.5));
}

/** Amplitudes of cosine and sine for large arguments. */
function asymptotic(
  h: Builder,
  x: Value,
  table: typeof besselJ0 | typeof besselJ1,
  phase: number,
  second: boolean,
): Value {
  const c = (v: number): Value => fullLike(h, x, v);
  const z = h.divide(c(25), h.multiply(x, x));
  const p = ratio(h, z, [table.PP, table.PQ]);
  const q = h.multiply(h.divide(c(5), x), ratio(h, z, [table.QP, table.QQ]));
  const angle = h.subtract(x, c(phase));
  const [cos, sin] = [h.cosine(angle), h.sine(angle)];
  const sum = second
    ? h.add(h.multiply(p, sin), h.multiply(q, cos))
    : h.subtract(h.multiply(p, cos), h.multiply(q, sin));
  return h.divide(h.multiply(sum, c(Math.sqrt(2 / Math.PI))), h.sqrt(x));
}

const small = (h: Builder, x: Value, limit: number): Value => h.compare(x, fullLike(h, x, limit), "LE");

function j0(h: Builder, given: Value): Value {
  const x = h.abs(given);
  const c = (v: number): Value => fullLike(h, x, v);
  const z = h.multiply(x, x);
  const zeros = h.multiply(h.subtract(z, c(5.783185962946785)), h.subtract(z, c(30.471262343662087)));
  return h.select(
    small(h, x, 5),
    h.multiply(zeros, ratio(h, z, [besselJ0.RP, besselJ0.RQ])),
    asymptotic(h, x, besselJ0, Math.PI / 4, false),
  );
}

function j1(h: Builder, given: Value): Value {
  const x = h.abs(given);
  const c = (v: number): Value => fullLike(h, x, v);
  const z = h.multiply(x, x);
  const zeros = h.multiply(h.subtract(z, c(14.681970642123893)), h.subtract(z, c(49.2184563216946)));
  const near = h.multiply(h.multiply(ratio(h, z, [besselJ1.RP, besselJ1.RQ]), x), zeros);
  const value = h.select(small(h, x, 5), near, asymptotic(h, x, besselJ1, 0.75 * Math.PI, false));
  return h.select(h.compare(given, c(0), "LT"), h.negate(value), value);
}

/** Functions of the second kind are -∞ (or another pole) at 0 and NaN below. */
function positiveOnly(h: Builder, x: Value, value: Value, pole: number): Value {
  const zero = fullLike(h, x, 0);
  const right = h.select(h.compare(x, zero, "EQ"), fullLike(h, x, pole), value);
  return h.select(h.compare(x, zero, "LT"), fullLike(h, x, NaN), right);
}

function y0(h: Builder, x: Value): Value {
  const z = h.multiply(x, x);
  const near = h.add(
    ratio(h, z, [besselY0.YP, besselY0.YQ]),
    h.multiply(h.multiply(fullLike(h, x, 2 / Math.PI), h.log(x)), j0(h, x)),
  );
  return positiveOnly(h, x, h.select(small(h, x, 5), near, asymptotic(h, x, besselJ0, Math.PI / 4, true)), -Infinity);
}

function y1(h: Builder, x: Value): Value {
  const z = h.multiply(x, x);
  const part = h.subtract(h.multiply(j1(h, x), h.log(x)), h.divide(fullLike(h, x, 1), x));
  const near = h.add(
    h.multiply(x, ratio(h, z, [besselY1.YP, besselY1.YQ])),
    h.multiply(fullLike(h, x, 2 / Math.PI), part),
  );
  const value = h.select(small(h, x, 5), near, asymptotic(h, x, besselJ1, 0.75 * Math.PI, true));
  return positiveOnly(h, x, value, -Infinity);
}

/** exp(-|x|) · I of order 0 or 1. */
function scaledI(h: Builder, given: Value, order: 0 | 1): Value {
  const x = h.abs(given);
  const c = (v: number): Value => fullLike(h, x, v);
  const table = order === 0 ? modifiedI0 : modifiedI1;
  const series = chebyshev(h, h.subtract(h.divide(x, c(2)), c(2)), table.A);
  const near = order === 0 ? series : h.multiply(series, x);
  const far = h.divide(chebyshev(h, h.subtract(h.divide(c(32), x), c(2)), table.B), h.sqrt(x));
  const value = h.select(small(h, x, 8), near, far);
  return order === 1 ? h.select(h.compare(given, c(0), "LT"), h.negate(value), value) : value;
}
const plainI = (h: Builder, x: Value, order: 0 | 1): Value => h.multiply(scaledI(h, x, order), h.exponential(h.abs(x)));

/** K of order 0 or 1, times exp(x) when scaled. */
function modifiedK(h: Builder, x: Value, order: 0 | 1, scaled: boolean): Value {
  const c = (v: number): Value => fullLike(h, x, v);
  const table = order === 0 ? modifiedK0 : modifiedK1;
  const series = chebyshev(h, h.subtract(h.multiply(x, x), c(2)), table.A);
  const logTerm = h.multiply(h.log(h.multiply(x, c(0.5))), plainI(h, x, order));
  const near = order === 0 ? h.subtract(series, logTerm) : h.add(logTerm, h.divide(series, x));
  const far = h.divide(chebyshev(h, h.subtract(h.divide(c(8), x), c(2)), table.B), h.sqrt(x));
  const value = scaled
    ? h.select(small(h, x, 2), h.multiply(near, h.exponential(x)), far)
    : h.select(small(h, x, 2), near, h.multiply(far, h.exponential(h.negate(x))));
  return positiveOnly(h, x, value, Infinity);
}

function sphericalJ0(h: Builder, x: Value): Value {
  const c = (v: number): Value => fullLike(h, x, v);
  const z = h.multiply(x, x);
  const near = polynomial(h, z, [1 / 6227020800, -1 / 39916800, 1 / 362880, -1 / 5040, 1 / 120, -1 / 6, 1]);
  const value = h.select(h.compare(h.abs(x), c(0.5), "LT"), near, h.divide(h.sine(x), x));
  return h.select(h.compare(h.abs(x), c(Infinity), "EQ"), c(0), value);
}

const rootPi = Math.sqrt(Math.PI);

function airy(h: Builder, x: Value): Value {
  const c = (v: number): Value => fullLike(h, x, v);
  const size = h.abs(x);
  const root = h.sqrt(size);
  const zeta = h.divide(h.multiply(h.multiply(c(2), size), root), c(3));
  const quarter = h.sqrt(root);
  const w = h.divide(c(1), zeta);
  const w2 = h.multiply(w, w);
  const angle = h.add(zeta, c(Math.PI / 4));
  const f = h.add(c(1), h.multiply(w2, ratio(h, w2, [airyAi.AFN, airyAi.AFD])));
  const g = h.multiply(w, ratio(h, w2, [airyAi.AGN, airyAi.AGD]));
  const wave = h.subtract(h.multiply(h.sine(angle), f), h.multiply(h.cosine(angle), g));
  const left = h.divide(h.multiply(c(1 / rootPi), wave), quarter);
  const decay = h.divide(
    h.multiply(c(0.5 / rootPi), ratio(h, w, [airyAi.AN, airyAi.AD])),
    h.multiply(quarter, h.exponential(zeta)),
  );
  // Maclaurin's series in x³ between the two
  const cube = h.multiply(h.multiply(x, x), x);
  const even: number[] = [1];
  const odd: number[] = [1];
  for (let k = 1; k <= 16; k++) {
    even.unshift(even[0] / ((3 * k - 1) * (3 * k)));
    odd.unshift(odd[0] / (3 * k * (3 * k + 1)));
  }
  const middle = h.subtract(
    h.multiply(c(0.3550280538878172), polynomial(h, cube, even)),
    h.multiply(h.multiply(c(0.2588194037928068), x), polynomial(h, cube, odd)),
  );
  const value = h.select(h.compare(x, c(-2.09), "LT"), left, h.select(h.compare(x, c(2.09), "GE"), decay, middle));
  return h.select(h.compare(size, c(Infinity), "EQ"), c(NaN), value);
}

const plain: readonly [name: string, f: (h: Builder, x: Value) => Value, doc: string][] = [
  ["special_bessel_j0", j0, "Bessel function of the first kind of order 0."],
  ["special_bessel_j1", j1, "Bessel function of the first kind of order 1."],
  ["special_bessel_y0", y0, "Bessel function of the second kind of order 0."],
  ["special_bessel_y1", y1, "Bessel function of the second kind of order 1."],
  ["special_modified_bessel_i0", (h, x) => plainI(h, x, 0), "Modified Bessel function of the first kind of order 0."],
  ["special_modified_bessel_i1", (h, x) => plainI(h, x, 1), "Modified Bessel function of the first kind of order 1."],
  [
    "special_modified_bessel_k0",
    (h, x) => modifiedK(h, x, 0, false),
    "Modified Bessel function of the second kind of order 0.",
  ],
  [
    "special_modified_bessel_k1",
    (h, x) => modifiedK(h, x, 1, false),
    "Modified Bessel function of the second kind of order 1.",
  ],
];
for (const [name, f, doc] of plain) {
  unary(name, {
    lower: f,
    grad: notDifferentiable,
    accepts: isReal,
    float: true,
    doc,
  });
}

/** These take their argument as `x`. */
const ofX: typeof plain = [
  ["special_scaled_modified_bessel_k0", (h, x) => modifiedK(h, x, 0, true), "exp(x) · K0(x)."],
  ["special_scaled_modified_bessel_k1", (h, x) => modifiedK(h, x, 1, true), "exp(x) · K1(x)."],
  ["special_spherical_bessel_j0", sphericalJ0, "sin(x) / x."],
  ["special_airy_ai", airy, "Airy function."],
];
for (const [name, f, doc] of ofX) {
  unary(name, { lower: f, grad: notDifferentiable, accepts: isReal, float: true, doc }, "x");
}

/** y / x, or the limit 1/2 at 0. */
const overX = (t: Torch, x: Tensor, y: Tensor): Tensor => {
  const zero = t.eq(x, 0);
  return t.where(zero, 0.5, t.div(y, t.where(zero, 1, x)));
};

for (const name of ["i0", "special_i0"]) {
  unary(name, {
    lower: (h, x) => plainI(h, x, 0),
    grad: (t, x, dy) => t.mul(dy, t.special_i1(x)),
    accepts: isReal,
    float: true,
    doc: "Modified Bessel function of the first kind of order 0.",
  });
}
unary("special_i0e", {
  lower: (h, x) => scaledI(h, x, 0),
  grad: (t, x, dy, y) => t.mul(dy, t.sub(t.special_i1e(x), t.mul(t.sgn(x), y))),
  accepts: isReal,
  float: true,
  doc: "exp(-|x|) · I0(x).",
});
unary("special_i1", {
  lower: (h, x) => plainI(h, x, 1),
  grad: (t, x, dy, y) => t.mul(dy, t.sub(t.i0(x), overX(t, x, y))),
  accepts: isReal,
  float: true,
  doc: "Modified Bessel function of the first kind of order 1.",
});
unary("special_i1e", {
  lower: (h, x) => scaledI(h, x, 1),
  grad: (t, x, dy, y) => t.mul(dy, t.sub(t.sub(t.special_i0e(x), t.mul(t.sgn(x), y)), overX(t, x, y))),
  accepts: isReal,
  float: true,
  doc: "exp(-|x|) · I1(x).",
});
