/** @file Adam and AdamW. */
import { functional } from "../api/index.js";
import { float32 } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { byDevice, checkOption, Optimizer, stateTensors, type ParamGroup, type Params } from "./optimizer.js";

export interface AdamOptions {
  /** Learning rate. Default 1e-3. */
  lr?: number;
  /** Decay rates of the running means of the gradient and of its square. Default [0.9, 0.999]. */
  betas?: readonly [number, number];
  /** Added to the denominator. Default 1e-8. */
  eps?: number;
  /** Adam: L2 penalty, default 0. AdamW: decoupled decay, default 0.01. */
  weight_decay?: number;
  /** Divide by the largest mean square so far. */
  amsgrad?: boolean;
  /** Climb instead of descend. */
  maximize?: boolean;
}

/** `torch.optim.Adam`. One program updates all parameters of a group. @see https://docs.pytorch.org/docs/stable/generated/torch.optim.Adam.html */
export class Adam extends Optimizer {
  constructor(params: Params, options: AdamOptions = {}, decay = 0) {
    const { lr = 1e-3, betas = [0.9, 0.999], eps = 1e-8, weight_decay = decay, amsgrad = false, maximize = false } = options;
    checkOption(lr >= 0, `Invalid learning rate: ${lr}`);
    checkOption(eps >= 0, `Invalid epsilon value: ${eps}`);
    betas.forEach((b, i) => checkOption(b >= 0 && b < 1, `Invalid beta parameter at index ${i}: ${b}`));
    checkOption(weight_decay >= 0, `Invalid weight_decay value: ${weight_decay}`);
    super(params, { lr, betas, eps, weight_decay, amsgrad, maximize });
  }

  /** Whether the decay acts on the parameter itself instead of on the gradient. */
  protected get decoupled(): boolean {
    return false;
  }

  protected update(group: ParamGroup, all: readonly Tensor[]): void {
    const { lr, betas, eps, weight_decay, amsgrad, maximize } = group as ParamGroup & Required<AdamOptions>;
    const fused = this.decoupled ? functional._fused_adamw_ : functional._fused_adam_;
    for (const params of byDevice(all)) {
      const zeros = (name: string): Tensor[] => stateTensors(this, params, name, (p) => functional.zeros_like(p));
      const steps = stateTensors(this, params, "step", (p) => functional.zeros([], { dtype: float32, device: p.device }));
      fused(params, params.map((p) => p.grad!), zeros("exp_avg"), zeros("exp_avg_sq"), amsgrad ? zeros("max_exp_avg_sq") : [], steps, {
        lr, beta1: betas[0], beta2: betas[1], weight_decay, eps, amsgrad, maximize,
      });
    }
  }
}

/** `torch.optim.AdamW`: Adam with decoupled weight decay. @see https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html */
export class AdamW extends Adam {
  constructor(params: Params, options: AdamOptions = {}) {
    super(params, options, 0.01);
  }
  protected override get decoupled(): boolean {
    return true;
  }
}
