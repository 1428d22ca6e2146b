/** @file `torch.tpu`: what is known of TPU devices, their memory and their random numbers. */
import {
  backendOf,
  clientOf,
  eagerMode,
  hasTpuHardware,
  programsCompiled,
  runDeferred,
  setEagerMode,
  withEagerMode,
  type EagerMode,
} from "../dispatch/index.js";
import { TorchError } from "../schema/index.js";
import { defaultGenerator, device as deviceOf, type Device, type DeviceLike } from "../tensor/index.js";

let currentIndex = 0;

const tpu = (d: DeviceLike | null | undefined): Device => {
  const device = d === null || d === undefined ? deviceOf("tpu", currentIndex) : deviceOf(d);
  if (device.type !== "tpu") throw new TorchError(`Expected a tpu device, but got: ${device.toString()}`);
  return device;
};

/** Whether device "tpu" can be used. True also where it is virtual. */
export const is_available = (): boolean => clientOf("tpu").client.addressableDevices.length > 0;

/** Whether "tpu" is XLA's CPU plugin instead of hardware. */
export const is_virtual = (): boolean => clientOf("tpu").isVirtual;

/** Whether a TPU is attached to this machine. */
export const has_hardware = (): boolean => hasTpuHardware();

/** How many TPU devices this process has. */
export const device_count = (): number => clientOf("tpu").client.addressableDevices.length;

/** The index that "tpu" without an index stands for. */
export const current_device = (): number => currentIndex;

/** Sets the index that "tpu" without an index stands for in this namespace. */
export function set_device(device: DeviceLike): void {
  const { index } = tpu(device);
  if (index >= device_count())
    throw new TorchError(`set_device(): expected an index below ${device_count()}, got ${index}`);
  currentIndex = index;
}

/** The device's kind as its plugin names it. */
export function get_device_name(device?: DeviceLike | null): string {
  return clientOf("tpu").client.addressableDevices[tpu(device).index].kind;
}

/** Waits until everything that was started on the device is done. */
export function synchronize(device?: DeviceLike | null): void {
  runDeferred();
  backendOf(tpu(device)).synchronize();
}

export { EagerMode } from "../dispatch/index.js";

/** How operators run outside of compiled functions; see EagerMode. */
export const eager_mode = (): EagerMode => eagerMode();

/** Sets how operators run; with `fn`, while it runs, and returns its result. */
export function set_eager_mode(mode: EagerMode): void;
export function set_eager_mode<R>(mode: EagerMode, fn: () => R): R;
export function set_eager_mode<R>(mode: EagerMode, fn?: () => R): R | void {
  return fn === undefined ? setEagerMode(mode) : withEagerMode(mode, fn);
}

export * from "./tpu_cache.js";

/** Seeds the generator of the current device. */
export function manual_seed(seed: number | bigint): void {
  defaultGenerator(tpu(null)).manual_seed(seed);
}

/** Seeds the generators of all devices. */
export function manual_seed_all(seed: number | bigint): void {
  for (let i = 0; i < device_count(); i++) defaultGenerator(deviceOf("tpu", i)).manual_seed(seed);
}

/** The seed of the current device. */
export const initial_seed = (): bigint => defaultGenerator(tpu(null)).initial_seed();

/** Key and counter of a device's generator, for set_rng_state. */
export const get_rng_state = (device?: DeviceLike | null): [bigint, bigint] =>
  defaultGenerator(tpu(device)).get_state();

export function set_rng_state(state: readonly [bigint, bigint], device?: DeviceLike | null): void {
  defaultGenerator(tpu(device)).set_state(state);
}

/** Bytes of live buffers on the device. */
export const memory_allocated = (device?: DeviceLike | null): number => backendOf(tpu(device)).memory().liveBytes;

/** The most bytes that were live at once since the start or the last reset. */
export const max_memory_allocated = (device?: DeviceLike | null): number => backendOf(tpu(device)).memory().peakBytes;

/** Starts max_memory_allocated anew. */
export function reset_peak_memory_stats(device?: DeviceLike | null): void {
  backendOf(tpu(device)).resetPeak();
}

/** How many programs this process compiled so far. */
export const compile_count = (): number => programsCompiled();
