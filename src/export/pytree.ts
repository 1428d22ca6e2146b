/** @file PyTorch's pytree specs: which leaves a nest of containers has, and the nest from its leaves. */
import { TorchValueError } from "../schema/index.js";
import { ExportError } from "./schema.js";

interface Spec {
  readonly type: string | null;
  /** JSON again: the keys of a dict, the class of a named tuple. */
  readonly context: string | null;
  readonly children_spec: readonly Spec[];
}

const deepest = 200;

function checkSpec(x: unknown, depth = 0): Spec {
  const spec = x as Spec | null;
  const isSpec = typeof spec === "object" && spec !== null && Array.isArray(spec.children_spec) && depth < deepest;
  if (!isSpec) throw new ExportError("torch.export.load(): expected the description of a nest of containers");
  for (const child of spec.children_spec) checkSpec(child, depth + 1);
  return spec;
}

function parse<T>(text: string | null): T | null {
  if (text === null) return null;
  try {
    return JSON.parse(text) as T;
  } catch {
    return null;
  }
}

/** Keys of the members, where they have some: of a dict, or of a class that registered its fields. */
function keysOf(spec: Spec): readonly string[] | null {
  if (spec.type === "builtins.tuple" || spec.type === "builtins.list") return null;
  const context = parse<unknown>(spec.context);
  const candidates = Array.isArray(context) && Array.isArray(context[0]) ? (context[0] as unknown[]) : context;
  if (!Array.isArray(candidates) || candidates.length !== spec.children_spec.length) return null;
  return candidates.every((k) => typeof k === "string" || typeof k === "number") ? candidates.map(String) : null;
}

const describe = (spec: Spec): string => {
  if (spec.type === null) return "*";
  const keys = keysOf(spec);
  const members = spec.children_spec.map((c, i) => (keys ? `${keys[i]}: ${describe(c)}` : describe(c)));
  return keys ? `{${members.join(", ")}}` : `(${members.join(", ")})`;
};

/** The shape of a program's inputs or outputs. */
export class TreeSpec {
  private constructor(private readonly root: Spec) {}

  /** Reads `[1, { type, context, children_spec }]`. */
  static parse(text: string): TreeSpec {
    const json = parse<unknown>(text);
    if (!Array.isArray(json))
      throw new ExportError("torch.export.load(): expected the description of inputs and outputs");
    return new TreeSpec(checkSpec(json[1]));
  }

  toString(): string {
    return describe(this.root);
  }

  /** The leaves of a call: arguments by position, then by name in a last object. `names`: of all arguments, in order. */
  flattenCall(args: readonly unknown[], names: readonly string[]): unknown[] {
    const [positional, keywords] = this.root.children_spec;
    const keys = keywords === undefined ? [] : (keysOf(keywords) ?? []);
    const mismatch = (): never => {
      throw new TorchValueError(
        `Trying to flatten user inputs with exported input tree spec: ${String(this)} but actually got ${args.length} inputs. Please check that the inputs have the same number and type of args and kwargs as the ones you used when tracing.`,
      );
    };
    const count = positional?.children_spec.length ?? 0;
    const last = args[args.length - 1];
    const isNamed =
      isPlain(last) && (args.length > count || Object.keys(last).every((k) => names.includes(k) || keys.includes(k)));
    const named = isNamed ? last : null;
    const given = named === null ? args : args.slice(0, -1);
    if (given.length > count) mismatch();
    const byName = (name: string): unknown => (named !== null && name in named ? named[name] : mismatch());
    const leaves: unknown[] = [];
    (positional?.children_spec ?? []).forEach((c, i) => leavesOf(c, i < given.length ? given[i] : byName(names[i] ?? ""), leaves, mismatch)); // prettier-ignore
    keys.forEach((k, i) => leavesOf(keywords.children_spec[i], byName(k), leaves, mismatch));
    return leaves;
  }

  /** The nest with these leaves: arrays for tuples and lists, objects for dicts and classes with fields. */
  unflatten(leaves: readonly unknown[]): unknown {
    let at = 0;
    const build = (spec: Spec): unknown => {
      if (spec.type === null) return leaves[at++];
      const members = spec.children_spec.map(build);
      const keys = keysOf(spec);
      return keys ? Object.fromEntries(keys.map((k, i) => [k, members[i]])) : members;
    };
    return build(this.root);
  }
}

const isPlain = (x: unknown): x is Record<string, unknown> =>
  typeof x === "object" && x !== null && Object.getPrototypeOf(x) === Object.prototype;

function leavesOf(spec: Spec, value: unknown, out: unknown[], mismatch: () => never): void {
  if (spec.type === null) {
    out.push(value);
    return;
  }
  const keys = keysOf(spec);
  if (keys) {
    if (!isPlain(value)) return mismatch();
    keys.forEach((k, i) => (k in value ? leavesOf(spec.children_spec[i], value[k], out, mismatch) : mismatch()));
    return;
  }
  if (!Array.isArray(value) || value.length !== spec.children_spec.length) return mismatch();
  spec.children_spec.forEach((c, i) => leavesOf(c, (value as unknown[])[i], out, mismatch));
}
