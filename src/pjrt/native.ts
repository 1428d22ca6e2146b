/** @file The types of what the native addon exports. Only files of this layer call it. */

import type { BufferHandle, ClientHandle, ExecutableHandle, PluginHandle, TopologyHandle } from "./raw.js";
import type { PjrtError } from "./errors.js";

/** An option or attribute of the C API. Lists are of integers; an integer that is not safe is a bigint. */
export type NamedValue = string | number | bigint | boolean | readonly (number | bigint)[];

export interface NativeShape {
  readonly type: number;
  readonly dims: readonly number[];
  readonly bytes: number;
}

export interface NativeMemory {
  readonly id: number;
  readonly kind: string;
  readonly text: string;
  readonly isDefault: boolean;
}

export interface NativeDeviceDescription {
  readonly id: number;
  readonly processIndex: number;
  readonly kind: string;
  readonly debugText: string;
  readonly text: string;
  readonly attributes: Readonly<Record<string, NamedValue>>;
}

export interface NativeDevice extends NativeDeviceDescription {
  /** Position among the addressable devices; -1 for one of another process. */
  readonly index: number;
  readonly localHardwareId?: number;
  readonly memories?: readonly NativeMemory[];
}

/** Bytes of live buffers of one device, counted by the addon. */
export interface DeviceMemoryStats {
  readonly liveBytes: number;
  /** The most there were since the start or the last reset. */
  readonly peakBytes: number;
  readonly numBuffers: number;
}

/** What the plugin's allocator reports, in bytes. */
export interface AllocatorStats {
  readonly bytesInUse: number;
  readonly peakBytesInUse?: number;
  readonly bytesLimit?: number;
  readonly bytesReserved?: number;
  readonly largestFreeBlockBytes?: number;
}

/** Memory a compiled program needs on each device, in bytes. */
export interface CompiledMemoryStats {
  readonly generatedCodeBytes: number;
  readonly argumentBytes: number;
  readonly outputBytes: number;
  /** How much of the arguments is reused for outputs. */
  readonly aliasBytes: number;
  readonly tempBytes: number;
  readonly hostArgumentBytes: number;
  readonly hostOutputBytes: number;
  readonly hostAliasBytes: number;
  readonly hostTempBytes: number;
  /** The most that is needed at once; 0 where the plugin does not say. */
  readonly peakBytes: number;
}

export interface NativeAddon {
  setErrorFactory(factory: (code: number, message: string) => PjrtError): void;

  loadPlugin(path: string, env: readonly (readonly [string, string])[]): PluginHandle;
  pluginInfo(plugin: PluginHandle): {
    major: number;
    minor: number;
    attributes: Record<string, NamedValue>;
    extensions: number[];
  };

  createClient(plugin: PluginHandle, options: readonly (readonly [string, NamedValue])[]): ClientHandle;
  disposeClient(client: ClientHandle): void;
  clientInfo(client: ClientHandle): {
    platformName: string;
    platformVersion: string;
    processIndex: number;
    devices: NativeDevice[];
  };
  memoryStats(client: ClientHandle, device: number, reset: boolean): DeviceMemoryStats;
  allocatorStats(client: ClientHandle, device: number): AllocatorStats;
  defaultDeviceAssignment(client: ClientHandle, replicas: number, partitions: number): number[];

  upload(
    client: ClientHandle,
    device: number,
    data: ArrayBufferView,
    type: number,
    dims: readonly number[],
  ): BufferHandle;
  read(buffer: BufferHandle, dst: ArrayBufferView): void;
  ready(buffer: BufferHandle): void;
  isReady(buffer: BufferHandle): boolean;
  remove(buffer: BufferHandle): void;
  isDeleted(buffer: BufferHandle): boolean;
  bufferInfo(buffer: BufferHandle): NativeShape & { device: number };
  copyToDevice(buffer: BufferHandle, device: number): BufferHandle;

  uploadZeroCopy: NativeAddon["upload"];
  readAsync(buffer: BufferHandle): Promise<Uint8Array>;
  readyAsync(buffer: BufferHandle): Promise<void>;
  compileAsync(client: ClientHandle, mlir: string, options: Uint8Array): Promise<ExecutableHandle>;
  deserializeAsync(client: ClientHandle, bytes: Uint8Array, options: Uint8Array): Promise<ExecutableHandle>;

  compile(client: ClientHandle, mlir: string, options: Uint8Array): ExecutableHandle;
  deserialize(client: ClientHandle, bytes: Uint8Array, options: Uint8Array): ExecutableHandle;
  disposeExecutable(executable: ExecutableHandle): void;
  executableInfo(executable: ExecutableHandle): {
    name: string;
    numReplicas: number;
    numPartitions: number;
    outputs: NativeShape[];
    devices: number[];
  };
  costAnalysis(executable: ExecutableHandle): Record<string, NamedValue>;
  compiledMemoryStats(executable: ExecutableHandle): CompiledMemoryStats;
  optimizedProgram(executable: ExecutableHandle): { format: string; code: Uint8Array };
  serialize(executable: ExecutableHandle): Uint8Array;
  fingerprint(executable: ExecutableHandle): Uint8Array;

  shardings(executable: ExecutableHandle, outputs: boolean): Uint8Array[] | null;

  execute(executable: ExecutableHandle, args: readonly BufferHandle[]): BufferHandle | BufferHandle[];
  executeSpread(executable: ExecutableHandle, ...args: readonly BufferHandle[]): BufferHandle | BufferHandle[];
  executeSharded(
    executable: ExecutableHandle,
    args: readonly (readonly BufferHandle[])[],
    nonDonatable: readonly number[],
  ): BufferHandle[][];

  createTopology(
    plugin: PluginHandle,
    name: string,
    options: readonly (readonly [string, NamedValue])[],
  ): TopologyHandle;
  clientTopology(client: ClientHandle): TopologyHandle;
  disposeTopology(topology: TopologyHandle): void;
  topologyInfo(topology: TopologyHandle): {
    platformName: string;
    platformVersion: string;
    attributes: Record<string, NamedValue>;
    devices: NativeDeviceDescription[];
  };
  compileForTopology(topology: TopologyHandle, mlir: string, options: Uint8Array): ExecutableHandle;
  compileForTopologyAsync(topology: TopologyHandle, mlir: string, options: Uint8Array): Promise<ExecutableHandle>;
}
