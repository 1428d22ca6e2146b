/** @file The ATen operators, for everything in this layer. */
import { functional, invoke, invokeInplace } from "../api/index.js";
import { operators, type Torch } from "../ops/registry.js";
import { TorchNotImplementedError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";

/** Operators that are called here and do not exist yet. What is generated takes precedence; then the name can go. */
interface Pending {
  ctc_loss(...args: readonly unknown[]): Tensor;
}
export type Aten = Torch & Omit<Pending, keyof Torch>;

/** The operators by their ATen names. */
export const t = functional as Aten;

/** An operator to export as it is. Where it does not exist yet, a function that says so when it is called. */
export function aten<K extends keyof Aten>(name: K): Aten[K] {
  return t[name] ?? (missing(name) as unknown as Aten[K]);
}

function missing(name: string): () => never {
  return () => {
    throw new TorchNotImplementedError(`${name}(): this operator is not implemented`);
  };
}

/** The operator, or its in-place form on the same arguments. */
export function maybeInplace(name: string, inplace: boolean, input: Tensor, ...args: readonly unknown[]): Tensor {
  const group = operators.get(inplace && operators.has(`${name}_`) ? `${name}_` : name);
  if (!group) return missing(name)();
  const all = [input, ...args];
  return inplace && group.name === name ? invokeInplace(group, all) : (invoke(group, all) as Tensor);
}
