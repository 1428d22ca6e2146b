import { describe, expect, it } from "vitest";
import * as torch from "../index.js";
import * as nn from "../nn/index.js";
import type { Optimizer } from "./index.js";
import { Adam, AdamW, LBFGS, register_optimizer_step_post_hook, RMSprop, SGD, type OptimizerState } from "./index.js";
import { gradient, parameters } from "./testing/trajectories.js";

const one = (): torch.Tensor => torch.ones([2]).requires_grad_();

describe("parameter groups", () => {
  it("take defaults for what they leave out, and a closure's loss comes back", () => {
    const [a, b] = [one(), one()];
    const optimizer = new SGD([{ params: a }, { params: [b], lr: 0.5 }], { lr: 0.1, momentum: 0.9 });
    expect(optimizer.param_groups.map((g) => [g.lr, g.momentum])).toEqual([
      [0.1, 0.9],
      [0.5, 0.9],
    ]);
    const loss = optimizer.step(() => {
      optimizer.zero_grad();
      const sum = a.sum().add(b.sum());
      sum.backward();
      return sum;
    });
    expect(loss.item()).toBe(4);
    expect([a.at(0).item(), b.at(0).item()]).toEqual([expect.closeTo(0.9), 0.5]);
    optimizer.zero_grad({ set_to_none: false });
    expect(a.grad!.tolist()).toEqual([0, 0]);
    optimizer.zero_grad();
    expect(a.grad).toBe(null);
  });
  it("train a module", () => {
    torch.manual_seed(0);
    const model = new nn.Linear(2, 1);
    const optimizer = new Adam(model.named_parameters(), { lr: 0.1 });
    expect(optimizer.param_groups[0].param_names).toEqual(["weight", "bias"]);
    const x = torch.tensor(
      [
        [1, 2],
        [3, 4],
        [5, 7],
      ],
      { dtype: torch.float32 },
    );
    const y = torch.tensor([[5], [11], [19]], { dtype: torch.float32 });
    let loss = Infinity;
    for (let i = 0; i < 200; i++)
      loss = optimizer
        .step(() => {
          optimizer.zero_grad();
          const error = model(x).sub(y).pow(2).mean();
          error.backward();
          return error;
        })
        .item() as number;
    expect(loss).toBeLessThan(0.05);
  });
  it("can be added later, and takes positions as PyTorch does", () => {
    const optimizer = new Adam([one()], 0.1, [0.8, 0.9]);
    optimizer.add_param_group({ params: one(), eps: 1 });
    expect(optimizer.param_groups.map((g) => [g.lr, g.betas, g.eps])).toEqual([
      [0.1, [0.8, 0.9], 1e-8],
      [0.1, [0.8, 0.9], 1],
    ]);
  });
  it("prints as in PyTorch", () => {
    expect(new AdamW([["w", one()]], { weight_decay: 1e-5 }).toString()).toBe(`AdamW (
Parameter Group 0
    amsgrad: False
    betas: (0.9, 0.999)
    capturable: False
    decoupled_weight_decay: True
    differentiable: False
    eps: 1e-08
    foreach: None
    fused: None
    lr: 0.001
    maximize: False
    param_names: ['w']
    weight_decay: 1e-05
)`);
    expect(new SGD([{ params: one() }, { params: one() }]).toString().match(/\nParameter Group \d\n/g)).toHaveLength(2);
  });
});

describe("errors in PyTorch's words", () => {
  const cases: [string, () => unknown, string][] = [
    ["learning rate", () => new SGD([one()], { lr: -1 }), "Invalid learning rate: -1"],
    ["NaN", () => new SGD([one()], { lr: NaN }), "Invalid learning rate: nan"],
    ["tensor rate", () => new Adam([one()], { lr: torch.ones([2]) }), "Tensor lr must be 1-element"],
    ["momentum", () => new SGD([one()], { momentum: -0.5 }), "Invalid momentum value: -0.5"],
    [
      "nesterov",
      () => new SGD([one()], { nesterov: true }),
      "Nesterov momentum requires a momentum and zero dampening",
    ],
    ["betas", () => new Adam([one()], { betas: [0.9, 1] }), "Invalid beta parameter at index 1: 1"],
    ["eps", () => new AdamW([one()], { eps: -1e-8 }), "Invalid epsilon value: -1e-08"],
    ["no parameters", () => new SGD([]), "optimizer got an empty parameter list"],
    [
      "a tensor",
      () => new SGD(one() as never),
      "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.Tensor",
    ],
    ["a number", () => new SGD(3 as never), "should be an iterable of Tensors or dicts, but got number"],
    ["non-leaf", () => new SGD([one().mul(2)]), "can't optimize a non-leaf Tensor"],
    [
      "no tensors",
      () => new SGD(["w" as never]),
      "optimizer can only optimize Tensors, but one of the params is string",
    ],
    ["a set", () => new SGD([{ params: new Set([one()]) }]), "need to be organized in ordered collections"],
    [
      "keyword",
      () => new SGD([one()], { beta: 1 } as never),
      "SGD.__init__() got an unexpected keyword argument 'beta'",
    ],
    [
      "groups",
      () => new LBFGS([{ params: one() }, { params: one() }]),
      "LBFGS doesn't support per-parameter options (parameter groups)",
    ],
    [
      "no closure",
      () => (new LBFGS([one()]) as Optimizer).step(),
      "LBFGS.step() missing 1 required positional argument: 'closure'",
    ],
    ["differentiable", () => new SGD([one()], { differentiable: true }), "differentiable"],
  ];
  it.each(cases)("%s", (_, run, message) => expect(run).toThrow(message));

  it("of parameters given twice", () => {
    const p = one();
    expect(() => new SGD([p, p])).toThrow("optimizer contains a parameter group with duplicate parameters");
    expect(() => new SGD([{ params: p }, { params: p }])).toThrow(
      "some parameters appear in more than one parameter group",
    );
    expect(() => new SGD([{ params: [["a", one()]] }, { params: one() }])).toThrow(
      "all optimizer param groups should be with/without names",
    );
  });
});

