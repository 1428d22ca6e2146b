import { describe, expect, it } from "vitest";
import * as torch from "../index.js";
import { grad } from "../autograd/index.js";
import { programsCompiled } from "./program.js";
import type { Tensor } from "../tensor/index.js";

const f32 = (data: torch.TensorData, requires_grad = false): Tensor =>
  torch.tensor(data, { dtype: torch.float32, requires_grad });

describe("views and in-place writes", () => {
  it("shows a write through every view", () => {
    const x = f32([1, 2, 3, 4, 5, 6]);
    const view = x.view(2, 3);
    x.at("1::2").zero_();
    view.at(0).add_(10);
    expect(x.tolist()).toEqual([11, 10, 13, 0, 5, 0]);
    expect(view.tolist()).toEqual([
      [11, 10, 13],
      [0, 5, 0],
    ]);
  });
  it("writes through a diagonal and a transpose", () => {
    const x = f32([
      [1, 2],
      [3, 4],
    ]);
    x.diagonal().fill_(9);
    x.t().at(0).mul_(2);
    expect(x.tolist()).toEqual([
      [18, 2],
      [6, 9],
    ]);
  });
  it("reports strides as PyTorch does", () => {
    const x = torch.arange(24).view(2, 3, 4);
    expect(x.permute(1, 0, 2).stride()).toEqual([4, 12, 1]);
    expect(x.at(1, "1:").storage_offset()).toBe(16);
    expect(x.permute(2, 0, 1).is_contiguous()).toBe(false);
    expect(() => x.transpose(0, 1).view(24)).toThrow("view size is not compatible with input tensor's size and stride");
    expect(x.transpose(0, 1).reshape(24).at(4).item()).toBe(12);
  });
  it("sees storage through as_strided and unfold", () => {
    const x = torch.arange(1, 7);
    expect(x.as_strided([2, 2], [3, 1], 1).tolist()).toEqual([
      [2, 3],
      [5, 6],
    ]);
    expect(x.unfold(0, 3, 2).tolist()).toEqual([
      [1, 2, 3],
      [3, 4, 5],
    ]);
  });
  it("refuses to write to an expanded tensor", () => {
    expect(() => f32([1]).expand(3).add_(1)).toThrow(
      "more than one element of the written-to tensor refers to a single memory location",
    );
  });
});

describe("gradients of views and in-place writes", () => {
  it("flows through a write to part of a tensor", () => {
    const x = f32([1, 2, 3, 4], true);
    const y = x.mul(2);
    y.at("1:3").mul_(10);
    y.sum().backward();
    expect(x.grad!.tolist()).toEqual([2, 20, 20, 2]);
    expect(y.grad_fn!.name).toBe("CopySlices");
  });
  it("makes a view's grad_fn anew after its base changed", () => {
    const x = f32([1, 2, 3, 4], true);
    const y = x.mul(2);
    const view = y.at("0:2");
    y.mul_(3);
    view.sum().backward();
    expect(x.grad!.tolist()).toEqual([6, 6, 0, 0]);
  });
  it("flows through copy_ into a tensor that needed no gradient", () => {
    const x = f32([1, 2], true);
    const y = torch.zeros(2, 2);
    y.at(0).copy_(x);
    y.mul(2).sum().backward();
    expect(x.grad!.tolist()).toEqual([2, 2]);
  });
  it("refuses to change leaves in place", () => {
    expect(() => f32([1, 2], true).add_(1)).toThrow(
      "a leaf Variable that requires grad is being used in an in-place operation.",
    );
    expect(() => f32([1, 2], true).at(0).add_(1)).toThrow(
      "a view of a leaf Variable that requires grad is being used in an in-place operation.",
    );
  });
  it("notices that a saved tensor was changed", () => {
    const x = f32([1, 2], true);
    const y = x.exp();
    y.add_(1);
    expect(() => y.sum().backward()).toThrow(
      "modified by an inplace operation: [torch.float32 [2]] is at version 1; expected version 0",
    );
  });
  it("does not mind a change of what the gradient does not read", () => {
    const x = f32([1, 2], true);
    const y = x.add(1);
    y.mul_(3);
    y.sum().backward();
    expect(x.grad!.tolist()).toEqual([3, 3]);
  });
});

