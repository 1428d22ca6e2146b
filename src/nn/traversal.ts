/** @file Walks over a module and everything below it. */
import { isModule, membersOf, valueOf, type AllMembers } from "./members.js";
import { TorchAttributeError } from "./errors.js";
import type { Module } from "./module.js";

const join = (prefix: string, name: string): string => (prefix === "" ? name : `${prefix}.${name}`);

interface Visit {
  readonly path: string;
  readonly module: Module;
  readonly members: AllMembers;
}

/** The module and those below it, parents first. With `seen`, each once. */
function* visit(module: Module, path: string, seen: Set<Module> | null): IterableIterator<Visit> {
  if (seen?.has(module)) return;
  seen?.add(module);
  const members = membersOf(module);
  yield { path, module, members };
  for (const [name, child] of members.modules) if (child !== null) yield* visit(child, join(path, name), seen);
}

/** Modules with dotted names, parents first. With `seen`, each once. */
export function* walk(module: Module, prefix: string, seen: Set<Module> | null): IterableIterator<[string, Module]> {
  for (const { path, module: found } of visit(module, prefix, seen)) yield [path, found];
}

export interface MembersOptions {
  readonly prefix: string;
  readonly recurse: boolean;
  readonly remove_duplicate: boolean;
}

/** Parameters or buffers with dotted names. */
export function* namedMembers<T>(
  module: Module,
  kind: (members: AllMembers) => ReadonlyMap<string, T | null>,
  { prefix, recurse, remove_duplicate }: MembersOptions,
): IterableIterator<[string, T]> {
  const seen = new Set<T>();
  const all = recurse
    ? visit(module, prefix, remove_duplicate ? new Set() : null)
    : [{ path: prefix, members: membersOf(module) }];
  for (const { path, members } of all) {
    for (const [name, value] of kind(members)) {
      if (value === null || seen.has(value)) continue;
      if (remove_duplicate) seen.add(value);
      yield [join(path, name), value];
    }
  }
}

/** The submodule at a dotted path; "" is the module itself. */
export function submoduleAt(module: Module, path: string): Module {
  let found = module;
  for (const name of path === "" ? [] : path.split(".")) {
    if (!(name in found)) throw lacks(found, name);
    const next = valueOf(found, name);
    if (!isModule(next)) throw new TorchAttributeError(`\`${name}\` is not an nn.Module`);
    found = next;
  }
  return found;
}

/** The module that a dotted path's last name belongs to, and that name. */
export function ownerAt(module: Module, path: string): [Module, string] {
  const dot = path.lastIndexOf(".");
  return [submoduleAt(module, path.slice(0, Math.max(0, dot))), path.slice(dot + 1)];
}

/** Says that a module has no such attribute. */
export const lacks = (module: Module, name: string): TorchAttributeError =>
  new TorchAttributeError(`${module._get_name()} has no attribute \`${name}\``);

/** What a module holds under a dotted path. */
export function valueAt(module: Module, path: string): unknown {
  const [owner, name] = ownerAt(module, path);
  if (!(name in owner)) throw lacks(owner, name);
  return valueOf(owner, name);
}
