/** @file Schedules that multiply the learning rate by a factor: of a function, at steps, along lines and powers. */
import { TorchValueError } from "../../schema/index.js";
import { byName, type Ordered } from "../arguments.js";
import type { Optimizer } from "../optimizer.js";
import { lambdasFor, LRScheduler, type Lambda } from "./base.js";

interface LastEpoch {
  /** The epoch to go on after; default -1, the start. */
  last_epoch?: number;
}

interface LambdaOptions extends LastEpoch {
  /** Epoch to factor: one function, or one for each group. */
  lr_lambda: Lambda | readonly Lambda[];
}
const lambdaOrder = ["lr_lambda", "last_epoch"] as const;
const lambdaDefaults = { lr_lambda: undefined, last_epoch: -1 };

/**
 * The initial rate times `lr_lambda(epoch)`.
 * @example
 * const schedule = new lr_scheduler.LambdaLR(optimizer, (epoch) => 0.95 ** epoch);
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LambdaLR.html
 */
export class LambdaLR extends LRScheduler {
  private readonly lr_lambdas: Lambda[];
  constructor(optimizer: Optimizer, ...args: Ordered<LambdaOptions, typeof lambdaOrder>) {
    const { lr_lambda, last_epoch } = byName<LambdaOptions>("LambdaLR", lambdaOrder, args, lambdaDefaults);
    super(optimizer, last_epoch);
    this.lr_lambdas = lambdasFor(optimizer, lr_lambda);
    this._initial_step();
  }
  get_lr(): number[] {
    return this.base_lrs.map((lr, i) => lr * this.lr_lambdas[i](this.last_epoch));
  }
}

/**
 * The present rate times `lr_lambda(epoch)`, at every step.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.MultiplicativeLR.html
 */
export class MultiplicativeLR extends LRScheduler {
  private readonly lr_lambdas: Lambda[];
  constructor(optimizer: Optimizer, ...args: Ordered<LambdaOptions, typeof lambdaOrder>) {
    const { lr_lambda, last_epoch } = byName<LambdaOptions>("MultiplicativeLR", lambdaOrder, args, lambdaDefaults);
    super(optimizer, last_epoch);
    this.lr_lambdas = lambdasFor(optimizer, lr_lambda);
    this._initial_step();
  }
  get_lr(): number[] {
    const rates = this.current();
    return this._is_initial ? rates : rates.map((lr, i) => lr * this.lr_lambdas[i](this.last_epoch));
  }
}

interface StepOptions extends LastEpoch {
  step_size: number;
  gamma?: number;
}
const stepOrder = ["step_size", "gamma", "last_epoch"] as const;

/**
 * Times `gamma` every `step_size` epochs.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.StepLR.html
 */
export class StepLR extends LRScheduler {
  readonly step_size: number;
  readonly gamma: number;
  constructor(optimizer: Optimizer, ...args: Ordered<StepOptions, typeof stepOrder>) {
    const options = byName<StepOptions>("StepLR", stepOrder, args, {
      step_size: undefined,
      gamma: 0.1,
      last_epoch: -1,
    });
    super(optimizer, options.last_epoch);
    this.step_size = options.step_size;
    this.gamma = options.gamma;
    this._initial_step();
  }
  get_lr(): number[] {
    const changes = this.last_epoch !== 0 && this.last_epoch % this.step_size === 0;
    return this.current().map((lr) => (changes ? lr * this.gamma : lr));
  }
  protected override closedForm(): number[] {
    return this.base_lrs.map((lr) => lr * this.gamma ** Math.floor(this.last_epoch / this.step_size));
  }
}

interface MultiStepOptions extends LastEpoch {
  milestones: readonly number[];
  gamma?: number;
}
const multiStepOrder = ["milestones", "gamma", "last_epoch"] as const;

/**
 * Times `gamma` at each of the epochs in `milestones`.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.MultiStepLR.html
 */
export class MultiStepLR extends LRScheduler {
  /** How often each epoch is a milestone. */
  readonly milestones: Readonly<Record<number, number>>;
  readonly gamma: number;
  constructor(optimizer: Optimizer, ...args: Ordered<MultiStepOptions, typeof multiStepOrder>) {
    const options = byName<MultiStepOptions>("MultiStepLR", multiStepOrder, args, {
      milestones: undefined,
      gamma: 0.1,
      last_epoch: -1,
    });
    super(optimizer, options.last_epoch);
    const counts: Record<number, number> = {};
    for (const m of options.milestones) counts[m] = (counts[m] ?? 0) + 1;
    this.milestones = counts;
    this.gamma = options.gamma;
    this._initial_step();
  }
  get_lr(): number[] {
    const times = this.milestones[this.last_epoch] ?? 0;
    return this.current().map((lr) => (times === 0 ? lr : lr * this.gamma ** times));
  }
  protected override closedForm(): number[] {
    const passed = Object.entries(this.milestones).filter(([m]) => Number(m) <= this.last_epoch);
    const times = passed.reduce((n, [, count]) => n + count, 0);
    return this.base_lrs.map((lr) => lr * this.gamma ** times);
  }
}

interface ConstantOptions extends LastEpoch {
  factor?: number;
  total_iters?: number;
}
const constantOrder = ["factor", "total_iters", "last_epoch"] as const;

/**
 * Times `factor` until epoch `total_iters`.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ConstantLR.html
 */
