/** @file LU factorization with partial pivoting, and solutions from the factors. */
import type { Builder, Value } from "../hlo/index.js";
import { broadcastShapes, int32, numelOf, TorchError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { scalarTypeName } from "./helpers.js";
import {
  batchOf,
  checkErrors,
  checkLapackType,
  checkMatrix,
  columnsOf,
  hasValues,
  requireSquare,
  rowsOf,
} from "./linalg_checks.js";
import { factorLu, firstZeroPivot, orderOfPivots } from "./linalg_lu_loop.js";
import { adjoint, expandBatch } from "./linalg_triangular.js";
import { takeMatrixRows } from "./linalg_values.js";
import { notDifferentiable, op, type Torch } from "./registry.js";

const flattened = (h: Builder, x: Value, keep: number): Value => {
  const rest = x.shape.slice(x.rank - keep);
  return h.reshape(x, [numelOf(x.shape.slice(0, x.rank - keep)), ...rest]);
};

function lowerLu(h: Builder, a: Value): Value[] {
  checkLapackType(a, "lu_cpu");
  const k = Math.min(rowsOf(a), columnsOf(a));
  const batch = batchOf(a);
  if (a.numel === 0) return [a, h.splat(0, int32, [...batch, k]), h.splat(0, int32, batch)];
  const { lu, pivots } = factorLu(h, flattened(h, a, 2));
  const info = firstZeroPivot(h, lu);
  return [h.reshape(lu, a.shape), h.reshape(pivots, [...batch, k]), h.reshape(info, batch)];
}

/** Columns (or rows) `from` to `to`. */
const cut = (t: Torch, x: Tensor, dim: -1 | -2, from: number, to: number): Tensor => t.slice(x, dim, from, to, 1);

/** The cotangent of PᵀA from those of L (m by k, the part below the diagonal counts) and U (k by n). */
function luGrad(t: Torch, lu: Tensor, dlu: Tensor): Tensor {
  const m = rowsOf(lu);
  const n = columnsOf(lu);
  const k = Math.min(m, n);
  const square = (x: Tensor): Tensor => cut(t, cut(t, x, -2, 0, k), -1, 0, k);
  const l = square(lu); // as a triangular argument: the rest is not read
  const lower = t.add(t.tril(l, -1), t.eye(k, k, { dtype: lu.dtype, device: lu.device }));
  const u = t.triu(l);
  const byL = (x: Tensor): Tensor =>
    t.linalg_solve_triangular(adjoint(t, lower), x, { upper: true, unitriangular: true });
  const byU = (x: Tensor): Tensor => t.linalg_solve_triangular(adjoint(t, u), x, { upper: false, left: false });
  let forL = t.matmul(adjoint(t, lower), t.tril(square(dlu), -1));
  let forU = t.matmul(t.triu(square(dlu)), adjoint(t, u));
  if (m === n) return byL(byU(t.add(t.tril(forL, -1), t.triu(forU))));
  if (m < n) {
    const dRight = cut(t, dlu, -1, k, n);
    forL = t.sub(forL, t.matmul(dRight, adjoint(t, cut(t, lu, -1, k, n))));
    const left = byL(byU(t.add(t.tril(forL, -1), t.triu(forU))));
    return t.cat([left, byL(dRight)], -1);
  }
  const below = byU(cut(t, dlu, -2, k, m));
  forU = t.sub(forU, t.matmul(adjoint(t, cut(t, lu, -2, k, m)), cut(t, dlu, -2, k, m)));
  return t.cat([byL(byU(t.add(t.tril(forL, -1), t.triu(forU)))), below], -2);
}

op("_lu_factor(Tensor self) -> (Tensor LU, Tensor pivots, Tensor info)", {
  lower: (h, { self }) => lowerLu(h, self),
  grad: (t, _args, [dlu], [lu, pivots]) => ({ self: t._permute_rows(luGrad(t, lu, dlu), pivots, true) }),
  nonDifferentiableOutputs: [1, 2],
  doc: "L and U in one matrix, the exchanges of rows, and where U has its first zero on the diagonal.",
});

op("_permute_rows(Tensor self, Tensor pivots, bool back) -> Tensor", {
  lower: (h, { self, pivots, back }) => {
    if (self.numel === 0 || pivots.numel === 0) return self;
    const x = flattened(h, self, 2);
    const order = orderOfPivots(h, flattened(h, pivots, 1), rowsOf(self));
    if (!back) return h.reshape(takeMatrixRows(h, x, order), self.shape);
    const places = h.iota(int32, order.shape, 1);
    const [, inverse] = h.sort([order, places], 1, true, (a, b) => h.compare(a, b, "LT"));
    return h.reshape(takeMatrixRows(h, x, inverse), self.shape);
  },
  grad: (t, { pivots, back }, dy) => ({ self: t._permute_rows(dy, pivots, !back) }),
  doc: "Matrices with the rows exchanged as pivots say, or put back.",
});

function requireMatrix(x: Tensor, name: string): void {
  if (x.ndim < 2)
    throw new TorchError(
      `${name}: Expected tensor with 2 or more dimensions. Got size: [${x.shape.join(", ")}] instead`,
    );
}

function factorize(t: Torch, a: Tensor, pivot: boolean, checkedAs: string | null, name = "torch.lu_factor"): Tensor[] {
  requireMatrix(a, name);
  checkLapackType(a, "lu_cpu");
  if (!pivot) throw new TorchError("linalg.lu_factor: LU without pivoting is not implemented on the CPU");
  const [lu, pivots, info] = t._lu_factor(a);
  if (checkedAs !== null) checkErrors(t, info, checkedAs, a.ndim === 2);
  return [lu, pivots, info];
}

op(
  "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
  {
    composite: (t, { A, pivot, check_errors }) =>
      factorize(t, A, pivot, check_errors ? "torch.linalg.lu_factor_ex" : null),
    doc: "The LU factorization as LAPACK stores it; `info` says where U has a zero on its diagonal.",
  },
);
op("linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)", {
  composite: (t, { A, pivot }) => factorize(t, A, pivot, "torch.linalg.lu_factor").slice(0, 2),
  doc: "The LU factorization as LAPACK stores it.",
});
op("_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)", {
  composite: (t, { self, pivot }) => factorize(t, self, pivot, null), // PyTorch checks no errors either
  doc: "`linalg.lu_factor_ex`.",
});
op("lu(Tensor self, bool pivot=True, bool get_infos=False) -> (Tensor, Tensor, Tensor)", {
  composite: (t, { self, pivot, get_infos }) => factorize(t, self, pivot, null).slice(0, get_infos ? 3 : 2),
  doc: "The LU factorization as LAPACK stores it; with `get_infos`, where U has a zero on its diagonal too.",
});

/** P, L and U from a factorization; what is not asked for has no elements. */
function unpack(t: Torch, lu: Tensor, pivots: Tensor, data: boolean, permutation: boolean): Tensor[] {
  const m = rowsOf(lu);
  const k = Math.min(m, columnsOf(lu));
  const options = { dtype: lu.dtype, device: lu.device };
  const nothing = t.zeros([0], options);
  const p = (): Tensor => t._permute_rows(expandBatch(t, t.eye(m, m, options), batchOf(lu)), pivots, true);
  const l = (): Tensor => t.add(t.tril(cut(t, lu, -1, 0, k), -1), t.eye(m, k, options));
  const u = (): Tensor => t.triu(cut(t, lu, -2, 0, k));
  return [permutation ? p() : nothing, data ? l() : nothing, data ? u() : nothing];
}

op(
  "_lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data, bool unpack_pivots) -> (Tensor P, Tensor L, Tensor U)",
  {
    decompose: (t, args) => unpack(t, args.LU_data, args.LU_pivots, args.unpack_data, args.unpack_pivots),
    nonDifferentiableOutputs: [0],
    doc: "`lu_unpack` of pivots that are known to be right.",
  },
);

op("_bad_pivots(Tensor pivots, int rows) -> Tensor", {
  decompose: (t, { pivots, rows }) => t.any(t.logical_or(t.lt(pivots, 1), t.gt(pivots, rows))),
  grad: notDifferentiable,
  doc: "Whether a pivot is no row.",
});

op(
  "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
  {
    composite: (t, { LU_data, LU_pivots, unpack_data, unpack_pivots }) => {
      requireMatrix(LU_data, "torch.lu_unpack");
      if (unpack_pivots && LU_pivots.dtype !== int32)
        throw new TorchError(
          "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this function is intended to be used with the output produced by torch.linalg.lu_factor",
        );
      if (unpack_pivots && hasValues(LU_pivots) && t._bad_pivots(LU_pivots, rowsOf(LU_data)).item())
        throw new TorchError(
          "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of lu_factor?",
        );
      return t._lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots);
    },
    doc: "P, L and U from the LU factorization as LAPACK stores it.",
  },
);

