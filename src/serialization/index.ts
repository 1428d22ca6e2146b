/** @file Formats of tensors on disk. */
export { GgufError, GgufFile, type GgufValue } from "./gguf.js";
export type { MapLocation } from "./map_location.js";
export { SafetensorError, SafetensorsFile, save_file, type SafetensorsReader, type TensorInfo } from "./safetensors.js";
export { load_file, safe_open, save_sharded, ShardedSafetensors } from "./safetensors_shards.js";
export { load, type LoadOptions } from "./torch_load.js";
export { save } from "./torch_save.js";
export { openSource, type FileLike, type Source } from "./source.js";
export { CheckpointStorage } from "./storages.js";
export { UnpicklingError } from "./unpickler.js";
export { ZipError, ZipReader } from "./zip.js";
