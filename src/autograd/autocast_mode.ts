/** @file Autocast: in which floating-point type operators run, by kind of device. */
import { bfloat16, float16, TorchError, TorchTypeError, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";

export type AutocastDevice = "cpu" | "tpu";

interface DeviceState {
  enabled: boolean;
  dtype: DType;
}

const states: Record<AutocastDevice, DeviceState> = {
  cpu: { enabled: false, dtype: bfloat16 },
  tpu: { enabled: false, dtype: bfloat16 },
};
let cacheEnabled = true;
let nesting = 0;
/** Whether any device's operators are cast: all that a call asks while none are. */
let active = false;
let key = "";

function changed(): void {
  active = states.cpu.enabled || states.tpu.enabled;
  key = !active
    ? ""
    : Object.values(states)
        .map((s) => (s.enabled ? s.dtype.name : "-"))
        .join();
}

/** Whether operators on any kind of device are cast. */
export const isAutocasting = (): boolean => active;

/** The state as a text, for guards. */
export const autocastKey = (): string => key;

const isDevice = (type: string): type is AutocastDevice => type === "cpu" || type === "tpu";

function stateOf(device_type: string): DeviceState {
  if (typeof device_type !== "string")
    throw new TorchTypeError(`Expected \`device_type\` of type \`str\`, got: \`${typeof device_type}\``);
  if (!isDevice(device_type))
    throw new TorchError(`User specified an unsupported autocast device_type '${device_type}'`);
  return states[device_type];
}

/** The type that operators on this kind of device are cast to; null while they are not. */
export function autocastType(device_type: string): DType | null {
  const state = isDevice(device_type) ? states[device_type] : null;
  return state?.enabled ? state.dtype : null;
}

/** Whether autocast exists for this kind of device. */
export const is_autocast_available = (device_type: string): boolean => isDevice(device_type);
/** Whether operators on this kind of device (default "tpu") are cast. */
export const is_autocast_enabled = (device_type = "tpu"): boolean => stateOf(device_type).enabled;
/** The low-precision type of this kind of device. */
export const get_autocast_dtype = (device_type: string): DType => stateOf(device_type).dtype;
/** Turns autocast on or off for this kind of device. Rather use `torch.autocast`. */
export function set_autocast_enabled(device_type: string, enabled: boolean): void {
  stateOf(device_type).enabled = enabled;
  changed();
}
/** Sets the low-precision type of this kind of device. Rather use `torch.autocast`. */
export function set_autocast_dtype(device_type: string, dtype: DType): void {
  stateOf(device_type).dtype = dtype;
  changed();
}
/** Whether parameters are cast once for a whole region. */
export const is_autocast_cache_enabled = (): boolean => cacheEnabled;
/** Sets whether parameters are cast once for a whole region. */
export function set_autocast_cache_enabled(enabled: boolean): void {
  cacheEnabled = enabled;
}

/** A parameter's cast, and what it holds for. */
export interface CachedCast {
  readonly value: Tensor;
  readonly dtype: DType;
  readonly version: number;
  readonly grad: boolean;
  readonly trace: object | null;
}
let casts = new WeakMap<Tensor, CachedCast>();
/** @internal The casts of the present region. */
export const autocastCache = (): WeakMap<Tensor, CachedCast> | null => (cacheEnabled && nesting > 0 ? casts : null);

/** Forgets the casts of the present region. */
export function clear_autocast_cache(): void {
  casts = new WeakMap();
}

/** Runs `fn` with no operator cast. */
export function withoutAutocast<R>(fn: () => R): R {
  if (!active) return fn();
  const before = active;
  active = false;
  try {
    return fn();
  } finally {
    active = before;
  }
}

export interface AutocastOptions {
  /** The low-precision type. Default: the device's, bfloat16. */
  dtype?: DType | null;
  /** Default true. */
  enabled?: boolean;
  /** Whether a parameter is cast once for the whole region. Default true. */
  cache_enabled?: boolean | null;
}

/** Undoes an autocast region when disposed, so that `using _ = torch.autocast("tpu")` ends with its block. */
export class AutocastGuard implements Disposable {
  private readonly before: DeviceState;
  private readonly cacheBefore = cacheEnabled;
  private readonly state: DeviceState;
  constructor(
    readonly device: string,
    readonly options: AutocastOptions,
  ) {
    const state = (this.state = stateOf(device));
    this.before = { ...state };
    const dtype = options.dtype ?? state.dtype;
    let enabled = options.enabled ?? true;
    if (enabled && dtype !== bfloat16 && dtype !== float16) {
      const name = device.toUpperCase();
      process.emitWarning(
        `In ${name} autocast, but the target dtype is not supported. Disabling autocast.\n${name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.`,
        "TorchTpuWarning",
      );
      enabled = false;
    }
    Object.assign(state, { enabled, dtype });
    cacheEnabled = options.cache_enabled ?? cacheEnabled;
    nesting++;
    changed();
  }
  [Symbol.dispose](): void {
    if (--nesting === 0) clear_autocast_cache();
    Object.assign(this.state, this.before);
    cacheEnabled = this.cacheBefore;
    changed();
  }
}

/**
 * Runs `fn` with products of matrices and convolutions on this kind of device in a low-precision type, and operators
 * that need it in float32. Without `fn`, returns a guard for `using`. A promise keeps the mode until it settles.
 * @example
 * const loss = torch.autocast("tpu", { dtype: torch.bfloat16 }, () => F.cross_entropy(model(x), y));
 * loss.backward();
 * @throws TorchError for a kind of device without autocast.
 * @see https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
 */
export function autocast(device_type: string, options?: AutocastOptions): AutocastGuard;
export function autocast<R>(device_type: string, fn: () => R): R;
export function autocast<R>(device_type: string, options: AutocastOptions, fn: () => R): R;
export function autocast<R>(
  device_type: string,
  options: AutocastOptions | (() => R) = {},
  fn?: () => R,
): R | AutocastGuard {
  if (typeof options === "function") return autocast(device_type, {}, options);
  const guard = new AutocastGuard(device_type, options);
  if (!fn) return guard;
  let result: R;
  try {
    result = fn();
  } catch (error) {
    guard[Symbol.dispose]();
    throw error;
  }
  if (result instanceof Promise) return result.finally(() => guard[Symbol.dispose]()) as R;
  guard[Symbol.dispose]();
  return result;
}

/** @internal The present state, for running something again as it ran before. */
export function autocastRegions(): () => Disposable {
  const saved = (Object.keys(states) as AutocastDevice[]).map((d) => [d, { ...states[d] }] as const);
  const cache_enabled = cacheEnabled;
  return () => {
    const guards = saved.map(([d, s]) => new AutocastGuard(d, { ...s, cache_enabled }));
    return { [Symbol.dispose]: () => guards.reverse().forEach((g) => g[Symbol.dispose]()) };
  };
}
