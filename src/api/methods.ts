/** @file Installs operators as methods of Tensor. */
import { operators } from "../ops/registry.js";
import { Tensor } from "../tensor/index.js";
import { inplaceNames, methodNames } from "./generated/exports.js";
import { invoke, invokeInplace } from "./invoke.js";

function define(name: string, fn: (this: Tensor, ...args: unknown[]) => unknown): void {
  Object.defineProperty(Tensor.prototype, name, { value: fn, writable: true, configurable: true });
}

for (const name of methodNames) {
  const group = operators.get(name)!;
  define(name, function (...args) {
    args.unshift(this);
    return invoke(group, args);
  });
}

for (const name of inplaceNames) {
  const group = operators.get(name.slice(0, -1))!;
  define(name, function (...args) {
    args.unshift(this);
    return invokeInplace(group, args);
  });
}
