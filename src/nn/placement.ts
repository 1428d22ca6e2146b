/** @file The arguments of `module.to`. */
import { DType, TorchTypeError } from "../schema/index.js";
import { Device, device as deviceOf, Tensor, type DeviceLike } from "../tensor/index.js";

/** Where to move a module and what its floating point tensors become. */
export interface ToOptions {
  device?: DeviceLike | null;
  dtype?: DType | null;
  non_blocking?: boolean;
}

export type ToTarget = DeviceLike | DType | Tensor | ToOptions;

/** Device and dtype of `to(device, dtype)`, `to(dtype)`, `to(tensor)` and `to({ device, dtype })`. */
export function parseTo(...args: readonly (ToTarget | undefined)[]): { device: Device | null; dtype: DType | null } {
  let device: Device | null = null;
  let dtype: DType | null = null;
  for (const arg of args) {
    if (arg === undefined) continue;
    if (arg instanceof DType) dtype = arg;
    else if (arg instanceof Tensor) [device, dtype] = [arg.device, arg.dtype];
    else if (arg instanceof Device || typeof arg === "string" || typeof arg === "number") device = deviceOf(arg);
    else if (typeof arg === "object") {
      if (arg.device) device = deviceOf(arg.device);
      if (arg.dtype) dtype = arg.dtype;
    } else throw new TorchTypeError(`to(): expected a device, a dtype or a tensor, got ${typeof arg}`);
  }
  if (dtype !== null && !dtype.is_differentiable)
    throw new TorchTypeError(
      `nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=${dtype.toString()}`,
    );
  return { device, dtype };
}
