/** @file `torch.signal`. */
export * as windows from "./windows.js";
