/** @file Powers and exponentials of square matrices. */
import type { Builder, Value } from "../hlo/index.js";
import { bool, numelOf } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast, computeType } from "./helpers.js";
import { batchOf, checkFloatingOrComplex, checkSquare, rowsOf } from "./linalg_checks.js";
import { invert } from "./linalg_solve.js";
import { adjoint } from "./linalg_triangular.js";
import { identity } from "./linalg_values.js";
import { op, type Torch } from "./registry.js";

/** A to the power n by repeated squaring. */
function power(t: Torch, a: Tensor, n: number): Tensor {
  checkSquare(a, "linalg.matrix_power");
  if (n === 0) {
    const size = rowsOf(a);
    const zeros = t.masked_fill(a, t.ones([], { dtype: bool, device: a.device }), 0); // no constant: its gradient is zero
    return t.add(zeros, t.eye(size, size, { dtype: a.dtype, device: a.device }));
  }
  let base = n < 0 ? invert(t, a, "linalg.inv")[0] : a;
  let left = Math.abs(n);
  if (left === 1) return n < 0 ? base : t.clone(base);
  let result: Tensor | null = null;
  for (;;) {
    if (left % 2 === 1) result = result === null ? base : t.matmul(result, base);
    left = Math.floor(left / 2);
    if (left === 0) return result!;
    base = t.matmul(base, base);
  }
}

op("linalg_matrix_power(Tensor self, int n) -> Tensor", {
  composite: (t, { self, n }) => power(t, self, n),
  doc: "Square matrices to an integer power; negative: powers of the inverse.",
});
op("matrix_power(Tensor self, int n) -> Tensor", {
  composite: (t, { self, n }) => power(t, self, n),
  doc: "`linalg.matrix_power`.",
});

const degree = 18;
/** Norms up to which the Taylor polynomial of degree 18 is exact to rounding (Bader, Blanes and Casas 2019). */
const reach = (bits: number): number => (bits === 64 ? 1.090863719290036 : 3.010066362817634);

const factorial = (n: number): number => (n < 2 ? 1 : n * factorial(n - 1));

/** The Taylor polynomial of the exponential: three powers are computed, and the rest follows Paterson and Stockmeyer. */
function taylor(h: Builder, x: Value, multiply: (a: Value, b: Value) => Value): Value {
  const powers = [identity(h, x, x.shape), x];
  for (let i = 2; i <= 4; i++) powers.push(multiply(powers[i - 1], x));
  const part = (from: number): Value => {
    const terms = powers.slice(0, Math.min(4, degree - from + 1));
    return terms.map((p, i) => h.multiply(p, h.fullLike(p, 1 / factorial(from + i)))).reduce((a, b) => h.add(a, b));
  };
  let sum = part(16);
  for (let from = 12; from >= 0; from -= 4) sum = h.add(multiply(sum, powers[4]), part(from));
  return sum;
}

/** exp(A) = exp(A / 2ˢ) to the power 2ˢ, with s by the norm of each matrix. */
function exponential(h: Builder, a: Value): Value {
  const n = rowsOf(a);
  const b = numelOf(batchOf(a));
  const x = h.reshape(a, [b, n, n]);
  const multiply = (p: Value, q: Value): Value =>
    h.dot_general(p, q, { lhsBatch: [0], rhsBatch: [0], lhsContract: [2], rhsContract: [1], precision: "HIGHEST" });
  const real = x.dtype.to_real();
  const sums = h.reduceWith(h.abs(x), h.constant(0, real), [1], "add");
  const norm = h.reduceWith(sums, h.constant(0, real), [1], "maximum");
  const steps = h.divide(h.log(h.divide(norm, h.fullLike(norm, reach(real.bits)))), h.fullLike(norm, Math.LN2));
  const known = h.select(h.compare(steps, steps, "NE"), h.zerosLike(steps), h.ceil(steps));
  const count = h.clamp(h.constant(0, real), known, h.constant(1100, real));
  const scale = h.power(h.fullLike(count, 2), h.negate(count));
  const scaled = h.multiply(x, cast(h, h.broadcast_in_dim(scale, x.shape, [0]), x.dtype));
  const most = h.reduceWith(count, h.constant(0, real), [0], "maximum");
  const one = h.constant(1, real);
  const [, result] = h.while(
    [h.constant(0, real), taylor(h, scaled, multiply)],
    ([i]) => h.compare(i, most, "LT"),
    ([i, y]) => {
      const going = h.compare(count, h.broadcastTo(i, count.shape), "GT");
      return [h.add(i, one), h.select(h.broadcast_in_dim(going, y.shape, [0]), multiply(y, y), y)];
    },
  );
  return h.reshape(result, a.shape);
}

/** The derivative of the exponential at Aᴴ in direction G: the upper right block of exp([[Aᴴ, G], [0, Aᴴ]]). */
function exponentialGrad(t: Torch, a: Tensor, dy: Tensor): Tensor {
  const n = rowsOf(a);
  const turned = adjoint(t, a);
  const top = t.cat([turned, dy], -1);
  const bottom = t.cat([t.zeros_like(turned), turned], -1);
  const both = t.linalg_matrix_exp(t.cat([top, bottom], -2));
  return t.slice(t.slice(both, -2, 0, n, 1), -1, n, 2 * n, 1);
}

for (const [name, doc] of [
  ["linalg_matrix_exp", "Exponentials of square matrices."],
  ["matrix_exp", "`linalg.matrix_exp`."],
] as const)
  op(`${name}(Tensor self) -> Tensor` as "linalg_matrix_exp(Tensor self) -> Tensor", {
    lower: (h, { self }) => {
      checkSquare(self, "linalg.matrix_exp");
      checkFloatingOrComplex(self, "linalg.matrix_exp");
      if (self.numel === 0) return self;
      return cast(h, exponential(h, cast(h, self, computeType(self.dtype))), self.dtype);
    },
    grad: (t, { self }, dy) => ({ self: exponentialGrad(t, self, dy) }),
    doc,
  });
