/** @file Stochastic gradient descent. */
import { functional } from "../api/index.js";
import type { Tensor } from "../tensor/index.js";
import { byDevice, checkOption, Optimizer, stateTensors, type ParamGroup, type Params } from "./optimizer.js";

export interface SGDOptions {
  /** Learning rate. Default 1e-3. */
  lr?: number;
  momentum?: number;
  dampening?: number;
  /** L2 penalty. */
  weight_decay?: number;
  nesterov?: boolean;
  maximize?: boolean;
}

/** `torch.optim.SGD`. One program updates all parameters of a group. @see https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html */
export class SGD extends Optimizer {
  constructor(params: Params, options: SGDOptions = {}) {
    const { lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0, nesterov = false, maximize = false } = options;
    checkOption(lr >= 0, `Invalid learning rate: ${lr}`);
    checkOption(momentum >= 0, `Invalid momentum value: ${momentum}`);
    checkOption(weight_decay >= 0, `Invalid weight_decay value: ${weight_decay}`);
    checkOption(!nesterov || (momentum > 0 && dampening === 0), "Nesterov momentum requires a momentum and zero dampening");
    super(params, { lr, momentum, dampening, weight_decay, nesterov, maximize });
  }

  protected update(group: ParamGroup, all: readonly Tensor[]): void {
    const { lr, momentum, dampening, weight_decay, nesterov, maximize } = group as ParamGroup & Required<SGDOptions>;
    const run = (params: readonly Tensor[], is_first_step: boolean): void => {
      const buffers = momentum === 0 ? [] : stateTensors(this, params, "momentum_buffer", (p) => functional.zeros_like(p));
      functional._fused_sgd_(params, params.map((p) => p.grad!), buffers, { weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step });
    };
    for (const params of byDevice(all)) {
      const fresh = momentum === 0 ? [] : params.filter((p) => !this.state.get(p)?.momentum_buffer);
      const known = params.filter((p) => !fresh.includes(p));
      if (known.length > 0) run(known, false);
      if (fresh.length > 0) run(fresh, true);
    }
  }
}
