/** @file Step 1 of a call: arguments in PyTorch's order, or by name in a last object, become those of one overload. */
import { currentTrace } from "../dispatch/index.js";
import type { OpGroup, Overload } from "../ops/registry.js";
import {
  Complex,
  DType,
  dtypeFromName,
  FloatScalar,
  formatType,
  isScalar,
  SymScalar,
  TorchTypeError,
  type SchemaArgument,
} from "../schema/index.js";
import { Device, device, Generator, Tensor } from "../tensor/index.js";

export type Keywords = Record<string, unknown>;

/** Keywords that change nothing here. */
const ignored: ReadonlySet<string> = new Set(["pin_memory", "layout", "memory_format"]);

/** Names that PyTorch accepts for others. */
const aliases: Record<string, string> = {
  input: "self",
  axis: "dim",
  axes: "dims",
  keepdims: "keepdim",
  x1: "self",
  x2: "other",
};

const isPlainObject = (x: unknown): x is Keywords => typeof x === "object" && x !== null && x.constructor === Object;

const invalid = Symbol("invalid");

const isInt = (x: unknown): x is number => typeof x === "number" && Number.isInteger(x);

/** Whether reading a value gives it, or ends the trace of a compiled function, which runs in pieces then. */
const canRead = (x: Tensor): boolean => x.storageRef.traced === null || currentTrace()?.host !== null;

function scalarOf(x: unknown): unknown {
  if (isScalar(x)) return x;
  return x instanceof Tensor && x.ndim === 0 && !x.requires_grad && canRead(x) && !x.is_meta ? x.item() : invalid;
}

function intOf(x: unknown): unknown {
  if (isInt(x)) return x;
  if (typeof x === "bigint") return Number(x);
  return x instanceof Tensor && x.ndim === 0 && (x.dtype.kind === "int" || x.dtype.kind === "uint") && canRead(x)
    ? Number(x.item())
    : invalid;
}

const floatOf = (x: unknown): unknown =>
  typeof x === "number" || x instanceof SymScalar
    ? x
    : x instanceof FloatScalar
      ? x.value
      : typeof x === "bigint"
        ? Number(x)
        : x instanceof Tensor && x.ndim === 0
          ? x.item()
          : invalid;

function elementOf(x: unknown, argument: SchemaArgument, allowNumbers: boolean): unknown {
  switch (argument.type.base) {
    case "Tensor":
      if (x instanceof Tensor) return x;
      if (x === null && argument.type.optionalElements) return null;
      return allowNumbers && isScalar(x) ? x : invalid;
    case "Scalar":
      return scalarOf(x);
    case "int":
      return intOf(x);
    case "float":
      return floatOf(x);
    case "bool":
      return typeof x === "boolean" ? x : invalid;
    case "str":
      return typeof x === "string" ? x : invalid;
    case "ScalarType":
      return x instanceof DType ? x : typeof x === "string" ? dtypeFromName(x) : invalid;
    case "Device":
      return x instanceof Device || typeof x === "string" || typeof x === "number" ? device(x) : invalid;
    case "Generator":
      return x instanceof Generator ? x : invalid;
    case "complex":
      return x instanceof Complex || typeof x === "number" ? x : invalid;
    default:
      return x;
  }
}

/** The value for an argument, or `invalid` when it is of another type. */
function convert(x: unknown, argument: SchemaArgument, allowNumbers: boolean): unknown {
  const { list, optional, base } = argument.type;
  if (x === null || x === undefined)
    return optional ? null : x === undefined && argument.defaultValue !== undefined ? argument.defaultValue : invalid;
  if (list === null) return elementOf(x, argument, allowNumbers);
  if (Array.isArray(x)) {
    if (list > 1 && base === "int" && x.length !== list && x.length !== 1 && x.length !== 0)
      return x.every(isInt) ? x : invalid;
    const out = (x as unknown[]).map((e) => elementOf(e, argument, allowNumbers));
    return out.includes(invalid) ? invalid : out;
  }
  if (base === "Tensor" || list === 0) return invalid;
  const one = elementOf(x, argument, allowNumbers);
  return one === invalid ? invalid : new Array<unknown>(list).fill(one);
}

/** Whether loose integers may stand for the list at position `i`, as in `x.view(2, 3)`. */
const takesLooseIntegers = (overload: Overload, i: number): boolean => {
  const { type } = overload.schema.args[i];
  return type.base === "int" && type.list === 0 && i <= 1;
};

/** Whether tensors given one by one stand for the list at position `i`. */
const takesLooseTensors = (overload: Overload, i: number): boolean => {
  const { type } = overload.schema.args[i];
  return overload.entry.definition.variadic === true && type.base === "Tensor" && type.list === 0;
};

/** Why arguments do not fit, as text when it is asked for: overloads are tried one after the other on the hot path. */
type Mismatch = () => string;

