import { describe, expect, it } from "vitest";
import * as torch from "../index.js";
import { functional } from "../api/index.js";
import { grad } from "../autograd/index.js";
import type { Tensor } from "../tensor/index.js";

const f32 = (data: torch.TensorData, requires_grad = false): Tensor =>
  torch.tensor(data, { dtype: torch.float32, requires_grad });

describe("elementwise operators", () => {
  it("atan of many integers: XLA's CPU compiler confuses atan2 with a constant after a conversion", () => {
    const got = torch.atan(torch.arange(-8, 392)).tolist() as number[];
    got.forEach((y, i) => expect(y).toBeCloseTo(Math.atan(i - 8), 5));
  });
  it("rounds halves to even and keeps the sign of zero", () => {
    expect(torch.round(f32([0.5, 1.5, -2.5, -0.2])).tolist()).toEqual([0, 2, -2, -0]);
    expect(torch.trunc(f32([-0.5])).tolist()).toEqual([-0]);
    expect(torch.relu(f32([-0, NaN, -1])).tolist()).toEqual([-0, NaN, 0]);
  });
  it("shifts every bit out when the count is out of range", () => {
    const x = torch.tensor([1, -3, -1, 5]);
    const n = torch.tensor([64, 64, -1, 2]);
    expect(x.bitwise_left_shift(n).tolist()).toEqual([0, 0, 0, 20]);
    expect(x.bitwise_right_shift(n).tolist()).toEqual([0, -1, -1, 1]);
  });
  it("takes apart floats, subnormal ones too", () => {
    const [mantissa, exponent] = torch.frexp(torch.tensor([8, 0, -0.3, 2 ** -1030], { dtype: torch.float64 }));
    expect(mantissa.tolist()).toEqual([0.5, 0, -0.6, 0.5]);
    expect(exponent.tolist()).toEqual([4, 0, -1, -1029]);
  });
  it("does not round a number to bfloat16 before it multiplies", () => {
    const x = torch.ones([1], { dtype: torch.bfloat16 }).mul(200);
    expect(x.mul(1.001).item()).toBe(x.to(torch.float32).mul(1.001).to(torch.bfloat16).item());
  });
  it("new numbers do not compile anew", async () => {
    const { programsCompiled } = await import("../dispatch/program.js");
    const x = f32([1, 2, 3]);
    const run = (k: number): void => {
      x.clamp(k + 0.5, k + 1.5).lerp(x, k + 0.25);
      torch.addcmul(x, x, x, { value: k + 0.125 });
      torch.where(x.gt(k + 0.5), x, k + 0.75);
      functional.leaky_relu(x, k + 0.1);
      functional.softplus(x, k + 1.5, 10.5);
    };
    run(1);
    const before = programsCompiled();
    run(2);
    run(3);
    expect(programsCompiled()).toBe(before);
  });
});

describe("arguments", () => {
  it("puts a method's tensor where the operator has it", () => {
    const x = f32([1, 2]);
    expect(x.where(torch.tensor([true, false]), 7).tolist()).toEqual([1, 7]);
    expect(x.polygamma(1).at(0).item()).toBeCloseTo(1.6449, 4);
    expect(x.clone().polygamma_(1).at(0).item()).toBeCloseTo(1.6449, 4);
  });
  it("takes numbers for tensors only where PyTorch does", () => {
    expect(torch.add(2, 3).item()).toBe(5);
    expect(() => torch.bitwise_and(2 as never, 3)).toThrow("invalid combination of arguments");
    expect(() => torch.maximum(f32([1]), 2 as never)).toThrow("must be Tensor, not int");
    expect(torch.pow(2, torch.tensor([3])).tolist()).toEqual([8]);
  });
  it("refuses values that PyTorch refuses", () => {
    expect(() => torch.pow(torch.tensor([2]), -1)).toThrow("Integers to negative integer powers are not allowed.");
    expect(() => torch.tensor([2]).pow_(-1)).toThrow("Integers to negative integer powers are not allowed.");
    expect(() => functional.softshrink(f32([1]), -0.5)).toThrow("lambda must be in range");
  });
  it("compares with numbers, in place too", () => {
    expect(f32([1, 3]).gt(2).tolist()).toEqual([false, true]);
    expect(f32([1, 3]).gt_(2).tolist()).toEqual([0, 1]);
  });
});

describe("class losses", () => {
  const logits = f32([
    [1, 2, 3],
    [0, 0, 0],
  ]);
  it("a target that is no class gives NaN, an ignored one nothing", () => {
    expect(functional.cross_entropy_loss(logits, torch.tensor([2, 3])).item()).toBeNaN();
    expect(functional.cross_entropy_loss(logits, torch.tensor([2, -100])).item()).toBeCloseTo(0.40760595, 6);
  });
  it("the gradient differentiates again", () => {
    const x = f32([[0.5, -1, 2]], true);
    const loss = functional.cross_entropy_loss(x, torch.tensor([0]));
    const [g] = grad([loss], [x], { create_graph: true });
    const [gg] = grad([g!.at(0, 0)], [x]);
    const p = torch.softmax(x.detach(), 1).at(0).tolist() as number[];
    expect((gg!.at(0).tolist() as number[])[0]).toBeCloseTo(p[0] * (1 - p[0]), 5);
    expect((gg!.at(0).tolist() as number[])[1]).toBeCloseTo(-p[0] * p[1], 5);
  });
});
