/** @file Autocast for operations with a gradient of their own. */
import { functional } from "../api/index.js";
import { autocast, get_autocast_dtype, is_autocast_enabled, type FunctionContext } from "../autograd/index.js";
import { float64, TorchValueError, type DType } from "../schema/index.js";
import { Tensor } from "../tensor/index.js";

export interface CustomOptions {
  device_type: string;
  /** custom_fwd only: forward gets its tensors in this type, and runs without autocast. */
  cast_inputs?: DType | null;
}

function checkDeviceType({ device_type }: CustomOptions): void {
  if (typeof device_type !== "string")
    throw new TorchValueError(`Expected \`device_type\` of type \`str\`, got: \`${typeof device_type}\``);
}

function castTo(value: unknown, device_type: string, dtype: DType): unknown {
  if (Array.isArray(value)) return (value as unknown[]).map((v) => castTo(v, device_type, dtype));
  if (!(value instanceof Tensor) || value.device.type !== device_type) return value;
  const eligible = value.is_floating_point() && value.dtype !== float64 && value.dtype !== dtype;
  return eligible ? functional._to_copy(value, { dtype }) : value;
}

/**
 * The `forward` of an autograd.Function that knows of autocast: with `cast_inputs` it gets its tensors in that type and
 * runs without autocast where autocast is on; without, its operators are cast as everywhere.
 * @see https://docs.pytorch.org/docs/stable/amp.html#torch.amp.custom_fwd
 */
export function custom_fwd<A extends unknown[], R>(
  fwd: (ctx: FunctionContext, ...args: A) => R,
  options: CustomOptions,
): (ctx: FunctionContext, ...args: A) => R {
  checkDeviceType(options);
  const { device_type, cast_inputs = null } = options;
  return (ctx, ...args) => {
    ctx._dtype = get_autocast_dtype(device_type);
    const enabled = is_autocast_enabled(device_type);
    ctx._fwd_used_autocast = enabled && cast_inputs === null;
    if (!enabled || cast_inputs === null) return fwd(ctx, ...args);
    return autocast(device_type, { enabled: false }, () => fwd(ctx, ...(castTo(args, device_type, cast_inputs) as A)));
  };
}

/**
 * The `backward` of an autograd.Function that runs with autocast as its forward did.
 * @see https://docs.pytorch.org/docs/stable/amp.html#torch.amp.custom_bwd
 */
export function custom_bwd<A extends unknown[], R>(
  bwd: (ctx: FunctionContext, ...args: A) => R,
  options: CustomOptions,
): (ctx: FunctionContext, ...args: A) => R {
  checkDeviceType(options);
  const { device_type } = options;
  return (ctx, ...args) =>
    autocast(device_type, { enabled: ctx._fwd_used_autocast as boolean, dtype: ctx._dtype as DType }, () =>
      bwd(ctx, ...args),
    );
}
