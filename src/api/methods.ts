/** @file Installs operators as methods of Tensor. */
import { operators, type OpGroup } from "../ops/registry.js";
import { Tensor } from "../tensor/index.js";
import { inplaceNames, methodNames } from "./generated/exports.js";
import { invoke, invokeInplace } from "./invoke.js";

function define(name: string, fn: (this: Tensor, ...args: unknown[]) => unknown): void {
  Object.defineProperty(Tensor.prototype, name, { value: fn, writable: true, configurable: true });
}

/** Where a method's own tensor goes among the arguments: `x.where(condition, other)` is where(condition, x, other). */
const selfIndex = (group: OpGroup): number => Math.max(0, ...group.overloads.map((o) => o.selfIndex));

for (const name of methodNames) {
  const group = operators.get(name)!;
  const at = selfIndex(group);
  define(name, function (...args) {
    if (at === 0) args.unshift(this);
    else args.splice(at, 0, this);
    return invoke(group, args);
  });
}

for (const name of inplaceNames) {
  const group = operators.get(name.slice(0, -1))!;
  const at = selfIndex(group);
  define(name, function (...args) {
    if (at === 0) {
      args.unshift(this);
      return invokeInplace(group, args);
    }
    args.splice(at, 0, this);
    return this.copy_(invoke(group, args) as Tensor);
  });
}
