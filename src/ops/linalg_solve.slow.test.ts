/** @file Cholesky and LU factorization, solutions, inverses, determinants: values, gradients, singular matrices. */
import { describe, expect, it } from "vitest";
import * as torch from "../index.js";
import { gradcheck, gradgradcheck } from "../autograd/index.js";
import { compileForTpu, noLibtpu } from "./testing/tpu.js";

const { linalg } = torch;
const types = [torch.float32, torch.float64, torch.complex64, torch.complex128];
const f64 = { dtype: torch.float64 };
const random = (dtype: torch.DType, ...shape: number[]): torch.Tensor => torch.randn(shape, { dtype });
const distance = (a: torch.Tensor, b: torch.Tensor): number => torch.sub(a, b).abs().max().item() as number;
const tolerance = (dtype: torch.DType): number => (dtype.to_real() === torch.float32 ? 1e-4 : 1e-12);
const positive = (dtype: torch.DType, n: number): torch.Tensor => {
  const a = random(dtype, 2, n, n);
  return a.matmul(a.mH).add(torch.eye(n, { dtype }));
};

describe("Cholesky", () => {
  it.each(types)("%s: L Lᴴ is the matrix, from either triangle", (dtype) => {
    const a = positive(dtype, 5);
    const l = linalg.cholesky(a.tril());
    expect(distance(l.matmul(l.mH), a)).toBeLessThan(tolerance(dtype));
    const u = linalg.cholesky(a.triu(), { upper: true });
    expect(distance(u.mH.matmul(u), a)).toBeLessThan(tolerance(dtype));
    expect(distance(torch.cholesky_inverse(l).matmul(a), torch.eye(5, { dtype }))).toBeLessThan(tolerance(dtype) * 10);
    const b = random(dtype, 5, 2);
    expect(distance(a.matmul(torch.cholesky_solve(b, u, true)), b.expand([2, 5, 2]))).toBeLessThan(
      tolerance(dtype) * 10,
    );
  });

  it("says which leading minor is not positive, beside matrices that have a factor", () => {
    const bad = torch.tensor([[4, 2, 0], [2, 1, 0], [0, 0, 1]], f64); // prettier-ignore
    const both = torch.stack([torch.eye(3, f64).mul(4), bad]);
    const { L, info } = linalg.cholesky_ex(both) as unknown as Record<string, torch.Tensor>;
    expect(info.tolist()).toEqual([0, 2]);
    expect(L.at(0).tolist()).toEqual(torch.eye(3, f64).mul(2).tolist());
    expect(() => linalg.cholesky(bad)).toThrow(
      "linalg.cholesky: The factorization could not be completed because the input is not positive-definite (the leading minor of order 2 is not positive-definite).",
    );
    expect(() => linalg.cholesky(both)).toThrow(torch.LinAlgError);
    expect(() => linalg.cholesky(both)).toThrow("linalg.cholesky: (Batch element 1): The factorization");
    expect(linalg.cholesky_ex(torch.full([2, 2], NaN))[1].item()).toBe(1);
  });

  it("differentiates twice", () => {
    const a = random(torch.complex128, 3, 3).requires_grad_();
    const factor = (x: torch.Tensor): torch.Tensor =>
      linalg.cholesky(x.matmul(x.mH).add(torch.eye(3, { dtype: torch.complex128 })));
    expect(gradcheck(factor, [a])).toBe(true);
    expect(gradgradcheck(factor, [a])).toBe(true);
  });
});

describe("LU", () => {
  it.each(types)("%s: P L U is the matrix", (dtype) => {
    for (const [m, n] of [
      [5, 5],
      [6, 3],
      [3, 6],
    ]) {
      const a = random(dtype, 2, m, n);
      const [p, l, u] = linalg.lu(a);
      expect(distance(p.matmul(l).matmul(u), a)).toBeLessThan(tolerance(dtype));
    }
  });

  it.each([
    [130, 130],
    [100, 140],
    [150, 97],
  ])("factors large matrices in panels: %i by %i", (m, n) => {
    const a = random(torch.float64, 2, m, n);
    const [p, l, u] = linalg.lu(a);
    expect(distance(p.matmul(l).matmul(u), a)).toBeLessThan(1e-11);
    expect(l.abs().max().item()).toBe(1);
    expect(distance(u, u.triu())).toBe(0);
  });

  it.each([
    [3, 3],
    [4, 3],
    [3, 4],
  ])("differentiates twice: %i by %i", (m, n) => {
    const a = random(torch.complex128, m, n).requires_grad_();
    expect(gradcheck((x) => linalg.lu(x).slice(1), [a])).toBe(true);
    expect(gradgradcheck((x) => [linalg.lu_factor(x)[0]], [a])).toBe(true);
  });

  it("solves from the factors, from either side, with the adjoint", () => {
    const a = random(torch.complex128, 2, 4, 4);
    const [lu, pivots] = linalg.lu_factor(a);
    const b = random(torch.complex128, 4, 3);
    expect(distance(a.matmul(linalg.lu_solve(lu, pivots, b)), b.expand([2, 4, 3]))).toBeLessThan(1e-11);
    const x = linalg.lu_solve(lu, pivots, b.mT, { left: false, adjoint: true });
    expect(distance(x.matmul(a.mH), b.mT.expand([2, 3, 4]))).toBeLessThan(1e-11);
  });

  it("refuses pivots that are no rows", () => {
    expect(() => torch.lu_unpack(torch.eye(3), torch.tensor([1, 4, 3], { dtype: torch.int32 }))).toThrow(
      "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of lu_factor?",
    );
  });
});