/** The overload's arguments in order, or why they do not fit it. */
function bindOne(
  overload: Overload,
  args: readonly unknown[],
  count: number,
  keywords: Keywords | null,
): unknown[] | Mismatch {
  const declared = overload.schema.args;
  const out = new Array<unknown>(declared.length);
  let used = 0;
  let keywordsUsed = 0;
  for (let i = 0; i < declared.length; i++) {
    const argument = declared[i];
    let value: unknown;
    if (!argument.kwargOnly && used < count) {
      if (isInt(args[used]) && takesLooseIntegers(overload, i)) {
        const rest = args.slice(used, count);
        if (!rest.every(isInt)) return mismatch(overload, i, args[used]);
        out[i] = rest;
        used = count;
        continue;
      }
      if (args[used] instanceof Tensor && takesLooseTensors(overload, i)) {
        let end = used;
        while (end < count && args[end] instanceof Tensor) end++;
        out[i] = args.slice(used, end);
        used = end;
        continue;
      }
      value = args[used++];
    } else if (keywords !== null && argument.name in keywords) {
      value = keywords[argument.name];
      keywordsUsed++;
    } else {
      if (argument.defaultValue === undefined && !argument.type.optional)
        return () => `${overload.name}() missing 1 required positional arguments: "${argument.name}"`;
      out[i] = argument.defaultValue ?? null;
      continue;
    }
    const converted = convert(value, argument, !(value instanceof Tensor) && overload.takesNumber(i));
    if (converted === invalid) return mismatch(overload, i, value);
    out[i] = converted;
  }
  if (used < count)
    return () => `${overload.name}() takes ${overload.positional} positional arguments but ${count} were given`;
  if (keywords !== null && keywordsUsed < Object.keys(keywords).length) {
    const unknown = Object.keys(keywords).find(
      (k) => !overload.index.has(k) || declared.findIndex((a) => a.name === k) < used,
    );
    return () => `${overload.name}() got an unexpected keyword argument '${unknown ?? "?"}'`;
  }
  return out;
}

const mismatch = (overload: Overload, i: number, got: unknown): Mismatch => {
  const argument = overload.schema.args[i];
  return () =>
    `${overload.name}(): argument '${argument.name}' (position ${i + 1}) must be ${formatType(argument.type)}, not ${typeName(got)}`;
};

/** What a value is, in words for messages. */
export function typeName(x: unknown): string {
  if (x === null || x === undefined) return "None";
  if (x instanceof Tensor) return "Tensor";
  if (x instanceof DType) return "torch.dtype";
  if (Array.isArray(x)) return `list of ${x.length === 0 ? "nothing" : typeName(x[0])}`;
  if (typeof x === "number") return Number.isInteger(x) ? "int" : "float";
  if (typeof x === "bigint") return "int";
  if (typeof x === "boolean") return "bool";
  if (typeof x === "string") return "str";
  if (x instanceof FloatScalar) return "float";
  if (x instanceof Complex || x instanceof SymScalar) return "complex";
  return typeof x === "object" ? x.constructor.name : typeof x;
}

export interface Bound {
  readonly overload: Overload;
  readonly args: unknown[];
  /** Keywords that no schema has: `out`, `requires_grad`. */
  readonly out: unknown;
  readonly requires_grad: boolean;
}

/** Finds the overload that takes these arguments. Throws TorchTypeError, in PyTorch's words, when none does. */
export function bind(group: OpGroup, args: readonly unknown[]): Bound {
  let count = args.length;
  let keywords: Keywords | null = null;
  let out: unknown = null;
  let requires_grad = false;
  while (count > 0 && args[count - 1] === undefined) count--;
  const last = args[count - 1];
  if (isPlainObject(last)) {
    count--;
    ({ keywords, out, requires_grad } = splitKeywords(group, last));
  }
  const { overloads } = group;
  let first: Mismatch | null = null;
  for (let i = 0; i < overloads.length; i++) {
    const bound = bindOne(overloads[i], args, count, keywords);
    if (Array.isArray(bound)) return { overload: overloads[i], args: bound, out, requires_grad };
    first ??= bound;
  }
  if (overloads.length === 1) throw new TorchTypeError(first!());
  const got = [
    ...args.slice(0, count).map(typeName),
    ...Object.entries(keywords ?? {}).map(([k, v]) => `${k}=${typeName(v)}`),
  ].join(", ");
  const forms = overloads
    .map((o) => ` * (${o.schema.args.map((a) => `${formatType(a.type)} ${a.name}`).join(", ")})`)
    .join("\n");
  throw new TorchTypeError(
    `${group.name}() received an invalid combination of arguments - got (${got}), but expected one of:\n${forms}`,
  );
}

function splitKeywords(
  group: OpGroup,
  given: Keywords,
): { keywords: Keywords | null; out: unknown; requires_grad: boolean } {
  const keywords: Keywords = {};
  let out: unknown = null;
  let requires_grad = false;
  let any = false;
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const known = group.overloads.some((o) => o.index.has(name));
    if (known) keywords[name] = value;
    else if (name === "out") {
      out = value;
      continue;
    } else if (name === "requires_grad") {
      requires_grad = value === true;
      continue;
    } else if (ignored.has(name)) {
      continue;
    } else keywords[aliases[name] ?? name] = value;
    any = true;
  }
  return { keywords: any ? keywords : null, out, requires_grad };
}

/** The arguments for one overload. Throws TorchTypeError when they do not fit it. */
export function bindOverload(overload: Overload, args: readonly unknown[]): unknown[] {
  let count = args.length;
  let keywords: Keywords | null = null;
  const last = args[count - 1];
  if (isPlainObject(last)) {
    count--;
    keywords = Object.fromEntries(
      Object.entries(last).filter(([k, v]) => v !== undefined && (overload.index.has(k) || !ignored.has(k))),
    );
  }
  const bound = bindOne(overload, args, count, keywords);
  if (!Array.isArray(bound)) throw new TorchTypeError(bound());
  return bound;
}
