/** @file Relatives of Adam: Adamax, NAdam, RAdam. */
import type { Tensor } from "../tensor/index.js";
import { byName, type Ordered } from "./arguments.js";
import { EagerOptimizer, trackMean, trackSquare } from "./eager.js";
import type { ParamGroup, Params } from "./optimizer.js";
import {
  checkBetas,
  checkCommon,
  checkOption,
  numberOf,
  pythonRepr,
  real,
  type CommonOptions,
  type LearningRate,
} from "./values.js";

export interface AdamaxOptions extends Omit<CommonOptions, "fused"> {
  /** Learning rate. Default 2e-3; of RAdam 1e-3. */
  lr?: LearningRate;
  /** Decay rates of the running mean and of the running scale. Default [0.9, 0.999]. */
  betas?: readonly [number, number];
  /** Added to the denominator. Default 1e-8. */
  eps?: number;
  /** L2 penalty. */
  weight_decay?: number;
}

const adamaxOrder = ["lr", "betas", "eps", "weight_decay", "foreach"] as const;

/**
 * Adamax: Adam with the largest gradient instead of the mean square (Kingma and Ba 2015).
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.Adamax.html
 */
export class Adamax extends EagerOptimizer {
  constructor(params: Params, ...args: Ordered<AdamaxOptions, typeof adamaxOrder>) {
    const options = byName<AdamaxOptions>("Adamax", adamaxOrder, args, {
      lr: 2e-3,
      betas: [0.9, 0.999],
      eps: 1e-8,
      weight_decay: 0,
      foreach: null,
      maximize: false,
      differentiable: false,
      capturable: false,
    });
    checkCommon(options);
    checkBetas(options.betas);
    super(params, { ...options });
  }

  protected updateOne(group: ParamGroup, p: Tensor): void {
    const { lr, betas, eps, weight_decay, maximize } = group as ParamGroup & Required<AdamaxOptions>;
    const { param, grad } = this.descent(p, maximize, weight_decay);
    const { exp_avg, exp_inf, step } = this.zerosFor(p, "exp_avg", "exp_inf");
    trackMean(exp_avg, grad, betas[0]);
    exp_inf.copy_(exp_inf.mul(real(betas[1])).maximum(grad.abs().add_(real(eps))));
    param.addcdiv_(exp_avg, exp_inf, { value: real(-numberOf(lr) / (1 - betas[0] ** step)) });
  }
}

export interface DecoupledOptions extends AdamaxOptions {
  /** Whether the decay acts on the parameter itself instead of on the gradient. */
  decoupled_weight_decay?: boolean;
}

export interface NAdamOptions extends DecoupledOptions {
  /** How fast the momentum rises to its value. Default 4e-3. */
  momentum_decay?: number;
}

const nadamOrder = ["lr", "betas", "eps", "weight_decay", "momentum_decay", "decoupled_weight_decay"] as const;

/**
 * NAdam: Adam with Nesterov's momentum (Dozat 2016).
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.NAdam.html
 */
export class NAdam extends EagerOptimizer {
  constructor(params: Params, ...args: Ordered<NAdamOptions, typeof nadamOrder>) {
    const options = byName<NAdamOptions>("NAdam", nadamOrder, args, {
      lr: 2e-3,
      betas: [0.9, 0.999],
      eps: 1e-8,
      weight_decay: 0,
      momentum_decay: 4e-3,
      decoupled_weight_decay: false,
      maximize: false,
      foreach: null,
      capturable: false,
      differentiable: false,
    });
    checkCommon(options);
    checkBetas(options.betas);
    const { momentum_decay } = options;
    checkOption(momentum_decay >= 0, `Invalid momentum_decay value: ${pythonRepr(momentum_decay)}`);
    super(params, { ...options });
  }

  protected updateOne(group: ParamGroup, p: Tensor): void {
    const { betas, eps, weight_decay, momentum_decay, decoupled_weight_decay, maximize, ...rest } =
      group as ParamGroup & Required<NAdamOptions>;
    const lr = numberOf(rest.lr);
    const { param, grad } = this.descent(p, maximize, decoupled_weight_decay ? 0 : weight_decay);
    const { exp_avg, exp_avg_sq, step } = this.zerosFor(p, "exp_avg", "exp_avg_sq");
    if (decoupled_weight_decay && weight_decay !== 0) param.mul_(real(1 - lr * weight_decay));
    const momentum = (t: number): number => betas[0] * (1 - 0.5 * 0.96 ** (t * momentum_decay));
    const mu = momentum(step);
    const product = this.hostNumber(p, "mu_product", 1).mul_(real(mu));
    const now = Number(product.item());
    const next = momentum(step + 1);
    trackMean(exp_avg, grad, betas[0]);
    trackSquare(exp_avg_sq, grad, betas[1]);
    const denominator = exp_avg_sq
      .div(real(1 - betas[1] ** step))
      .sqrt_()
      .add_(real(eps));
    param.addcdiv_(grad, denominator, { value: real((-lr * (1 - mu)) / (1 - now)) });
    param.addcdiv_(exp_avg, denominator, { value: real((-lr * next) / (1 - now * next)) });
  }
}

const radamOrder = ["lr", "betas", "eps", "weight_decay", "decoupled_weight_decay"] as const;

/**
 * RAdam: Adam whose first steps are not scaled until the mean square is trustworthy (Liu et al. 2020).
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.RAdam.html
 */
export class RAdam extends EagerOptimizer {
  constructor(params: Params, ...args: Ordered<DecoupledOptions, typeof radamOrder>) {
    const options = byName<DecoupledOptions>("RAdam", radamOrder, args, {
      lr: 1e-3,
      betas: [0.9, 0.999],
      eps: 1e-8,
      weight_decay: 0,
      maximize: false,
      foreach: null,
      capturable: false,
      decoupled_weight_decay: false,
      differentiable: false,
    });
    checkCommon(options);
    checkBetas(options.betas);
    super(params, { ...options });
  }

  protected updateOne(group: ParamGroup, p: Tensor): void {
    const { betas, eps, weight_decay, decoupled_weight_decay, maximize, ...rest } = group as ParamGroup &
      Required<DecoupledOptions>;
    const lr = numberOf(rest.lr);
    const { param, grad } = this.descent(p, maximize, decoupled_weight_decay ? 0 : weight_decay);
    const { exp_avg, exp_avg_sq, step } = this.zerosFor(p, "exp_avg", "exp_avg_sq");
    if (decoupled_weight_decay && weight_decay !== 0) param.mul_(real(1 - lr * weight_decay));
    trackMean(exp_avg, grad, betas[0]);
    trackSquare(exp_avg_sq, grad, betas[1]);
    const correction = 1 - betas[1] ** step;
    const longest = 2 / (1 - betas[1]) - 1;
    const length = longest - (2 * step * betas[1] ** step) / correction;
    const rate = lr / (1 - betas[0] ** step);
    if (length <= 5) {
      param.add_(exp_avg, { alpha: real(-rate) });
      return;
    }
    const rectified = Math.sqrt(((length - 4) * (length - 2) * longest) / ((longest - 4) * (longest - 2) * length));
    const root = exp_avg_sq.sqrt().add_(real(eps));
    param.addcdiv_(exp_avg, root, { value: real(-rate * rectified * Math.sqrt(correction)) });
  }
}