describe("solutions, inverses, determinants", () => {
  const singular = torch.tensor([[1, 2], [2, 4]], f64); // prettier-ignore

  it("solves for vectors and matrices, from either side", () => {
    const a = random(torch.float64, 3, 4, 4);
    const b = random(torch.float64, 3, 4);
    expect(distance(a.matmul(linalg.solve(a, b).unsqueeze(-1)).squeeze(-1), b)).toBeLessThan(1e-11);
    const c = random(torch.float64, 2, 4);
    expect(distance(linalg.solve(a, c, { left: false }).matmul(a), c.expand([3, 2, 4]))).toBeLessThan(1e-11);
  });

  it("throws for singular matrices, but not in the forms that give info", () => {
    expect(() => linalg.solve(singular, torch.ones([2], f64))).toThrow(
      "torch.linalg.solve: The solver failed because the input matrix is singular.",
    );
    expect(() => torch.inverse(torch.stack([torch.eye(2, f64), singular]))).toThrow(
      "linalg.inv: (Batch element 1): The diagonal element 2 is zero, the inversion could not be completed because the input matrix is singular.",
    );
    expect(() => linalg.lu_factor(singular)).toThrow("torch.linalg.lu_factor: U[2,2] is zero");
    expect(linalg.inv_ex(singular)[1].item()).toBe(2);
    expect(() => linalg.inv_ex(singular, { check_errors: true })).toThrow("linalg.inv_ex: The diagonal element 2");
    expect(linalg.solve_ex(singular, torch.ones([2], f64))[1].item()).toBe(2);
  });

  it("gives determinants their sign", () => {
    const a = torch.tensor([[0, 1, 0], [1, 0, 0], [0, 0, 2]], f64); // prettier-ignore
    expect(torch.det(a).item()).toBe(-2);
    const [sign, log] = linalg.slogdet(a);
    expect([sign.item(), log.item()]).toEqual([-1, Math.log(2)]);
    expect(torch.logdet(a).item()).toBe(NaN);
    expect(torch.det(torch.zeros([0, 0])).item()).toBe(1);
    expect(linalg.slogdet(singular).map((x) => x.abs().item())).toEqual([0, Infinity]);
  });

  it("differentiates the determinant of a singular matrix: its cofactors", () => {
    const a = singular.clone().requires_grad_();
    torch.det(a).backward();
    expect(distance(a.grad!, torch.tensor([[4, -2], [-2, 1]], f64))).toBeLessThan(1e-12); // prettier-ignore
  });

  it.each<[string, (...x: torch.Tensor[]) => torch.Tensor | torch.Tensor[]]>([
    ["solve", (a, b) => linalg.solve(a, b)],
    ["solve from the right", (a, b) => linalg.solve(a, b.mT, { left: false })],
    ["inv", (a) => linalg.inv(a)],
    ["det", (a) => linalg.det(a)],
    ["slogdet", (a) => [...linalg.slogdet(a)]],
    ["tensorinv", (a) => linalg.tensorinv(a, 1)],
  ])("%s differentiates twice", (_, fn) => {
    const a = random(torch.complex128, 3, 3).requires_grad_();
    const b = random(torch.complex128, 3, 2).requires_grad_();
    expect(gradcheck(fn, [a, b])).toBe(true);
    expect(gradgradcheck(fn, [a, b])).toBe(true);
  });
});

describe.skipIf(noLibtpu)("for a TPU", () => {
  it.each([torch.float32, torch.complex64])("compiles for %s", (dtype) => {
    compileForTpu((a) => [...linalg.cholesky_ex(a)], dtype, [3, 5, 5]);
    compileForTpu((l, b) => torch.cholesky_solve(b, l), dtype, [5, 5], [5, 2]);
    compileForTpu((a) => [...linalg.lu_factor_ex(a)], dtype, [3, 5, 5]);
    compileForTpu((a) => [...linalg.lu_factor_ex(a)], dtype, [150, 100]);
    compileForTpu((a) => [...linalg.lu(a)], dtype, [5, 3]);
    compileForTpu((a, b) => linalg.solve(a, b), dtype, [2, 5, 5], [5, 2]);
    compileForTpu((a) => linalg.inv(a), dtype, [4, 4]);
    compileForTpu((a) => [torch.det(a), ...linalg.slogdet(a)], dtype, [4, 4]);
  });
});
