/** @file Rprop and ASGD. */
import { functional } from "../api/index.js";
import { Complex } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { byName, type Ordered } from "./arguments.js";
import { asReal, EagerOptimizer } from "./eager.js";
import type { ParamGroup, Params } from "./optimizer.js";
import {
  checkCommon,
  checkOption,
  numberOf,
  pythonRepr,
  real,
  type CommonOptions,
  type LearningRate,
} from "./values.js";

export interface RpropOptions extends Omit<CommonOptions, "fused"> {
  /** The first step size. Default 0.01. */
  lr?: LearningRate;
  /** Factors by which a step size falls where the gradient's sign changed, and rises where not. Default [0.5, 1.2]. */
  etas?: readonly [number, number];
  /** The smallest and the largest step size. Default [1e-6, 50]. */
  step_sizes?: readonly [number, number];
}

const rpropOrder = ["lr", "etas", "step_sizes"] as const;

/**
 * Rprop: step sizes of each element's own that follow the sign of its gradient alone (Riedmiller and Braun 1993).
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.Rprop.html
 */
export class Rprop extends EagerOptimizer {
  constructor(params: Params, ...args: Ordered<RpropOptions, typeof rpropOrder>) {
    const options = byName<RpropOptions>("Rprop", rpropOrder, args, {
      lr: 1e-2,
      etas: [0.5, 1.2],
      step_sizes: [1e-6, 50],
      foreach: null,
      maximize: false,
      differentiable: false,
      capturable: false,
    });
    const [falls, rises] = options.etas;
    checkCommon(options);
    checkOption(falls > 0 && falls < 1 && rises > 1, `Invalid eta values: ${pythonRepr(falls)}, ${pythonRepr(rises)}`);
    super(params, { ...options });
  }

  protected updateOne(group: ParamGroup, p: Tensor): void {
    const { etas, step_sizes, maximize, ...rest } = group as ParamGroup & Required<RpropOptions>;
    const { param, grad } = this.descent(p, maximize);
    const { prev } = this.zerosFor(p, "prev");
    const state = this.state.get(p)!;
    const start = numberOf(rest.lr);
    state.step_size ??= functional.full_like(p, p.is_complex() ? new Complex(start, start) : real(start));
    const sizes = asReal(state.step_size as Tensor);
    const agreement = grad.mul(prev).sign_();
    const factor = functional.where(
      agreement.gt(0),
      real(etas[1]),
      functional.where(agreement.lt(0), real(etas[0]), real(1)),
    );
    sizes.mul_(factor.to(sizes.dtype)).clamp_(real(step_sizes[0]), real(step_sizes[1]));
    const used = grad.masked_fill(agreement.lt(0), 0);
    param.addcmul_(used.sign(), sizes, { value: real(-1) });
    prev.copy_(used);
  }
}

export interface ASGDOptions extends Omit<CommonOptions, "fused"> {
  /** Learning rate. Default 0.01. */
  lr?: LearningRate;
  /** Decay of the parameters and of the rate. Default 1e-4. */
  lambd?: number;
  /** Power of the rate's fall. Default 0.75. */
  alpha?: number;
  /** The step at which averaging starts. Default 1e6. */
  t0?: number;
  /** L2 penalty. */
  weight_decay?: number;
}

const asgdOrder = ["lr", "lambd", "alpha", "t0", "weight_decay"] as const;

/**
 * Averaged stochastic gradient descent (Polyak and Juditsky 1992). The averages are `ax` in the state.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.ASGD.html
 */
export class ASGD extends EagerOptimizer {
  constructor(params: Params, ...args: Ordered<ASGDOptions, typeof asgdOrder>) {
    const options = byName<ASGDOptions>("ASGD", asgdOrder, args, {
      lr: 1e-2,
      lambd: 1e-4,
      alpha: 0.75,
      t0: 1e6,
      weight_decay: 0,
      foreach: null,
      maximize: false,
      differentiable: false,
      capturable: false,
    });
    checkCommon(options);
    super(params, { ...options });
  }

  protected updateOne(group: ParamGroup, p: Tensor): void {
    const { lambd, alpha, t0, weight_decay, maximize, ...rest } = group as ParamGroup & Required<ASGDOptions>;
    const lr = numberOf(rest.lr);
    const { param, grad } = this.descent(p, maximize, weight_decay);
    const { ax, step } = this.zerosFor(p, "ax");
    const eta = this.hostNumber(p, "eta", lr);
    const mu = this.hostNumber(p, "mu", 1);
    const rate = Number(eta.item());
    const share = Number(mu.item());
    param.mul_(real(1 - lambd * rate)).add_(grad, { alpha: real(-rate) });
    if (share === 1) ax.copy_(param);
    else ax.lerp_(param, real(share));
    eta.fill_(real(lr / (1 + lambd * lr * step) ** alpha));
    mu.fill_(real(1 / Math.max(1, step - t0)));
  }
}
