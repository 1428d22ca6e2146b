/** @file Fourier transforms against sums written out, their scales, their gradients, what PyTorch refuses. */
import { describe, expect, it } from "vitest";
import * as torch from "../index.js";

/** Σ x[j] exp(∓2πi jk/n), in JavaScript's numbers. */
function directSum(re: readonly number[], im: readonly number[], forward: boolean): [number[], number[]] {
  const n = re.length;
  const out: [number[], number[]] = [[], []];
  for (let k = 0; k < n; k++) {
    let [a, b] = [0, 0];
    for (let j = 0; j < n; j++) {
      const angle = ((forward ? -2 : 2) * Math.PI * ((j * k) % n)) / n;
      a += re[j] * Math.cos(angle) - im[j] * Math.sin(angle);
      b += re[j] * Math.sin(angle) + im[j] * Math.cos(angle);
    }
    out[0].push(a);
    out[1].push(b);
  }
  return out;
}

const f64 = { dtype: torch.float64 };
const maxDifference = (a: torch.Tensor, b: torch.Tensor): number => torch.abs(torch.sub(a, b)).max().item() as number;

describe("torch.fft", () => {
  it.each([1, 2, 7, 64, 97, 360, 1009])("transforms %i numbers to float64's accuracy", (n) => {
    const re = Array.from({ length: n }, (_, i) => Math.sin(i * i + 1));
    const im = Array.from({ length: n }, (_, i) => Math.cos(3 * i));
    const x = torch.complex(torch.tensor(re, f64), torch.tensor(im, f64));
    const [a, b] = directSum(re, im, true);
    const want = torch.complex(torch.tensor(a, f64), torch.tensor(b, f64));
    expect(maxDifference(torch.fft.fft(x), want)).toBeLessThan(1e-10);
    expect(maxDifference(torch.fft.ifft(want), x)).toBeLessThan(1e-12);
    const half = torch.fft.rfft(torch.tensor(re, f64));
    expect(maxDifference(torch.fft.irfft(half, n), torch.tensor(re, f64))).toBeLessThan(1e-12);
  });

  it("transforms a long prime number of float32 values", () => {
    const x = torch.randn([10007], { dtype: torch.float64 });
    const got = torch.fft.fft(x.to(torch.float32));
    const want = torch.fft.fft(x);
    expect(maxDifference(got.to(torch.complex128), want)).toBeLessThan(5e-4);
  });

  it("transforms five dimensions in any order, as one after the other", () => {
    const x = torch.randn([2, 3, 4, 5, 2], f64);
    let want: torch.Tensor = x;
    for (const d of [3, 0, 4, 1]) want = torch.fft.fft(want, { dim: d, norm: "ortho" });
    expect(maxDifference(torch.fft.fftn(x, { dim: [3, 0, 4, 1], norm: "ortho" }), want)).toBeLessThan(1e-12);
    const back = torch.fft.irfftn(torch.fft.rfftn(x, { dim: [4, 2, 0, 3] }), { s: [2, 4, 2, 5], dim: [4, 2, 0, 3] });
    expect(maxDifference(back, x)).toBeLessThan(1e-12);
    expect(torch.fft.ihfftn(x, { dim: [1, 2] }).shape).toEqual([2, 3, 3, 5, 2]);
    expect(maxDifference(torch.fft.hfftn(torch.fft.ihfftn(x, { dim: [0, 2] }), { s: [2, 4], dim: [0, 2] }), x)).toBeLessThan(1e-12); // prettier-ignore
  });

  it("takes integers in the default type and refuses 16-bit floats, as PyTorch on CPU", () => {
    expect(torch.fft.fft(torch.arange(4)).dtype).toBe(torch.complex64);
    expect(() => torch.fft.fft(torch.ones([4], { dtype: torch.float16 }))).toThrow("Unsupported dtype Half");
    expect(() => torch.fft.rfft(torch.ones([4], { dtype: torch.complex64 }))).toThrow(
      "rfft expects a real input tensor, but got ComplexFloat",
    );
    expect(() => torch.fft.fft(torch.ones([4]), 0)).toThrow("Invalid number of data points (0) specified");
    expect(() => torch.fft.fft(torch.ones([4]), { norm: "x" })).toThrow('Invalid normalization mode: "x"');
    expect(() => torch.fft.fftn(torch.ones([4]), { dim: [0, 0] })).toThrow("FFT dims must be unique");
    expect(() => torch.fft.fftn(torch.ones([4]), [3, 4])).toThrow(
      "Got shape with 2 values but input tensor only has 1 dimensions.",
    );
    expect(() => torch.fft.fftfreq(4, { dtype: torch.int64 })).toThrow(
      "fftfreq requires a floating point or complex dtype",
    );
  });

  it("has gradients, and gradients of gradients", () => {
    const x = torch.randn([2, 3], { dtype: torch.float64, requires_grad: true });
    const z = torch.randn([2, 3], { dtype: torch.complex128, requires_grad: true });
    const cases: [(x: torch.Tensor) => torch.Tensor, torch.Tensor][] = [
      [(a) => torch.fft.rfft2(a, [3, 4]), x],
      [(a) => torch.fft.fft(a, { norm: "ortho" }), x],
      [(a) => torch.fft.ihfft(a, 4), x],
      [(a) => torch.fft.irfft(a, 5), z],
      [(a) => torch.fft.irfft2(a, [3, 4]), z],
      [(a) => torch.fft.hfft2(a, { norm: "forward" }), z],
      [(a) => torch.fft.ifftn(a), z],
    ];
    for (const [f, input] of cases) {
      expect(torch.autograd.gradcheck(f, [input])).toBe(true);
      expect(torch.autograd.gradgradcheck(f, [input])).toBe(true);
    }
  });

  it("a decomposition that is linear has gradients by its cotangent too", () => {
    const weight = torch.ones([2, 4], f64);
    const x = torch.randn([3, 4], { dtype: torch.float64, requires_grad: true });
    expect(torch.autograd.gradgradcheck((a: torch.Tensor) => torch.nn.functional.linear(a, weight), [x])).toBe(true);
  });

  it("counts frequencies and moves zero to the middle", () => {
    expect(torch.fft.fftfreq(5).tolist()).toEqual([0, 1, 2, -2, -1].map((k) => expect.closeTo(k / 5, 6) as number));
    expect(torch.fft.fftfreq(4, 0.5, f64).tolist()).toEqual([0, 0.5, -1, -0.5]);
    expect(torch.fft.rfftfreq(4, 0.5, f64).tolist()).toEqual([0, 0.5, 1]);
    const x = torch.arange(5);
    expect(torch.fft.fftshift(x).tolist()).toEqual([3, 4, 0, 1, 2]);
    expect(torch.fft.ifftshift(torch.fft.fftshift(x)).tolist()).toEqual([0, 1, 2, 3, 4]);
  });
});
