/** @file Schedules that raise the learning rate, lower it again, and move the momentum the other way. */
import { TorchValueError } from "../../schema/index.js";
import { byName, type Ordered } from "../arguments.js";
import type { Optimizer, ParamGroup } from "../optimizer.js";
import { checkOptimizer, LRScheduler, perGroup, setRate } from "./base.js";

/** Sets what stands for momentum: `momentum`, or Adam's first decay rate. */
function setMomentum(group: ParamGroup, value: number): void {
  if ("betas" in group) group.betas = [value, ...(group.betas as number[]).slice(1)];
  else group.momentum = value;
}

function checkMomentum({ defaults }: Optimizer): void {
  if (!("momentum" in defaults) && !("betas" in defaults))
    throw new TorchValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled");
}

function beginMomentum(optimizer: Optimizer, base: readonly number[], max: readonly number[]): void {
  optimizer.param_groups.forEach((group, i) => {
    setMomentum(group, max[i]);
    group.max_momentum = max[i];
    group.base_momentum = base[i];
  });
}

interface CyclicOptions {
  /** The lowest rate: one, or one for each group. */
  base_lr: number | readonly number[];
  max_lr: number | readonly number[];
  /** Steps of the rising half. */
  step_size_up?: number;
  /** Steps of the falling half; default, as many. */
  step_size_down?: number | null;
  /** "triangular": each cycle alike; "triangular2": each half as high; "exp_range": times gamma at each step. */
  mode?: "triangular" | "triangular2" | "exp_range";
  gamma?: number;
  /** The height of a cycle, instead of the mode's. */
  scale_fn?: ((x: number) => number) | null;
  /** Whether `scale_fn` is given the number of the cycle or of the step. */
  scale_mode?: "cycle" | "iterations";
  cycle_momentum?: boolean;
  base_momentum?: number | readonly number[];
  max_momentum?: number | readonly number[];
  last_epoch?: number;
}
const cyclicOrder = [
  "base_lr",
  "max_lr",
  "step_size_up",
  "step_size_down",
  "mode",
  "gamma",
  "scale_fn",
  "scale_mode",
  "cycle_momentum",
  "base_momentum",
  "max_momentum",
  "last_epoch",
] as const;

/**
 * Between `base_lr` and `max_lr`, up and down again (Smith 2017). Step after every batch.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CyclicLR.html
 */
export class CyclicLR extends LRScheduler {
  readonly max_lrs: number[];
  readonly total_size: number;
  readonly step_ratio: number;
  readonly mode: string;
  readonly gamma: number;
  readonly scale_mode: string;
  readonly cycle_momentum: boolean;
  readonly base_momentums: number[] = [];
  readonly max_momentums: number[] = [];
  private readonly scale_fn: (x: number) => number;

  constructor(optimizer: Optimizer, ...args: Ordered<CyclicOptions, typeof cyclicOrder>) {
    checkOptimizer(optimizer);
    const o = byName<CyclicOptions>("CyclicLR", cyclicOrder, args, {
      base_lr: undefined,
      max_lr: undefined,
      step_size_up: 2000,
      step_size_down: null,
      mode: "triangular",
      gamma: 1,
      scale_fn: null,
      scale_mode: "cycle",
      cycle_momentum: true,
      base_momentum: 0.8,
      max_momentum: 0.9,
      last_epoch: -1,
    });
    const scales: Record<string, (x: number) => number> = {
      triangular: () => 1,
      triangular2: (x) => 1 / 2 ** (x - 1),
      exp_range: (x) => o.gamma ** x,
    };
    if (!(o.mode in scales) && o.scale_fn === null) throw new TorchValueError("mode is invalid and scale_fn is None");
    const base_lrs = perGroup("base_lr", optimizer, o.base_lr);
    const max_lrs = perGroup("max_lr", optimizer, o.max_lr);
    if (o.cycle_momentum) checkMomentum(optimizer);
    if (o.last_epoch === -1) optimizer.param_groups.forEach((g, i) => setRate(g, base_lrs[i]));
    super(optimizer, o.last_epoch);
    this.max_lrs = max_lrs;
    this.total_size = o.step_size_up + (o.step_size_down ?? o.step_size_up);
    this.step_ratio = o.step_size_up / this.total_size;
    this.mode = o.mode;
    this.gamma = o.gamma;
    this.scale_fn = o.scale_fn ?? scales[o.mode];
    this.scale_mode = o.scale_fn !== null ? o.scale_mode : o.mode === "exp_range" ? "iterations" : "cycle";
    this.cycle_momentum = o.cycle_momentum;
    if (o.cycle_momentum) {
      this.base_momentums = perGroup("base_momentum", optimizer, o.base_momentum);
      this.max_momentums = perGroup("max_momentum", optimizer, o.max_momentum);
      if (o.last_epoch === -1) beginMomentum(optimizer, this.base_momentums, this.max_momentums);
    }
    this._initial_step();
    this.base_lrs = base_lrs;
  }

