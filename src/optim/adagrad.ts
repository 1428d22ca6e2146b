/** @file Adagrad. */
import { functional } from "../api/index.js";
import { Complex, float32 } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { byName, type Ordered } from "./arguments.js";
import { byDevice, FusedOptimizer, gradsOf } from "./fused.js";
import type { ParamGroup, Params } from "./optimizer.js";
import {
  checkCommon,
  checkOption,
  pythonRepr,
  option,
  rateFor,
  type CommonOptions,
  type LearningRate,
} from "./values.js";

export interface AdagradOptions extends Omit<CommonOptions, "capturable"> {
  /** Learning rate. Default 0.01. */
  lr?: LearningRate;
  /** Step t has the rate lr / (1 + (t - 1) lr_decay). */
  lr_decay?: number;
  /** L2 penalty. */
  weight_decay?: number;
  /** What the sums of squares start from. */
  initial_accumulator_value?: number;
  /** Added to the denominator. Default 1e-10. */
  eps?: number;
}

const order = ["lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps", "foreach"] as const;

/**
 * Adagrad: steps that are divided by the root of the sum of all squared gradients (Duchi, Hazan and Singer 2011).
 * One program updates all parameters of a group.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.Adagrad.html
 */
export class Adagrad extends FusedOptimizer {
  constructor(params: Params, ...args: Ordered<AdagradOptions, typeof order>) {
    const options = byName<AdagradOptions>("Adagrad", order, args, {
      lr: 1e-2,
      lr_decay: 0,
      eps: 1e-10,
      weight_decay: 0,
      initial_accumulator_value: 0,
      foreach: null,
      maximize: false,
      differentiable: false,
      fused: null,
    });
    const { lr_decay, initial_accumulator_value } = options;
    checkCommon(options);
    checkOption(lr_decay >= 0, `Invalid lr_decay value: ${pythonRepr(lr_decay)}`);
    checkOption(
      initial_accumulator_value >= 0,
      `Invalid initial_accumulator_value value: ${pythonRepr(initial_accumulator_value)}`,
    );
    super(params, { ...options });
    // as in PyTorch, the state is there before the first step
    for (const group of this.param_groups) for (const p of group.params) this.begin(p);
  }

  private begin(p: Tensor): void {
    const start = this.defaults.initial_accumulator_value as number;
    this.stateOf(p, () => ({
      step: functional.zeros([], { dtype: float32, device: p.device }),
      sum: functional.full_like(p, p.is_complex() ? new Complex(start, start) : start),
    }));
  }

  protected update(group: ParamGroup, all: readonly Tensor[]): void {
    const { maximize } = group as ParamGroup & Required<AdagradOptions>;
    for (const p of all) this.begin(p);
    for (const params of byDevice(all)) {
      const sums = this.stateTensors(params, "sum", (p) => functional.zeros_like(p));
      functional._fused_adagrad_(params, gradsOf(params), sums, this.steps(params), {
        lr: rateFor(group, params[0]) as Tensor,
        lr_decay: option(group, "lr_decay"),
        weight_decay: option(group, "weight_decay"),
        eps: option(group, "eps"),
        maximize,
        ...this.overflow,
        advanceSteps: true,
      });
    }
  }
}
