/** @file Every operator of the registry as a function. */
import "../ops/index.js";
import { operators } from "../ops/registry.js";
import { setTorch, type Torch } from "../ops/index.js";
import { invoke } from "./invoke.js";

/** The operators by name: `functional.add(a, b)`. Includes those that PyTorch keeps in namespaces, by their ATen names. */
export const functional = Object.fromEntries(
  [...operators.values()].map((group) => [group.name, (...args: unknown[]): unknown => invoke(group, args)]),
) as unknown as Torch;

setTorch(functional);
