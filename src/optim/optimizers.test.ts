import { describe, expect, it } from "vitest";
import * as torch from "../index.js";
import { programsCompiled } from "../dispatch/program.js";
import * as optim from "./index.js";
import type { Optimizer, Params } from "./index.js";
import { gradient, lbfgs, parameters, trajectories } from "./testing/trajectories.js";

type Constructor = new (params: Params, options?: object) => Optimizer;
const constructorOf = (name: string): Constructor => (optim as unknown as Record<string, Constructor>)[name];

const flat = (t: torch.Tensor): number[] => [...(t.detach().reshape(-1).tolist() as number[])];

function close(got: readonly number[], want: readonly number[], what: string): void {
  expect(got.length, what).toBe(want.length);
  got.forEach((g, i) =>
    expect(Math.abs(g - want[i]), `${what}[${i}]: ${g}, PyTorch has ${want[i]}`).toBeLessThan(
      1e-5 + 1.3e-5 * Math.abs(want[i]),
    ),
  );
}

function drive(
  optimizer: Optimizer,
  params: torch.Tensor[],
  steps: number,
  skip: readonly (readonly [number, number])[] = [],
  from = 0,
): void {
  for (let s = from; s < steps; s++) {
    params.forEach((p, i) => (p.grad = skip.some(([a, b]) => a === i && b === s) ? null : gradient(p, i, s)));
    optimizer.step();
  }
}

describe("steps as PyTorch's", () => {
  it.each(trajectories.map((t) => [`${t.name}(${JSON.stringify(t.options)})`, t] as const))("%s", (_, t) => {
    const params = parameters();
    const [first, second, third] = params;
    const optimizer = new (constructorOf(t.name))(
      [{ params: [first, second] }, { params: [third], lr: 0.05 }],
      t.options,
    );
    drive(optimizer, params, t.steps, t.skip);
    params.forEach((p, i) => close(flat(p), t.params[i], `parameter ${i}`));
    params.forEach((p, i) => {
      const state = optimizer.state.get(p) ?? {};
      expect(Object.keys(state).sort()).toEqual(Object.keys(t.state[i]).sort());
      for (const [key, want] of Object.entries(t.state[i]))
        close(flat(state[key] as torch.Tensor), want as number[], `${key} of ${i}`);
    });
  });

  it.each(lbfgs.map((t) => [JSON.stringify(t.options), t] as const))("LBFGS(%s)", (_, t) => {
    const p = torch.tensor([-1.2, 1, 0.5], { requires_grad: true });
    const q = torch.tensor([[0.25]], { requires_grad: true });
    const optimizer = new optim.LBFGS([p, q], t.options);
    const losses = Array.from(
      { length: 3 },
      () =>
        optimizer
          .step(() => {
            optimizer.zero_grad();
            const [x, y, z] = [p.at(0), p.at(1), p.at(2)];
            const w = q.at(0, 0);
            const valley = y.sub(x.pow(2)).pow(2).mul(10);
            const loss = x.sub(1).pow(2).add(valley).add(z.sub(w).pow(2)).add(w.pow(2).mul(0.5));
            loss.backward();
            return loss;
          })
          .item() as number,
    );
    losses.forEach((l, i) => expect(l).toBeCloseTo(t.losses[i], 4));
    [p, q].forEach((x, i) => flat(x).forEach((v, k) => expect(v).toBeCloseTo(t.params[i][k], 3)));
    const state = optimizer.state.get(p)!;
    expect([state.func_evals, state.n_iter]).toEqual([t.func_evals, t.n_iter]);
  });

  it("16-bit parameters are computed in 32 bits and rounded once", () => {
    const params = parameters(torch.bfloat16);
    const wide = parameters();
    drive(new optim.AdamW(params, { lr: 0.1 }), params, 1);
    drive(new optim.AdamW(wide, { lr: 0.1 }), wide, 1);
    params.forEach((p, i) => expect(flat(p)).toEqual(flat(wide[i].detach().to(torch.bfloat16))));
  });

  it("complex parameters move as pairs of real ones", () => {
    for (const name of ["SGD", "Adam", "Adagrad", "RMSprop", "Rprop", "NAdam"]) {
      const pair = torch.tensor(
        [
          [1, 2],
          [3, -4],
        ],
        { dtype: torch.float32, requires_grad: true },
      );
      const z = torch.view_as_complex(pair.detach().clone()).clone().requires_grad_();
      const [a, b] = [pair, z].map((p) => new (constructorOf(name))([p], { lr: 0.1 }));
      for (let s = 0; s < 3; s++) {
        pair.grad = torch.tensor(
          [
            [0.5, -1],
            [s, 0.25],
          ],
          { dtype: torch.float32 },
        );
        z.grad = torch.view_as_complex(pair.grad.clone());
        a.step();
        b.step();
      }
      close(flat(torch.view_as_real(z.detach())), flat(pair), name);
    }
  });

  it("runs on a TPU, with the counts beside the parameters", () => {
    const params = parameters(torch.float32, "tpu");
    const want = trajectories.find((t) => t.name === "AdamW")!;
    const optimizer = new optim.AdamW([{ params: params.slice(0, 2) }, { params: params.slice(2), lr: 0.05 }], {
      lr: 0.1,
    });
    drive(optimizer, params, want.steps);
    params.forEach((p, i) => close(flat(p), want.params[i], `parameter ${i}`));
    expect((optimizer.state.get(params[0])!.step as torch.Tensor).device).toBe(params[0].device);
    const mixed = [parameters()[0], parameters(torch.float32, "tpu")[1]];
    drive(new optim.Adam(mixed, { lr: 0.1 }), mixed, 2);
  });
});

