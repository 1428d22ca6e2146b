import { describe, expect, it } from "vitest";
import * as torch from "../index.js";
import type { Tensor } from "../tensor/index.js";
import type { FunctionContext } from "./function.js";

const f64 = (data: torch.TensorData): Tensor => torch.tensor(data, { dtype: torch.float64, requires_grad: true });

class Cube extends torch.autograd.Function {
  static forward(ctx: FunctionContext, x: Tensor): Tensor {
    ctx.save_for_backward(x);
    return x.pow(3);
  }
  static backward(ctx: FunctionContext, dy: Tensor): Tensor {
    const [x] = ctx.saved_tensors;
    return dy.mul(x.pow(2)).mul(3);
  }
}

describe("autograd.Function", () => {
  it("uses its own backward, also twice", () => {
    const x = f64([2]);
    const [g] = torch.autograd.grad(Cube.apply(x), x, { create_graph: true });
    expect(g!.tolist()).toEqual([12]);
    expect(torch.autograd.grad(g!, x)[0]!.tolist()).toEqual([12]);
  });
  it("passes gradcheck and gradgradcheck", () => {
    expect(torch.autograd.gradcheck((x) => Cube.apply(x), [f64([1, -2, 3])])).toBe(true);
    expect(torch.autograd.gradgradcheck((x) => Cube.apply(x), [f64([1, -2, 3])])).toBe(true);
  });
  it("notices a saved tensor that changed, and a graph that was freed", () => {
    const x = f64([2]);
    const h = x.mul(1);
    const y = Cube.apply(h);
    h.add_(1);
    expect(() => y.sum().backward()).toThrow("modified by an inplace operation");
    const z = Cube.apply(x);
    z.sum().backward();
    expect(() => z.sum().backward()).toThrow("Trying to backward through the graph a second time");
  });
  it("takes several arguments and gives none for numbers", () => {
    class Scale extends torch.autograd.Function {
      static forward(ctx: FunctionContext, x: Tensor, by: number): Tensor {
        ctx.by = by;
        return x.mul(by);
      }
      static backward(ctx: FunctionContext, dy: Tensor): [Tensor, null] {
        return [dy.mul(ctx.by as number), null];
      }
    }
    const x = f64([1, 2]);
    Scale.apply(x, 5).sum().backward();
    expect(x.grad!.tolist()).toEqual([5, 5]);
  });
});

describe("gradcheck", () => {
  it("finds a wrong gradient", () => {
    class Wrong extends Cube {
      static override backward(_ctx: FunctionContext, dy: Tensor): Tensor {
        return dy;
      }
    }
    expect(() => torch.autograd.gradcheck((x) => Wrong.apply(x), [f64([2])])).toThrow(
      "Jacobian mismatch for output 0 with respect to input 0",
    );
    expect(torch.autograd.gradcheck((x) => Wrong.apply(x), [f64([2])], { raise_exception: false })).toBe(false);
  });
  it.each<[string, (...x: Tensor[]) => Tensor]>([
    ["matmul", (a, b) => torch.matmul(a, b.t())],
    ["div", (a, b) => a.div(b)],
    ["softmax", (a) => torch.softmax(a, -1)],
    ["views", (a) => a.t().reshape(-1).at("1::2").mul(3)],
    [
      "in place",
      (a, b) => {
        const y = a.mul(2);
        y.at(0).add_(b.at(1));
        return y.mul(y);
      },
    ],
  ])("passes for %s, also of the second order", (_, fn) => {
    const inputs = [
      f64([
        [1, 2, 3],
        [0.5, -1, 2],
      ]),
      f64([
        [2, 1.5, 1],
        [1, 3, 0.7],
      ]),
    ];
    expect(torch.autograd.gradcheck(fn, inputs)).toBe(true);
    expect(torch.autograd.gradgradcheck(fn, inputs)).toBe(true);
  });
});
