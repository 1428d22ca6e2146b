/** @file Systems of linear equations and inverses, by LU factorization. */
import { broadcastShapes, TorchError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { scalarTypeName } from "./helpers.js";
import { batchOf, checkErrors, checkFloatingOrComplex, checkSquare, rowsOf } from "./linalg_checks.js";
import { solveLu } from "./linalg_lu.js";
import { adjoint, checkSolveShapes, expandBatch } from "./linalg_triangular.js";
import { op, type Torch } from "./registry.js";

op("_solve(Tensor A, Tensor B, bool left) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)", {
  decompose: (t, { A, B, left }) => {
    const [lu, pivots, info] = t._lu_factor(A);
    return [solveLu(t, lu, pivots, B, left, false), lu, pivots, info];
  },
  grad: (t, { A, left }, [dy], [x]) => {
    const [b] = t._solve(adjoint(t, A), dy, left);
    return { A: t.neg(left ? t.matmul(b, adjoint(t, x)) : t.matmul(adjoint(t, x), b)), B: b };
  },
  nonDifferentiableOutputs: [1, 2, 3],
  doc: "Solves AX = B or XA = B for matrices B; gives the factorization of A too.",
});

/** Whether B is vectors: one, or one for each matrix of A. */
const isVectors = (a: Tensor, b: Tensor): boolean =>
  b.ndim === 1 || (a.ndim - 1 === b.ndim && b.shape.join() === a.shape.slice(0, -1).join());

function solve(t: Torch, a: Tensor, b: Tensor, left: boolean, checkedAs: string | null): Tensor[] {
  const name = "linalg.solve";
  checkSquareOrFloating(a, name);
  if (a.dtype !== b.dtype)
    throw new TorchError(
      `${name}: Expected A and B to have the same dtype, but found A of type ${scalarTypeName(a.dtype)} and B of type ${scalarTypeName(b.dtype)} instead`,
    );
  const vectors = isVectors(a, b);
  const columns = vectors ? t.unsqueeze(b, -1) : b;
  checkSolveShapes(a, columns, left, name);
  if (!left && vectors)
    throw new TorchError(
      `${name}: Vector broadcasting of the left hand side is not supported for left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)`,
    );
  broadcastShapes(batchOf(columns), batchOf(a));
  const [x, lu, pivots, info] = t._solve(a, columns, left);
  if (checkedAs !== null) checkErrors(t, info, checkedAs, a.ndim === 2);
  return [vectors ? t.squeeze(x, -1) : x, lu, pivots, info];
}

/** PyTorch names a wrong type before a wrong shape here. */
function checkSquareOrFloating(a: Tensor, name: string): void {
  checkFloatingOrComplex(a, name);
  checkSquare(a, name);
}

op(
  "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)",
  {
    composite: (t, { A, B, left, check_errors }) => solve(t, A, B, left, check_errors ? "torch.linalg.solve_ex" : null),
    doc: "`linalg.solve_ex`, with the factorization.",
  },
);
op("linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)", {
  composite: (t, { A, B, left, check_errors }) => {
    const [x, , , info] = solve(t, A, B, left, check_errors ? "torch.linalg.solve_ex" : null);
    return [x, info];
  },
  doc: "Solves AX = B, or XA = B; where A is singular, `info` says so.",
});
op("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", {
  composite: (t, { A, B, left }) => solve(t, A, B, left, "torch.linalg.solve")[0],
  doc: "The X of AX = B, or of XA = B.",
});

op("_inverse(Tensor A) -> (Tensor inverse, Tensor info)", {
  decompose: (t, { A }) => {
    const n = rowsOf(A);
    const identity = expandBatch(t, t.eye(n, n, { dtype: A.dtype, device: A.device }), batchOf(A));
    const [inverse, , , info] = t._solve(A, identity, true);
    return [inverse, info];
  },
  grad: (t, _args, [dy], [inverse]) => {
    const turned = adjoint(t, inverse);
    return { A: t.neg(t.matmul(turned, t.matmul(dy, turned))) };
  },
  nonDifferentiableOutputs: [1],
  doc: "Inverses, and where U of the factorization has a zero on its diagonal.",
});

/** Inverses. `checkedAs`: the name in the error for a singular matrix; null: none is thrown. */
export function invert(t: Torch, a: Tensor, checkedAs: string | null): Tensor[] {
  checkSquare(a, "linalg.inv");
  checkFloatingOrComplex(a, "linalg.inv");
  const [inverse, info] = t._inverse(a);
  if (checkedAs !== null) checkErrors(t, info, checkedAs, a.ndim === 2);
  return [inverse, info];
}

op("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", {
  composite: (t, { A, check_errors }) => invert(t, A, check_errors ? "linalg.inv_ex" : null),
  doc: "Inverses; where a matrix has none, `info` says so.",
});
op("linalg_inv(Tensor A) -> Tensor", {
  composite: (t, { A }) => invert(t, A, "linalg.inv")[0],
  doc: "Inverses of square matrices.",
});
op("inverse(Tensor self) -> Tensor", {
  composite: (t, { self }) => invert(t, self, "linalg.inv")[0],
  doc: "`linalg.inv`.",
});

/** Dimensions from `ind` on taken as columns, those before as rows. */
op("linalg_tensorinv(Tensor self, int ind=2) -> Tensor", {
  composite: (t, { self, ind }) => {
    if (ind <= 0) throw new TorchError(`Expected a strictly positive integer for 'ind', but got ${ind}`);
    const rows = self.shape.slice(0, ind);
    const columns = self.shape.slice(ind);
    const count = (dims: readonly number[]): number => dims.reduce((p, n) => p * n, 1);
    if (count(rows) !== count(columns))
      throw new TorchError(
        `Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got ${count(columns)} != ${count(rows)}`,
      );
    const [inverse] = invert(t, t.reshape(self, [count(rows), count(columns)]), "inv");
    return t.reshape(inverse, [...columns, ...rows]);
  },
  doc: "The inverse for `tensordot`.",
});

op("linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor", {
  composite: (t, { self, other, dims }) => {
    const count = (sizes: readonly number[]): number => sizes.reduce((p, n) => p * n, 1);
    const target = dims === null ? [] : dims.map((_, i) => self.ndim - dims.length + i);
    const a = dims === null ? self : t.movedim(self, dims, target);
    const rows = other.numel();
    const columns = a.shape.slice(other.ndim);
    if (count(columns) !== rows)
      throw new TorchError(
        `Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got ${count(columns)} != ${rows}`,
      );
    const matrix = t.reshape(a, [rows, rows]);
    return t.reshape(solve(t, matrix, t.reshape(other, [-1]), true, "torch.linalg.solve")[0], columns);
  },
  doc: "The X whose `tensordot` with a tensor is another one.",
});
