import { readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import * as torch from "../../index.js";
import { Adam, lr_scheduler as S, SGD, type Optimizer, type ParamGroup, type Params } from "../index.js";
import type { LRScheduler } from "./index.js";

/** Learning rates of both groups, and the first group's momentum, at the start and after each step, from PyTorch 2.13. */
interface Recorded {
  readonly rates: readonly (readonly number[])[];
  readonly momentum: readonly number[];
}
const recorded = JSON.parse(readFileSync(new URL("./testing/trajectories.json", import.meta.url), "utf8")) as Record<
  string,
  Recorded
>;

const groups = (): Params => [0.1, 0.05].map((lr) => ({ params: [torch.ones([1]).requires_grad_()], lr }));
const sgd = (): Optimizer => new SGD(groups(), { lr: 0.1, momentum: 0.9 });
const adam = (): Optimizer => new Adam(groups(), { lr: 0.1 });

type Make = (o: Optimizer) => LRScheduler;
const schedules: Record<string, Make> = {
  LambdaLR: (o) => new S.LambdaLR(o, [(e) => 0.95 ** e, (e) => 1 / (1 + e)]),
  MultiplicativeLR: (o) => new S.MultiplicativeLR(o, (e) => 0.9 + 0.01 * e),
  StepLR: (o) => new S.StepLR(o, 3, 0.5),
  MultiStepLR: (o) => new S.MultiStepLR(o, [2, 5, 5, 9], { gamma: 0.5 }),
  ConstantLR: (o) => new S.ConstantLR(o, 0.25, 4),
  LinearLR: (o) => new S.LinearLR(o, { start_factor: 0.25, end_factor: 0.75, total_iters: 6 }),
  ExponentialLR: (o) => new S.ExponentialLR(o, { gamma: 0.8 }),
  PolynomialLR: (o) => new S.PolynomialLR(o, 7, 2),
  CosineAnnealingLR: (o) => new S.CosineAnnealingLR(o, 5, 0.01),
  CosineAnnealingWarmRestarts: (o) => new S.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
  "CyclicLR triangular": (o) => new S.CyclicLR(o, 0.01, [0.1, 0.2], 4, 3),
  "CyclicLR triangular2": (o) => new S.CyclicLR(o, 0.01, 0.1, 3, { mode: "triangular2" }),
  "CyclicLR exp_range": (o) => new S.CyclicLR(o, 0.01, 0.1, 3, { mode: "exp_range", gamma: 0.97 }),
  OneCycleLR: (o) => new S.OneCycleLR(o, [0.5, 0.3], { total_steps: 13 }),
  "OneCycleLR three_phase": (o) =>
    new S.OneCycleLR(o, 0.5, {
      epochs: 2,
      steps_per_epoch: 7,
      three_phase: true,
      anneal_strategy: "linear",
      pct_start: 0.25,
    }),
  SequentialLR: (o) =>
    new S.SequentialLR(
      o,
      [new S.LinearLR(o, 0.1, 1, 4), new S.ExponentialLR(o, 0.9), new S.CosineAnnealingLR(o, 4)],
      [4, 8],
    ),
  ChainedScheduler: (o) => new S.ChainedScheduler([new S.ConstantLR(o, 0.1, 3), new S.ExponentialLR(o, 0.9)]),
  "Sequential of chained": (o) =>
    new S.SequentialLR(
      o,
      [new S.ChainedScheduler([new S.ConstantLR(o, 0.5, 2), new S.ExponentialLR(o, 0.9)]), new S.StepLR(o, 2, 0.5)],
      [3],
    ),
  ReduceLROnPlateau: (o) => new S.ReduceLROnPlateau(o, "min", 0.5, 1, { cooldown: 1, min_lr: [0.02, 0.001] }),
  "ReduceLROnPlateau max abs": (o) =>
    new S.ReduceLROnPlateau(o, {
      mode: "max",
      factor: 0.1,
      patience: 0,
      threshold: 0.1,
      threshold_mode: "abs",
      eps: 1e-3,
    }),
};
const metrics: Record<string, readonly number[]> = {
  ReduceLROnPlateau: [1, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.85, 0.85, 0.85, 0.85],
  "ReduceLROnPlateau max abs": [1, 1.05, 1.2, 1.25, 1.25, 2, 2, 2, 3, 3, 3, 3],
};
const withAdam = new Set(["CyclicLR exp_range", "OneCycleLR three_phase"]);
const optimizerFor = (name: string): Optimizer => (withAdam.has(name) ? adam() : sgd());

const ratesOf = (o: Optimizer): number[] => o.param_groups.map((g) => g.lr as number);
const momentumOf = ({ momentum, betas }: ParamGroup): number => (momentum ?? (betas as number[])[0]) as number;

function advance(name: string, schedule: LRScheduler, step: number): void {
  schedule.optimizer.step();
  const metric = metrics[name]?.[step];
  schedule.step(metric);
}

const close = (got: readonly number[], want: readonly number[]): void =>
  got.forEach((g, i) => expect(Math.abs(g - want[i])).toBeLessThan(1e-10));

describe("trajectories as PyTorch's", () => {
  it("covers every recorded one", () => expect(Object.keys(schedules).sort()).toEqual(Object.keys(recorded).sort()));

  it.each(Object.keys(recorded))("%s", (name) => {
    const optimizer = optimizerFor(name);
    const schedule = schedules[name](optimizer);
    recorded[name].rates.forEach((want, step) => {
      if (step > 0) advance(name, schedule, step - 1);
      close(ratesOf(optimizer), want);
      close([momentumOf(optimizer.param_groups[0])], [recorded[name].momentum[step]]);
      close(schedule.get_last_lr(), want);
    });
  });

  it.each(Object.keys(recorded))("%s goes on from a saved state, through JSON", (name) => {
    const optimizer = optimizerFor(name);
    const schedule = schedules[name](optimizer);
    const { rates } = recorded[name];
    for (let step = 0; step < 5; step++) advance(name, schedule, step);
    const saved = JSON.parse(JSON.stringify([schedule.state_dict(), optimizer.state_dict().param_groups])) as [
      Record<string, unknown>,
      never[],
    ];
    const other = optimizerFor(name);
    const resumed = schedules[name](other);
    other.load_state_dict({ state: {}, param_groups: saved[1] });
    resumed.load_state_dict(saved[0]);
    close(resumed.get_last_lr(), rates[5]);
    for (let step = 5; step < rates.length - 1; step++) {
      advance(name, resumed, step);
      close(ratesOf(other), rates[step + 1]);
    }
  });
});

describe("schedules", () => {
  it("have PyTorch's state", () => {
    expect(new S.StepLR(sgd(), 3).state_dict()).toMatchObject({
      step_size: 3,
      gamma: 0.1,
      base_lrs: [0.1, 0.05],
      last_epoch: 0,
      _step_count: 1,
      _last_lr: [0.1, 0.05],
    });
    expect(new S.MultiStepLR(sgd(), [3, 5, 5]).state_dict().milestones).toEqual({ 3: 1, 5: 2 });
    expect(new S.LambdaLR(sgd(), () => 1).state_dict().lr_lambdas).toEqual([null, null]);
  });
  it("write into a learning rate that is a tensor", () => {
    const lr = torch.tensor(0.5);
    const optimizer = new SGD([torch.ones([1]).requires_grad_()], { lr });
    const schedule = new S.ExponentialLR(optimizer, 0.5);
    optimizer.step();
    schedule.step();
    expect(optimizer.param_groups[0].lr).toBe(lr);
    expect(lr.item()).toBe(0.25);
    expect(schedule.get_last_lr()).toEqual([0.25]);
  });
  it("go on from an epoch where the groups know their initial rates", () => {
    const optimizer = sgd();
    expect(() => new S.StepLR(optimizer, 3, 0.1, 4)).toThrow("param 'initial_lr' is not specified in param_groups[0]");
    for (const g of optimizer.param_groups) g.initial_lr = g.lr;
    expect(new S.StepLR(optimizer, 5, { last_epoch: 4 }).get_last_lr()[0]).toBeCloseTo(0.01);
  });
  it("warn when they step before the optimizer", () => {
    const spy = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const schedule = new S.StepLR(sgd(), 3);
    schedule.step();
    schedule.step();
    expect(spy).toHaveBeenCalledOnce();
    expect(spy.mock.calls[0][0]).toContain("`lr_scheduler.step()` before `optimizer.step()`");
    const after = new S.StepLR(sgd(), 3);
    after.optimizer.step();
    after.step();
    expect(spy).toHaveBeenCalledOnce();
    spy.mockRestore();
  });
  it("ignore keys of a state that are not theirs", () => {
    const schedule = new S.StepLR(sgd(), 3);
    schedule.load_state_dict(
      JSON.parse('{"step": 1, "__proto__": {"x": 1}, "optimizer": null, "last_epoch": 7}') as object as Record<
        string,
        unknown
      >,
    );
    expect(schedule.last_epoch).toBe(7);
    expect(typeof schedule.step).toBe("function");
    expect(schedule.optimizer).toBeInstanceOf(SGD);
  });
  it("speak PyTorch's words about bad arguments", () => {
    const o = sgd();
    expect(() => new S.StepLR({} as Optimizer, 3)).toThrow("object is not an Optimizer");
    expect(() => new S.LambdaLR(o, [() => 1])).toThrow("Expected 2 lr_lambdas, but got 1");
    expect(() => new S.LinearLR(o, 0)).toThrow("Starting multiplicative factor expected to be greater than 0");
    expect(() => new S.ConstantLR(o, 2)).toThrow("Constant multiplicative factor expected to be between 0 and 1.");
    expect(() => new S.CosineAnnealingWarmRestarts(o, 0)).toThrow("Expected positive integer T_0, but got 0");
    expect(() => new S.OneCycleLR(o, 0.1)).toThrow(
      "You must define either total_steps OR (epochs AND steps_per_epoch)",
    );
    expect(() => new S.CyclicLR(o, [0.1], 0.2)).toThrow("base_lr must have the same length as optimizer.param_groups.");
    expect(() => new S.CyclicLR(new SGD([torch.ones([1])]), 0.1, 0.2)).not.toThrow();
    expect(() => new S.ReduceLROnPlateau(o, { factor: 1 })).toThrow("Factor should be < 1.0.");
    expect(() => new S.ReduceLROnPlateau(o, "mid" as "min")).toThrow("mode mid is unknown!");
    expect(() => new S.ReduceLROnPlateau(o).step()).toThrow("missing 1 required positional argument: 'metrics'");
    expect(() => new S.SequentialLR(o, [], [])).toThrow("SequentialLR expects at least one scheduler");
    expect(() => new S.SequentialLR(o, [new S.StepLR(o, 1)], [3])).toThrow(
      "number of schedulers provided to be one more",
    );
    expect(() => new S.SequentialLR(o, [new S.StepLR(sgd(), 1)], [])).toThrow("belong to the same optimizer");
    expect(() => new S.ChainedScheduler([new S.ReduceLROnPlateau(o)])).toThrow("does not support `ReduceLROnPlateau`");
    const once = new S.OneCycleLR(o, 0.1, 1);
    once.step();
    expect(() => once.step()).toThrow("Tried to step 2 times. The specified number of total steps is 1");
    expect(() => new S.StepLR(o, { gamma: 1 } as never)).toThrow("missing 1 required positional argument: 'step_size'");
    expect(() => new S.StepLR(o, { step: 1 } as never)).toThrow("got an unexpected keyword argument 'step'");
  });
});
