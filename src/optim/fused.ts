/** @file What optimizers share whose step is one program for all parameters of a group. */
import { functional } from "../api/index.js";
import { untraced } from "../dispatch/index.js";
import { float32 } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { Optimizer } from "./optimizer.js";

/** An optimizer whose program counts the steps: their number lives beside the parameter. */
export abstract class FusedOptimizer extends Optimizer {
  /** Its step unscales gradients and skips those that overflowed, without a read on the host. */
  readonly _step_supports_amp_scaling = true;
  protected override stepDevice(parameter: Tensor): Tensor["device"] {
    return parameter.device;
  }

  /** Scale and overflow of the gradients, from a gradient scaler. */
  protected get overflow(): { grad_scale: Tensor | null; found_inf: Tensor | null } {
    return { grad_scale: this.grad_scale, found_inf: this.found_inf };
  }

  /** State tensors of the parameters under `name`, made by `make` where new. */
  protected stateTensors(params: readonly Tensor[], name: string, make: (p: Tensor) => Tensor): Tensor[] {
    return params.map((p) => {
      let state = this.state.get(p);
      if (!state) this.state.set(p, (state = {}));
      return (state[name] ??= untraced(() => make(p))) as Tensor;
    });
  }

  protected zeros(params: readonly Tensor[], name: string): Tensor[] {
    return this.stateTensors(params, name, (p) => functional.zeros_like(p));
  }

  protected steps(params: readonly Tensor[]): Tensor[] {
    return this.stateTensors(params, "step", (p) => functional.zeros([], { dtype: float32, device: p.device }));
  }
}

/** The gradients of parameters that have one. */
export const gradsOf = (params: readonly Tensor[]): Tensor[] => params.map((p) => p.grad!);

/** Parameters that one program can update together: those on one device. */
export function byDevice(params: readonly Tensor[]): Tensor[][] {
  const groups = new Map<unknown, Tensor[]>();
  for (const p of params) {
    const group = groups.get(p.device);
    if (group) group.push(p);
    else groups.set(p.device, [p]);
  }
  return [...groups.values()];
}
