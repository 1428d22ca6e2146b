/** @file The torch functions for code that lies below them: gradients, the autograd engine, decompositions. */
import type { Torch } from "./registry.js";

let current: Torch | null = null;

/** Called once by src/api when every function exists. */
export function setTorch(t: Torch): void {
  current = t;
}

export function torchFunctions(): Torch {
  if (!current) throw new Error("torchFunctions(): expected the torch namespace to be loaded, import torch-tpu first");
  return current;
}
