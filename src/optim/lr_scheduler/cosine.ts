/** @file Schedules along a cosine. */
import { TorchValueError } from "../../schema/index.js";
import { byName, type Ordered } from "../arguments.js";
import type { Optimizer } from "../optimizer.js";
import { LRScheduler, setRate } from "./base.js";

interface CosineOptions {
  /** Epochs of half a cosine. */
  T_max: number;
  eta_min?: number;
  last_epoch?: number;
}
const cosineOrder = ["T_max", "eta_min", "last_epoch"] as const;

const halfCosine = (from: number, to: number, share: number): number =>
  to + ((from - to) * (1 + Math.cos(Math.PI * share))) / 2;

/**
 * Half a cosine from the initial rate down to `eta_min` in `T_max` epochs (Loshchilov and Hutter 2017).
 * @example
 * const schedule = new lr_scheduler.CosineAnnealingLR(optimizer, 100, { eta_min: 1e-5 });
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingLR.html
 */
export class CosineAnnealingLR extends LRScheduler {
  readonly T_max: number;
  readonly eta_min: number;
  constructor(optimizer: Optimizer, ...args: Ordered<CosineOptions, typeof cosineOrder>) {
    const options = byName<CosineOptions>("CosineAnnealingLR", cosineOrder, args, {
      T_max: undefined,
      eta_min: 0,
      last_epoch: -1,
    });
    super(optimizer, options.last_epoch);
    this.T_max = options.T_max;
    this.eta_min = options.eta_min;
    this._initial_step();
  }
  get_lr(): number[] {
    const { last_epoch, T_max, eta_min } = this;
    const rates = this.current();
    if (this._is_initial) return rates;
    if (this._step_count === 1 && last_epoch > 0) return this.closedForm();
    if ((last_epoch - 1 - T_max) % (2 * T_max) === 0) {
      const rise = (1 - Math.cos(Math.PI / T_max)) / 2;
      return rates.map((lr, i) => lr + (this.base_lrs[i] - eta_min) * rise);
    }
    const height = (epoch: number): number => 1 + Math.cos((Math.PI * epoch) / T_max);
    const times = height(last_epoch) / height(last_epoch - 1);
    return rates.map((lr) => times * (lr - eta_min) + eta_min);
  }
  protected override closedForm(): number[] {
    return this.base_lrs.map((lr) => halfCosine(lr, this.eta_min, this.last_epoch / this.T_max));
  }
}

interface RestartsOptions {
  /** Epochs before the first restart. */
  T_0: number;
  /** How many times longer each period is than the one before. */
  T_mult?: number;
  eta_min?: number;
  last_epoch?: number;
}
const restartsOrder = ["T_0", "T_mult", "eta_min", "last_epoch"] as const;

/**
 * Half a cosine down to `eta_min`, begun anew after each period (SGDR, Loshchilov and Hutter 2017).
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.html
 */
export class CosineAnnealingWarmRestarts extends LRScheduler {
  readonly T_0: number;
  readonly T_mult: number;
  readonly eta_min: number;
  T_i: number;
  T_cur: number;
  constructor(optimizer: Optimizer, ...args: Ordered<RestartsOptions, typeof restartsOrder>) {
    const options = byName<RestartsOptions>("CosineAnnealingWarmRestarts", restartsOrder, args, {
      T_0: undefined,
      T_mult: 1,
      eta_min: 0,
      last_epoch: -1,
    });
    const { T_0, T_mult } = options;
    if (!Number.isInteger(T_0) || T_0 <= 0) throw new TorchValueError(`Expected positive integer T_0, but got ${T_0}`);
    if (!Number.isInteger(T_mult) || T_mult < 1)
      throw new TorchValueError(`Expected integer T_mult >= 1, but got ${T_mult}`);
    super(optimizer, options.last_epoch);
    this.T_0 = T_0;
    this.T_i = T_0;
    this.T_mult = T_mult;
    this.eta_min = options.eta_min;
    this.T_cur = options.last_epoch;
    this._initial_step();
  }
  get_lr(): number[] {
    return this.base_lrs.map((lr) => halfCosine(lr, this.eta_min, this.T_cur / this.T_i));
  }
  /** Moves on by one epoch, or to `epoch`, which may lie between two. */
  override step(epoch?: number): void {
    const to = epoch ?? (this.last_epoch < 0 ? 0 : undefined);
    if (to === undefined) this.advance();
    else this.jump(to);
    this.last_epoch = Math.floor(to ?? this.last_epoch + 1);
    const rates = this.get_lr();
    this.optimizer.param_groups.forEach((g, i) => setRate(g, rates[i]));
    this._last_lr = this.current();
  }
  private advance(): void {
    this.T_cur++;
    if (this.T_cur < this.T_i) return;
    this.T_cur %= this.T_i;
    this.T_i *= this.T_mult;
  }
  private jump(epoch: number): void {
    const { T_0, T_mult } = this;
    if (epoch < 0) throw new TorchValueError(`Expected non-negative epoch, but got ${epoch}`);
    if (epoch < T_0) [this.T_i, this.T_cur] = [T_0, epoch];
    else if (T_mult === 1) this.T_cur = epoch % T_0;
    else {
      const n = Math.floor(Math.log((epoch / T_0) * (T_mult - 1) + 1) / Math.log(T_mult));
      this.T_cur = epoch - (T_0 * (T_mult ** n - 1)) / (T_mult - 1);
      this.T_i = T_0 * T_mult ** n;
    }
  }
}
