/** @file Stochastic gradient descent. */
import { functional } from "../api/index.js";
import { hostGuard } from "../dispatch/index.js";
import type { Tensor } from "../tensor/index.js";
import { byName, type Ordered } from "./arguments.js";
import { byDevice, FusedOptimizer, gradsOf } from "./fused.js";
import type { ParamGroup, Params } from "./optimizer.js";
import {
  checkCommon,
  checkOption,
  pythonRepr,
  rateFor,
  option,
  type CommonOptions,
  type LearningRate,
} from "./values.js";

export interface SGDOptions extends Omit<CommonOptions, "capturable"> {
  /** Learning rate. Default 1e-3. */
  lr?: LearningRate;
  /** Share of the last step that is kept. */
  momentum?: number;
  /** Share of the gradient that momentum leaves out. */
  dampening?: number;
  /** L2 penalty. */
  weight_decay?: number;
  /** Look ahead along the momentum (Sutskever et al. 2013). */
  nesterov?: boolean;
}

const order = ["lr", "momentum", "dampening", "weight_decay", "nesterov"] as const;

/**
 * Stochastic gradient descent, with momentum if asked. One program updates all parameters of a group.
 * @example
 * const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html
 */
export class SGD extends FusedOptimizer {
  constructor(params: Params, ...args: Ordered<SGDOptions, typeof order>) {
    const options = byName<SGDOptions>("SGD", order, args, {
      lr: 1e-3,
      momentum: 0,
      dampening: 0,
      weight_decay: 0,
      nesterov: false,
      maximize: false,
      foreach: null,
      differentiable: false,
      fused: null,
    });
    const { momentum, dampening, nesterov } = options;
    checkCommon(options);
    checkOption(momentum >= 0, `Invalid momentum value: ${pythonRepr(momentum)}`);
    checkOption(
      !nesterov || (momentum > 0 && dampening === 0),
      "Nesterov momentum requires a momentum and zero dampening",
    );
    super(params, { ...options });
  }

  protected update(group: ParamGroup, all: readonly Tensor[]): void {
    const options = group as ParamGroup & Required<SGDOptions>;
    const momentum = hostGuard(() => options.momentum !== 0);
    const isNew = (p: Tensor): boolean => !this.state.get(p)?.momentum_buffer;
    for (const params of byDevice(all)) {
      if (!momentum) {
        this.descend(group, params, [], false);
        continue;
      }
      // without dampening a first step is one from a buffer of zeros
      if (hostGuard(() => options.dampening === 0 || !params.some(isNew))) {
        this.descend(group, params, this.zeros(params, "momentum_buffer"), false);
        continue;
      }
      for (const fresh of [false, true]) {
        const some = params.filter((p) => isNew(p) === fresh);
        if (some.length > 0) this.descend(group, some, this.zeros(some, "momentum_buffer"), fresh);
      }
    }
  }

  private descend(group: ParamGroup, params: Tensor[], buffers: Tensor[], is_first_step: boolean): void {
    const { nesterov, maximize } = group as ParamGroup & Required<SGDOptions>;
    functional._fused_sgd_(params, gradsOf(params), buffers, {
      weight_decay: option(group, "weight_decay"),
      momentum: option(group, "momentum"),
      lr: rateFor(group, params[0]) as Tensor,
      dampening: option(group, "dampening"),
      nesterov,
      maximize,
      is_first_step,
      ...this.overflow,
    });
  }
}
