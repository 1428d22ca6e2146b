/** @file Cholesky factorization of positive-definite matrices, and what is solved with its factors. */
import type { Builder, Value } from "../hlo/index.js";
import { bool, int32, broadcastShapes, TorchError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast } from "./helpers.js";
import { batchOf, checkErrors, checkFloatingOrComplex, checkLapackType, checkSquare, rowsOf } from "./linalg_checks.js";
import { adjointOf, conjugate, diagonalOf, matrixIndex, realDiagonal, type MatrixIndex } from "./linalg_values.js";
import { adjoint, checkOldSolve, expandBatch } from "./linalg_triangular.js";
import { op, type Torch } from "./registry.js";

/** One column of the factor in its place, and what is left of the matrix to its right. */
function factorColumn(h: Builder, a: Value, j: Value, active: Value, { row, column }: MatrixIndex): [Value, Value] {
  const [b, n] = a.shape;
  const zero = h.constant(0, int32);
  const spread = (x: Value, dims: number[]): Value => h.broadcast_in_dim(x, a.shape, dims);
  const own = h.reshape(h.dynamic_slice(a, [zero, zero, j], [b, n, 1]), [b, n]);
  const d = h.real(h.reshape(h.dynamic_slice(a, [zero, j, j], [b, 1, 1]), [b]));
  const ok = h.and(active, h.compare(d, h.zerosLike(d), "GT"));
  const root = cast(h, h.sqrt(h.select(ok, d, h.onesLike(d))), a.dtype);
  const below = h.divide(own, h.broadcast_in_dim(root, own.shape, [0]));
  const at = h.broadcastTo(j, a.shape);
  const rest = h.and(h.compare(row, at, "GT"), h.compare(column, at, "GT"));
  const updated = h.subtract(a, h.multiply(spread(below, [0, 1]), spread(conjugate(h, below), [0, 2])));
  const inColumn = h.and(h.compare(column, at, "EQ"), h.compare(row, at, "GE"));
  const scaled = h.select(h.compare(row, at, "EQ"), spread(root, [0]), spread(below, [0, 1]));
  const next = h.select(inColumn, scaled, h.select(rest, updated, a));
  return [h.select(spread(ok, [0]), next, a), ok];
}

/** The factor column by column, up to where a matrix is found not to be positive-definite; and the column's number. */
function factorUntilFailure(h: Builder, a: Value): [factor: Value, info: Value] {
  const [b, n] = a.shape;
  const index = matrixIndex(h, a.shape);
  const [, factor, , info] = h.while(
    [h.constant(0, int32), a, h.splat(true, bool, [b]), h.splat(0, int32, [b])],
    ([j]) => h.compare(j, h.constant(n, int32), "LT"),
    ([j, x, active, found]) => {
      const [next, ok] = factorColumn(h, x, j, active, index);
      const following = h.add(j, h.constant(1, int32));
      const failed = h.and(active, h.not(ok));
      return [following, next, ok, h.select(failed, h.broadcastTo(following, [b]), found)];
    },
  );
  return [factor, info];
}

/** The lower factor of matrices of which the lower triangle is read, and which leading minor is not positive. */
function cholesky(h: Builder, a: Value): [factor: Value, info: Value] {
  const n = rowsOf(a);
  const batch = batchOf(a);
  if (a.numel === 0) return [a, h.splat(0, int32, batch)];
  const x = realDiagonal(h, h.reshape(a, [batch.reduce((p, q) => p * q, 1), n, n]));
  const fast = h.cholesky(x);
  const d = diagonalOf(h, h.real(fast));
  const bad = h.not(h.compare(d, h.zerosLike(d), "GT"));
  const anyBad = h.reduceWith(bad, h.constant(false, bool), [0, 1], "or");
  const [factor, info] = h.if(
    anyBad,
    () => factorUntilFailure(h, x),
    () => [fast, h.splat(0, int32, [x.shape[0]])],
  );
  const { row, column } = matrixIndex(h, factor.shape);
  const lower = h.select(h.compare(row, column, "GE"), factor, h.zerosLike(factor));
  return [h.reshape(lower, a.shape), h.reshape(info, batch)];
}

op("_cholesky(Tensor self, bool upper) -> (Tensor L, Tensor info)", {
  lower: (h, { self, upper }) => {
    checkLapackType(self, "cholesky_cpu");
    const [factor, info] = cholesky(h, upper ? adjointOf(h, self) : self);
    return [upper ? adjointOf(h, factor) : factor, info];
  },
  grad: (t, { upper }, [dy], [out]) => {
    // Murray (2016): L⁻ᴴ sym(tril(Lᴴ dL)) L⁻¹
    const l = upper ? adjoint(t, out) : out;
    const dl = upper ? adjoint(t, dy) : dy;
    const inner = t.matmul(adjoint(t, l), dl);
    const both = t.add(t.tril(inner), adjoint(t, t.tril(inner, -1)));
    const left = t.linalg_solve_triangular(adjoint(t, l), both, { upper: true });
    return { self: t.mul(t.linalg_solve_triangular(l, left, { upper: false, left: false }), 0.5) };
  },
  nonDifferentiableOutputs: [1],
  doc: "The Cholesky factor, and for matrices that are not positive-definite which leading minor is not.",
});

