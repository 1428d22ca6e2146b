import { describe, expect, it } from "vitest";
import * as torch from "../index.js";
import { functional } from "../api/index.js";

const float = (data: number[][]): torch.Tensor => torch.tensor([data], { dtype: torch.float32 });
const rows = float([[1, 3, 3, 2, NaN, 0, 5]]);

describe("max pooling", () => {
  it("keeps NaN and names the first of equal elements", () => {
    const [values, indices] = functional.max_pool1d_with_indices(rows, [3], [2]);
    expect(values.tolist()).toEqual([[[3, NaN, NaN]]]);
    expect(indices.tolist()).toEqual([[[1, 4, 4]]]);
  });
  it("has one gradient, whether windows are taken apart or scattered", () => {
    const image = torch.randn([2, 3, 9, 8]);
    for (const [kernel, stride, padding, dilation] of [
      [
        [2, 2],
        [2, 2],
        [0, 0],
        [1, 1],
      ],
      [
        [3, 3],
        [2, 1],
        [1, 1],
        [1, 2],
      ],
    ]) {
      const x = image.clone().requires_grad_();
      const y = torch.max_pool2d(x, kernel, stride, padding, dilation, true);
      const dy = torch.randn(y.shape);
      y.backward(dy);
      const [, at] = functional.max_pool2d_with_indices(image, kernel, stride, padding, dilation, true);
      const want = functional.max_pool2d_with_indices_backward(dy, image, kernel, stride, padding, dilation, true, at);
      expect(x.grad!.sub(want).abs().max().item() as number).toBeLessThan(1e-5);
    }
  });
  it("refuses windows that give nothing", () => {
    expect(() => torch.max_pool2d(torch.zeros([1, 2, 2]), [5, 5])).toThrow("Output size is too small");
    expect(() => torch.max_pool2d(torch.zeros([1, 4, 4]), [2, 2], [1, 1], [2, 2])).toThrow(
      "pad should be at most half",
    );
  });
});

describe("average pooling", () => {
  it("divides by what a window covers, padding counted or not", () => {
    const x = float([[2, 4, 6]]);
    expect(torch.avg_pool1d(x, [2], [2], [1], true, true).tolist()).toEqual([[[1, 5]]]);
    expect(torch.avg_pool1d(x, [2], [2], [1], true, false).tolist()).toEqual([[[2, 5]]]);
  });
  it("to a given size takes bins that overlap where it must", () => {
    expect(torch.adaptive_avg_pool1d(float([[1, 2, 3, 4, 5]]), [3]).tolist()).toEqual([[[1.5, 3, 4.5]]]);
  });
  it("spreads its gradient over the same bins", () => {
    const x = float([[1, 2, 3, 4, 5]]).requires_grad_();
    torch.adaptive_avg_pool1d(x, [3]).sum().backward();
    expect(x.grad!.sum().item()).toBeCloseTo(3, 6);
  });
});
