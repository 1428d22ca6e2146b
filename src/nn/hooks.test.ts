/** @file Hooks of modules. */
import { describe, expect, test } from "vitest";
import * as torch from "torch-tpu";
import * as nn from "torch-tpu/nn";
import type { Tensor } from "torch-tpu";
import { values } from "./testing/net.js";

describe("hooks", () => {
  test("forward hooks see and replace arguments and outputs, and can be removed", () => {
    const m = new nn.Identity();
    const x = torch.tensor([1, 2], { dtype: torch.float32 });
    const seen: string[] = [];
    const first = m.register_forward_pre_hook((_, [a]) => {
      seen.push("pre");
      return (a as Tensor).mul(2);
    });
    const second = m.register_forward_hook((_, [a], out) => {
      seen.push("post");
      expect(values(a as Tensor)).toEqual([2, 4]);
      return (out as Tensor).add(1);
    });
    m.register_forward_pre_hook(
      () => {
        seen.push("first of all");
      },
      { prepend: true },
    );
    expect(values(m(x) as Tensor)).toEqual([3, 5]);
    expect(seen).toEqual(["first of all", "pre", "post"]);
    first.remove();
    second.remove();
    expect(values(m(x) as Tensor)).toEqual([1, 2]);
  });

  test("an always_call hook runs when forward throws", () => {
    class Bad extends nn.Module {
      override forward(): Tensor {
        throw new Error("forward failed");
      }
    }
    const m = new Bad();
    const seen: unknown[] = [];
    m.register_forward_hook((_, __, out) => void seen.push(out), { always_call: true });
    m.register_forward_hook(() => void seen.push("not this one"));
    expect(() => m()).toThrow("forward failed");
    expect(seen).toEqual([null]);
  });

  test("hooks for all modules", () => {
    const seen: string[] = [];
    const handle = nn.register_module_forward_hook((m) => void seen.push(m._get_name()));
    new nn.Sequential(new nn.ReLU())(torch.ones([1]));
    handle.remove();
    new nn.ReLU()(torch.ones([1]));
    expect(seen).toEqual(["ReLU", "Sequential"]);
  });

  test("full backward hooks see gradients of inputs and outputs, and replace them", () => {
    const fc = new nn.Linear(2, 1, { bias: false });
    nn.init.constant_(fc.weight, 3);
    const x = torch.ones([1, 2], { requires_grad: true });
    const seen: unknown[] = [];
    fc.register_full_backward_pre_hook((_, [g]) => [g!.mul(2)]);
    fc.register_full_backward_hook((_, gradInput, gradOutput) => {
      seen.push(values(gradInput[0]), values(gradOutput[0]));
      return [gradInput[0]!.mul(10)];
    });
    fc(x).sum().backward();
    expect(seen).toEqual([[[6, 6]], [[2]]]);
    expect(values(x.grad)).toEqual([[60, 60]]);
    expect(values(fc.weight.grad)).toEqual([[2, 2]]);
  });

  test("a full backward hook runs where no input requires a gradient", () => {
    const fc = new nn.Linear(2, 1);
    const seen: unknown[] = [];
    fc.register_full_backward_hook((_, gradInput, gradOutput) => void seen.push(gradInput, values(gradOutput[0])));
    fc(torch.ones([1, 2]))
      .sum()
      .backward();
    expect(seen).toEqual([[null], [[1]]]);
  });

  test("hooks around state_dict", () => {
    const m = new nn.Linear(1, 1, { bias: false });
    const seen: string[] = [];
    m.register_state_dict_pre_hook((_, prefix) => void seen.push(`pre ${prefix}`));
    m.register_state_dict_post_hook((_, sd) => {
      sd.added = torch.ones([1]);
    });
    m.register_load_state_dict_pre_hook((_, sd) => {
      delete sd.added;
    });
    m.register_load_state_dict_post_hook((_, keys) => void seen.push(`post ${keys.missing_keys.length}`));
    const sd = m.state_dict();
    expect(Object.keys(sd)).toEqual(["weight", "added"]);
    m.load_state_dict(sd);
    expect(seen).toEqual(["pre ", "post 0"]);
    expect("added" in sd).toBe(true);
  });
});
