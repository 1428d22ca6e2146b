/** @file Core ATen operators that have no name in `torch` but stand in exported graphs. */
import { describe, expect, it } from "vitest";
import * as torch from "../index.js";

const { aten } = torch.ops;
const x = torch.arange(6).reshape(2, 3);

describe("torch.ops.aten", () => {
  it("fills and copies without writing", () => {
    expect((aten.fill.Scalar(x, 7) as torch.Tensor).tolist()).toEqual([
      [7, 7, 7],
      [7, 7, 7],
    ]);
    expect((aten.fill.Tensor(x, torch.tensor(2.5)) as torch.Tensor).at(0, 0).item()).toBe(2);
    expect(() => aten.fill.Tensor(x, torch.ones([1]))).toThrow(
      "fill only supports 0-dimension value tensor but got tensor with 1 dimensions.",
    );
    const copied = aten.copy.default(x, torch.tensor([1.5, 2.5, 3.5])) as torch.Tensor;
    expect(copied.dtype).toBe(torch.int64);
    expect(copied.tolist()).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
    expect(x.at(1, 2).item()).toBe(5);
  });

  it("answers what is known of a tensor", () => {
    const y = x.at(1).unsqueeze(0);
    expect(aten.sym_size.int(y, -1)).toBe(3);
    expect(aten.sym_stride.int(x, 0)).toBe(3);
    expect(aten.sym_numel.default(x)).toBe(6);
    expect(aten.sym_storage_offset.default(y)).toBe(3);
    expect(aten._local_scalar_dense.default(torch.tensor(4))).toBe(4);
  });

  it("sends gradients through functional copies to the source", () => {
    const src = torch.ones([3], { requires_grad: true });
    (aten.copy.default(torch.zeros([2, 3]), src) as torch.Tensor).sum().backward();
    expect(src.grad!.tolist()).toEqual([2, 2, 2]);
  });
});
