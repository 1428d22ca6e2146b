/** @file Topology: devices that need not be here, to compile for. */

import { addon } from "./addon.js";
import { encodeCompileOptions, type CompileOptions } from "./compile_options.js";
import { DeviceDescription } from "./device.js";
import { Executable } from "./executable.js";
import type { NamedValue } from "./native.js";
import type { TopologyHandle } from "./raw.js";

/** The devices of a machine or slice, such as `v5e:2x2`. Programs compiled for it cannot run here, but can be inspected. */
export class Topology {
  readonly platformName: string;
  readonly platformVersion: string;
  readonly attributes: Readonly<Record<string, NamedValue>>;
  readonly devices: readonly DeviceDescription[];

  constructor(readonly handle: TopologyHandle) {
    const info = addon().topologyInfo(handle);
    this.platformName = info.platformName;
    this.platformVersion = info.platformVersion;
    this.attributes = info.attributes;
    this.devices = info.devices.map((device) => new DeviceDescription(device));
  }

  /**
   * Compiles a StableHLO module in MLIR's text form. libtpu asks that replicas × partitions is the number of devices.
   *
   * @throws PjrtError with the compiler's message; `RESOURCE_EXHAUSTED` if the program does not fit into HBM
   */
  compile(mlir: string, options: CompileOptions = {}): Executable {
    return new Executable(addon().compileForTopology(this.handle, mlir, this.encode(options)));
  }

  /** The same in a thread: several may compile at once, and the event loop goes on. */
  async compileAsync(mlir: string, options: CompileOptions = {}): Promise<Executable> {
    return new Executable(await addon().compileForTopologyAsync(this.handle, mlir, this.encode(options)));
  }

  /** Refuses new work. Programs compiled for it live on. */
  dispose(): void {
    addon().disposeTopology(this.handle);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  toString(): string {
    return `Topology(${this.platformName}, ${this.devices.length} devices)`;
  }

  private encode(options: CompileOptions): Uint8Array {
    return encodeCompileOptions(options, this.platformName);
  }
}