op("linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", {
  composite: (t, { A, pivot }) => {
    const [lu, pivots] = factorize(t, A, pivot, null, "linalg.lu");
    return t._lu_unpack(lu, pivots, true, true);
  },
  doc: "Matrices as products P L U of a permutation, a lower and an upper triangular matrix.",
});

/** Solves A X = B, or Aᴴ X = B, from the factors of A. */
function solveLeft(t: Torch, lu: Tensor, pivots: Tensor, b: Tensor, isAdjoint: boolean): Tensor {
  const unit = { unitriangular: true };
  if (!isAdjoint) {
    const first = t._solve_triangular(lu, t._permute_rows(b, pivots, false), { upper: false, ...unit });
    return t._solve_triangular(lu, first, { upper: true });
  }
  const turned = adjoint(t, lu);
  const first = t._solve_triangular(turned, b, { upper: false });
  return t._permute_rows(t._solve_triangular(turned, first, { upper: true, ...unit }), pivots, true);
}

/** `linalg.lu_solve` of checked arguments. */
export function solveLu(t: Torch, lu: Tensor, pivots: Tensor, b: Tensor, left: boolean, isAdjoint: boolean): Tensor {
  const batch = broadcastShapes(batchOf(b), batchOf(lu));
  const factors = expandBatch(t, lu, batch);
  const exchanges = t.expand(pivots, [...batch, columnsOf(lu)]);
  const sides = expandBatch(t, b, batch);
  if (left) return solveLeft(t, factors, exchanges, sides, isAdjoint);
  return adjoint(t, solveLeft(t, factors, exchanges, adjoint(t, sides), !isAdjoint));
}

