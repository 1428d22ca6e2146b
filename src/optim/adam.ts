/** @file Adam and AdamW. */
import { functional } from "../api/index.js";
import { hostNumber } from "../dispatch/index.js";
import type { Tensor } from "../tensor/index.js";
import { byName, type Ordered } from "./arguments.js";
import { byDevice, FusedOptimizer, gradsOf } from "./fused.js";
import type { ParamGroup, Params } from "./optimizer.js";
import { checkBetas, checkCommon, option, rateFor, type CommonOptions, type LearningRate } from "./values.js";

export interface AdamOptions extends CommonOptions {
  /** Learning rate. Default 1e-3. */
  lr?: LearningRate;
  /** Decay rates of the running means of the gradient and of its square. Default [0.9, 0.999]. */
  betas?: readonly [number, number];
  /** Added to the denominator. Default 1e-8. */
  eps?: number;
  /** Adam: L2 penalty, default 0. AdamW: decoupled decay, default 0.01. */
  weight_decay?: number;
  /** Divide by the largest mean square so far. */
  amsgrad?: boolean;
}

/** Adam's own option: whether the decay acts on the parameter itself instead of on the gradient. */
export interface AdamOnlyOptions extends AdamOptions {
  decoupled_weight_decay?: boolean;
}

const order = ["lr", "betas", "eps", "weight_decay", "amsgrad"] as const;

/**
 * Adam: steps that are scaled by running means of the gradient and of its square (Kingma and Ba 2015).
 * One program updates all parameters of a group, in their own memory; new hyperparameters never recompile it.
 * @example
 * const optimizer = new optim.Adam(model.parameters(), { lr: 1e-3 });
 * optimizer.zero_grad();
 * loss.backward();
 * optimizer.step();
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.Adam.html
 */
export class Adam extends FusedOptimizer {
  constructor(params: Params, ...args: Ordered<AdamOnlyOptions, typeof order>) {
    const options = byName<AdamOnlyOptions>("Adam", order, args, {
      lr: 1e-3,
      betas: [0.9, 0.999],
      eps: 1e-8,
      weight_decay: 0,
      amsgrad: false,
      maximize: false,
      foreach: null,
      capturable: false,
      differentiable: false,
      fused: null,
      decoupled_weight_decay: false,
    });
    checkCommon(options);
    checkBetas(options.betas);
    super(params, { ...options });
  }

  protected update(group: ParamGroup, all: readonly Tensor[]): void {
    const options = group as ParamGroup & Required<AdamOnlyOptions>;
    const { amsgrad, maximize } = options;
    const step = options.decoupled_weight_decay ? functional._fused_adamw_ : functional._fused_adam_;
    for (const params of byDevice(all)) {
      const steps = this.steps(params);
      const means = this.zeros(params, "exp_avg");
      const squares = this.zeros(params, "exp_avg_sq");
      const largest = amsgrad ? this.zeros(params, "max_exp_avg_sq") : [];
      step(params, gradsOf(params), means, squares, largest, steps, {
        lr: rateFor(group, params[0]) as Tensor,
        beta1: hostNumber(() => options.betas[0], group, "betas"),
        beta2: hostNumber(() => options.betas[1], group, "betas"),
        weight_decay: option(group, "weight_decay"),
        eps: option(group, "eps"),
        amsgrad,
        maximize,
        ...this.overflow,
        advanceSteps: true,
      });
    }
  }
}

/**
 * AdamW: Adam with weight decay apart from the gradient (Loshchilov and Hutter 2019). `weight_decay` defaults to 0.01.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html
 */
export class AdamW extends Adam {
  constructor(params: Params, ...args: Ordered<AdamOptions, typeof order>) {
    const { weight_decay, ...rest } = byName<AdamOptions>("AdamW", order, args, {
      lr: 1e-3,
      betas: [0.9, 0.999],
      eps: 1e-8,
      weight_decay: 0.01,
      amsgrad: false,
      maximize: false,
      foreach: null,
      capturable: false,
      differentiable: false,
      fused: null,
    });
    super(params, { ...rest, weight_decay, decoupled_weight_decay: true });
  }
}
