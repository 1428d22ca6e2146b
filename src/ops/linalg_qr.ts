/** @file QR factorization, and products of the Householder reflections that it consists of. */
import type { Builder, Value } from "../hlo/index.js";
import { TorchError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { scalarTypeName } from "./helpers.js";
import { batchOf, checkFloatingOrComplex, checkLapackType, checkMatrix, columnsOf, rowsOf } from "./linalg_checks.js";
import { adjoint } from "./linalg_triangular.js";
import { identity, matrixIndex } from "./linalg_values.js";
import { op, type Torch } from "./registry.js";

/** A with R in its upper triangle and the reflections below; and their factors. */
function geqrf(h: Builder, a: Value): [packed: Value, taus: Value] {
  const k = Math.min(rowsOf(a), columnsOf(a));
  const taus = { dtype: a.dtype, shape: [...batchOf(a), k] };
  if (a.numel === 0) return [a, h.splat(0, a.dtype, taus.shape)];
  const [packed, found] = h.custom_call("Qr", [a], [a, taus]);
  return [packed, found];
}

/** The first `rows` rows and `columns` columns of each matrix, zeros where there are fewer. */
function fitMatrix(h: Builder, x: Value, rows: number, columns: number): Value {
  const zero = x.shape.map(() => 0);
  const cut = [...batchOf(x), Math.min(rows, rowsOf(x)), Math.min(columns, columnsOf(x))];
  const kept = h.slice(x, zero, cut);
  const more = [...batchOf(x).map(() => 0), rows - rowsOf(kept), columns - columnsOf(kept)];
  return more.every((n) => n === 0) ? kept : h.pad(kept, h.constant(0, x.dtype), zero, more);
}

/** The first `columns` columns of the product of the reflections. */
function productOf(h: Builder, packed: Value, taus: Value, columns: number): Value {
  const shape = [...batchOf(packed), rowsOf(packed), columns];
  if (packed.numel === 0) return identity(h, packed, shape);
  const a = fitMatrix(h, packed, rowsOf(packed), columns);
  return h.custom_call("ProductOfElementaryHouseholderReflectors", [a, taus], [{ dtype: a.dtype, shape }])[0];
}

function upperTriangle(h: Builder, x: Value): Value {
  const { row, column } = matrixIndex(h, x.shape);
  return h.select(h.compare(column, row, "GE"), x, h.zerosLike(x));
}

/** X + Xᴴ with the diagonal counted once: the adjoint of taking the triangle of a Hermitian matrix. */
function symmetrized(t: Torch, x: Tensor): Tensor {
  const sum = t.add(x, adjoint(t, x));
  return t.sub(sum, t.diag_embed(t.mul(t.diagonal(sum, 0, -2, -1), 0.5)));
}

/** The cotangent of A = QR with R square: [dQ + Q sym(triu(dR Rᴴ - Qᴴ dQ))] R⁻ᴴ. */
function squareGrad(t: Torch, q: Tensor, r: Tensor, dq: Tensor, dr: Tensor): Tensor {
  const inner = t.sub(t.matmul(dr, adjoint(t, r)), t.matmul(adjoint(t, q), dq));
  const outer = t.add(dq, t.matmul(q, symmetrized(t, t.triu(inner))));
  return t.linalg_solve_triangular(adjoint(t, r), outer, { upper: false, left: false });
}

function qrGrad(t: Torch, q: Tensor, r: Tensor, dq: Tensor, dr: Tensor): Tensor {
  const m = rowsOf(r);
  const n = columnsOf(r);
  if (m === n) return squareGrad(t, q, r, dq, dr);
  // A wide matrix: the columns past the first m are Q times theirs of R.
  const left = (x: Tensor): Tensor => t.slice(x, -1, 0, m, 1);
  const right = (x: Tensor): Tensor => t.slice(x, -1, m, n, 1);
  const dq2 = t.add(dq, t.matmul(q, t.matmul(right(r), adjoint(t, right(dr)))));
  return t.cat([squareGrad(t, q, left(r), dq2, left(dr)), t.matmul(q, right(dr))], -1);
}

const qrModes = ["reduced", "complete", "r"];

op('linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)', {
  lower: (h, { A, mode }) => {
    checkMatrix(A, "linalg.qr");
    checkFloatingOrComplex(A, "linalg.qr");
    if (!qrModes.includes(mode))
      throw new TorchError(
        `qr received unrecognized mode '${mode}' but expected one of 'reduced' (default), 'r', or 'complete'`,
      );
    checkLapackType(A, "geqrf_cpu");
    const m = rowsOf(A);
    const k = mode === "complete" ? m : Math.min(m, columnsOf(A));
    const [packed, taus] = geqrf(h, A);
    const r = upperTriangle(h, fitMatrix(h, packed, k, columnsOf(A)));
    return [mode === "r" ? h.splat(0, A.dtype, [0]) : productOf(h, packed, taus, k), r];
  },
  grad: (t, { A, mode }, [dq, dr], [q, r]) => {
    if (mode === "r")
      throw new TorchError(
        "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr.",
      );
    if (mode === "complete" && rowsOf(A) > columnsOf(A))
      throw new TorchError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.");
    return { A: qrGrad(t, q, r, dq, dr) };
  },
  doc: "Matrices as products QR, the columns of Q orthonormal and R upper triangular.",
});

op("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)", {
  decompose: (t, { self, some }) => t.linalg_qr(self, some ? "reduced" : "complete"),
  doc: "`linalg.qr`, reduced or (`some=False`) complete.",
});

op("geqrf(Tensor self) -> (Tensor a, Tensor tau)", {
  lower: (h, { self }) => {
    if (self.rank < 2) throw new TorchError("torch.geqrf: input must have at least 2 dimensions.");
    checkLapackType(self, "geqrf_cpu");
    return geqrf(h, self);
  },
  doc: "The QR factorization as LAPACK stores it: R, and Householder reflections below it, with their factors.",
});

function checkTau(name: string, input: Tensor, tau: Tensor): void {
  if (input.ndim - tau.ndim !== 1)
    throw new TorchError(
      `${name}: Expected tau to have one dimension less than input, but got tau.ndim equal to ${tau.ndim} and input.ndim is equal to ${input.ndim}`,
    );
  const batch = tau.shape.slice(0, -1);
  if (batch.join() !== batchOf(input).join())
    throw new TorchError(
      `${name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got [${batch.join(", ")}]`,
    );
}

/**
 * The product of reflections as I - V T Vᴴ, T the inverse of diag(1/tau) + the part of VᴴV above the diagonal
 * (Puglisi 1992; written so that tau may be zero). Gives V, and T times a matrix.
 */
function blockReflector(
  t: Torch,
  input: Tensor,
  tau: Tensor,
): { v: Tensor; applyT(x: Tensor, adjointT: boolean): Tensor } {
  const k = columnsOf(tau);
  const m = rowsOf(input);
  const ones = t.eye(m, k, { dtype: input.dtype, device: input.device });
  const v = t.add(t.tril(t.slice(input, -1, 0, k, 1), -1), ones);
  const scale = t.unsqueeze(tau, -1);
  const above = t.triu(t.matmul(adjoint(t, v), v), 1);
  const system = t.mul(scale, above);
  const options = { upper: true, unitriangular: true };
  return {
    v,
    applyT: (x, adjointT) =>
      adjointT
        ? t.mul(t.conj(scale), t.linalg_solve_triangular(adjoint(t, system), x, { ...options, upper: false }))
        : t.linalg_solve_triangular(system, t.mul(scale, x), options),
  };
}

function householderProduct(t: Torch, input: Tensor, tau: Tensor): Tensor {
  const name = "torch.linalg.householder_product";
  if (input.ndim < 2) throw new TorchError(`${name}: input must have at least 2 dimensions.`);
  if (rowsOf(input) < columnsOf(input))
    throw new TorchError(`${name}: input.shape[-2] must be greater than or equal to input.shape[-1]`);
  if (columnsOf(input) < columnsOf(tau))
    throw new TorchError(`${name}: input.shape[-1] must be greater than or equal to tau.shape[-1]`);
  checkTau(name, input, tau);
  if (tau.dtype !== input.dtype)
    throw new TorchError(
      `${name}: tau dtype ${scalarTypeName(tau.dtype)} does not match input dtype ${scalarTypeName(input.dtype)}`,
    );
  checkLapackType(input, "orgqr_cpu");
  const n = columnsOf(input);
  if (input.numel() === 0 || tau.numel() === 0) {
    const eye = t.eye(rowsOf(input), n, { dtype: input.dtype, device: input.device });
    return t.clone(t.expand(eye, input.shape)); // PyTorch gives no gradients where there is no reflection
  }
  const { v, applyT } = blockReflector(t, input, tau);
  const ones = t.eye(rowsOf(input), n, { dtype: input.dtype, device: input.device });
  return t.sub(ones, t.matmul(v, applyT(adjoint(t, t.slice(v, -2, 0, n, 1)), false)));
}

op("linalg_householder_product(Tensor input, Tensor tau) -> Tensor", {
  decompose: (t, { input, tau }) => householderProduct(t, input, tau),
  doc: "The first columns of a product of Householder reflections, stored as `geqrf` gives them.",
});

op("orgqr(Tensor self, Tensor input2) -> Tensor", {
  decompose: (t, { self, input2 }) => householderProduct(t, self, input2),
  doc: "`linalg.householder_product`.",
});

function checkOrmqr(input: Tensor, tau: Tensor, other: Tensor, left: boolean): void {
  const name = "torch.ormqr";
  if (input.ndim < 2) throw new TorchError(`${name}: input must have at least 2 dimensions.`);
  if (other.ndim < 2) throw new TorchError(`${name}: other must have at least 2 dimensions.`);
  const along = left ? -2 : -1;
  const size = other.shape[other.ndim + along];
  if (columnsOf(tau) !== Math.min(size, columnsOf(input)))
    throw new TorchError(`${name}: tau.shape[-1] must be equal to min(other.shape[${along}], input.shape[-1])`);
  if (size !== rowsOf(input)) throw new TorchError(`${name}: other.shape[${along}] must be equal to input.shape[-2]`);
  if (input.ndim !== other.ndim && input.ndim - tau.ndim === 1)
    throw new TorchError(
      `${name}: Expected other to have the same number of dimensions as input, but got other.ndim equal to ${other.ndim} and input.ndim is equal to ${input.ndim}`,
    );
  checkTau(name, input, tau);
  if (batchOf(other).join() !== batchOf(input).join())
    throw new TorchError(
      `${name}: Expected batch dimensions of other to be equal to input.shape[:-2], but got [${batchOf(other).join(", ")}]`,
    );
  for (const [x, what] of [
    [tau, "tau"],
    [other, "other"],
  ] as const)
    if (x.dtype !== input.dtype)
      throw new TorchError(
        `${name}: Expected input and ${what} to have the same dtype, but input has dtype${scalarTypeName(input.dtype)} and ${what} has dtype ${scalarTypeName(x.dtype)}`,
      );
  checkLapackType(input, "ormqr_cpu");
}

op("ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor", {
  decompose: (t, { self, input2, input3, left, transpose }) => {
    checkOrmqr(self, input2, input3, left);
    if (self.numel() === 0 || input2.numel() === 0) return t.clone(input3);
    const { v, applyT } = blockReflector(t, self, input2);
    // from the right, CQ is (QᴴCᴴ)ᴴ
    const other = left ? input3 : adjoint(t, input3);
    const product = t.sub(other, t.matmul(v, applyT(t.matmul(adjoint(t, v), other), left ? transpose : !transpose)));
    return left ? product : adjoint(t, product);
  },
  doc: "The product of a matrix and a product of Householder reflections, stored as `geqrf` gives them.",
});
