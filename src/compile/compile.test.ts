/** @file Compiled functions against the same functions run operator by operator. */
import { beforeAll, expect, test } from "vitest";
import * as torch from "../index.js";
import { nn, optim, type Tensor } from "../index.js";

const F = nn.functional;
beforeAll(() => torch.set_default_device("tpu"));

const compiles = (fn: () => void): number => {
  const before = torch.tpu.compile_count();
  fn();
  return torch.tpu.compile_count() - before;
};
const numbers = (t: Tensor): number[] => (t.flatten().tolist() as number[]).map((x) => Number(x.toFixed(5)));

function training(kind: "sgd" | "adamw") {
  torch.manual_seed(0);
  const model = new nn.Sequential(
    new nn.Linear(16, 32, { bias: false }), // the norm takes a bias away: its gradient would be rounding
    new nn.BatchNorm1d(32),
    new nn.ReLU(),
    new nn.Dropout(0.3),
    new nn.Linear(32, 4),
  );
  const optimizer =
    kind === "sgd"
      ? new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 })
      : new optim.AdamW(model.parameters(), { lr: 0.01 });
  const schedule = new optim.lr_scheduler.StepLR(optimizer, 2, 0.5);
  const step = (x: Tensor, y: Tensor): Tensor => {
    const loss = F.cross_entropy(model(x) as Tensor, y);
    loss.backward();
    nn.utils.clip_grad_norm_(model.parameters(), 1);
    optimizer.step();
    schedule.step();
    optimizer.zero_grad();
    return loss;
  };
  return { model, optimizer, step, norm: model.at(1) as nn.BatchNorm1d };
}

test.each(["sgd", "adamw"] as const)("a whole %s step is one program, with the losses of the eager one", (kind) => {
  const run = (compiled: boolean) => {
    const { model, optimizer, step, norm } = training(kind);
    const fn = compiled ? torch.compile(step, { fullgraph: true }) : step;
    torch.manual_seed(1);
    const x = torch.randn(8, 16);
    const y = torch.randint(0, 4, [8]);
    const losses: number[] = [];
    const count = compiles(() => {
      for (let i = 0; i < 8; i++) {
        norm.momentum = 0.1 + i / 50;
        losses.push(Number(fn(x, y).item()));
      }
    });
    const state = [...model.buffers(), ...model.parameters()].flatMap((t) => numbers(t.detach().double()));
    return { losses, count, state, lr: optimizer.param_groups[0].lr };
  };
  const eager = run(false);
  const compiled = run(true);
  expect(compiled.count).toBe(1);
  expect(compiled.lr).toBe(eager.lr);
  compiled.losses.forEach((loss, i) => expect(loss).toBeCloseTo(eager.losses[i], 5));
  compiled.state.forEach((v, i) => expect(v).toBeCloseTo(eager.state[i], 4));
});

test("gradients flow through a compiled module and into its arguments", () => {
  torch.manual_seed(0);
  const model = new nn.Sequential(
    new nn.Linear(6, 8),
    new nn.LayerNorm(8),
    new nn.GELU(),
    new nn.Dropout(0.3),
    new nn.Linear(8, 3),
  );
  const compiled = torch.compile(model, { fullgraph: true });
  const x = torch.randn(4, 6, { requires_grad: true });
  const gradients = (m: typeof model): number[][] => {
    torch.manual_seed(3);
    model.zero_grad();
    x.grad = null;
    const y = m(x) as Tensor;
    y.mul(torch.arange(3).float()).sum().backward();
    return [...model.parameters(), x].map((p) => numbers(p.grad!));
  };
  const want = gradients(model);
  const close = (got: number[][], wanted: number[][]): void =>
    wanted.forEach((list, i) => list.forEach((v, k) => expect(got[i][k]).toBeCloseTo(v, 4)));
  close(gradients(compiled), want);
  expect(compiles(() => gradients(compiled))).toBe(0);
  model.eval();
  close(gradients(compiled), gradients(model));
  const own = [...model.parameters()];
  expect([...compiled.parameters()].every((p, i) => p === own[i])).toBe(true);
});

