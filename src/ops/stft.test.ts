/** @file Short-time transforms there and back, windows, and numbers between two ends. */
import { describe, expect, it } from "vitest";
import * as torch from "../index.js";

const f64 = { dtype: torch.float64 };
const ramp = torch.arange(1, 13, { dtype: torch.float64 });

describe("stft", () => {
  it("is undone by istft, whatever window, hop, padding and halves", () => {
    const x = torch.randn([2, 40], f64);
    const window = torch.hann_window(6, { dtype: torch.float64 });
    for (const more of [{}, { normalized: true }, { onesided: false }, { pad_mode: "constant" }]) {
      const { pad_mode = "reflect", ...rest } = more as { pad_mode?: string };
      const options = { hop_length: 2, win_length: 6, window, ...rest };
      const y = torch.stft(x, 8, { ...options, pad_mode, return_complex: true });
      expect(torch.allclose(torch.istft(y, 8, { ...options, length: 40 }), x, { atol: 1e-10 })).toBe(true);
    }
  });

  it("aligns frames to the window or to the transform without centering", () => {
    const options = { hop_length: 1, win_length: 4, center: false, return_complex: true };
    const first = (y: torch.Tensor): unknown => torch.real(y).at(0).tolist();
    expect(first(torch.stft(ramp, 8, options))).toEqual([18, 22, 26, 30, 34]);
    expect(first(torch.stft(ramp, 8, { ...options, align_to_window: true }))).toEqual([
      10, 14, 18, 22, 26, 30, 34, 38, 42,
    ]);
    expect(() => torch.stft(ramp, 8, { align_to_window: true, return_complex: true })).toThrow(
      "stft align_to_window should only be set when center = false",
    );
  });

  it("has gradients by the signal and the window", () => {
    const x = torch.randn([9], { dtype: torch.float64, requires_grad: true });
    const window = torch.rand([4], { dtype: torch.float64, requires_grad: true });
    const f = (a: torch.Tensor, w: torch.Tensor): torch.Tensor =>
      torch.stft(a, 4, { hop_length: 2, window: w, return_complex: true });
    expect(torch.autograd.gradcheck(f, [x, window])).toBe(true);
  });

  it("refuses in PyTorch's words", () => {
    const x = torch.arange(10, { dtype: torch.float32 });
    expect(() => torch.stft(x, 4)).toThrow("stft requires the return_complex parameter be given for real inputs");
    expect(() => torch.stft(x, 4, { win_length: 5, return_complex: true })).toThrow(
      "stft(torch.FloatTensor[14], n_fft=4, hop_length=1, win_length=5, window=None, normalized=0, onesided=None, return_complex=1, align_to_window=None) : expected 0 < win_length <= n_fft, but got win_length=5",
    );
    const y = torch.stft(x, 4, { return_complex: true });
    expect(() => torch.istft(y, 4, { hop_length: 7 })).toThrow(
      "istft(CPUComplexFloatType[3, 11], n_fft=4, hop_length=7, win_length=4, window=None, center=1, normalized=0, onesided=None, length=None, return_complex=0) : expected 0 < hop_length <= win_length",
    );
    expect(() => torch.istft(y, 4, { window: torch.zeros([4]) })).toThrow("window overlap add min: 1");
  });
});

describe("windows by name", () => {
  it("are periodic unless told otherwise", () => {
    const near = (x: torch.Tensor, want: number[]): void =>
      expect(torch.allclose(x, torch.tensor(want, { dtype: x.dtype }), { atol: 1e-4 })).toBe(true);
    near(torch.hann_window(5, false), [0, 0.5, 1, 0.5, 0]);
    near(torch.hann_window(4), [0, 0.5, 1, 0.5]);
    near(torch.hamming_window(5, true, 0.3, 0.6), [-0.3, 0.1146, 0.7854, 0.7854, 0.1146]);
    near(torch.blackman_window(5, false), [0, 0.34, 1, 0.34, 0]);
    near(torch.bartlett_window(4), [0, 0.5, 1, 0.5]);
    near(torch.kaiser_window(5, true, 3), [0.2049, 0.6247, 0.9522, 0.9522, 0.6247]);
    near(torch.kaiser_window(5, false), [0, 0.2157, 1, 0.2157, 0]);
    expect(torch.kaiser_window(1).tolist()).toEqual([1]);
    expect(() => torch.hann_window(-1)).toThrow(
      "hann_window requires non-negative window_length, got window_length=-1",
    );
  });
});

describe("logspace", () => {
  it("gives exact powers as integers", () => {
    const powers = Array.from({ length: 16 }, (_, i) => 10 ** i);
    expect(torch.logspace(0, 15, 16, { dtype: torch.int64 }).tolist()).toEqual(powers);
    expect(torch.logspace(0, 3, 4, 2.5, { dtype: torch.int64 }).tolist()).toEqual([1, 2, 6, 15]);
  });

  it("takes its ends from tensors without dimensions", () => {
    expect(torch.logspace(torch.tensor(1), 3, 3).tolist()).toEqual([10, 100, 1000]);
    expect(torch.linspace(0, torch.tensor(2), 3).tolist()).toEqual([0, 1, 2]);
    expect(() => torch.logspace(torch.ones([2]), torch.ones([2]), 3)).toThrow(
      "logspace only supports 0-dimensional start and end tensors, but got start with 1 dimension(s) and end with 1 dimension(s).",
    );
  });
});
