/** @file Systems of equations with triangular matrices. */
import { broadcastShapes, TorchError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { scalarTypeName } from "./helpers.js";
import {
  batchOf,
  checkLapackType,
  checkMatrix,
  checkSquare,
  columnsOf,
  requireSquare,
  rowsOf,
  type Shaped,
} from "./linalg_checks.js";
import { op, type Torch } from "./registry.js";

/** The conjugate transpose. */
export const adjoint = (t: Torch, x: Tensor): Tensor => t.conj(t.transpose(x, -2, -1));

/** `x` with batch dimensions `batch`. */
export const expandBatch = (t: Torch, x: Tensor, batch: readonly number[]): Tensor =>
  t.expand(x, [...batch, rowsOf(x), columnsOf(x)]);

/** A and B have sizes of AX = B, or of XA = B. */
export function checkSolveShapes(a: Shaped, b: Shaped, left: boolean, name: string): void {
  checkSquare(a, name);
  checkMatrix(b, name, "B");
  if (columnsOf(a) !== (left ? rowsOf(b) : columnsOf(b)))
    throw new TorchError(
      `${name}: Incompatible shapes of A and B for the equation ${left ? "AX = B" : "XA = B"} (${rowsOf(a)}x${columnsOf(a)} and ${rowsOf(b)}x${columnsOf(b)})`,
    );
}

op("_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor", {
  lower: (h, { self, B, upper, left, unitriangular }) => {
    checkLapackType(self, "triangular_solve_cpu");
    if (B.numel === 0) return B;
    return h.triangular_solve(self, B, { leftSide: left, lower: !upper, unitDiagonal: unitriangular });
  },
  grad: (t, { self, upper, left, unitriangular }, dy, x) => {
    const b = t.linalg_solve_triangular(adjoint(t, self), dy, { upper: !upper, left, unitriangular });
    const a = t.neg(left ? t.matmul(b, adjoint(t, x)) : t.matmul(adjoint(t, x), b));
    const skipped = unitriangular ? 1 : 0;
    return { self: upper ? t.triu(a, skipped) : t.tril(a, -skipped), B: b };
  },
  doc: "`linalg_solve_triangular` of matrices with equal batch dimensions.",
});

op(
  "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
  {
    decompose: (t, { self, B, upper, left, unitriangular }) => {
      checkSolveShapes(self, B, left, "linalg.solve_triangular");
      const batch = broadcastShapes(batchOf(B), batchOf(self));
      const b = B.dtype === self.dtype ? B : t._to_copy(B, { dtype: self.dtype });
      const options = { upper, left, unitriangular };
      return t._solve_triangular(expandBatch(t, self, batch), expandBatch(t, b, batch), options);
    },
    doc: "Solves AX = B, or XA = B, for triangular matrices A.",
  },
);

/** The checks of PyTorch's older solvers, whose arguments stand the other way round. */
export function checkOldSolve(b: Shaped, a: Shaped, name: string): void {
  if (a.dtype !== b.dtype)
    throw new TorchError(
      `Expected b and A to have the same dtype, but found b of type ${scalarTypeName(b.dtype)} and A of type ${scalarTypeName(a.dtype)} instead.`,
    );
  requireSquare(a, "");
  if (columnsOf(a) !== rowsOf(b))
    throw new TorchError(
      `Incompatible matrix sizes for ${name}: each A matrix is ${columnsOf(a)} by ${columnsOf(a)} but each b matrix is ${rowsOf(b)} by ${columnsOf(b)}`,
    );
}

op(
  "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
  {
    decompose: (t, { self, A, upper, transpose, unitriangular }) => {
      for (const [x, letter] of [
        [self, "b"],
        [A, "A"],
      ] as const)
        if (x.ndim < 2)
          throw new TorchError(
            `torch.triangular_solve: Expected ${letter} to have at least 2 dimensions, but it has ${x.ndim} dimensions instead`,
          );
      checkOldSolve(self, A, "triangular_solve");
      const batch = broadcastShapes(batchOf(self), batchOf(A));
      const a = expandBatch(t, A, batch);
      const b = expandBatch(t, self, batch);
      const solution = t._solve_triangular(transpose ? t.transpose(a, -2, -1) : a, b, {
        upper: upper !== transpose,
        unitriangular,
      });
      return [solution, t.clone(a)];
    },
    doc: "Solves AX = b for triangular matrices A; gives A too. `linalg.solve_triangular` is the newer form.",
  },
);
