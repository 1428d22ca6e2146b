/** @file What optimizers share whose step runs operator by operator, parameter by parameter. */
import { functional } from "../api/index.js";
import { float32 } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { Optimizer, type ParamGroup } from "./optimizer.js";
import { real } from "./values.js";

/** Tensors of a parameter's state, seen as real numbers. */
type Tensors<K extends string> = Record<K, Tensor>;

/** A parameter and its gradient, complex ones as their real parts. The gradient may be the parameter's own: do not write. */
export interface Descent {
  readonly param: Tensor;
  readonly grad: Tensor;
}

/** Complex numbers as pairs of real ones, in the same memory. */
export const asReal = (t: Tensor): Tensor => (t.is_complex() ? functional.view_as_real(t) : t);

/** An optimizer that updates one parameter after the other. Counts of steps live on the host. */
export abstract class EagerOptimizer extends Optimizer {
  protected update(group: ParamGroup, params: readonly Tensor[]): void {
    for (const p of params) this.updateOne(group, p);
  }

  protected abstract updateOne(group: ParamGroup, param: Tensor): void;

  /** The gradient with sign and, unless it is decoupled, the L2 penalty. */
  protected descent(param: Tensor, maximize: boolean, weight_decay = 0): Descent {
    let grad = param.grad!.detach();
    if (maximize) grad = grad.neg();
    if (weight_decay !== 0) grad = grad.add(param, { alpha: real(weight_decay) });
    return { param: asReal(param), grad: asReal(grad) };
  }

  /** State tensors of the parameter's shape under these names, zero at first, as real numbers; and the step's number. */
  protected zerosFor<K extends string>(param: Tensor, ...names: K[]): Tensors<K> & { step: number } {
    const state = this.stateOf<Tensors<string>>(param, () => ({
      step: functional.zeros([], { dtype: float32, device: "cpu" }),
    }));
    state.step.add_(1);
    const out: Record<string, unknown> = { step: state.step.item() };
    for (const name of names) out[name] = this.stateZeros(param, name);
    return out as Tensors<K> & { step: number };
  }

  /** One more state tensor of the parameter's shape. */
  protected stateZeros(param: Tensor, name: string): Tensor {
    const state = this.state.get(param) as Tensors<string>;
    return asReal((state[name] ??= functional.zeros_like(param)));
  }

  /** A number on the host that the state keeps as a tensor. */
  protected hostNumber(param: Tensor, name: string, start: number): Tensor {
    const state = this.state.get(param)!;
    return (state[name] ??= functional.full([], real(start), { dtype: float32, device: "cpu" })) as Tensor;
  }
}

/** The running mean of squares moved on: mean·decay + grad²·(1 - decay). */
export function trackSquare(mean: Tensor, grad: Tensor, decay: number): void {
  mean.mul_(real(decay)).addcmul_(grad, grad, { value: real(1 - decay) });
}

/** The running mean moved on: mean + (grad - mean)·(1 - decay). */
export function trackMean(mean: Tensor, grad: Tensor, decay: number): void {
  mean.lerp_(grad, real(1 - decay));
}
