/** @file Client: the devices of a plugin, and what is made on them. */

import { dtypeFromPjrt, type DType } from "../schema/index.js";
import { addon } from "./addon.js";
import { Buffer } from "./buffer.js";
import { encodeCompileOptions, type CompileOptions } from "./compile_options.js";
import { Device } from "./device.js";
import { LoadedExecutable } from "./executable.js";
import type { AllocatorStats, DeviceMemoryStats } from "./native.js";
import type { Plugin } from "./plugin.js";
import { uploadRaw, type BufferHandle, type ClientHandle } from "./raw.js";
import { Topology } from "./topology.js";

/** Options of `Client.bufferFromHost`. */
export interface UploadOptions {
  /**
   * Let the buffer use the array's memory where the plugin can (XLA's CPU plugin, if the memory is aligned). Do not write
   * to the array while the buffer lives.
   */
  readonly zeroCopy?: boolean;
}

/** Devices, buffers and programs of one plugin. Buffers and programs keep it alive. */
export class Client {
  /** `"cpu"`, `"tpu"`, `"cuda"`… */
  readonly platformName: string;
  readonly platformVersion: string;
  readonly processIndex: number;
  /** All devices, those of other processes included. */
  readonly devices: readonly Device[];
  /** The devices of this process. Calls name a device by its position here, or by the `Device`. */
  readonly addressableDevices: readonly Device[];

  constructor(
    readonly plugin: Plugin,
    /** For the functions of raw.ts. */
    readonly handle: ClientHandle,
  ) {
    const info = addon().clientInfo(handle);
    this.platformName = info.platformName;
    this.platformVersion = info.platformVersion;
    this.processIndex = info.processIndex;
    this.devices = info.devices.map((device) => new Device(device));
    this.addressableDevices = this.devices.filter((d) => d.isAddressable).sort((a, b) => a.index - b.index);
  }

  /** What the plugin says of itself. */
  get attributes(): Plugin["attributes"] {
    return this.plugin.attributes;
  }

  /**
   * A buffer with a copy of row-major `data` (one byte an element for types smaller than a byte).
   *
   * @param device position among the addressable devices, or one of them; default the first
   */
  bufferFromHost(
    data: ArrayBufferView,
    dtype: DType,
    shape: readonly number[],
    device: number | Device = 0,
    options: UploadOptions = {},
  ): Buffer {
    const index = typeof device === "number" ? device : device.index;
    const upload = options.zeroCopy ? addon().uploadZeroCopy : uploadRaw;
    return new Buffer(this, upload(this.handle, index, data, dtype.pjrt, shape), dtype, [...shape], index);
  }

  /** The typed view of a raw handle, which it takes over. */
  wrap(handle: BufferHandle): Buffer {
    const { type, dims, device } = addon().bufferInfo(handle);
    return new Buffer(this, handle, dtypeFromPjrt(type), dims, device);
  }

  /**
   * Compiles a StableHLO module in MLIR's text form. Blocks.
   *
   * @throws PjrtError with the compiler's message
   */
  compile(mlir: string, options: CompileOptions = {}): LoadedExecutable {
    return new LoadedExecutable(this, addon().compile(this.handle, mlir, this.encode(options)));
  }

  /** The same in a thread: several may compile at once, and the event loop goes on. */
  async compileAsync(mlir: string, options: CompileOptions = {}): Promise<LoadedExecutable> {
    return new LoadedExecutable(this, await addon().compileAsync(this.handle, mlir, this.encode(options)));
  }

  /**
   * Loads what `LoadedExecutable.serialize` returned, for the same plugin and kind of device.
   *
   * @param options other options than those it was compiled with, such as another device
   */
  deserialize(bytes: Uint8Array, options?: CompileOptions): LoadedExecutable {
    return new LoadedExecutable(this, addon().deserialize(this.handle, bytes, this.encodeOverrides(options)));
  }

  /** The same in a thread. */
  async deserializeAsync(bytes: Uint8Array, options?: CompileOptions): Promise<LoadedExecutable> {
    const handle = await addon().deserializeAsync(this.handle, bytes, this.encodeOverrides(options));
    return new LoadedExecutable(this, handle);
  }

  /** Device ids by replica and partition, as the plugin would choose them. */
  defaultDeviceAssignment(numReplicas: number, numPartitions: number): number[][] {
    const ids = addon().defaultDeviceAssignment(this.handle, numReplicas, numPartitions);
    return Array.from({ length: numReplicas }, (_, r) => ids.slice(r * numPartitions, (r + 1) * numPartitions));
  }

  /** Bytes of the buffers that were made through this client and live on `device`, counted by this library. */
  memoryStats(device: number | Device = 0): DeviceMemoryStats {
    return addon().memoryStats(this.handle, typeof device === "number" ? device : device.index, false);
  }

  /** Starts the count of `memoryStats().peakBytes` anew, from what lives now. */
  resetPeakMemory(device: number | Device = 0): void {
    addon().memoryStats(this.handle, typeof device === "number" ? device : device.index, true);
  }

  /**
   * What the plugin's own allocator reports, in bytes.
   *
   * @throws UnimplementedError on XLA's CPU plugin, which reports nothing
   */
  allocatorStats(device: number | Device = 0): AllocatorStats {
    return addon().allocatorStats(this.handle, typeof device === "number" ? device : device.index);
  }

  /** The devices of this client as a topology. Throws UnimplementedError where the plugin has none. */
  topology(): Topology {
    return new Topology(addon().clientTopology(this.handle));
  }

  /** Refuses new work. Buffers and programs live on; the plugin's client is freed with the last of them. */
  dispose(): void {
    addon().disposeClient(this.handle);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  toString(): string {
    return `Client(${this.platformName}, ${this.devices.length} devices)`;
  }

  private encode(options: CompileOptions): Uint8Array {
    return encodeCompileOptions(options, this.platformName);
  }

  private encodeOverrides(options: CompileOptions | undefined): Uint8Array {
    return options ? this.encode(options) : new Uint8Array();
  }
}