  /** Also sets the momentum. */
  get_lr(): number[] {
    const { last_epoch, total_size, step_ratio } = this;
    const cycle = Math.floor(1 + last_epoch / total_size);
    const x = 1 + last_epoch / total_size - cycle;
    const share = x <= step_ratio ? x / step_ratio : (x - 1) / (step_ratio - 1);
    const height = share * this.scale_fn(this.scale_mode === "cycle" ? cycle : last_epoch);
    if (this.cycle_momentum)
      this.optimizer.param_groups.forEach((group, i) =>
        setMomentum(group, this.max_momentums[i] - (this.max_momentums[i] - this.base_momentums[i]) * height),
      );
    return this.base_lrs.map((lr, i) => lr + (this.max_lrs[i] - lr) * height);
  }
}

interface OneCycleOptions {
  /** The highest rate: one, or one for each group. */
  max_lr: number | readonly number[];
  /** Steps in all; or give `epochs` and `steps_per_epoch`. */
  total_steps?: number | null;
  epochs?: number | null;
  steps_per_epoch?: number | null;
  /** The share of the steps in which the rate rises. */
  pct_start?: number;
  anneal_strategy?: "cos" | "linear";
  cycle_momentum?: boolean;
  base_momentum?: number | readonly number[];
  max_momentum?: number | readonly number[];
  /** The first rate is max_lr / div_factor. */
  div_factor?: number;
  /** The last rate is the first one / final_div_factor. */
  final_div_factor?: number;
  /** Fall as long as the rise took, then to the last rate. */
  three_phase?: boolean;
  last_epoch?: number;
}
const oneCycleOrder = [
  "max_lr",
  "total_steps",
  "epochs",
  "steps_per_epoch",
  "pct_start",
  "anneal_strategy",
  "cycle_momentum",
  "base_momentum",
  "max_momentum",
  "div_factor",
  "final_div_factor",
  "three_phase",
  "last_epoch",
] as const;

interface Phase {
  readonly end_step: number;
  readonly start_lr: string;
  readonly end_lr: string;
  readonly start_momentum: string;
  readonly end_momentum: string;
}

const phase = (end_step: number, rates: readonly [string, string], momenta: readonly [string, string]): Phase => ({
  end_step,
  start_lr: rates[0],
  end_lr: rates[1],
  start_momentum: momenta[0],
  end_momentum: momenta[1],
});

const up = ["initial_lr", "max_lr"] as const;
const toBase = ["max_momentum", "base_momentum"] as const;
const toMax = ["base_momentum", "max_momentum"] as const;
const stay = ["max_momentum", "max_momentum"] as const;

const positive = (name: string, n: number): number => {
  if (!Number.isInteger(n) || n <= 0) throw new TorchValueError(`Expected positive integer ${name}, but got ${n}`);
  return n;
};

function totalSteps({ total_steps, epochs, steps_per_epoch }: Required<OneCycleOptions>): number {
  if (total_steps !== null) return positive("total_steps", total_steps);
  if (epochs === null || steps_per_epoch === null)
    throw new TorchValueError("You must define either total_steps OR (epochs AND steps_per_epoch)");
  return positive("epochs", epochs) * positive("steps_per_epoch", steps_per_epoch);
}