describe("backward", () => {
  it("frees what was saved unless it is retained", () => {
    const x = f32([0], true);
    const y = x.exp().sum();
    y.backward(null, { retain_graph: true });
    y.backward();
    expect(x.grad!.tolist()).toEqual([2]);
    expect(() => y.backward()).toThrow("Trying to backward through the graph a second time");
  });
  it("differentiates twice", () => {
    const x = f32([1, 2], true);
    const [g] = grad(x.pow(3).sum(), x, { create_graph: true });
    expect(g!.tolist()).toEqual([3, 12]);
    expect(grad(g!.sum(), x)[0]!.tolist()).toEqual([6, 12]);
  });
  it("differentiates a decomposition twice", () => {
    const x = f32(
      [
        [1, 2],
        [3, 4],
      ],
      true,
    );
    const w = f32(
      [
        [1, 0],
        [0, 2],
      ],
      true,
    );
    const [g] = grad(torch.matmul(x, w).pow(2).sum(), x, { create_graph: true });
    const [gx, gw] = grad(g!.pow(2).sum(), [x, w]);
    expect(gx!.tolist()).toEqual([
      [8, 256],
      [24, 512],
    ]);
    expect(gw!.tolist()).toEqual([
      [160, 1120],
      [560, 2560],
    ]);
  });
  it("sums over broadcast dimensions", () => {
    const x = f32([[1], [2]], true);
    const y = f32([1, 2, 3], true);
    x.mul(y).sum().backward();
    expect(x.grad!.tolist()).toEqual([[6], [6]]);
    expect(y.grad!.tolist()).toEqual([3, 3, 3]);
  });
  it("runs hooks and retains gradients", () => {
    const x = f32([1, 2], true);
    const y = x.mul(2);
    y.register_hook((g) => g.mul(10));
    y.retain_grad();
    y.sum().backward();
    expect(x.grad!.tolist()).toEqual([20, 20]);
    expect(y.grad!.tolist()).toEqual([10, 10]);
  });
  it("accumulates into grad, which keeps its identity", () => {
    const x = f32([1, 2], true);
    x.mul(2).sum().backward();
    const first = x.grad;
    x.mul(3).sum().backward();
    expect(x.grad).toBe(first);
    expect(first!.tolist()).toEqual([5, 5]);
  });
  it("does not let an accumulated gradient change another that shares its buffer", () => {
    const x = f32([1], true);
    const y = f32([1], true);
    x.add(y).sum().backward();
    x.mul(5).sum().backward();
    expect([x.grad!.tolist(), y.grad!.tolist()]).toEqual([[6], [1]]);
  });
  it("says what is wrong with its start", () => {
    expect(() => f32([1, 2]).sum().backward()).toThrow(
      "element 0 of tensors does not require grad and does not have a grad_fn",
    );
    expect(() => f32([1, 2], true).mul(2).backward()).toThrow("grad can be implicitly created only for scalar outputs");
    expect(() => grad(f32([1], true).mul(2), f32([1], true))).toThrow("appears to not have been used in the graph");
  });
});

describe("modes", () => {
  it("records nothing under no_grad, and restores what was before, also after an error", () => {
    const x = f32([1, 2], true);
    expect(torch.no_grad(() => x.mul(2)).requires_grad).toBe(false);
    expect(() => torch.no_grad(() => x.mul("y" as never))).toThrow();
    expect(torch.is_grad_enabled()).toBe(true);
  });
  it("keeps inference tensors out of graphs", () => {
    const x = f32([1, 2], true);
    const y = torch.inference_mode(() => x.detach().mul(2));
    expect(y.is_inference()).toBe(true);
    expect(() => x.mul(y)).toThrow("Inference tensors cannot be saved for backward");
    expect(() => y.add_(1)).toThrow("Inplace update to inference tensor outside InferenceMode is not allowed");
  });
});

