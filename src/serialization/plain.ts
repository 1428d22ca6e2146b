/**
 * @file What was unpickled, as JavaScript's containers. The correspondence goes both ways:
 *
 * - dict ↔ an object, where all keys are texts or all are counts; a Map otherwise;
 * - OrderedDict ↔ an object with a hidden `_metadata`, as `state_dict()` gives;
 * - list ↔ an array; tuple and torch.Size ↔ a frozen array; set ↔ Set; bytes ↔ Uint8Array; None ↔ null.
 */
import { PickledDict, PickledTuple, UnpicklingError } from "./unpickler.js";

/** Deeper nesting is an attack, or a mistake. */
export const deepest = 1000;

const isIndex = (key: unknown): boolean => typeof key === "number" && Number.isSafeInteger(key) && key >= 0;
/** A text that JavaScript keeps as the same key as a number. */
export const isIndexText = (key: string): boolean => /^(0|[1-9]\d{0,14})$/.test(key);

const hidden = (target: object, name: string, value: unknown): void =>
  void Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });

function set(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, configurable: true, enumerable: true });
}

class Converter {
  private readonly done = new Map<object, unknown>();

  convert(x: unknown, depth: number): unknown {
    if (typeof x !== "object" || x === null) return x;
    if (depth > deepest) throw new UnpicklingError(`expected at most ${deepest} levels of containers, got more`);
    if (this.done.has(x)) return this.done.get(x);
    if (x instanceof PickledDict) return this.dict(x, depth);
    if (x instanceof PickledTuple) return this.tuple(x, depth);
    if (x instanceof Set) return this.set(x, depth);
    return Array.isArray(x) ? this.list(x, depth) : x;
  }

  private list(x: readonly unknown[], depth: number): unknown[] {
    const out: unknown[] = [];
    this.done.set(x, out);
    for (const item of x) out.push(this.convert(item, depth + 1));
    return out;
  }
  private tuple(x: PickledTuple, depth: number): readonly unknown[] {
    const out: unknown[] = [];
    this.done.set(x, out);
    for (const item of x.items) out.push(this.convert(item, depth + 1));
    return Object.freeze(out);
  }
  private set(x: ReadonlySet<unknown>, depth: number): Set<unknown> {
    const out = new Set<unknown>();
    this.done.set(x, out);
    for (const item of x) out.add(this.convert(item, depth + 1));
    return out;
  }

  private dict(x: PickledDict, depth: number): unknown {
    const keys = [...x.entries.keys()];
    const texts = keys.every((k): k is string => typeof k === "string");
    const confusable = texts && keys.length > 0 && keys.every(isIndexText) && !x.ordered;
    if (!(texts && !confusable) && !(keys.every(isIndex) && !x.ordered)) {
      const out = new Map<unknown, unknown>();
      this.done.set(x, out);
      for (const [k, v] of x.entries) out.set(this.convert(k, depth + 1), this.convert(v, depth + 1));
      return out;
    }
    const out = {};
    this.done.set(x, out);
    if (x.ordered)
      hidden(out, "_metadata", this.convert(x.attributes?.entries.get("_metadata") ?? null, depth + 1) ?? {});
    for (const [k, v] of x.entries) set(out, String(k), this.convert(v, depth + 1));
    return out;
  }
}

/** The value in JavaScript's containers; shared ones stay shared, also where they hold each other. */
export const toPlain = (x: unknown): unknown => new Converter().convert(x, 0);
