/** @file Windows against their formulas. */
import { describe, expect, it } from "vitest";
import * as torch from "../index.js";

const { windows } = torch.signal;
const f64 = { dtype: torch.float64 };
const close = (got: torch.Tensor, want: number[]): void => {
  expect(got.shape).toEqual([want.length]);
  expect(torch.allclose(got, torch.tensor(want, f64), { rtol: 1e-12, atol: 1e-12 })).toBe(true);
};
const points = (n: number, f: (k: number) => number): number[] => Array.from({ length: n }, (_, k) => f(k));

describe("torch.signal.windows", () => {
  it("end where they began when symmetric, one point earlier when periodic", () => {
    for (const [sym, span] of [
      [true, 6],
      [false, 7],
    ] as const) {
      const angle = (k: number): number => (2 * Math.PI * k) / span;
      close(windows.hann(7, { sym, ...f64 }), points(7, (k) => 0.5 - 0.5 * Math.cos(angle(k)))); // prettier-ignore
      close(windows.hamming(7, { sym, ...f64 }), points(7, (k) => 0.54 - 0.46 * Math.cos(angle(k)))); // prettier-ignore
      close(windows.bartlett(7, { sym, ...f64 }), points(7, (k) => 1 - Math.abs((2 * k) / span - 1))); // prettier-ignore
      close(windows.gaussian(7, { std: 2, sym, ...f64 }), points(7, (k) => Math.exp(-((k - span / 2) ** 2) / 8))); // prettier-ignore
      close(windows.exponential(7, { tau: 3, sym, ...f64 }), points(7, (k) => Math.exp(-Math.abs(k - span / 2) / 3))); // prettier-ignore
      close(windows.cosine(7, { sym, ...f64 }), points(7, (k) => Math.sin((Math.PI * (k + 0.5)) / (span + 1)))); // prettier-ignore
      const blackman = (k: number): number => 0.42 - 0.5 * Math.cos(angle(k)) + 0.08 * Math.cos(2 * angle(k));
      close(windows.blackman(7, { sym, ...f64 }), points(7, blackman));
      expect(windows.kaiser(7, { sym }).at(sym ? 3 : 0).item()).toBeCloseTo(sym ? 1 : 1 / 18948.93, 5); // prettier-ignore
    }
  });

  it("are one of length one and empty of length zero", () => {
    expect(windows.nuttall(1).tolist()).toEqual([1]);
    expect(windows.kaiser(0).shape).toEqual([0]);
  });

  it("refuse what PyTorch refuses", () => {
    expect(() => windows.hann(-1)).toThrow("requires non-negative window length, got M=-1");
    expect(() => windows.hann(3, { dtype: torch.float16 })).toThrow(
      "expects float32 or float64 dtypes, got: torch.float16",
    );
    expect(() => windows.gaussian(3, { std: 0 })).toThrow("Standard deviation must be positive, got: 0 instead.");
    expect(() => windows.exponential(3, { center: 1 })).toThrow("Center must be None for symmetric windows");
    expect(() => windows.general_cosine(3, [])).toThrow("Coefficients cannot be empty");
  });
});
