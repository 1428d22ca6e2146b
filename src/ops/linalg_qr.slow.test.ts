/** @file QR factorization and Householder reflections: products, gradients, programs for a TPU. */
import { describe, expect, it } from "vitest";
import * as torch from "../index.js";
import { gradcheck, gradgradcheck } from "../autograd/index.js";
import { compileForTpu, noLibtpu } from "./testing/tpu.js";

const types = [torch.float32, torch.float64, torch.complex64, torch.complex128];
const random = (dtype: torch.DType, ...shape: number[]): torch.Tensor => torch.randn(shape, { dtype });
const distance = (a: torch.Tensor, b: torch.Tensor): number => torch.sub(a, b).abs().max().item() as number;
const tolerance = (dtype: torch.DType): number => (dtype.to_real() === torch.float32 ? 1e-5 : 1e-13);

describe("linalg.qr", () => {
  it.each(types)("%s: Q R is the matrix, Q has orthonormal columns, R a real diagonal", (dtype) => {
    for (const [m, n] of [
      [4, 4],
      [6, 3],
      [3, 6],
      [40, 20],
    ])
      for (const mode of ["reduced", "complete"]) {
        const a = random(dtype, 2, m, n);
        const [q, r] = torch.linalg.qr(a, mode);
        const k = mode === "complete" ? m : Math.min(m, n);
        expect(q.shape).toEqual([2, m, k]);
        expect(r.shape).toEqual([2, k, n]);
        expect(distance(q.matmul(r), a)).toBeLessThan(tolerance(dtype) * 10);
        expect(distance(q.mH.matmul(q), torch.eye(k, { dtype }).expand([2, k, k]))).toBeLessThan(tolerance(dtype) * 10);
        expect(distance(r, r.triu())).toBe(0);
        const diagonal = r.diagonal(0, -2, -1);
        if (dtype.is_complex) expect(torch.imag(diagonal).abs().max().item()).toBe(0);
      }
  });

  it("gives no Q in mode r, and identities for matrices without columns", () => {
    const [q, r] = torch.linalg.qr(random(torch.float64, 5, 3), "r");
    expect([q.shape, r.shape]).toEqual([[0], [3, 3]]);
    const [whole] = torch.linalg.qr(torch.zeros([2, 0]), "complete");
    expect(whole.tolist()).toEqual([
      [1, 0],
      [0, 1],
    ]);
  });

  it.each([
    [5, 3],
    [3, 3],
    [3, 5],
  ])("differentiates twice: %i by %i", (m, n) => {
    for (const dtype of [torch.float64, torch.complex128]) {
      const a = random(dtype, m, n).requires_grad_();
      expect(gradcheck((x) => [...torch.linalg.qr(x)], [a])).toBe(true);
      expect(gradgradcheck((x) => [...torch.linalg.qr(x)], [a])).toBe(true);
    }
  });

  it("names what is wrong, in PyTorch's words", () => {
    expect(() => torch.linalg.qr(torch.zeros([3]))).toThrow(
      "linalg.qr: The input tensor A must have at least 2 dimensions.",
    );
    expect(() => torch.linalg.qr(torch.zeros([3, 3]), "x")).toThrow("qr received unrecognized mode 'x'");
    expect(() => torch.linalg.qr(torch.zeros([3, 3], { dtype: torch.float16 }))).toThrow(
      `"geqrf_cpu" not implemented for 'Half'`,
    );
  });
});

describe("Householder reflections", () => {
  it.each(types)("%s: the product is Q of the factorization; ormqr multiplies by it from either side", (dtype) => {
    const a = random(dtype, 2, 5, 3);
    const [packed, taus] = torch.geqrf(a);
    const [q] = torch.linalg.qr(a, "complete");
    const found = torch.linalg.householder_product(packed, taus);
    expect(distance(found, q.narrow(-1, 0, 3))).toBeLessThan(tolerance(dtype));
    for (const transpose of [false, true]) {
      const side = transpose ? q.mH : q;
      const below = random(dtype, 2, 5, 4);
      expect(distance(torch.ormqr(packed, taus, below, true, transpose), side.matmul(below))).toBeLessThan(
        tolerance(dtype) * 10,
      );
      expect(distance(torch.ormqr(packed, taus, below.mT, false, transpose), below.mT.matmul(side))).toBeLessThan(
        tolerance(dtype) * 10,
      );
    }
  });

  it("takes factors of zero", () => {
    const packed = random(torch.float64, 3, 2);
    const q = torch.linalg.householder_product(packed, torch.zeros([2], { dtype: torch.float64 }));
    expect(q.tolist()).toEqual(torch.eye(3, 2).tolist());
  });

  it("differentiates", () => {
    const packed = random(torch.complex128, 4, 3).requires_grad_();
    const taus = random(torch.complex128, 3).requires_grad_();
    expect(gradcheck((a, b) => torch.linalg.householder_product(a, b), [packed, taus])).toBe(true);
  });
});

describe.skipIf(noLibtpu)("for a TPU", () => {
  it.each([torch.float32, torch.complex64])("compiles for %s", (dtype) => {
    compileForTpu((a) => torch.linalg.qr(a), dtype, [2, 6, 4]);
    compileForTpu((a, tau) => torch.linalg.householder_product(a, tau), dtype, [6, 4], [4]);
    compileForTpu((a, tau, c) => torch.ormqr(a, tau, c), dtype, [6, 4], [4], [6, 5]);
    compileForTpu((a, b) => torch.linalg.solve_triangular(a, b, { upper: true }), dtype, [3, 4, 4], [4, 2]);
  });
});
