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

/** A class of one-argument functions with this backward. */
function withBackward(backward: (ctx: FunctionContext, dy: Tensor) => unknown): typeof Cube {
  return class extends Cube {
    static override backward = backward as typeof Cube.backward;
  };
}

describe("autograd.Function, in detail", () => {
  it("separates forward from setup_context", () => {
    class Square extends torch.autograd.Function {
      static forward(x: Tensor): Tensor {
        return x.mul(x);
      }
      static setup_context(ctx: FunctionContext, inputs: [Tensor]): void {
        ctx.save_for_backward(inputs[0]);
      }
      static backward(ctx: FunctionContext, dy: Tensor): Tensor {
        return dy.mul(ctx.saved_tensors[0]).mul(2);
      }
    }
    expect(torch.autograd.gradcheck((x) => Square.apply(x), [f64([1, -2])])).toBe(true);
    expect(torch.autograd.gradgradcheck((x) => Square.apply(x), [f64([1, -2])])).toBe(true);
  });
  it("saves results, also for the second order", () => {
    class Exp extends torch.autograd.Function {
      static forward(ctx: FunctionContext, x: Tensor): Tensor {
        const y = x.exp();
        ctx.save_for_backward(y);
        return y;
      }
      static backward(ctx: FunctionContext, dy: Tensor): Tensor {
        return dy.mul(ctx.saved_tensors[0]);
      }
    }
    expect(torch.autograd.gradgradcheck((x) => Exp.apply(x), [f64([0.5, -1])])).toBe(true);
  });
  it("gives zeros or nothing for results that were not used, and no gradient to marked ones", () => {
    const seen: (Tensor | null)[] = [];
    const make = (materialize: boolean): typeof torch.autograd.Function =>
      class Two extends torch.autograd.Function {
        static forward(ctx: FunctionContext, x: Tensor): Tensor[] {
          ctx.set_materialize_grads(materialize);
          const rank = x.argsort();
          const sign = x.sign();
          ctx.mark_non_differentiable(sign);
          return [x.mul(2), x.mul(3), rank, sign];
        }
        static backward(_ctx: FunctionContext, a: Tensor, b: Tensor | null): Tensor {
          seen.push(b);
          return a.mul(2);
        }
      };
    const x = f64([1, 2]);
    const outs = make(true).apply<Tensor[]>(x);
    expect(outs.map((o) => o.requires_grad)).toEqual([true, true, false, false]);
    outs[0].sum().backward();
    make(false).apply<Tensor[]>(x)[0].sum().backward();
    expect([seen[0]?.tolist(), seen[1]]).toEqual([[0, 0], null]);
    expect(x.grad!.tolist()).toEqual([4, 4]);
  });
  it("writes in place what it marks as dirty", () => {
    class Double extends torch.autograd.Function {
      static forward(ctx: FunctionContext, x: Tensor): Tensor {
        x.mul_(2);
        ctx.mark_dirty(x);
        return x;
      }
      static backward(_ctx: FunctionContext, dy: Tensor): Tensor {
        return dy.mul(2);
      }
    }
    const x = f64([1, 2]);
    const h = x.mul(1);
    expect(Double.apply(h)).toBe(h);
    h.sum().backward();
    expect([h.tolist(), x.grad!.tolist()]).toEqual([
      [2, 4],
      [2, 2],
    ]);
    expect(() => Double.apply(x)).toThrow("a leaf Variable that requires grad");
  });
  it("refuses gradients of another shape or number and sums what was broadcast", () => {
    const run = (backward: (ctx: FunctionContext, dy: Tensor) => unknown): Tensor => {
      const x = f64([1, 2]);
      withBackward(backward).apply(x).sum().backward();
      return x.grad!;
    };
    expect(() => run(() => torch.ones(3, { dtype: torch.float64 }))).toThrow(
      "returned an invalid gradient at index 0 - got [3] but expected shape compatible with [2]",
    );
    expect(() => run((_, dy) => [dy, dy])).toThrow("incorrect number of gradients (expected 1, got 2)");
    expect(run((_, dy) => dy.expand(4, 2)).tolist()).toEqual([4, 4]);
    expect(run((_, dy) => dy.float()).dtype).toBe(torch.float64);
  });
  it("differentiates once what is marked so", () => {
    const backward = torch.autograd.once_differentiable((ctx, dy) => dy!.mul(ctx.saved_tensors[0].pow(2)).mul(3));
    const once = withBackward(backward as (ctx: FunctionContext, dy: Tensor) => unknown);
    const x = f64([2]);
    const [g] = torch.autograd.grad(once.apply(x), x, { create_graph: true });
    expect(g!.tolist()).toEqual([12]);
    expect(() => torch.autograd.grad(g!, x)).toThrow("trying to differentiate twice a function that was marked");
  });
});

describe("gradcheck", () => {
  it("shows both Jacobians", () => {
    const wrong = withBackward((_, dy) => dy);
    expect(() => torch.autograd.gradcheck((x) => wrong.apply(x), [f64([2])])).toThrow(
      "Jacobian mismatch for output 0 with respect to input 0,\nnumerical:tensor([[12.0000]], dtype=torch.float64)\nanalytical:tensor([[1.]], dtype=torch.float64)",
    );
  });
  it("finds a gradient that is missing, and says what it needs", () => {
    expect(() => torch.autograd.gradcheck((x) => x.detach().mul(2), [f64([2])])).toThrow("expected to be zero");
    expect(() => torch.autograd.gradcheck((x) => x, [torch.ones(1)])).toThrow("at least one input tensor to require");
    expect(() => torch.autograd.gradcheck((x) => x.mul(2), [f64([2]).expand(3)])).toThrow("stride 0");
  });
  it("passes for complex numbers", () => {
    const z = (): Tensor =>
      torch.tensor([torch.complexNumber(1, 2), torch.complexNumber(-0.5, 0.3)], {
        dtype: torch.complex128,
        requires_grad: true,
      });
    expect(torch.autograd.gradcheck((a, b) => a.mul(b).add(a.conj()), [z(), z()])).toBe(true);
    expect(torch.autograd.gradcheck((a) => a.abs(), [z()])).toBe(true);
    expect(torch.autograd.gradgradcheck((a) => a.mul(a), [z()])).toBe(true);
  });
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
