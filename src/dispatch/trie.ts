/** @file A tree of maps: finds a program by the sequence of facts that shape it. */
export class Trie<T> {
  private readonly children = new Map<unknown, Trie<T>>();
  value: T | null = null;
  /** The node below for `key`; made when new. Objects are compared by identity. */
  next(key: unknown): Trie<T> {
    let child = this.children.get(key);
    if (child === undefined) this.children.set(key, (child = new Trie<T>()));
    return child;
  }
}

/** What stands for a static argument in a program's key. */
export function staticKey(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    let key = "[";
    for (const v of value as unknown[]) key += `${typeof v === "object" && v !== null ? objectKey(v) : String(v)},`;
    return key;
  }
  const { key } = value as { key?: unknown };
  return typeof key === "string" ? key : objectKey(value);
}

let nextId = 0;
const ids = new WeakMap<object, string>();

function objectKey(value: object): string {
  let id = ids.get(value);
  if (id === undefined) ids.set(value, (id = `#${nextId++}`));
  return id;
}