function checkedLuSolve(t: Torch, lu: Tensor, pivots: Tensor, b: Tensor, left: boolean, isAdjoint: boolean): Tensor {
  const name = "linalg.lu_solve";
  checkMatrix(lu, `torch.${name}`, "LU");
  requireSquare(lu, `torch.${name}: `);
  checkMatrix(b, name, "B");
  if (lu.dtype !== b.dtype)
    throw new TorchError(
      `${name}: Expected LU and B to have the same dtype, but found LU of type ${scalarTypeName(lu.dtype)} and B of type ${scalarTypeName(b.dtype)} instead`,
    );
  if (pivots.dtype !== int32) throw new TorchError(`${name}: pivots should be a Tensor of scalar type torch.int32`);
  if (columnsOf(lu) !== (left ? rowsOf(b) : columnsOf(b)))
    throw new TorchError(
      `${name}: Incompatible shapes of A and B for the equation ${left ? "AX = B" : "XA = B"} (${rowsOf(lu)}x${columnsOf(lu)} and ${rowsOf(b)}x${columnsOf(b)})`,
    );
  if (columnsOf(pivots) !== columnsOf(lu))
    throw new TorchError(`${name}: Number of pivots per batch should be same as the dimension of the matrix`);
  return solveLu(t, lu, pivots, b, left, isAdjoint);
}

op("linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor", {
  decompose: (t, { LU, pivots, B, left, adjoint: turned }) => checkedLuSolve(t, LU, pivots, B, left, turned),
  doc: "Solves AX = B (or XA = B, or with Aᴴ) from the LU factorization of A.",
});
op("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", {
  decompose: (t, { self, LU_data, LU_pivots }) => checkedLuSolve(t, LU_data, LU_pivots, self, true, false),
  doc: "`linalg.lu_solve`, the right-hand side first.",
});
