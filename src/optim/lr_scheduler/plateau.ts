/** @file A schedule that watches a metric. */
import { TorchError, TorchTypeError, TorchValueError } from "../../schema/index.js";
import type { Tensor } from "../../tensor/index.js";
import { byName, type Ordered } from "../arguments.js";
import type { Optimizer } from "../optimizer.js";
import { numberOf, type LearningRate } from "../values.js";
import { checkOptimizer, LRScheduler, setRate, type SchedulerState } from "./base.js";

interface PlateauOptions {
  /** Whether a better metric is lower or higher. */
  mode?: "min" | "max";
  factor?: number;
  /** Epochs without improvement that are borne. */
  patience?: number;
  threshold?: number;
  /** Whether the threshold is relative to the best value. */
  threshold_mode?: "rel" | "abs";
  /** Epochs after a reduction in which nothing is counted. */
  cooldown?: number;
  min_lr?: number | readonly number[];
  /** Smaller changes of a rate are not made. */
  eps?: number;
}
const order = ["mode", "factor", "patience", "threshold", "threshold_mode", "cooldown", "min_lr", "eps"] as const;

/**
 * Times `factor` when a metric has not improved for more than `patience` epochs.
 * @example
 * const schedule = new lr_scheduler.ReduceLROnPlateau(optimizer, "min");
 * schedule.step(validationLoss);
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html
 */
export class ReduceLROnPlateau extends LRScheduler {
  readonly mode: "min" | "max";
  readonly factor: number;
  readonly patience: number;
  readonly threshold: number;
  readonly threshold_mode: "rel" | "abs";
  readonly cooldown: number;
  readonly eps: number;
  min_lrs: number[];
  readonly default_min_lr: number | null;
  best: number;
  cooldown_counter = 0;
  num_bad_epochs = 0;

  constructor(optimizer: Optimizer, ...args: Ordered<PlateauOptions, typeof order>) {
    checkOptimizer(optimizer);
    const o = byName<PlateauOptions>("ReduceLROnPlateau", order, args, {
      mode: "min",
      factor: 0.1,
      patience: 10,
      threshold: 1e-4,
      threshold_mode: "rel",
      cooldown: 0,
      min_lr: 0,
      eps: 1e-8,
    });
    if (o.factor >= 1) throw new TorchValueError("Factor should be < 1.0.");
    if (o.mode !== "min" && o.mode !== "max") throw new TorchValueError(`mode ${String(o.mode)} is unknown!`);
    if (o.threshold_mode !== "rel" && o.threshold_mode !== "abs")
      throw new TorchValueError(`threshold mode ${String(o.threshold_mode)} is unknown!`);
    super(optimizer, null);
    const count = optimizer.param_groups.length;
    const list = typeof o.min_lr === "number" ? null : [...o.min_lr];
    if (list && list.length !== count) throw new TorchValueError(`expected ${count} min_lrs, got ${list.length}`);
    this.default_min_lr = typeof o.min_lr === "number" ? o.min_lr : null;
    this.min_lrs = list ?? new Array<number>(count).fill(o.min_lr as number);
    this.mode = o.mode;
    this.factor = o.factor;
    this.patience = o.patience;
    this.threshold = o.threshold;
    this.threshold_mode = o.threshold_mode;
    this.cooldown = o.cooldown;
    this.eps = o.eps;
    this.best = this.worst;
    this._last_lr = this.current();
  }

  private get worst(): number {
    return this.mode === "min" ? Infinity : -Infinity;
  }
  get in_cooldown(): boolean {
    return this.cooldown_counter > 0;
  }
  get_lr(): number[] {
    return this.current();
  }

  /** Takes the metric of one more epoch: a number, or a tensor of one element. */
  override step(metrics?: number | Tensor): void {
    if (metrics === undefined)
      throw new TorchTypeError("ReduceLROnPlateau.step() missing 1 required positional argument: 'metrics'");
    const value = numberOf(metrics);
    this.last_epoch++;
    if (this.isBetter(value)) {
      this.best = value;
      this.num_bad_epochs = 0;
    } else this.num_bad_epochs++;
    if (this.in_cooldown) {
      this.cooldown_counter--;
      this.num_bad_epochs = 0;
    }
    if (this.num_bad_epochs > this.patience) {
      this.reduce();
      this.cooldown_counter = this.cooldown;
      this.num_bad_epochs = 0;
    }
    this._last_lr = this.current();
  }

  private isBetter(value: number): boolean {
    const sign = this.mode === "min" ? -1 : 1;
    const bound =
      this.threshold_mode === "rel" ? this.best * (1 + sign * this.threshold) : this.best + sign * this.threshold;
    return this.mode === "min" ? value < bound : value > bound;
  }

  private reduce(): void {
    const groups = this.optimizer.param_groups;
    if (groups.length !== this.min_lrs.length) {
      if (this.default_min_lr === null)
        throw new TorchError(
          `The number of param groups in the \`optimizer\` (${groups.length}) differs from when \`ReduceLROnPlateau\` was initialized (${this.min_lrs.length}), usually due to a new param group being added to the optimizer. Please modify the \`min_lrs\` field to match the length of the \`optimizer\` param groups.`,
        );
      this.min_lrs = new Array<number>(groups.length).fill(this.default_min_lr);
    }
    groups.forEach((group, i) => {
      const before = numberOf(group.lr as LearningRate);
      const after = Math.max(before * this.factor, this.min_lrs[i]);
      if (before - after > this.eps) setRate(group, after);
    });
  }

  override load_state_dict(state: SchedulerState): void {
    super.load_state_dict(state);
    // JSON has no infinity: it comes back as null
    if (typeof this.best !== "number") this.best = this.worst;
  }
}
