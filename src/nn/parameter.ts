/** @file Parameter and Buffer: tensors that a Module registers when they are assigned to it. */
import { functional } from "../api/index.js";
import { TorchError } from "../schema/index.js";
import { Tensor } from "../tensor/index.js";

const inspect = Symbol.for("nodejs.util.inspect.custom");

/** Options of `new Parameter`. */
export interface ParameterOptions {
  requires_grad?: boolean;
}

/**
 * A tensor that a Module counts among its parameters. Shares the memory of `data`, outside of its graph, and requires a
 * gradient unless told otherwise, also under no_grad.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
 */
export class Parameter extends Tensor {
  /** Tells a Parameter from other tensors, also to the compiler. */
  declare readonly isParameter: true;

  constructor(data: Tensor = functional.empty([0]), requires_grad: boolean | ParameterOptions = true) {
    super(data.storageRef, data.spec, data.offsets);
    const wanted = typeof requires_grad === "boolean" ? requires_grad : (requires_grad.requires_grad ?? true);
    if (wanted && !data.dtype.is_differentiable)
      throw new TorchError("Only Tensors of floating point and complex dtype can require gradients");
    this.requiresGradFlag = wanted;
  }

  override toString(): string {
    return `Parameter containing:\n${super.toString()}`;
  }
  [inspect](): string {
    return this.toString();
  }
}
Object.defineProperty(Parameter.prototype, "isParameter", { value: true });

/**
 * A tensor that a Module counts among its buffers. `persistent`: whether it is part of the state_dict.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Buffer.html
 */
export class Buffer extends Tensor {
  readonly persistent: boolean;
  constructor(data: Tensor = functional.empty([0]), persistent: boolean | { persistent?: boolean } = true) {
    super(data.storageRef, data.spec, data.offsets);
    this.persistent = typeof persistent === "boolean" ? persistent : (persistent.persistent ?? true);
  }
}
