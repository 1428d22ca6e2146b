/** @file GradScaler: PyTorch's protocol, with optimizers that read the scale and with those that do not. */
import { expect, test } from "vitest";
import * as torch from "../index.js";
import { nn, optim } from "../index.js";

type Optimizer = optim.SGD | optim.Rprop;
const kinds: Record<string, (p: nn.Parameter) => Optimizer> = {
  "an optimizer that reads the scale": (p) => new optim.SGD([p], { lr: 1 }),
  "one that does not": (p) => new optim.RMSprop([p], { lr: 1, alpha: 0, eps: 0 }) as unknown as Optimizer,
};

test.each(Object.entries(kinds))("scales, skips overflowing steps and adapts: %s", (_name, make) => {
  const w = new nn.Parameter(torch.tensor([1, 2], { dtype: torch.float32 }));
  const optimizer = make(w);
  const scaler = new torch.amp.GradScaler("cpu", { init_scale: 8, growth_interval: 2 });
  const step = (factor: number): void => {
    optimizer.zero_grad();
    const loss = w.mul(factor).sum();
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
  };
  step(1);
  expect(w.tolist()).toEqual([0, 1]);
  expect(scaler.get_scale()).toBe(8);
  step(1);
  expect(scaler.get_scale()).toBe(16);
  const before = w.tolist();
  step(Infinity);
  expect(w.tolist()).toEqual(before);
  expect(scaler.get_scale()).toBe(8);
  expect(scaler.state_dict()).toEqual({
    scale: 8,
    growth_factor: 2,
    backoff_factor: 0.5,
    growth_interval: 2,
    _growth_tracker: 0,
  });
});

test("unscale_ gives true gradients, once between updates", () => {
  const w = new nn.Parameter(torch.tensor([1, 2], { dtype: torch.float32 }));
  const optimizer = new optim.SGD([w], { lr: 1 });
  const scaler = new torch.amp.GradScaler("cpu", { init_scale: 4 });
  expect(() => scaler.unscale_(optimizer)).toThrow("Attempted unscale_ but _scale is None.");
  scaler.scale(w.mul(3).sum()).backward();
  expect(w.grad!.tolist()).toEqual([12, 12]);
  scaler.unscale_(optimizer);
  expect(w.grad!.tolist()).toEqual([3, 3]);
  expect(() => scaler.unscale_(optimizer)).toThrow("unscale_() has already been called on this optimizer");
  scaler.step(optimizer);
  expect(w.tolist()).toEqual([-2, -1]);
  expect(() => scaler.step(optimizer)).toThrow("step() has already been called since the last update().");
  expect(() => scaler.unscale_(optimizer)).toThrow("unscale_() is being called after step().");
  scaler.update(32);
  expect(scaler.get_scale()).toBe(32);
});

test("its state goes to another scaler, also before anything was scaled", () => {
  const a = new torch.amp.GradScaler("cpu", { init_scale: 4, growth_interval: 7 });
  const b = new torch.amp.GradScaler("cpu");
  b.load_state_dict(a.state_dict());
  expect(b.state_dict()).toEqual(a.state_dict());
  expect(() => b.load_state_dict({})).toThrow("The source state dict is empty");
  expect(new torch.amp.GradScaler("cpu", { enabled: false }).state_dict()).toEqual({});
  expect(() => new torch.amp.GradScaler("cpu", { growth_factor: 1 })).toThrow("The growth factor must be > 1.0.");
});

test("a whole scaled step compiles to one program that adapts the scale", () => {
  const run = (compiled: boolean): unknown[] => {
    const w = new nn.Parameter(torch.tensor([1, 2], { dtype: torch.float32, device: "tpu" }));
    const optimizer = new optim.SGD([w], { lr: 1 });
    const scaler = new torch.amp.GradScaler("tpu", { init_scale: 8, growth_interval: 2 });
    const step = (factor: torch.Tensor): void => {
      scaler.scale(w.mul(factor).sum()).backward();
      scaler.step(optimizer);
      scaler.update();
      optimizer.zero_grad();
    };
    const fn = compiled ? torch.compile(step, { fullgraph: true }) : step;
    return [1, 1, Infinity, 1].map((x) => {
      fn(torch.tensor([x, x], { dtype: torch.float32, device: "tpu" }));
      return [w.tolist(), scaler.get_scale()];
    });
  };
  expect(run(true)).toEqual(run(false));
});
