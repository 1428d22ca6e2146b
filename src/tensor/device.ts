/** @file Devices by name. What runs on them is the dispatcher's business. */
import { TorchError } from "../schema/index.js";

export type DeviceType = "cpu" | "tpu" | "meta" | "plugin";
const types: readonly string[] = ["cpu", "tpu", "meta", "plugin"];

/** `torch.device`. Instances are interned: compare with `===`. */
export class Device {
  constructor(
    readonly type: DeviceType,
    readonly index: number,
    /** Position among all devices that were named so far; a small integer for tables. */
    readonly id: number,
  ) {}
  /** `tpu:0`, `cpu`, `meta`. */
  toString(): string {
    return this.type === "tpu" || this.type === "plugin" ? `${this.type}:${this.index}` : this.type;
  }
  toJSON(): string {
    return this.toString();
  }
}

/** A device, its name, or the number of a TPU. */
export type DeviceLike = Device | string | number;

const known = new Map<string, Device>();

/**
 * The device of this name (`"cpu"`, `"tpu"`, `"tpu:1"`, `"meta"`), or of type and index.
 * Throws TorchError for a name that is no device.
 */
export function device(name: DeviceLike, index?: number): Device {
  if (name instanceof Device) return name;
  const text = typeof name === "number" ? `tpu:${name}` : index === undefined ? name : `${name}:${index}`;
  const found = known.get(text);
  if (found) return found;
  const m = /^([a-z]+)(?::(\d+))?$/.exec(text);
  if (!m || !types.includes(m[1])) {
    throw new TorchError(`Expected one of cpu, tpu, meta, plugin device type at start of device string: ${text}`);
  }
  const canonical = `${m[1]}:${m[2] ?? 0}`;
  let result = known.get(canonical);
  if (!result) {
    const ids = new Set([...known.values()].map((d) => d.id));
    known.set(canonical, (result = new Device(m[1] as DeviceType, Number(m[2] ?? 0), ids.size)));
  }
  known.set(text, result);
  return result;
}

let defaultDevice = device("cpu");

/** Where tensors are made when nothing says where. */
export const get_default_device = (): Device => defaultDevice;

/** Sets where tensors are made when nothing says where. */
export function set_default_device(to: DeviceLike): void {
  defaultDevice = device(to);
}
