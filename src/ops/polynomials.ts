/** @file Orthogonal polynomials by their recurrences, x and the degree varying from element to element. */
import type { Builder, Value } from "../hlo/index.js";
import { align, fullLike, inComputeType, promotedType, requireDtype, toFloatType } from "./helpers.js";
import { op } from "./registry.js";
import { truncate } from "./rounding.js";

interface Family {
  /** The polynomial of degree 1. */
  readonly first: (h: Builder, x: Value) => Value;
  /** The one of degree k + 1 from those of degrees k and k - 1. */
  readonly next: (h: Builder, x: Value, k: Value, now: Value, before: Value) => Value;
  /** The largest degree that PyTorch computes; beyond it gives NaN. */
  readonly limit?: number;
  readonly doc: string;
}

const times = (h: Builder, x: Value, v: number): Value => h.multiply(x, fullLike(h, x, v));
const plus = (h: Builder, x: Value, v: number): Value => h.add(x, fullLike(h, x, v));

/** 2x · now - before, for the four kinds of Chebyshev polynomials. */
const chebyshevNext: Family["next"] = (h, x, _k, now, before) => h.subtract(h.multiply(h.add(x, x), now), before);

const chebyshev: Record<string, [first: Family["first"], kind: string]> = {
  t: [(_h, x) => x, "first"],
  u: [(h, x) => h.add(x, x), "second"],
  v: [(h, x) => plus(h, h.add(x, x), -1), "third"],
  w: [(h, x) => plus(h, h.add(x, x), 1), "fourth"],
};

const families: Record<string, Family> = {
  hermite_polynomial_h: {
    first: (h, x) => h.add(x, x),
    next: (h, x, k, now, before) => h.subtract(h.multiply(h.add(x, x), now), h.multiply(times(h, k, 2), before)),
    limit: 128,
    doc: "Hermite polynomial (physicists').",
  },
  hermite_polynomial_he: {
    first: (_h, x) => x,
    next: (h, x, k, now, before) => h.subtract(h.multiply(x, now), h.multiply(k, before)),
    limit: 128,
    doc: "Hermite polynomial (probabilists').",
  },
  laguerre_polynomial_l: {
    first: (h, x) => plus(h, h.negate(x), 1),
    next: (h, x, k, now, before) => {
      const factor = h.add(times(h, k, 2), plus(h, h.negate(x), 1));
      return h.divide(h.subtract(h.multiply(factor, now), h.multiply(k, before)), plus(h, k, 1));
    },
    doc: "Laguerre polynomial.",
  },
  legendre_polynomial_p: {
    first: (_h, x) => x,
    next: (h, x, k, now, before) => {
      const factor = h.multiply(plus(h, times(h, k, 2), 1), x);
      return h.divide(h.subtract(h.multiply(factor, now), h.multiply(k, before)), plus(h, k, 1));
    },
    doc: "Legendre polynomial.",
  },
};
for (const [letter, [first, kind]] of Object.entries(chebyshev)) {
  families[`chebyshev_polynomial_${letter}`] = {
    first,
    next: chebyshevNext,
    doc: `Chebyshev polynomial of the ${kind} kind.`,
  };
  const shift = (h: Builder, x: Value): Value => plus(h, h.add(x, x), -1);
  families[`shifted_chebyshev_polynomial_${letter}`] = {
    first: (h, x) => first(h, shift(h, x)),
    next: (h, x, k, now, before) => chebyshevNext(h, shift(h, x), k, now, before),
    doc: `Chebyshev polynomial of the ${kind} kind at 2x - 1.`,
  };
}

function evaluate(h: Builder, { first, next, limit }: Family, x: Value, degree: Value): Value {
  const zero = fullLike(h, x, 0);
  const one = fullLike(h, x, 1);
  // Degrees are cut to integers; what is no number counts as negative.
  const n = h.select(h.is_finite(degree), truncate(h, degree), fullLike(h, degree, -1));
  const largest = h.reduceWith(
    n,
    h.constant(-1, n.dtype),
    n.shape.map((_, i) => i),
    "maximum",
  );
  const q = first(h, x);
  const start = h.select(h.compare(n, zero, "LT"), zero, h.select(h.compare(n, one, "LT"), one, q));
  const [, , , value] = h.while(
    [h.constant(1, x.dtype), one, q, start],
    ([k]) => h.compare(k, limit ? h.minimum(largest, h.constant(limit, x.dtype)) : largest, "LT"),
    ([k, before, now, result]) => {
      const r = next(h, x, h.broadcastTo(k, x.shape), now, before);
      const following = h.add(k, h.constant(1, x.dtype));
      const here = h.compare(n, h.broadcastTo(following, x.shape), "EQ");
      return [following, now, r, h.select(here, r, result)];
    },
  );
  if (!limit) return value;
  return h.select(h.compare(n, fullLike(h, n, limit), "GT"), fullLike(h, n, NaN), value);
}

for (const [short, family] of Object.entries(families)) {
  const name = `special_${short}`;
  op(
    [
      `${name}(Tensor x, Tensor n) -> Tensor` as "x(Tensor x, Tensor n) -> Tensor",
      `${name}.x_scalar(Scalar x, Tensor n) -> Tensor`,
      `${name}.n_scalar(Tensor x, Scalar n) -> Tensor`,
    ],
    {
      lower: (h, { x, n }) => {
        const dtype = toFloatType(promotedType(x, n));
        const [a, b] = align(h, [x, n], dtype);
        requireDtype(a, dtype.is_floating_point, `${short}_cpu`);
        return inComputeType(h, [a, b], (v, degree) => evaluate(h, family, v, degree));
      },
      numbers: ["x", "n"],
      doc: family.doc,
    },
  );
}
