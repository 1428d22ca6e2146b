/** @file Nested values as a flat list of leaves and a description of the nesting. */
import { Tensor } from "../tensor/index.js";

/** How leaves are nested: a leaf, a list, or an object with these keys. */
export type Structure = "leaf" | readonly Structure[] | ObjectStructure;

class ObjectStructure {
  constructor(
    readonly keys: readonly string[],
    readonly values: readonly Structure[],
  ) {}
}

const isPlainObject = (x: unknown): x is Record<string, unknown> => {
  if (typeof x !== "object" || x === null) return false;
  const prototype: unknown = Object.getPrototypeOf(x);
  return prototype === Object.prototype || prototype === null;
};

/** Appends the leaves of `x` to `leaves`. Arrays and plain objects nest; everything else is a leaf. */
export function flatten(x: unknown, leaves: unknown[]): Structure {
  if (x instanceof Tensor) {
    leaves.push(x);
    return "leaf";
  }
  if (Array.isArray(x)) return (x as unknown[]).map((e) => flatten(e, leaves));
  if (isPlainObject(x)) {
    const keys = Object.keys(x);
    return new ObjectStructure(
      keys,
      keys.map((k) => flatten(x[k], leaves)),
    );
  }
  leaves.push(x);
  return "leaf";
}

/** The nested value that `leaves` make, from position `at` on. */
export function unflatten(structure: Structure, leaves: readonly unknown[], at = { index: 0 }): unknown {
  if (structure === "leaf") return leaves[at.index++];
  if (structure instanceof ObjectStructure)
    return Object.fromEntries(structure.keys.map((k, i) => [k, unflatten(structure.values[i], leaves, at)]));
  return (structure as readonly Structure[]).map((s) => unflatten(s, leaves, at));
}

/** `x` with some of its leaves, by their position, replaced. What holds none of them stays the same object. */
export function replaceLeaves(x: unknown, replacements: ReadonlyMap<number, unknown>, at = { index: 0 }): unknown {
  const nested = (values: readonly unknown[]): unknown[] | null => {
    const out = values.map((v) => replaceLeaves(v, replacements, at));
    return out.some((v, i) => v !== values[i]) ? out : null;
  };
  if (!(x instanceof Tensor) && Array.isArray(x)) return nested(x as unknown[]) ?? x;
  if (!(x instanceof Tensor) && isPlainObject(x)) {
    const keys = Object.keys(x);
    const out = nested(keys.map((k) => x[k]));
    return out === null ? x : Object.fromEntries(keys.map((k, i) => [k, out[i]]));
  }
  const position = at.index++;
  return replacements.has(position) ? replacements.get(position) : x;
}

/** Whether two values are nested alike. */
export function sameStructure(a: Structure, b: Structure): boolean {
  if (a === "leaf" || b === "leaf") return a === b;
  if (a instanceof ObjectStructure || b instanceof ObjectStructure) {
    if (!(a instanceof ObjectStructure && b instanceof ObjectStructure) || a.keys.length !== b.keys.length)
      return false;
    return a.keys.every((k, i) => k === b.keys[i] && sameStructure(a.values[i], b.values[i]));
  }
  const [p, q] = [a as readonly Structure[], b as readonly Structure[]];
  return p.length === q.length && p.every((s, i) => sameStructure(s, q[i]));
}
