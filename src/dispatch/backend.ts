/** @file Backends: the PJRT client and device behind each torch device, made when first used. */
import { cpuPluginPathSync, libtpuPath } from "../assets/index.js";
import {
  compilePresets,
  Plugin,
  readyRaw,
  uploadRaw,
  type BufferHandle,
  type Client,
  type ClientHandle,
  type CompileOptions,
  type ExecutableHandle,
  type LoadedExecutable,
} from "../pjrt/index.js";
import {
  Complex,
  scalarDtype,
  toNumber,
  TorchError,
  uint8,
  type DType,
  type Scalar,
  type ScalarKind,
} from "../schema/index.js";
import type { Device, DeviceType } from "../tensor/index.js";
import { hasTpuHardware } from "./hardware.js";
import { ProgramCache } from "./program_cache.js";

interface ClientInfo {
  readonly client: Client;
  readonly isVirtual: boolean;
}

const clients = new Map<DeviceType, ClientInfo>();

/** How many devices a virtual TPU has. */
export function virtualDeviceCount(): number {
  const text = process.env.TORCH_TPU_VIRTUAL_DEVICES ?? "1";
  const n = Number(text);
  if (!Number.isInteger(n) || n < 1)
    throw new TorchError(`TORCH_TPU_VIRTUAL_DEVICES: expected a positive integer, got '${text}'`);
  return n;
}

let announced = false;
function announceVirtual(devices: number): void {
  if (announced || process.env.TORCH_TPU_QUIET === "1") return;
  announced = true;
  process.stderr.write(
    `torch-tpu: no TPU here, device "tpu" is a virtual TPU: ${devices} device${devices === 1 ? "" : "s"} of XLA's CPU plugin\n`,
  );
}

function openClient(type: DeviceType): ClientInfo {
  if (type === "cpu")
    return { client: Plugin.load(cpuPluginPathSync()).createClient({ devices: 1 }), isVirtual: false };
  if (type === "plugin") {
    const path = process.env.TORCH_TPU_DEVICE_PLUGIN;
    if (!path)
      throw new TorchError(
        'device "plugin": expected the path of a PJRT plugin in TORCH_TPU_DEVICE_PLUGIN, got nothing',
      );
    return { client: Plugin.load(path).createClient({}), isVirtual: false };
  }
  const libtpu = hasTpuHardware() ? libtpuPath() : null;
  if (libtpu !== null) return { client: Plugin.load(libtpu).createClient({}), isVirtual: false };
  const devices = virtualDeviceCount();
  announceVirtual(devices);
  return { client: Plugin.load(cpuPluginPathSync()).createClient({ devices }), isVirtual: true };
}

/** The client of a type of device; opened at the first call. */
export function clientOf(type: DeviceType): ClientInfo {
  let found = clients.get(type);
  if (!found) clients.set(type, (found = openClient(type)));
  return found;
}

const maxCachedScalars = 4096;

export class Backend {
  readonly client: Client;
  readonly handle: ClientHandle;
  readonly isVirtual: boolean;
  readonly programs: ProgramCache;
  private readonly scalars: Record<ScalarKind, Map<unknown, BufferHandle>> = {
    bool: new Map(),
    int: new Map(),
    float: new Map(),
    complex: new Map(),
  };

  constructor(readonly device: Device) {
    const { client, isVirtual } = clientOf(device.type);
    this.client = client;
    this.handle = client.handle;
    this.isVirtual = isVirtual;
    this.programs = programCacheOf(client);
    const count = client.addressableDevices.length;
    if (device.index >= count)
      throw new TorchError(
        `device(): expected an index below ${count}, the number of ${device.type} devices, got ${device.toString()}`,
      );
  }

  /** A new buffer with these bytes. */
  upload(data: ArrayBufferView, dtype: DType, shape: readonly number[]): BufferHandle {
    return uploadRaw(this.handle, this.device.index, data, dtype.pjrt, shape);
  }

  /** The buffer of one number; buffers of recent numbers are kept. */
  scalar(value: Scalar, kind: ScalarKind): BufferHandle {
    const cache = this.scalars[kind];
    const plain = typeof value === "object" && !(value instanceof Complex) ? value.valueOf() : value;
    // a Map takes -0 for 0
    const key = plain instanceof Complex ? plain.toString() : Object.is(plain, -0) ? "-0" : plain;
    let found = cache.get(key);
    if (found === undefined) {
      if (cache.size >= maxCachedScalars) cache.clear();
      cache.set(key, (found = this.upload(scalarBytes(value, kind), scalarDtype(kind), [])));
    }
    return found;
  }

  /** The program of a StableHLO module for this device. `effort`: how long the compiler may try. */
  compile(name: string, text: string, effort: "fast" | "full"): LoadedExecutable {
    return this.programs.program(name, text, this.compileOptions(effort));
  }

  /** The same without holding up the thread. */
  compileAsync(name: string, text: string, effort: "fast" | "full"): Promise<LoadedExecutable> {
    return this.programs.programAsync(name, text, this.compileOptions(effort));
  }

  /** Waits until everything that was started on this device is done. */
  synchronize(): void {
    readyRaw(this.upload(new Uint8Array(1), uint8, []));
  }

  /** Bytes of the buffers that live on this device, now and at most. */
  memory(): { liveBytes: number; peakBytes: number } {
    return this.client.memoryStats(this.device.index);
  }

  /** Starts the count of peak bytes anew. */
  resetPeak(): void {
    this.client.resetPeakMemory(this.device.index);
  }

  compileOptions(effort: "fast" | "full"): CompileOptions {
    return {
      ...compilePresets[effort],
      deviceAssignment: [[this.client.addressableDevices[this.device.index].id]],
    };
  }
}

const caches = new WeakMap<Client, ProgramCache>();

function programCacheOf(client: Client): ProgramCache {
  let found = caches.get(client);
  if (!found) caches.set(client, (found = new ProgramCache(client)));
  return found;
}

function scalarBytes(value: Scalar, kind: ScalarKind): ArrayBufferView {
  switch (kind) {
    case "bool":
      return Uint8Array.of(value ? 1 : 0);
    case "int":
      return BigInt64Array.of(BigInt.asIntN(64, BigInt(value as number | bigint | boolean)));
    case "float":
      return Float64Array.of(toNumber(value));
    case "complex":
      return value instanceof Complex ? Float64Array.of(value.re, value.im) : Float64Array.of(toNumber(value), 0);
  }
}

const backends: Backend[] = [];

/** The backend of a device. Throws for `meta`, which has none, and for indices that do not exist. */
export function backendOf(device: Device): Backend {
  const found = backends[device.id];
  if (found !== undefined) return found;
  if (device.type === "meta") throw new TorchError("Cannot copy out of meta tensor; no data!");
  return (backends[device.id] = new Backend(device));
}

export type { BufferHandle, ExecutableHandle };