test("in-place changes reach the arguments, and results alias them", () => {
  const f = (a: Tensor, b: Tensor): Tensor[] => {
    a.add_(1);
    return [a.select(0, 1), b.mul(2), a];
  };
  const compiled = torch.compile(f);
  for (const fn of [f, compiled, compiled]) {
    const a = torch.zeros(3, 2);
    const base = torch.arange(12).float().view(3, 4);
    const [row, twice, same] = fn(a, base.at(":", "1:3"));
    expect(a.tolist()).toEqual([[1, 1], [1, 1], [1, 1]]); // prettier-ignore
    expect(same).toBe(a);
    row.mul_(5);
    expect(a.tolist()).toEqual([[1, 1], [5, 5], [1, 1]]); // prettier-ignore
    expect(twice.tolist()).toEqual([[2, 4], [10, 12], [18, 20]]); // prettier-ignore
  }
});

test("an argument that is a view is written through, at any offset with one program", () => {
  const double = torch.compile((row: Tensor): Tensor => row.mul_(2).sum());
  const base = torch.arange(12).float().view(3, 4);
  double(base.at(0));
  expect(compiles(() => [1, 2].forEach((i) => double(base.at(i))))).toBe(0);
  expect(base.tolist()).toEqual([[0, 2, 4, 6], [8, 10, 12, 14], [16, 18, 20, 22]]); // prettier-ignore
});

test("what is shared with another tensor is not overwritten", () => {
  const x = torch.ones(8192);
  const step = torch.compile((t: Tensor): void => void t.add_(1));
  step(x);
  const p = torch.zeros(8192, { requires_grad: true });
  p.backward(x.clone());
  const kept = p.grad!;
  p.sum().backward();
  step(x);
  expect(kept.at(0).item()).toBe(3);
  expect(x.at(0).item()).toBe(3);
});

test("gradients that the function leaves behind are those of the eager function", () => {
  const run = (compile: boolean): unknown[] => {
    const w = torch.ones(3, { requires_grad: true });
    const fn = (x: Tensor): void => w.mul(x).sum().backward();
    const accumulate = compile ? torch.compile(fn) : fn;
    const seen: unknown[] = [];
    for (let i = 1; i <= 3; i++) {
      accumulate(torch.full([3], i));
      seen.push(w.grad!.tolist());
    }
    w.grad = null;
    accumulate(torch.full([3], 7));
    return [...seen, w.grad!.tolist()];
  };
  expect(run(true)).toEqual(run(false));
});

test("guards: shapes, numbers, training, grad mode, replaced parameters", () => {
  const layer = new nn.Linear(2, 2);
  const calls: string[] = [];
  const fn = torch.compile((x: Tensor, k: number): Tensor => {
    calls.push("traced");
    return (layer(x) as Tensor).mul(k);
  });
  const traces = (run: () => void): number => {
    calls.length = 0;
    run();
    return calls.length;
  };
  expect(traces(() => fn(torch.ones(1, 2), 2))).toBe(1);
  expect(traces(() => fn(torch.zeros(1, 2), 2))).toBe(0);
  expect(traces(() => fn(torch.ones(3, 2), 2))).toBe(1);
  expect(traces(() => fn(torch.ones(1, 2), 3))).toBe(1);
  expect(traces(() => torch.no_grad(() => fn(torch.ones(1, 2), 2)))).toBe(1);
  expect(traces(() => layer.eval() && fn(torch.ones(1, 2), 2))).toBe(1);
  layer.weight = new nn.Parameter(torch.zeros(2, 2));
  layer.bias = null;
  expect(fn(torch.ones(1, 2), 2).tolist()).toEqual([[0, 0]]);
});

test("a read of a value ends the trace: the function runs as it is, or with fullgraph not at all", () => {
  const fn = (x: Tensor): Tensor => (Number(x.sum().item()) > 0 ? x.add(1) : x.sub(1));
  const broken = torch.compile(fn);
  expect(broken(torch.ones(2)).tolist()).toEqual([2, 2]);
  expect(broken(torch.ones(2).neg()).tolist()).toEqual([-2, -2]);
  expect(() => torch.compile(fn, { fullgraph: true })(torch.ones(2))).toThrow(
    /expected one graph, but the value of a tensor was read .*compile\.test\.ts:\d+/,
  );
});

test("second backward and double backward are PyTorch's errors", () => {
  const w = torch.ones(3, { requires_grad: true });
  const fn = torch.compile((x: Tensor): Tensor => w.mul(x).sin().sum());
  const y = fn(torch.ones(3));
  y.backward();
  expect(() => y.backward()).toThrow("Trying to backward through the graph a second time");
  const z = fn(torch.ones(3));
  expect(() => torch.autograd.grad(z, w, { create_graph: true })).toThrow("double backward");
  const inside = torch.compile((x: Tensor): Tensor => {
    const loss = w.mul(x).sin().sum();
    loss.backward();
    return loss;
  });
  const loss = inside(torch.ones(3));
  expect(loss.requires_grad).toBe(true);
  expect(() => loss.backward()).toThrow("second time");
});