/**
 * One cycle: up to `max_lr`, then far down (Smith and Topin 2018). Step after every batch.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.OneCycleLR.html
 */
export class OneCycleLR extends LRScheduler {
  readonly total_steps: number;
  readonly cycle_momentum: boolean;
  private readonly _schedule_phases: readonly Phase[];
  private readonly _anneal_func_type: string;

  constructor(optimizer: Optimizer, ...args: Ordered<OneCycleOptions, typeof oneCycleOrder>) {
    checkOptimizer(optimizer);
    const o = byName<OneCycleOptions>("OneCycleLR", oneCycleOrder, args, {
      max_lr: undefined,
      total_steps: null,
      epochs: null,
      steps_per_epoch: null,
      pct_start: 0.3,
      anneal_strategy: "cos",
      cycle_momentum: true,
      base_momentum: 0.85,
      max_momentum: 0.95,
      div_factor: 25,
      final_div_factor: 1e4,
      three_phase: false,
      last_epoch: -1,
    });
    const steps = totalSteps(o);
    if (!(o.pct_start >= 0 && o.pct_start <= 1))
      throw new TorchValueError(`Expected float between 0 and 1 pct_start, but got ${o.pct_start}`);
    if (o.anneal_strategy !== "cos" && o.anneal_strategy !== "linear")
      throw new TorchValueError(
        `anneal_strategy must be one of 'cos' or 'linear', instead got ${String(o.anneal_strategy)}`,
      );
    if (o.cycle_momentum) checkMomentum(optimizer);
    const max_lrs = perGroup("max_lr", optimizer, o.max_lr);
    if (o.last_epoch === -1) {
      optimizer.param_groups.forEach((group, i) => {
        const initial = max_lrs[i] / o.div_factor;
        Object.assign(group, { initial_lr: initial, max_lr: max_lrs[i], min_lr: initial / o.final_div_factor });
      });
      const base = perGroup("base_momentum", optimizer, o.base_momentum);
      if (o.cycle_momentum) beginMomentum(optimizer, base, perGroup("max_momentum", optimizer, o.max_momentum));
    }
    super(optimizer, o.last_epoch);
    this.total_steps = steps;
    this.cycle_momentum = o.cycle_momentum;
    this._anneal_func_type = o.anneal_strategy;
    const top = o.pct_start * steps - 1;
    this._schedule_phases = o.three_phase
      ? [
          phase(top, up, toBase),
          phase(2 * o.pct_start * steps - 2, ["max_lr", "initial_lr"], toMax),
          phase(steps - 1, ["initial_lr", "min_lr"], stay),
        ]
      : [phase(top, up, toBase), phase(steps - 1, ["max_lr", "min_lr"], toMax)];
    this._initial_step();
  }

  private anneal(start: number, end: number, share: number): number {
    if (this._anneal_func_type === "linear") return (end - start) * share + start;
    return end + ((start - end) / 2) * (Math.cos(Math.PI * share) + 1);
  }

  /** Also sets the momentum. */
  get_lr(): number[] {
    const { last_epoch, total_steps, _schedule_phases: phases } = this;
    if (last_epoch > total_steps)
      throw new TorchValueError(
        `Tried to step ${last_epoch} times. The specified number of total steps is ${total_steps}`,
      );
    const at = phases.findIndex((p, i) => last_epoch <= p.end_step || i === phases.length - 1);
    const { end_step, start_lr, end_lr, start_momentum, end_momentum } = phases[at];
    const start = at === 0 ? 0 : phases[at - 1].end_step;
    const share = (last_epoch - start) / (end_step - start);
    return this.optimizer.param_groups.map((group) => {
      const between = (from: string, to: string): number =>
        this.anneal(group[from] as number, group[to] as number, share);
      if (this.cycle_momentum) setMomentum(group, between(start_momentum, end_momentum));
      return between(start_lr, end_lr);
    });
  }
}
