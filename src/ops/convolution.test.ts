import { describe, expect, it } from "vitest";
import * as torch from "../index.js";

const wave = (shape: number[], phase: number): torch.Tensor => {
  const n = shape.reduce((a, b) => a * b, 1);
  return torch
    .tensor(
      Array.from({ length: n }, (_, i) => Math.sin(1.7 * i + phase)),
      { dtype: torch.float64 },
    )
    .reshape(shape);
};

interface Case {
  groups?: number;
  stride?: number;
  padding?: number;
  dilation?: number;
  output_padding?: number;
}
const cases: Case[] = [{}, { stride: 2 }, { padding: 2, dilation: 2 }, { groups: 2, stride: 2, padding: 1 }];

/** One-dimensional convolution as it is defined. */
function direct(
  x: number[][][],
  w: number[][][],
  { groups = 1, stride = 1, padding = 0, dilation = 1 }: Case,
): number[][][] {
  const outputs = Math.floor((x[0][0].length + 2 * padding - dilation * (w[0][0].length - 1) - 1) / stride) + 1;
  return x.map((image) =>
    w.map((kernel, o) => {
      const first = Math.floor(o / (w.length / groups)) * kernel.length;
      return Array.from({ length: outputs }, (_, p) =>
        kernel.reduce(
          (sum, row, c) =>
            sum + row.reduce((s, v, k) => s + v * (image[first + c][p * stride + k * dilation - padding] ?? 0), 0),
          0,
        ),
      );
    }),
  );
}

const close = (a: torch.Tensor, b: torch.Tensor): void => expect(a.sub(b).abs().max().item()).toBeLessThan(1e-10);

describe("convolution", () => {
  it.each(cases)("equals the sum that defines it: %o", (c) => {
    const x = wave([2, 4, 9], 0);
    const w = wave([6, 4 / (c.groups ?? 1), 3], 1);
    const y = torch.conv1d(x, w, { ...c });
    close(y, torch.tensor(direct(x.tolist() as number[][][], w.tolist() as number[][][], c), { dtype: torch.float64 }));
  });

  it.each(cases)("is transposed by its own gradient: %o", (c) => {
    const x = wave([2, 4, 9], 0).requires_grad_();
    const w = wave([6, 4 / (c.groups ?? 1), 3], 1);
    const y = torch.conv1d(x, w, { ...c });
    const dy = wave([...y.shape], 2);
    y.backward(dy);
    const { stride = 1, padding = 0, dilation = 1 } = c;
    const reached = (y.shape[2] - 1) * stride - 2 * padding + dilation * 2 + 1;
    close(x.grad!, torch.conv_transpose1d(dy, w, { ...c, output_padding: 9 - reached }));
  });

  it.each(cases)("has the gradient of its kernel that finite differences show: %o", (c) => {
    const x = wave([2, 4, 9], 0);
    const w = wave([6, 4 / (c.groups ?? 1), 3], 1).requires_grad_();
    const loss = (k: torch.Tensor): torch.Tensor =>
      torch
        .conv1d(x, k, { ...c })
        .pow(2)
        .sum();
    loss(w).backward();
    const step = torch.zeros_like(w.detach());
    step.set_at([1, 0, 2], 1e-5);
    const slope = (Number(loss(w.detach().add(step)).item()) - Number(loss(w.detach().sub(step)).item())) / 2e-5;
    expect(w.grad!.at(1, 0, 2).item() as number).toBeCloseTo(slope, 4);
  });

  it("an output padding beyond the stride gives places that no input reached", () => {
    const x = wave([1, 2, 4], 0).requires_grad_();
    const y = torch.conv_transpose1d(x, wave([2, 3, 3], 1), { stride: 2, output_padding: 3, dilation: 4 });
    y.sum().backward();
    expect(x.grad!.shape).toEqual([1, 2, 4]);
  });

  it("padding 'same' keeps the size, an odd one behind", () => {
    expect(torch.conv1d(wave([1, 1, 7], 0), wave([1, 1, 4], 1), { padding: "same" }).shape).toEqual([1, 1, 7]);
  });

  it("says what does not fit, in PyTorch's words", () => {
    expect(() => torch.conv1d(wave([1, 3, 7], 0), wave([2, 2, 3], 1))).toThrow(
      "to have 2 channels, but got 3 channels instead",
    );
    expect(() => torch.conv1d(wave([1, 2, 2], 0), wave([2, 2, 3], 1))).toThrow(
      "Kernel size can't be greater than actual input size",
    );
  });
});