describe("state", () => {
  const drive = (optimizer: Optimizer, params: torch.Tensor[], from: number, to: number): void => {
    for (let s = from; s < to; s++) {
      params.forEach((p, i) => (p.grad = gradient(p, i, s)));
      optimizer.step();
    }
  };
  it("has PyTorch's layout", () => {
    const params = parameters();
    const optimizer = new AdamW([{ params: params.slice(0, 2) }, { params: params.slice(2), lr: 1 }]);
    expect(optimizer.state_dict().state).toEqual({});
    drive(optimizer, params, 0, 1);
    const { state, param_groups } = optimizer.state_dict();
    expect(Object.keys(state)).toEqual(["0", "1", "2"]);
    expect(Object.keys(state[0]).sort()).toEqual(["exp_avg", "exp_avg_sq", "step"]);
    expect((state[0].step as torch.Tensor).shape).toEqual([]);
    expect(param_groups[1]).toEqual({
      lr: 1,
      betas: [0.9, 0.999],
      eps: 1e-8,
      weight_decay: 0.01,
      amsgrad: false,
      maximize: false,
      foreach: null,
      capturable: false,
      differentiable: false,
      fused: null,
      decoupled_weight_decay: true,
      params: [2],
    });
  });
  it.each([
    ["SGD", (p: torch.Tensor[]) => new SGD(p, { lr: 0.1, momentum: 0.9 })],
    ["Adam", (p: torch.Tensor[]) => new Adam(p, { lr: 0.1, amsgrad: true })],
    ["RMSprop", (p: torch.Tensor[]) => new RMSprop(p, { lr: 0.1, momentum: 0.5 })],
  ] as const)("of %s goes on exactly where it was, on another device too", (_, make) => {
    const params = parameters();
    const optimizer = make(params);
    drive(optimizer, params, 0, 3);
    for (const device of ["cpu", "tpu"]) {
      const others = params.map((p) => p.detach().to(device).clone().requires_grad_());
      const resumed = make(others);
      resumed.load_state_dict(optimizer.state_dict());
      drive(resumed, others, 3, 5);
      const copies = params.map((p) => p.detach().clone().requires_grad_());
      const straight = make(copies);
      straight.load_state_dict(optimizer.state_dict());
      drive(straight, copies, 3, 5);
      others.forEach((p, i) => expect(p.detach().tolist()).toEqual(copies[i].detach().tolist()));
    }
    const before = params.map((p) => p.detach().tolist());
    drive(optimizer, params, 3, 5);
    expect(params.map((p) => p.detach().tolist())).not.toEqual(before);
  });
  it("is loaded whole or not at all", () => {
    const params = parameters();
    const optimizer = new Adam(params);
    drive(optimizer, params, 0, 1);
    const good = optimizer.state_dict();
    const bad: OptimizerState = { state: { ...good.state, 9: {} }, param_groups: [{ ...good.param_groups[0], lr: 5 }] };
    expect(() => optimizer.load_state_dict(bad)).toThrow("got number 9");
    expect(optimizer.param_groups[0].lr).toBe(1e-3);
    expect(optimizer.state.size).toBe(3);
    expect(() => optimizer.load_state_dict({ state: {}, param_groups: [] })).toThrow(
      "different number of parameter groups",
    );
    expect(() => optimizer.load_state_dict({ state: {}, param_groups: [{ params: [0] }] })).toThrow(
      "doesn't match the size of optimizer's group",
    );
  });
  it("takes a step that an old PyTorch saved as a number", () => {
    const params = parameters();
    const optimizer = new Adam(params);
    drive(optimizer, params, 0, 1);
    const saved = optimizer.state_dict();
    for (const s of Object.values(saved.state)) s.step = 7;
    optimizer.load_state_dict(saved);
    expect((optimizer.state.get(params[0])!.step as torch.Tensor).item()).toBe(7);
  });
});

describe("hooks", () => {
  it("run before and after a step, around state and loading, until they are removed", () => {
    const p = one();
    p.grad = torch.ones([2]);
    const optimizer = new SGD([p]);
    const calls: string[] = [];
    const handles = [
      optimizer.register_step_pre_hook((o, args) => void calls.push(`pre ${String(o === optimizer)} ${args.length}`)),
      optimizer.register_step_post_hook(() => void calls.push("post")),
      optimizer.register_state_dict_pre_hook(() => void calls.push("state pre")),
      optimizer.register_state_dict_post_hook((_, s) => ({ ...s, extra: 1 })),
      optimizer.register_load_state_dict_pre_hook(() => void calls.push("load pre")),
      optimizer.register_load_state_dict_post_hook(() => void calls.push("load post")),
      register_optimizer_step_post_hook(() => void calls.push("global")),
    ];
    optimizer.step();
    const state = optimizer.state_dict();
    expect(state).toHaveProperty("extra", 1);
    optimizer.load_state_dict(state);
    const want = ["pre true 0", "post", "global", "state pre", "load pre", "load post"];
    expect(calls).toEqual(want);
    for (const h of handles) h.remove();
    optimizer.step();
    expect(calls).toEqual(want);
  });
});
