/** @file Tensors, their storages and devices, and random number generators. */
export * from "./device.js";
export * from "./generator.js";
export * from "./storage.js";
export * from "./tensor.js";
export * from "./host.js";
