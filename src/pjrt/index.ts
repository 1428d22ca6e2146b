/**
 * @file PJRT from TypeScript: plugins, clients, devices, buffers, compiled programs and topologies. Usable on its own
 * (`torch-tpu/pjrt`).
 *
 * @example
 * const client = Plugin.load(path).createClient();
 * const x = client.bufferFromHost(Float32Array.of(1, 2), float32, [2]);
 * const [y] = client.compile(stablehloText).execute([x]);
 * await y.toHost();
 */

export { addonPath } from "./addon.js";
export { Buffer } from "./buffer.js";
export { Client, type UploadOptions } from "./client.js";
export { compilePresets, fastCompile, fullCompile, type CompileOptions } from "./compile_options.js";
export { Device, DeviceDescription, Memory } from "./device.js";
export { AddonError, PjrtError, UnimplementedError, type PjrtErrorCode } from "./errors.js";
export { Executable, LoadedExecutable, type ExecuteOptions } from "./executable.js";
export type { ArrayType } from "./hlo_signature.js";
export type { AllocatorStats, CompiledMemoryStats, DeviceMemoryStats, NamedValue } from "./native.js";
export { Plugin, type ClientOptions, type PluginOptions } from "./plugin.js";
export {
  deleteRaw,
  executeRaw,
  isDeletedRaw,
  readAsync,
  readBytesAsync,
  readRaw,
  readyRaw,
  uploadRaw,
  type BufferHandle,
  type ClientHandle,
  type ExecutableHandle,
  type PluginHandle,
  type TopologyHandle,
} from "./raw.js";
export { Topology } from "./topology.js";
