/** @file RMSprop and Adadelta: steps divided by a running root mean square. */
import type { Tensor } from "../tensor/index.js";
import { byName, type Ordered } from "./arguments.js";
import { EagerOptimizer, trackMean, trackSquare } from "./eager.js";
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

export interface RMSpropOptions extends Omit<CommonOptions, "fused"> {
  /** Learning rate. Default 0.01. */
  lr?: LearningRate;
  /** Decay rate of the running mean square. Default 0.99. */
  alpha?: number;
  /** Added to the denominator. Default 1e-8. */
  eps?: number;
  /** L2 penalty. */
  weight_decay?: number;
  momentum?: number;
  /** Divide by the deviation: subtract the square of the running mean. */
  centered?: boolean;
}

const rmspropOrder = ["lr", "alpha", "eps", "weight_decay", "momentum", "centered"] as const;

/**
 * RMSprop (Hinton's lectures; centered: Graves 2013).
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.RMSprop.html
 */
export class RMSprop extends EagerOptimizer {
  constructor(params: Params, ...args: Ordered<RMSpropOptions, typeof rmspropOrder>) {
    const options = byName<RMSpropOptions>("RMSprop", rmspropOrder, args, {
      lr: 1e-2,
      momentum: 0,
      alpha: 0.99,
      eps: 1e-8,
      centered: false,
      weight_decay: 0,
      capturable: false,
      foreach: null,
      maximize: false,
      differentiable: false,
    });
    checkCommon(options);
    checkOption(options.momentum >= 0, `Invalid momentum value: ${pythonRepr(options.momentum)}`);
    checkOption(options.alpha >= 0, `Invalid alpha value: ${pythonRepr(options.alpha)}`);
    super(params, { ...options });
  }

  protected updateOne(group: ParamGroup, p: Tensor): void {
    const { alpha, eps, weight_decay, momentum, centered, maximize, ...rest } = group as ParamGroup &
      Required<RMSpropOptions>;
    const lr = numberOf(rest.lr);
    const { param, grad } = this.descent(p, maximize, weight_decay);
    const { square_avg } = this.zerosFor(p, "square_avg");
    trackSquare(square_avg, grad, alpha);
    const momentum_buffer = momentum > 0 ? this.stateZeros(p, "momentum_buffer") : null;
    const grad_avg = centered ? this.stateZeros(p, "grad_avg") : null;
    let mean = square_avg;
    if (grad_avg) {
      trackMean(grad_avg, grad, alpha);
      mean = square_avg.addcmul(grad_avg, grad_avg, { value: real(-1) });
    }
    const root = mean.sqrt().add_(real(eps));
    if (momentum_buffer) {
      momentum_buffer.mul_(real(momentum)).addcdiv_(grad, root);
      param.add_(momentum_buffer, { alpha: real(-lr) });
    } else param.addcdiv_(grad, root, { value: real(-lr) });
  }
}

export interface AdadeltaOptions extends Omit<CommonOptions, "fused"> {
  /** Factor of each step. Default 1. */
  lr?: LearningRate;
  /** Decay rate of the running mean squares. Default 0.9. */
  rho?: number;
  /** Added under the roots. Default 1e-6. */
  eps?: number;
  /** L2 penalty. */
  weight_decay?: number;
}

const adadeltaOrder = ["lr", "rho", "eps", "weight_decay", "foreach"] as const;

/**
 * Adadelta: steps in the units of the parameters (Zeiler 2012).
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.Adadelta.html
 */
export class Adadelta extends EagerOptimizer {
  constructor(params: Params, ...args: Ordered<AdadeltaOptions, typeof adadeltaOrder>) {
    const options = byName<AdadeltaOptions>("Adadelta", adadeltaOrder, args, {
      lr: 1,
      rho: 0.9,
      eps: 1e-6,
      weight_decay: 0,
      maximize: false,
      capturable: false,
      foreach: null,
      differentiable: false,
    });
    checkCommon(options);
    checkOption(options.rho >= 0 && options.rho <= 1, `Invalid rho value: ${pythonRepr(options.rho)}`);
    super(params, { ...options });
  }

  protected updateOne(group: ParamGroup, p: Tensor): void {
    const { lr, rho, eps, weight_decay, maximize } = group as ParamGroup & Required<AdadeltaOptions>;
    const { param, grad } = this.descent(p, maximize, weight_decay);
    const { square_avg, acc_delta } = this.zerosFor(p, "square_avg", "acc_delta");
    trackSquare(square_avg, grad, rho);
    const root = square_avg.add(real(eps)).sqrt_();
    const delta = acc_delta.add(real(eps)).sqrt_().div_(root).mul_(grad);
    trackSquare(acc_delta, delta, rho);
    param.add_(delta, { alpha: real(-numberOf(lr)) });
  }
}
