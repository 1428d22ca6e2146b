/** @file Fused mode: the results of strict mode from few programs. */
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import * as torch from "../index.js";
import { nn, optim, type Tensor } from "../index.js";
import { fusing, runDeferred } from "./deferral.js";

const { EagerMode, set_eager_mode } = torch.tpu;
const F = nn.functional;
beforeAll(() => torch.set_default_device("tpu"));
beforeEach(() => set_eager_mode(EagerMode.DEFER_AND_FUSE));
afterEach(() => set_eager_mode(EagerMode.DEFER_NEVER));

const compiles = (fn: () => void): number => {
  const before = torch.tpu.compile_count();
  fn();
  return torch.tpu.compile_count() - before;
};

test("nothing runs before a value is read, and then one program", () => {
  const count = compiles(() => {
    const x = torch.arange(6).float().view(2, 3);
    const y = x.mul(2).add(1).transpose(0, 1);
    expect(y.tolist()).toEqual([[1, 7], [3, 9], [5, 11]]); // prettier-ignore
  });
  expect(count).toBe(1);
});

test("in-place changes, views and copies are those of strict mode", () => {
  const run = (): unknown => {
    const x = torch.zeros(3, 4);
    const row = x.select(0, 1);
    row.add_(2);
    const copy = x.clone();
    x.at(":", "1:3").mul_(5);
    const sum = row.sum().item();
    row.fill_(7);
    return [x.tolist(), copy.tolist(), sum, x._version, row.is_set_to(x.at(1))];
  };
  const fused = run();
  expect(fused).toEqual(set_eager_mode(EagerMode.DEFER_NEVER, run));
});

test("a value that was computed in passing is handed out from the second round on", () => {
  const round = (i: number): number => {
    const hidden = torch.full([64, 64], i).sin().mul(2);
    const total = hidden.sum().item() as number;
    return total + (hidden.mul(hidden).sum().item() as number); // reads what the first program dropped
  };
  round(1);
  round(2);
  let result = 0;
  expect(compiles(() => (result = round(3)))).toBe(0);
  expect(result).toBeCloseTo(
    set_eager_mode(EagerMode.DEFER_NEVER, () => round(3)),
    1,
  );
});

test("a running value that nobody reads is computed round by round", () => {
  let mean = torch.zeros(2048);
  for (let i = 0; i < 50; i++) {
    mean = mean.mul(0.5).add(i);
    expect(torch.full([], i).item()).toBe(i);
  }
  const { storageRef } = mean as unknown as { storageRef: { deferred: { node: { inputs: { node: unknown }[] } } } };
  let depth = 0;
  for (let node = storageRef.deferred.node; node; node = node.inputs[0]?.node as typeof node) depth++;
  expect(depth).toBeLessThan(8);
  expect(mean.at(0).item()).toBeCloseTo(96, 3);
});

test("a long sequence without a read is cut where it repeats", () => {
  const { maxWaiting } = fusing;
  fusing.maxWaiting = 100;
  try {
    runDeferred();
    let x = torch.ones(8);
    // the first cut falls somewhere in a round, the others at the end of one
    const count = compiles(() => {
      for (let i = 0; i < 700; i++) x = x.mul(1.5).sub(1).relu();
    });
    expect(count).toBeLessThanOrEqual(4);
    expect(x.at(0).item()).toBe(0);
  } finally {
    fusing.maxWaiting = maxWaiting;
  }
});

test("a training loop has the losses of strict mode and compiles nothing after the third step", () => {
  const run = (): { losses: number[]; counts: number[] } => {
    torch.manual_seed(0);
    const model = new nn.Sequential(
      new nn.Conv2d(1, 4, 3),
      new nn.BatchNorm2d(4),
      new nn.ReLU(),
      new nn.Flatten(),
      new nn.Dropout(0.2),
      new nn.Linear(144, 5),
    );
    const optimizer = new optim.AdamW(model.parameters(), { lr: 0.01 });
    const schedule = new optim.lr_scheduler.ExponentialLR(optimizer, 0.9);
    const [x, y] = [torch.randn(4, 1, 8, 8), torch.randint(0, 5, [4])];
    const losses: number[] = [];
    const counts: number[] = [];
    for (let i = 0; i < 8; i++) {
      counts.push(
        compiles(() => {
          optimizer.zero_grad();
          const loss = F.cross_entropy(model(x) as Tensor, y);
          loss.backward();
          nn.utils.clip_grad_norm_(model.parameters(), 1);
          optimizer.step();
          schedule.step();
          losses.push(loss.item() as number);
        }),
      );
    }
    return { losses, counts };
  };
  const fused = run();
  const strict = set_eager_mode(EagerMode.DEFER_NEVER, run);
  fused.losses.forEach((l, i) => expect(l).toBeCloseTo(strict.losses[i], 4));
  expect(fused.counts.slice(3)).toEqual([0, 0, 0, 0, 0]);
});

test("random numbers are those of strict mode", () => {
  const draw = (): unknown => {
    torch.manual_seed(5);
    return [torch.rand(4).tolist(), torch.randn(3).tolist(), F.dropout(torch.ones(8), 0.5).tolist()];
  };
  expect(draw()).toEqual(set_eager_mode(EagerMode.DEFER_NEVER, draw));
});

test("double backward and create_graph", () => {
  const run = (): unknown => {
    const x = torch.tensor([0.3, 0.7], { requires_grad: true });
    const [g] = torch.autograd.grad(x.sin().mul(x).sum(), x, { create_graph: true });
    g!.pow(2).sum().backward();
    return x.grad!.tolist();
  };
  const fused = run() as number[];
  (set_eager_mode(EagerMode.DEFER_NEVER, run) as number[]).forEach((v, i) => expect(fused[i]).toBeCloseTo(v, 5));
});

test("errors of shapes come where the operator is called", () => {
  const x = torch.ones(2, 3).mul(2);
  expect(() => x.matmul(torch.ones(2, 3))).toThrow("mat1 and mat2 shapes cannot be multiplied");
  expect(x.sum().item()).toBe(12);
});

test("blocking mode computes the same", () => {
  const value = set_eager_mode(EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING, () => torch.ones(3).mul(2).sum().item());
  expect(value).toBe(6);
  expect(torch.tpu.eager_mode()).toBe(EagerMode.DEFER_AND_FUSE);
  expect(() => set_eager_mode("LAZY" as never)).toThrow("expected one of DEFER_NEVER, DEFER_AND_FUSE");
});
