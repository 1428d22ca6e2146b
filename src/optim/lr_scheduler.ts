/** @file Learning rate schedules. @see https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate */
import { TorchTypeError } from "../schema/index.js";
import { Optimizer, type ParamGroup } from "./optimizer.js";

/** Sets the learning rate of every group at every `step()`. */
export abstract class LRScheduler {
  protected readonly base_lrs: number[];
  last_epoch: number;
  private lastLr: number[];

  constructor(
    readonly optimizer: Optimizer,
    last_epoch = -1,
  ) {
    if (!(optimizer instanceof Optimizer)) throw new TorchTypeError(`${typeof optimizer} is not an Optimizer`);
    this.base_lrs = optimizer.param_groups.map((g) => (g.initial_lr ??= g.lr) as number);
    this.last_epoch = last_epoch;
    this.lastLr = this.current();
  }

  /** Called at the end of a subclass's constructor: the learning rates of the first step. */
  protected begin(): void {
    this.step();
  }

  protected current(): number[] {
    return this.optimizer.param_groups.map((g: ParamGroup) => g.lr as number);
  }

  /** The learning rates of `last_epoch`. */
  protected abstract get_lr(): number[];

  /** Moves on by one. */
  step(): void {
    this.last_epoch++;
    const lrs = this.get_lr();
    this.optimizer.param_groups.forEach((g, i) => (g.lr = lrs[i]));
    this.lastLr = lrs;
  }

  get_last_lr(): number[] {
    return this.lastLr;
  }

  /** Numbers and lists of the schedule, for load_state_dict. */
  state_dict(): Record<string, unknown> {
    const plain = (v: unknown): boolean => typeof v !== "function" && !(v instanceof Optimizer);
    return Object.fromEntries(Object.entries(this).filter(([, v]) => plain(v) && !(Array.isArray(v) && v.some((e) => typeof e === "function"))));
  }

  load_state_dict(state: Record<string, unknown>): void {
    Object.assign(this, state);
  }
}

/** Initial rate times `lr_lambda(epoch)`; one function, or one for each group. */
export class LambdaLR extends LRScheduler {
  private readonly lambdas: ((epoch: number) => number)[];
  constructor(optimizer: Optimizer, lr_lambda: ((epoch: number) => number) | readonly ((epoch: number) => number)[], options: { last_epoch?: number } = {}) {
    super(optimizer, options.last_epoch);
    this.lambdas = typeof lr_lambda === "function" ? optimizer.param_groups.map(() => lr_lambda) : [...lr_lambda];
    if (this.lambdas.length !== optimizer.param_groups.length) throw new TorchTypeError(`Expected ${optimizer.param_groups.length} lr_lambdas, but got ${this.lambdas.length}`);
    this.begin();
  }
  protected get_lr(): number[] {
    return this.base_lrs.map((lr, i) => lr * this.lambdas[i](this.last_epoch));
  }
}

/** Times `gamma` every `step_size` epochs. */
export class StepLR extends LRScheduler {
  constructor(optimizer: Optimizer, private readonly step_size: number, private readonly gamma = 0.1) {
    super(optimizer);
    this.begin();
  }
  protected get_lr(): number[] {
    const change = this.last_epoch > 0 && this.last_epoch % this.step_size === 0;
    return this.current().map((lr) => (change ? lr * this.gamma : lr));
  }
}

/** Times `gamma` every epoch. */
export class ExponentialLR extends LRScheduler {
  constructor(optimizer: Optimizer, private readonly gamma: number) {
    super(optimizer);
    this.begin();
  }
  protected get_lr(): number[] {
    return this.current().map((lr) => (this.last_epoch > 0 ? lr * this.gamma : lr));
  }
}

/** Half a cosine from the initial rate down to `eta_min` in `T_max` epochs. */
export class CosineAnnealingLR extends LRScheduler {
  constructor(optimizer: Optimizer, private readonly T_max: number, private readonly eta_min = 0) {
    super(optimizer);
    this.begin();
  }
  protected get_lr(): number[] {
    return this.base_lrs.map((lr) => this.eta_min + ((lr - this.eta_min) * (1 + Math.cos((Math.PI * this.last_epoch) / this.T_max))) / 2);
  }
}

/** A factor that moves evenly from `start_factor` to `end_factor` in `total_iters` epochs. */
export class LinearLR extends LRScheduler {
  private readonly start_factor: number;
  private readonly end_factor: number;
  private readonly total_iters: number;
  constructor(optimizer: Optimizer, options: { start_factor?: number; end_factor?: number; total_iters?: number } = {}) {
    super(optimizer);
    this.start_factor = options.start_factor ?? 1 / 3;
    this.end_factor = options.end_factor ?? 1;
    this.total_iters = options.total_iters ?? 5;
    this.begin();
  }
  protected get_lr(): number[] {
    const done = Math.min(this.total_iters, this.last_epoch) / this.total_iters;
    return this.base_lrs.map((lr) => lr * (this.start_factor + (this.end_factor - this.start_factor) * done));
  }
}
