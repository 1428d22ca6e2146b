/** @file LDL factorization, powers and exponentials of matrices. */
import { describe, expect, it } from "vitest";
import * as torch from "../index.js";
import { gradcheck, gradgradcheck } from "../autograd/index.js";
import { compileForTpu, noLibtpu } from "./testing/tpu.js";

const { linalg } = torch;
const f64 = { dtype: torch.float64 };
const random = (dtype: torch.DType, ...shape: number[]): torch.Tensor => torch.randn(shape, { dtype });
const distance = (a: torch.Tensor, b: torch.Tensor): number => torch.sub(a, b).abs().max().item() as number;

describe("LDL", () => {
  // prettier-ignore
  const indefinite = torch.tensor(
    [[0, -3, 1, -2], [-3, 1, -5, -1], [1, -5, 2, 6], [-2, -1, 6, -1]],
    f64,
  );

  it("pivots as LAPACK does, with blocks of size 2 where the diagonal is small", () => {
    const { LD, pivots } = linalg.ldl_factor(indefinite) as unknown as Record<string, torch.Tensor>;
    // Values of PyTorch 2.13.
    expect(pivots.tolist()).toEqual([-2, -2, -4, -4]);
    expect(distance(LD, LD.tril())).toBe(0);
    const want = [
      [0, 0, 0, 0],
      [-3, 1, 0, 0],
      [14 / 9, -1 / 3, -11 / 9, 0],
      [5 / 9, 2 / 3, 79 / 9, 7 / 9],
    ];
    expect(distance(LD, torch.tensor(want, f64))).toBeLessThan(1e-12);
  });

  it.each([
    [torch.float64, false],
    [torch.complex128, false],
    [torch.complex128, true],
  ])("solves for %s, hermitian: %s, whatever the blocks", (dtype, hermitian) => {
    for (const n of [1, 2, 5, 8]) {
      const x = random(dtype, 6, n, n);
      const mirrored = hermitian ? x.mH : x.mT;
      const diagonal = torch.diag_embed(x.add(mirrored).diagonal(0, -2, -1));
      const a = x.add(mirrored).sub(diagonal.mul(0.999)); // a small diagonal makes blocks of size 2
      const [ld, pivots, info] = linalg.ldl_factor_ex(a.tril(), { hermitian });
      expect(info.abs().max().item()).toBe(0);
      const b = random(dtype, n, 2);
      const solution = linalg.ldl_solve(ld, pivots, b, { hermitian });
      expect(distance(a.matmul(solution), b.expand([6, n, 2]))).toBeLessThan(1e-8);
      expect(n === 1 || pivots.lt(0).any().item()).toBe(true);
    }
  });

  it("says where D has a zero", () => {
    const [, pivots, info] = linalg.ldl_factor_ex(torch.zeros([2, 3, 3]));
    expect(info.tolist()).toEqual([1, 1]);
    expect(pivots.at(1).tolist()).toEqual([1, 2, 3]);
  });
});

describe("matrix_exp", () => {
  it("is the series, for matrices of any norm in one batch", () => {
    const nilpotent = torch.tensor([[0, 1, 2], [0, 0, 3], [0, 0, 0]], f64); // prettier-ignore
    const diagonal = torch.diag(torch.tensor([-30, 0, 12], f64));
    const [a, b] = torch.unbind(torch.matrix_exp(torch.stack([nilpotent, diagonal])));
    expect(distance(a, torch.tensor([[1, 1, 3.5], [0, 1, 3], [0, 0, 1]], f64))).toBeLessThan(1e-15); // prettier-ignore
    [Math.exp(-30), 1, Math.exp(12)].forEach((v, i) => expect((b.at(i, i).item() as number) / v).toBeCloseTo(1, 12));
    expect(torch.matrix_exp(torch.full([1, 1], NaN)).item()).toBe(NaN);
  });

  it("turns, for an antisymmetric matrix", () => {
    const angle = 7.5;
    const turn = torch.matrix_exp(torch.tensor([[0, -angle], [angle, 0]], f64)); // prettier-ignore
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    expect(distance(turn, torch.tensor([[c, -s], [s, c]], f64))).toBeLessThan(1e-13); // prettier-ignore
  });

  it("differentiates twice", () => {
    const a = random(torch.complex128, 2, 3, 3).requires_grad_();
    expect(gradcheck((x) => torch.matrix_exp(x), [a])).toBe(true);
    expect(gradgradcheck((x) => torch.matrix_exp(x), [a])).toBe(true);
  });
});

describe("matrix_power", () => {
  it("multiplies, also integers, and inverts for negative powers", () => {
    const a = torch.tensor([[1, 1], [1, 0]]); // prettier-ignore
    expect(linalg.matrix_power(a, 10).tolist()).toEqual([[89, 55], [55, 34]]); // prettier-ignore
    const inverse = linalg.matrix_power(a.to(torch.float64), -3);
    expect(distance(inverse.matmul(linalg.matrix_power(a.to(torch.float64), 3)), torch.eye(2, f64))).toBeLessThan(
      1e-14,
    );
    expect(linalg.matrix_power(a, 0).tolist()).toEqual([[1, 0], [0, 1]]); // prettier-ignore
  });

  it("has gradient zero at the power zero", () => {
    const a = torch.full([2, 2], Infinity, f64).requires_grad_();
    linalg.matrix_power(a, 0).sum().backward();
    expect(a.grad!.tolist()).toEqual([[0, 0], [0, 0]]); // prettier-ignore
  });
});

describe.skipIf(noLibtpu)("for a TPU", () => {
  it.each([torch.float32, torch.complex64])("compiles for %s", (dtype) => {
    compileForTpu((a) => [...linalg.ldl_factor_ex(a)], dtype, [3, 5, 5]);
    compileForTpu((a, b) => linalg.ldl_solve(a, torch.ones([5], { dtype: torch.int32 }), b), dtype, [5, 5], [5, 2]);
    compileForTpu((a) => torch.matrix_exp(a), dtype, [2, 5, 5]);
    compileForTpu((a) => linalg.matrix_power(a, -3), dtype, [2, 5, 5]);
  });
});
