import { describe, expect, it } from "vitest";
import * as torch from "../index.js";

describe("gradient of a tensor that was written through a view", () => {
  it("is zero where it was written, also when the cotangent there is infinite", () => {
    const x = torch.tensor([1, 2], { dtype: torch.float64, requires_grad: true });
    const b = torch.tensor(3, { dtype: torch.float64, requires_grad: true });
    const y = x.mul(1);
    y.at(0).copy_(b);
    y.backward(torch.tensor([Infinity, 5], { dtype: torch.float64 }));
    expect([x.grad!.tolist(), b.grad!.item()]).toEqual([[0, 5], Infinity]);
  });
  it("differentiates again", () => {
    const leaf = (data: number[]): torch.Tensor => torch.tensor(data, { dtype: torch.float64, requires_grad: true });
    const fn = (a: torch.Tensor, b: torch.Tensor): torch.Tensor => {
      const y = a.mul(a);
      y.at("1:").mul_(b);
      y.at(0).mul_(b.at(1));
      return y;
    };
    expect(torch.autograd.gradgradcheck(fn, [leaf([1, 2, 3]), leaf([0.5, -1])])).toBe(true);
  });
});