describe("one program", () => {
  it("updates all parameters, and no changed hyperparameter compiles another", () => {
    for (const name of ["SGD", "Adam", "AdamW", "Adagrad"]) {
      const params = parameters();
      const optimizer = new (constructorOf(name))(params, { lr: 0.1 });
      drive(optimizer, params, 1);
      params.forEach((p, i) => (p.grad = gradient(p, i, 1)));
      const before = programsCompiled();
      for (const lr of [0.01, 1, 0, 1e-9]) {
        Object.assign(optimizer.param_groups[0], { lr, weight_decay: lr });
        optimizer.step();
      }
      expect(programsCompiled() - before, name).toBe(0);
    }
  });

  it("of the eager optimizers serve every step and every rate", () => {
    for (const name of ["RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD"]) {
      const params = parameters();
      const optimizer = new (constructorOf(name))(params, { lr: 0.1 });
      drive(optimizer, params, 8);
      const before = programsCompiled();
      optimizer.param_groups[0].lr = 1;
      drive(optimizer, params, 10, [], 8);
      expect(programsCompiled() - before, name).toBe(0);
    }
  });

  it("leaves an infinite parameter alone where nothing decays", () => {
    for (const Opt of [optim.SGD, optim.Adam, optim.Adagrad]) {
      const p = torch.tensor([Infinity, 1], { requires_grad: true });
      p.grad = torch.ones([2]);
      new Opt([p], { lr: 0.5 }).step();
      expect(p.at(0).item(), Opt.name).toBe(Infinity);
    }
  });

  it("reads a learning rate that is a tensor", () => {
    const lr = torch.tensor(0.1);
    const [params, other] = [parameters(), parameters()];
    const [a, b] = [new optim.AdamW(params, { lr }), new optim.AdamW(other, 0.1)];
    drive(a, params, 2);
    drive(b, other, 2);
    lr.fill_(0.01);
    b.param_groups[0].lr = 0.01;
    drive(a, params, 4, [], 2);
    drive(b, other, 4, [], 2);
    params.forEach((p, i) => close(flat(p), flat(other[i]), `parameter ${i}`));
    expect(a.param_groups[0].lr).toBe(lr);
  });

  it("skips a step whose gradients overflowed, and divides by the scale", () => {
    for (const name of ["SGD", "Adam", "Adagrad"]) {
      const [params, other] = [parameters(), parameters()];
      const make = constructorOf(name);
      const options = name === "SGD" ? { lr: 0.1, momentum: 0.9 } : { lr: 0.1 };
      const [a, b] = [new make(params, options), new make(other, options)];
      a.grad_scale = torch.tensor(4, { dtype: torch.float32 });
      for (const [step, inf] of [
        [0, 0],
        [1, 1],
        [2, 0],
      ]) {
        a.found_inf = torch.tensor(inf, { dtype: torch.float32 });
        params.forEach((p, i) => (p.grad = inf ? torch.full_like(p, Infinity) : gradient(p, i, step).mul(4)));
        a.step();
        if (inf) continue;
        other.forEach((p, i) => (p.grad = gradient(p, i, step)));
        b.step();
      }
      params.forEach((p, i) => close(flat(p), flat(other[i]), name));
      if (name !== "SGD") expect((a.state.get(params[0])!.step as torch.Tensor).item()).toBe(2);
    }
  });

  it("has PyTorch's own operators, whose steps are counted by the caller", () => {
    const [p, other] = [parameters()[0].detach(), parameters()[0].detach()];
    const zeros = (): torch.Tensor[] => [torch.zeros_like(p)];
    const step = torch.tensor(1, { dtype: torch.float32 });
    const numbers = { beta1: 0.9, beta2: 0.999, weight_decay: 0.01, eps: 1e-8, amsgrad: false, maximize: false };
    torch._fused_adamw_([p], [gradient(p, 0, 0)], zeros(), zeros(), [], [step], { lr: 0.1, ...numbers });
    expect(step.item()).toBe(1);
    const parameter = other.requires_grad_();
    parameter.grad = gradient(parameter, 0, 0);
    new optim.AdamW([parameter], { lr: 0.1 }).step();
    expect(flat(p)).toEqual(flat(parameter));
  });
});
