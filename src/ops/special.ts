/** @file Special functions around the error function and the normal distribution. */
import type { Builder, Value } from "../hlo/index.js";
import { unary } from "./families.js";
import { fullLike } from "./helpers.js";
import { isNan, isReal } from "./pointwise.js";
import { ndtri as table } from "./cephes.js";

/** Polynomial by Horner's rule, highest power first. */
export function polynomial(h: Builder, x: Value, coefficients: readonly number[]): Value {
  let y = fullLike(h, x, coefficients[0]);
  for (const c of coefficients.slice(1)) y = h.add(h.multiply(y, x), fullLike(h, x, c));
  return y;
}

const twoOverRootPi = 2 / Math.sqrt(Math.PI);

unary("erf", {
  lower: (h, x) => h.chlo_erf(x),
  grad: (t, x, dy) => t.mul(dy, t.mul(t.exp(t.neg(t.mul(x, x))), twoOverRootPi)),
  accepts: isReal,
  float: true,
  doc: "Error function.",
});
unary("erfc", {
  lower: (h, x) => h.chlo_erfc(x),
  grad: (t, x, dy) => t.mul(dy, t.mul(t.exp(t.neg(t.mul(x, x))), -twoOverRootPi)),
  accepts: isReal,
  float: true,
  doc: "1 - erf(x).",
});
unary("erfinv", {
  lower: (h, x) => h.chlo_erf_inv(x),
  grad: (t, _, dy, y) => t.mul(dy, t.mul(t.exp(t.mul(y, y)), 1 / twoOverRootPi)),
  accepts: isReal,
  float: true,
  doc: "The inverse of the error function.",
});

/** exp(x²) · erfc(x). */
function erfcx(h: Builder, x: Value): Value {
  const c = (v: number): Value => fullLike(h, x, v);
  const far = h.compare(x, c(5), "GT");
  const product = h.multiply(h.exponential(h.multiply(x, x)), h.chlo_erfc(x));
  // Laplace's continued fraction: 1 / (x + (1/2) / (x + (2/2) / (x + (3/2) / …))), divided by √π
  const z = h.select(far, x, c(6));
  let tail = z;
  for (let k = 40; k >= 1; k--) tail = h.add(z, h.divide(c(k / 2), tail));
  return h.select(far, h.divide(c(twoOverRootPi / 2), tail), product);
}
unary("special_erfcx", {
  lower: erfcx,
  grad: (t, x, dy, y) => t.mul(dy, t.sub(t.mul(t.mul(x, y), 2), twoOverRootPi)),
  accepts: isReal,
  float: true,
  doc: "exp(x²) · erfc(x).",
});

unary("special_ndtr", {
  lower: (h, x) => {
    const z = h.multiply(x, fullLike(h, x, -Math.SQRT1_2));
    return h.multiply(h.chlo_erfc(z), fullLike(h, x, 0.5));
  },
  grad: (t, x, dy) => t.mul(dy, t.mul(t.exp(t.mul(t.mul(x, x), -0.5)), 1 / Math.sqrt(2 * Math.PI))),
  accepts: isReal,
  float: true,
  doc: "The normal distribution function.",
});
unary("special_log_ndtr", {
  lower: (h, x) => {
    const z = h.multiply(x, fullLike(h, x, Math.SQRT1_2));
    const low = h.compare(x, fullLike(h, x, -1), "LT");
    const below = h.subtract(h.log(h.multiply(erfcx(h, h.negate(z)), fullLike(h, x, 0.5))), h.multiply(z, z));
    const above = h.log_plus_one(h.multiply(h.chlo_erfc(z), fullLike(h, x, -0.5)));
    return h.select(low, below, above);
  },
  grad: (t, x, dy) => t.mul(t.div(dy, t.special_erfcx(t.mul(x, -Math.SQRT1_2))), Math.sqrt(2 / Math.PI)),
  accepts: isReal,
  float: true,
  doc: "Logarithm of the normal distribution function.",
});

/** The inverse of the normal distribution function, after Cephes. */
function ndtri(h: Builder, y0: Value): Value {
  const c = (v: number): Value => fullLike(h, y0, v);
  const edge = c(0.1353352832366127); // exp(-2)
  const upper = h.compare(y0, h.subtract(c(1), edge), "GT");
  const y = h.select(upper, h.subtract(c(1), y0), y0);
  const centered = h.subtract(y, c(0.5));
  const square = h.multiply(centered, centered);
  const ratio = (v: Value, p: readonly number[], q: readonly number[]): Value =>
    h.divide(polynomial(h, v, p), polynomial(h, v, q));
  const middle = h.multiply(
    h.add(centered, h.multiply(centered, h.multiply(square, ratio(square, table.P0, table.Q0)))),
    c(2.5066282746310002),
  );
  const x = h.sqrt(h.multiply(c(-2), h.log(y)));
  const z = h.divide(c(1), x);
  const near = h.compare(x, c(8), "LT");
  const correction = h.multiply(z, h.select(near, ratio(z, table.P1, table.Q1), ratio(z, table.P2, table.Q2)));
  const tail = h.subtract(h.subtract(x, h.divide(h.log(x), x)), correction);
  const value = h.select(h.compare(y, edge, "GT"), middle, h.select(upper, tail, h.negate(tail)));
  const inside = h.and(h.compare(y0, c(0), "GE"), h.compare(y0, c(1), "LE"));
  const open = h.select(
    h.compare(y0, c(0), "EQ"),
    c(-Infinity),
    h.select(h.compare(y0, c(1), "EQ"), c(Infinity), value),
  );
  return h.select(inside, open, c(NaN));
}
unary("special_ndtri", {
  lower: ndtri,
  grad: (t, _, dy, y) => t.mul(dy, t.mul(t.exp(t.mul(t.mul(y, y), 0.5)), Math.sqrt(2 * Math.PI))),
  accepts: isReal,
  float: true,
  doc: "The inverse of the normal distribution function.",
});

unary("special_entr", {
  lower: (h, x) => {
    const zero = fullLike(h, x, 0);
    const inside = h.negate(h.multiply(x, h.log(x)));
    const value = h.select(
      h.compare(x, zero, "GT"),
      inside,
      h.select(h.compare(x, zero, "EQ"), zero, fullLike(h, x, -Infinity)),
    );
    return h.select(isNan(h, x), x, value);
  },
  grad: (t, x, dy) => t.mul(dy, t.neg(t.add(t.log(x), 1))),
  accepts: isReal,
  float: true,
  doc: "-x · log(x), 0 at 0 and -∞ below.",
});