test("a parameter changed between forward and backward is an error", () => {
  const w = torch.ones(3, { requires_grad: true });
  const fn = torch.compile((x: Tensor): Tensor => w.mul(x).sin().sum());
  const y = fn(torch.ones(3));
  torch.no_grad(() => w.add_(1));
  expect(() => y.backward()).toThrow("modified by an inplace operation");
});

test("an error inside leaves tensors, gradients and versions as they were", () => {
  const w = torch.ones(3, { requires_grad: true });
  const version = w._version;
  const fn = torch.compile((x: Tensor): Tensor => {
    w.sum().backward();
    torch.no_grad(() => w.add_(1));
    throw new Error(`stop ${x.ndim}`);
  });
  expect(() => fn(torch.ones(3))).toThrow("stop 1");
  expect(w.grad).toBeNull();
  expect(w._version).toBe(version);
  expect(w.tolist()).toEqual([1, 1, 1]);
});

test("a program's operations carry the user's lines, which do not enter the cache's key", () => {
  const fn = (x: Tensor): Tensor => x.sin().mul(x);
  const text = torch.compiler.export_stablehlo(fn, torch.ones(3));
  expect(text).toMatch(/stablehlo\.sine .* loc\(".*compile\.test\.ts":\d+:\d+\)/);
  const other = (x: Tensor): Tensor => x.cos().mul(x).add(17);
  const moved = (x: Tensor): Tensor => x.cos().mul(x).add(17);
  torch.compile(other)(torch.ones(3));
  expect(compiles(() => torch.compile(moved, { options: { name: "other" } })(torch.ones(3)))).toBe(0);
});

test("explain says what a trace found, with lines", () => {
  const layer = new nn.Linear(2, 2);
  const clean = torch.compiler.explain((x: Tensor) => (layer(x) as Tensor).relu().sum())(torch.ones(1, 2));
  expect(clean).toMatchObject({ graph_count: 1, graph_break_count: 0, inputs: 3, writes: 0, results: 1 });
  expect(clean.ops_per_graph[0].join()).toMatch(/relu at .*compile\.test\.ts:\d+:\d+/);
  const broken = torch.compiler.explain((x: Tensor) => x.add(Number(x.sum().item())))(torch.ones(2));
  expect(broken).toMatchObject({ graph_count: 0, graph_break_count: 1 });
  expect(broken.break_reasons[0]).toMatch(/read .* at .*compile\.test\.ts:\d+:\d+/);
});

test("programs for several shapes compile in other threads while the event loop goes on", async () => {
  const fn = (x: Tensor): Tensor => x.matmul(x.transpose(0, 1)).softmax(-1).sum(0);
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const compiled = await torch.compiler.async_compile(
    fn,
    [5, 6, 7].map((n): [Tensor] => [torch.ones(n, 4)]),
  );
  clearInterval(timer);
  expect(ticks).toBeGreaterThan(1);
  expect(compiles(() => [5, 6, 7].forEach((n) => compiled(torch.ones(n, 4))))).toBe(0);
  const later = torch.compile((x: Tensor): Tensor => x.mul(3).cos(), { options: { async_compile: true } });
  expect(later(torch.zeros(2)).tolist()).toEqual([1, 1]); // in pieces, meanwhile
});

test("stances and disabled functions", () => {
  const traced: number[] = [];
  const fn = torch.compile((x: Tensor): Tensor => {
    traced.push(1);
    return x.add(1);
  });
  torch.compiler.set_stance("force_eager", () => [1, 2].forEach(() => fn(torch.ones(1))));
  expect(traced).toHaveLength(2);
  fn(torch.ones(1));
  expect(() => torch.compiler.set_stance("fail_on_recompile", () => fn(torch.ones(5)))).toThrow(
    /Detected recompile .* another shape/,
  );
  const secret = torch.compiler.disable((x: Tensor): Tensor => x.mul(2));
  const user = torch.compile((x: Tensor): Tensor => secret(x).add(1));
  expect(user(torch.ones(1)).item()).toBe(3);
});

test("the recompile limit warns once and runs on", async () => {
  const fn = torch.compile((x: Tensor): Tensor => x.add(1));
  const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
  for (let n = 1; n <= 10; n++) expect(fn(torch.ones(n)).sum().item()).toBe(2 * n);
  expect((await warned).message).toMatch(/recompile_limit \(8\).*another shape/);
});
