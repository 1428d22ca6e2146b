/** @file Formats of tensors on disk. */
export type { MapLocation } from "./map_location.js";
export { load_file, safe_open, SafetensorError, SafetensorsFile, save_file } from "./safetensors.js";
export type { FileLike } from "./source.js";
export { load, type LoadOptions } from "./torch_load.js";
export { save } from "./torch_save.js";
export { UnpicklingError } from "./unpickler.js";
export { ZipError } from "./zip.js";