function factorize(t: Torch, x: Tensor, upper: boolean, name: string, checks: boolean): Tensor[] {
  const [factor, info] = t._cholesky(x, upper);
  if (checks) checkErrors(t, info, name, x.ndim === 2);
  return [factor, info];
}

function checkNewCholesky(x: Tensor): void {
  checkSquare(x, "linalg.cholesky");
  checkFloatingOrComplex(x, "linalg.cholesky");
}

op("linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)", {
  composite: (t, { self, upper, check_errors }) => {
    checkNewCholesky(self);
    return factorize(t, self, upper, "linalg.cholesky_ex", check_errors);
  },
  doc: "The Cholesky factor; where there is none, `info` says which leading minor is not positive-definite.",
});
op("linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor", {
  composite: (t, { self, upper }) => {
    checkNewCholesky(self);
    return factorize(t, self, upper, "linalg.cholesky", true)[0];
  },
  doc: "The triangular L with L Lᴴ = A, for positive-definite matrices A.",
});
op("cholesky(Tensor self, bool upper=False) -> Tensor", {
  composite: (t, { self, upper }) => {
    checkSquare(self, "cholesky");
    return factorize(t, self, upper, "cholesky", true)[0];
  },
  doc: "`linalg.cholesky`.",
});

/** A⁻¹ b from the factor of A. */
function solveWith(t: Torch, factor: Tensor, b: Tensor, upper: boolean): Tensor {
  const first = upper ? adjoint(t, factor) : factor;
  const second = upper ? factor : adjoint(t, factor);
  return t._solve_triangular(second, t._solve_triangular(first, b, { upper: false }), { upper: true });
}

op("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", {
  decompose: (t, { self, input2, upper }) => {
    if (self.ndim < 2)
      throw new TorchError(`b should have at least 2 dimensions, but has ${self.ndim} dimensions instead`);
    if (input2.ndim < 2)
      throw new TorchError(`u should have at least 2 dimensions, but has ${input2.ndim} dimensions instead`);
    checkOldSolve(self, input2, "cholesky_solve");
    checkLapackType(self, "cholesky_solve_cpu");
    const batch = broadcastShapes(batchOf(self), batchOf(input2));
    return solveWith(t, expandBatch(t, input2, batch), expandBatch(t, self, batch), upper);
  },
  grad: (t, { input2, upper }, dy, x) => {
    const b = t.cholesky_solve(dy, input2, upper);
    const half = t.matmul(b, adjoint(t, x));
    const both = t.neg(t.add(half, adjoint(t, half)));
    return { self: b, input2: upper ? t.matmul(input2, both) : t.matmul(both, input2) };
  },
  doc: "Solves A X = b from the Cholesky factor of A.",
});

op("_cholesky_inverse(Tensor self, bool upper) -> (Tensor inverse, Tensor info)", {
  decompose: (t, { self, upper }) => {
    const n = rowsOf(self);
    const identity = expandBatch(t, t.eye(n, n, { dtype: self.dtype, device: self.device }), batchOf(self));
    const zero = t.eq(t.diagonal(self, 0, -2, -1), 0);
    const place = t.arange(n, 0, -1, { dtype: int32, device: self.device });
    // the first zero of the diagonal has the largest number counted from the end
    const last = n === 0 ? t.sum(zero, -1) : t.amax(t.mul(zero, place), -1);
    const info = t._to_copy(t.mul(t.rsub(last, n + 1), t.gt(last, 0)), { dtype: int32 });
    return [solveWith(t, self, identity, upper), info];
  },
  grad: (t, { self, upper }, [dy], [inverse]) => {
    const both = t.matmul(inverse, t.matmul(t.add(dy, adjoint(t, dy)), inverse));
    return { self: t.neg(upper ? t.matmul(self, both) : t.matmul(both, self)) };
  },
  nonDifferentiableOutputs: [1],
  doc: "The inverse of A from its Cholesky factor, and which element of the factor's diagonal is zero.",
});

op("cholesky_inverse(Tensor self, bool upper=False) -> Tensor", {
  composite: (t, { self, upper }) => {
    checkSquare(self, "cholesky_inverse");
    checkLapackType(self, "cholesky_inverse_out_cpu");
    const [inverse, info] = t._cholesky_inverse(self, upper);
    checkErrors(t, info, "cholesky_inverse", self.ndim === 2);
    return inverse;
  },
  doc: "The inverse of A from its Cholesky factor.",
});
