/** @file LRScheduler: what all learning rate schedules share. */
import { hostEffect } from "../../dispatch/index.js";
import { TorchError, TorchTypeError, TorchValueError } from "../../schema/index.js";
import { Tensor } from "../../tensor/index.js";
import { real, numberOf, type LearningRate } from "../values.js";
import { Optimizer, type ParamGroup } from "../optimizer.js";

/** The state of a schedule: numbers, texts and lists, fit for JSON. */
export type SchedulerState = Record<string, unknown>;

/** A function from the epoch to a factor. */
export type Lambda = (epoch: number) => number;

export const warn = (message: string): void => process.emitWarning(message, "UserWarning");

/** The learning rates of all groups, as numbers. */
export const ratesOf = (optimizer: Optimizer, key = "lr"): number[] =>
  optimizer.param_groups.map((g) => numberOf(g[key] as LearningRate));

/** Sets a learning rate; one that is a tensor keeps its identity. */
export function setRate(group: ParamGroup, value: number, key = "lr"): void {
  const current = group[key];
  if (current instanceof Tensor) current.fill_(real(value));
  else group[key] = value;
}

/** One value for each group. Throws TorchValueError for a list of another length. */
export function perGroup<T>(name: string, optimizer: Optimizer, value: T | readonly T[]): T[] {
  const count = optimizer.param_groups.length;
  if (!Array.isArray(value)) return new Array<T>(count).fill(value as T);
  if (value.length !== count)
    throw new TorchValueError(
      `${name} must have the same length as optimizer.param_groups. ${name} has ${value.length} values, param_groups has ${count}.`,
    );
  return [...(value as T[])];
}

/** One function for each group. */
export function lambdasFor(optimizer: Optimizer, given: Lambda | readonly Lambda[]): Lambda[] {
  const count = optimizer.param_groups.length;
  const lambdas = typeof given === "function" ? new Array<Lambda>(count).fill(given) : [...given];
  if (lambdas.length !== count) throw new TorchValueError(`Expected ${count} lr_lambdas, but got ${lambdas.length}`);
  for (const fn of lambdas)
    if (typeof fn !== "function") throw new TorchTypeError(`lr_lambda should be a function, but got ${typeof fn}`);
  return lambdas;
}

export function checkOptimizer(optimizer: Optimizer): void {
  if (!(optimizer instanceof Optimizer)) throw new TorchTypeError(`${typeof optimizer} is not an Optimizer`);
}

/** What is kept of a schedule: no functions, no optimizer. Lists are copied. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((v) => (typeof v === "function" ? null : plain(v)));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)]));
  return value;
}

/**
 * Sets the learning rate of every group at every `step()`, which belongs after the optimizer's.
 * A subclass's constructor ends with `this._initial_step()`.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LRScheduler.html
 */
export abstract class LRScheduler {
  base_lrs: number[];
  last_epoch: number;
  _step_count = 0;
  _last_lr: number[] = [];
  /** While the constructor makes the first step. */
  protected _is_initial = false;

  constructor(
    readonly optimizer: Optimizer,
    /** The epoch to go on after; -1 is the start, null a schedule that needs no initial rates. */
    last_epoch: number | null = -1,
  ) {
    checkOptimizer(optimizer);
    this.last_epoch = last_epoch ?? 0;
    this.base_lrs = [];
    if (last_epoch === null) return;
    if (last_epoch === -1) for (const g of optimizer.param_groups) g.initial_lr ??= numberOf(g.lr as LearningRate);
    optimizer.param_groups.forEach((g, i) => {
      if (g.initial_lr === undefined)
        throw new TorchError(
          `param 'initial_lr' is not specified in param_groups[${i}] when resuming scheduler with last_epoch >= 0: expected a loaded optimizer state`,
        );
    });
    this.base_lrs = ratesOf(optimizer, "initial_lr");
  }

  /** The learning rates of `last_epoch`. */
  abstract get_lr(): number[];

  /** The learning rates of `last_epoch` from those of the start alone, where there is a formula. */
  protected closedForm?(): number[];

  /** @internal */
  _initial_step(): void {
    this._step_count = 0;
    this._is_initial = true;
    this.step();
    this._is_initial = false;
  }

  /** Moves on by one epoch. An `epoch` to jump to is deprecated in PyTorch. */
  step(epoch?: number): void {
    hostEffect(() => this.moveOn(epoch));
  }

  private moveOn(epoch: number | undefined): void {
    if (this._step_count === 1 && !this.optimizer._opt_called)
      warn(
        "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`. Failure to do this will result in PyTorch skipping the first value of the learning rate schedule.",
      );
    this._step_count++;
    this._update_lr(epoch);
  }

  /** @internal */
  _update_lr(epoch?: number): void {
    this.last_epoch = epoch ?? this.last_epoch + 1;
    const rates = epoch !== undefined && this.closedForm ? this.closedForm() : this.get_lr();
    this.optimizer.param_groups.forEach((g, i) => setRate(g, rates[i]));
    this._last_lr = this.current();
  }

  protected current(): number[] {
    return ratesOf(this.optimizer);
  }

  /** The learning rates that the last step set. */
  get_last_lr(): number[] {
    return this._last_lr;
  }

  /** Numbers and lists of the schedule, fit for JSON. Functions are not part of it. */
  state_dict(): SchedulerState {
    const own = Object.entries(this).filter(([k, v]) => k !== "optimizer" && typeof v !== "function");
    return Object.fromEntries(own.map(([k, v]) => [k, plain(v)]));
  }

  /** Takes over what state_dict() gave. What this schedule does not have is left aside. */
  load_state_dict(state: SchedulerState): void {
    for (const [key, value] of Object.entries(state)) {
      if (key === "optimizer" || !Object.hasOwn(this, key)) continue;
      const own = (this as unknown as SchedulerState)[key];
      const isCallable = typeof own === "function" || (Array.isArray(own) && typeof own[0] === "function");
      if (!isCallable) (this as unknown as SchedulerState)[key] = plain(value);
    }
  }
}
