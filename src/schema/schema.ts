/** @file PyTorch's operator schemas: a parser for the language of native_functions.yaml. */
import { Complex, FloatScalar, type Scalar } from "./scalar.js";

/** What an argument may hold, without list and optional marks. SymInt reads as int. */
export type BaseType =
  | "Tensor"
  | "Scalar"
  | "int"
  | "float"
  | "bool"
  | "str"
  | "ScalarType"
  | "Layout"
  | "Device"
  | "MemoryFormat"
  | "Generator"
  | "complex"
  | "Dimname"
  | "Storage"
  | "Stream"
  | "Any";

export interface SchemaType {
  readonly base: BaseType;
  /** `null`: not a list. `0`: a list of any length. `n`: a list of n, for which one element may stand. */
  readonly list: number | null;
  readonly optional: boolean;
  /** Whether the elements of the list may be null, as in `Tensor?[]`. */
  readonly optionalElements: boolean;
  /** Whether the operator writes to it (`a!`), or a result aliases it (`a`). */
  readonly alias: "none" | "view" | "write";
}

export type DefaultValue = Scalar | string | null | readonly (number | boolean)[];

export interface SchemaArgument {
  readonly name: string;
  readonly type: SchemaType;
  readonly kwargOnly: boolean;
  /** `undefined`: the argument is required. */
  readonly defaultValue: DefaultValue | undefined;
}

export interface SchemaReturn {
  readonly name: string | null;
  readonly type: SchemaType;
}

export interface FunctionSchema {
  /** Operator name without overload, as in `add`. */
  readonly name: string;
  /** Overload name, `""` for the default one. */
  readonly overload: string;
  readonly args: readonly SchemaArgument[];
  readonly returns: readonly SchemaReturn[];
  readonly text: string;
}

const baseTypes: Record<string, BaseType> = {
  Tensor: "Tensor",
  Scalar: "Scalar",
  int: "int",
  SymInt: "int",
  float: "float",
  bool: "bool",
  str: "str",
  ScalarType: "ScalarType",
  Layout: "Layout",
  Device: "Device",
  MemoryFormat: "MemoryFormat",
  Generator: "Generator",
  complex: "complex",
  Dimname: "Dimname",
  Storage: "Storage",
  Stream: "Stream",
  Any: "Any",
};

function parseType(text: string): SchemaType {
  const m = /^(\w+)(\?)?(\([^)]*\))?(\[(\d*)\])?(\?)?(\([^)]*\))?(\?)?$/.exec(text.trim());
  const base = m ? baseTypes[m[1]] : undefined;
  if (!m || !base) throw new SyntaxError(`parseSchema(): expected a type, got '${text}'`);
  const aliasText = m[3] ?? m[7] ?? "";
  const isList = m[4] !== undefined;
  return {
    base,
    list: isList ? Number(m[5] || 0) : null,
    optional: Boolean(m[6] ?? m[8] ?? (isList ? undefined : m[2])),
    optionalElements: isList && m[2] !== undefined,
    alias: aliasText === "" ? "none" : aliasText.includes("!") ? "write" : "view",
  };
}

/** PyTorch's own numbers for the enumerations that appear as defaults. */
const namedDefaults: Record<string, DefaultValue> = {
  None: null,
  True: true,
  False: false,
  Mean: 1,
  Sum: 2,
  long: "int64",
  contiguous_format: "contiguous_format",
  strided: "strided",
};

function parseDefault(text: string, type: SchemaType): DefaultValue {
  if (text in namedDefaults) return namedDefaults[text];
  if (text.startsWith("[")) {
    const inner = text.slice(1, -1).trim();
    return inner === ""
      ? []
      : inner.split(",").map((x) => (x.trim() === "True" ? true : x.trim() === "False" ? false : Number(x)));
  }
  if (/^["']/.test(text)) return text.slice(1, -1);
  const value = Number(text);
  if (Number.isNaN(value)) return text;
  if (type.list !== null) return new Array<number>(Math.max(1, type.list)).fill(value);
  const isFloat = /[.e]|inf/.test(text);
  return type.base === "Scalar" && isFloat && Number.isInteger(value) ? new FloatScalar(value) : value;
}

/** Splits at commas that are not inside brackets. */
function splitTop(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === "[" || c === "(") depth++;
    else if (c === "]" || c === ")") depth--;
    else if (c === "," && depth === 0) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
  }
  parts.push(text.slice(start));
  return parts.map((p) => p.trim()).filter((p) => p !== "");
}

function closing(text: string, open: number): number {
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    if (text[i] === "(") depth++;
    else if (text[i] === ")" && --depth === 0) return i;
  }
  throw new SyntaxError(`parseSchema(): expected a closing bracket, got '${text}'`);
}

function parseArgument(text: string, kwargOnly: boolean): SchemaArgument {
  const m = /^(.+?)\s+(\w+)(?:=(.*))?$/.exec(text);
  if (!m) throw new SyntaxError(`parseSchema(): expected 'Type name[=default]', got '${text}'`);
  const type = parseType(m[1]);
  return { name: m[2], type, kwargOnly, defaultValue: m[3] === undefined ? undefined : parseDefault(m[3], type) };
}

function parseReturns(text: string): SchemaReturn[] {
  const inner = text.startsWith("(") && closing(text, 0) === text.length - 1 ? text.slice(1, -1) : text;
  return splitTop(inner).map((part) => {
    const m = /^(\S+)\s+(\w+)$/.exec(part);
    return m ? { name: m[2], type: parseType(m[1]) } : { name: null, type: parseType(part) };
  });
}

/**
 * Parses one schema, as in `add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`.
 * A leading `aten::` is dropped. Throws SyntaxError for anything else.
 */
export function parseSchema(text: string): FunctionSchema {
  const m = /^(?:aten::)?(\w+)(?:\.(\w+))?\(/.exec(text);
  if (!m) throw new SyntaxError(`parseSchema(): expected 'name[.overload](...) -> ...', got '${text}'`);
  const open = m[0].length - 1;
  const close = closing(text, open);
  const arrow = /^\s*->\s*(.+)$/.exec(text.slice(close + 1));
  if (!arrow) throw new SyntaxError(`parseSchema(): expected '->' after the arguments, got '${text}'`);
  const args: SchemaArgument[] = [];
  let kwargOnly = false;
  for (const part of splitTop(text.slice(open + 1, close))) {
    if (part === "*") kwargOnly = true;
    else args.push(parseArgument(part, kwargOnly));
  }
  return {
    name: m[1],
    overload: m[2] === "default" ? "" : (m[2] ?? ""),
    args,
    returns: parseReturns(arrow[1].trim()),
    text,
  };
}

function typeText(type: SchemaType): string {
  const element = type.base + (type.optionalElements ? "?" : "");
  return element + (type.list === null ? "" : `[${type.list || ""}]`) + (type.optional ? "?" : "");
}

/** `int[2]?`, as PyTorch writes it in messages. */
export const formatType = typeText;

/** A Scalar argument equal to its default is part of the program, not one of its inputs. */
export function isDefault(value: unknown, argument: SchemaArgument): boolean {
  const d = argument.defaultValue;
  if (value === d) return true;
  if (d instanceof FloatScalar && value instanceof FloatScalar) return d.value === value.value;
  if (d instanceof Complex || value instanceof Complex) return false;
  return false;
}