export class ConstantLR extends LRScheduler {
  readonly factor: number;
  readonly total_iters: number;
  constructor(optimizer: Optimizer, ...args: Ordered<ConstantOptions, typeof constantOrder>) {
    const options = byName<ConstantOptions>("ConstantLR", constantOrder, args, {
      factor: 1 / 3,
      total_iters: 5,
      last_epoch: -1,
    });
    if (!(options.factor >= 0 && options.factor <= 1))
      throw new TorchValueError("Constant multiplicative factor expected to be between 0 and 1.");
    super(optimizer, options.last_epoch);
    this.factor = options.factor;
    this.total_iters = options.total_iters;
    this._initial_step();
  }
  get_lr(): number[] {
    const { last_epoch, total_iters, factor } = this;
    const times = last_epoch === 0 ? factor : last_epoch === total_iters ? 1 / factor : 1;
    return this.current().map((lr) => lr * times);
  }
  protected override closedForm(): number[] {
    const times = this.last_epoch >= this.total_iters ? 1 : this.factor;
    return this.base_lrs.map((lr) => lr * times);
  }
}

interface LinearOptions extends LastEpoch {
  start_factor?: number;
  end_factor?: number;
  total_iters?: number;
}
const linearOrder = ["start_factor", "end_factor", "total_iters", "last_epoch"] as const;

/**
 * A factor that moves evenly from `start_factor` to `end_factor` in `total_iters` epochs.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LinearLR.html
 */
export class LinearLR extends LRScheduler {
  readonly start_factor: number;
  readonly end_factor: number;
  readonly total_iters: number;
  constructor(optimizer: Optimizer, ...args: Ordered<LinearOptions, typeof linearOrder>) {
    const options = byName<LinearOptions>("LinearLR", linearOrder, args, {
      start_factor: 1 / 3,
      end_factor: 1,
      total_iters: 5,
      last_epoch: -1,
    });
    if (!(options.start_factor > 0 && options.start_factor <= 1))
      throw new TorchValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.");
    if (!(options.end_factor >= 0 && options.end_factor <= 1))
      throw new TorchValueError("Ending multiplicative factor expected to be between 0 and 1.");
    super(optimizer, options.last_epoch);
    this.start_factor = options.start_factor;
    this.end_factor = options.end_factor;
    this.total_iters = options.total_iters;
    this._initial_step();
  }
  get_lr(): number[] {
    const { start_factor, end_factor, total_iters, last_epoch } = this;
    const rates = this.current();
    if (last_epoch === 0) return rates.map((lr) => lr * start_factor);
    if (this._is_initial || last_epoch > total_iters) return rates;
    const rise = end_factor - start_factor;
    const times = 1 + rise / (total_iters * start_factor + (last_epoch - 1) * rise);
    return rates.map((lr) => lr * times);
  }
  protected override closedForm(): number[] {
    const { start_factor, end_factor, total_iters } = this;
    const done = Math.min(total_iters, this.last_epoch);
    return this.base_lrs.map((lr) => lr * (start_factor + ((end_factor - start_factor) * done) / total_iters));
  }
}

interface ExponentialOptions extends LastEpoch {
  gamma: number;
}
const exponentialOrder = ["gamma", "last_epoch"] as const;

/**
 * Times `gamma` every epoch.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ExponentialLR.html
 */
export class ExponentialLR extends LRScheduler {
  readonly gamma: number;
  constructor(optimizer: Optimizer, ...args: Ordered<ExponentialOptions, typeof exponentialOrder>) {
    const options = byName<ExponentialOptions>("ExponentialLR", exponentialOrder, args, {
      gamma: undefined,
      last_epoch: -1,
    });
    super(optimizer, options.last_epoch);
    this.gamma = options.gamma;
    this._initial_step();
  }
  get_lr(): number[] {
    return this.current().map((lr) => (this._is_initial ? lr : lr * this.gamma));
  }
  protected override closedForm(): number[] {
    return this.base_lrs.map((lr) => lr * this.gamma ** this.last_epoch);
  }
}

interface PolynomialOptions extends LastEpoch {
  total_iters?: number;
  power?: number;
}
const polynomialOrder = ["total_iters", "power", "last_epoch"] as const;

/**
 * A power of the share of `total_iters` epochs that is left.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.PolynomialLR.html
 */
export class PolynomialLR extends LRScheduler {
  readonly total_iters: number;
  readonly power: number;
  constructor(optimizer: Optimizer, ...args: Ordered<PolynomialOptions, typeof polynomialOrder>) {
    const options = byName<PolynomialOptions>("PolynomialLR", polynomialOrder, args, {
      total_iters: 5,
      power: 1,
      last_epoch: -1,
    });
    super(optimizer, options.last_epoch);
    this.total_iters = options.total_iters;
    this.power = options.power;
    this._initial_step();
  }
  get_lr(): number[] {
    const { last_epoch, total_iters } = this;
    const rates = this.current();
    if (this._is_initial || last_epoch > total_iters) return rates;
    const left = (1 - last_epoch / total_iters) / (1 - (last_epoch - 1) / total_iters);
    return rates.map((lr) => lr * left ** this.power);
  }
  protected override closedForm(): number[] {
    const left = 1 - Math.min(this.total_iters, this.last_epoch) / this.total_iters;
    return this.base_lrs.map((lr) => lr * left ** this.power);
  }
}
