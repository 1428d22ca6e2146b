/** @file Formats of tensors on disk. */
export { load_file, safe_open, SafetensorError, SafetensorsFile, save_file } from "./safetensors.js";