describe("calls", () => {
  it("never compiles again for another number", () => {
    const x = f32([1, 2]);
    x.mul(0.5);
    x.at(0);
    const before = programsCompiled();
    for (let i = 0; i < 20; i++) x.mul(0.5 + i);
    expect(programsCompiled()).toBe(before);
  });
  it("never compiles again for another offset of a view", () => {
    const x = torch.arange(64).view(8, 8);
    x.at(0).add(1);
    const before = programsCompiled();
    for (let i = 1; i < 8; i++) x.at(i).add(1);
    expect(programsCompiled()).toBe(before);
  });
  it("takes -0 for an integer, and keeps the sign of a float -0", () => {
    expect(torch.tensor([-0, 1]).dtype).toBe(torch.int64);
    expect(torch.tensor([2]).add(-0).dtype).toBe(torch.int64);
    const x = f32([-3]);
    expect(1 / (x.mul(torch.asFloat(0)).item() as number)).toBe(-Infinity);
    expect(1 / (x.mul(torch.asFloat(-0)).item() as number)).toBe(Infinity);
  });
  it("promotes as PyTorch does", () => {
    const ints = torch.tensor([7, -7]);
    expect(ints.add(0.5).dtype).toBe(torch.float32);
    expect(ints.div(2).tolist()).toEqual([3.5, -3.5]);
    expect(ints.remainder(3).tolist()).toEqual([1, 2]);
    expect(ints.floor_divide(2).tolist()).toEqual([3, -4]);
    expect(f32([1]).add(torch.tensor(1, { dtype: torch.float64 })).dtype).toBe(torch.float32);
    expect(
      torch
        .tensor([true])
        .add(torch.tensor([true]))
        .tolist(),
    ).toEqual([true]);
  });
  it("speaks PyTorch's words about bad arguments", () => {
    expect(() => f32([1, 2, 3]).add(f32([1, 2]))).toThrow(
      "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0",
    );
    expect(() => torch.mm(f32([[1, 2]]), f32([[1, 2]]))).toThrow(
      "mat1 and mat2 shapes cannot be multiplied (1x2 and 1x2)",
    );
    expect(() => torch.tensor([1, 2]).add_(0.5)).toThrow(
      "result type Float can't be cast to the desired output type Long",
    );
    expect(() =>
      f32([1, 2]).add_(
        f32([
          [1, 2],
          [3, 4],
        ]),
      ),
    ).toThrow("output with shape [2] doesn't match the broadcast shape [2, 2]");
    expect(() => f32([1]).add("x" as never)).toThrow(
      "add() received an invalid combination of arguments - got (Tensor, str)",
    );
    expect(() =>
      f32([1])
        .to("tpu")
        .add(f32([1])),
    ).toThrow("Expected all tensors to be on the same device, but found at least two devices, tpu:0 and cpu!");
  });
  it("moves between devices with gradients", () => {
    const x = f32([1, 2], true);
    x.to("tpu").mul(3).sum().backward();
    expect(x.grad!.device.toString()).toBe("cpu");
    expect(x.grad!.tolist()).toEqual([3, 3]);
  });
  it("keeps shapes and types without values on the meta device", () => {
    const x = torch.empty(3, 4, { device: "meta" });
    expect(x.mul(2).sum(0).shape).toEqual([4]);
    expect(() => x.tolist()).toThrow("no data");
  });
  it("makes tensors like others on another device", () => {
    expect(torch.ones_like(torch.empty(2, { device: "meta" }), { device: "tpu" }).tolist()).toEqual([1, 1]);
    expect(f32([1, 2]).new_zeros([1], { device: "tpu" }).device.toString()).toBe("tpu:0");
  });
  it("writes to out and gives it the result's shape", () => {
    const out = torch.empty(0);
    expect(torch.add(f32([1, 2]), 1, { out })).toBe(out);
    expect(out.tolist()).toEqual([2, 3]);
  });
});
