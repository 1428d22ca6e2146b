/** @file Linear algebra on matrices whose results are known; what takes longer is in linalg_*.slow.test.ts. */
import { afterEach, describe, expect, it } from "vitest";
import * as torch from "../index.js";

const { linalg } = torch;
const f64 = { dtype: torch.float64 };
const a = torch.tensor([[2, 1], [4, 4]], f64); // prettier-ignore
const singular = torch.tensor([[1, 2], [2, 4]], f64); // prettier-ignore

describe("linalg", () => {
  afterEach(() => torch.tpu.set_eager_mode(torch.tpu.EagerMode.DEFER_NEVER));

  it("solves, inverts, takes determinants", () => {
    expect(linalg.solve(a, torch.tensor([4, 12], f64)).tolist()).toEqual([1, 2]);
    expect(linalg.det(a).item()).toBe(4);
    expect(linalg.inv(a).tolist()).toEqual([[1, -0.25], [-1, 0.5]]); // prettier-ignore
  });

  it("names its results", () => {
    const lu = linalg.lu_factor(a) as unknown as Record<string, torch.Tensor>;
    expect(lu.pivots.tolist()).toEqual([2, 2]);
    expect(lu.LU.at(0).tolist()).toEqual([4, 4]);
    const qr = linalg.qr(a) as unknown as Record<string, torch.Tensor>;
    expect(qr.Q.matmul(qr.R).sub(a).abs().max().item()).toBeLessThan(1e-14);
  });

  it.each(["DEFER_NEVER", "DEFER_AND_FUSE"] as const)("refuses singular matrices: %s", (mode) => {
    torch.tpu.set_eager_mode(torch.tpu.EagerMode[mode]);
    const message = "linalg.inv: The diagonal element 2 is zero, the inversion could not be completed";
    expect(() => linalg.inv(singular)).toThrow(message);
    expect(() => linalg.inv(singular.mul(2))).toThrow(message);
    expect(() => linalg.solve(singular, a)).toThrow(torch.LinAlgError);
    expect(() => linalg.cholesky(singular.sub(1))).toThrow("(the leading minor of order 1 is not positive-definite)");
  });

  it("does not read values of compiled functions: what is singular gives infinities there", () => {
    const invert = torch.compile((x: torch.Tensor) => linalg.inv_ex(x)[1].add(linalg.inv(x).isfinite().all()));
    expect(invert(singular).item()).toBe(2);
  });
});
