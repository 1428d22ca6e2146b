/**
 * @file What belongs to a module. A module keeps its parameters, buffers and submodules as plain properties of its own;
 * which property is what is read from the values when somebody asks. Only what values cannot tell is kept beside them:
 * which names are buffers, and which names hold a parameter or a submodule that is null now.
 */
import { TorchTypeError } from "../schema/index.js";
import { Tensor } from "../tensor/index.js";
import { TorchKeyError } from "./errors.js";
import { Buffer, Parameter } from "./parameter.js";
import type { HookTable } from "./hooks.js";
import type { Module } from "./module.js";

/** What a module keeps beside its properties. */
export class ModuleState {
  /** Names that are or were a parameter. */
  readonly parameters = new Set<string>();
  /** Names of buffers, and whether the state_dict has them. */
  readonly buffers = new Map<string, boolean>();
  /** Names that are or were a submodule. */
  readonly modules = new Set<string>();
  /** For names that are numbers, which JavaScript would put first: the property that they were registered after. */
  readonly numeric = new Map<string, string | undefined>();
  /** Null until the first hook is registered. */
  hooks: HookTable | null = null;
}

/** Where a module keeps its state. */
export const moduleState: unique symbol = Symbol("module state");

/** Whether a value is a module. Needs no class, so that it can be asked by what the class is built on. */
export const isModule = (x: unknown): x is Module => typeof x === "function" && moduleState in x;

/** Parameters, buffers or submodules by name. Changes are changes of the module. */
export class Members<T> extends Map<string, T> {
  /** Reading it never writes: the map is filled before the module is known to it. */
  private module: Record<string, unknown> | null = null;
  private names: { delete(name: string): boolean } | null = null;

  /** @internal */
  attach(module: Module, names: { delete(name: string): boolean }): this {
    this.module = module as unknown as Record<string, unknown>;
    this.names = names;
    return this;
  }
  override set(name: string, value: T): this {
    if (this.module !== null) this.module[name] = value;
    return super.set(name, value);
  }
  override delete(name: string): boolean {
    if (this.module !== null && this.has(name)) {
      delete this.module[name];
      this.names!.delete(name);
    }
    return super.delete(name);
  }
}

/** What `torch.typename` answers: a name for error messages. */
export function typeText(x: unknown): string {
  if (x instanceof Tensor) return `torch.${kinds[x.dtype.name] ?? "Float"}Tensor`;
  if (x === null || x === undefined) return "NoneType";
  if (typeof x === "object") return x.constructor.name;
  if (typeof x === "number") return Number.isInteger(x) ? "int" : "float";
  return { string: "str", boolean: "bool", bigint: "int" }[typeof x as string] ?? typeof x;
}

const kinds: Record<string, string> = {
  float64: "Double",
  float16: "Half",
  bfloat16: "BFloat16",
  int64: "Long",
  int32: "Int",
  int16: "Short",
  int8: "Char",
  uint8: "Byte",
  bool: "Bool",
};

/** What a module holds under a name. */
export const valueOf = (module: Module, name: string): unknown => (module as unknown as Record<string, unknown>)[name];

/** Puts a value under a name. */
export function setValue(module: Module, name: string, value: unknown): void {
  const { numeric } = module[moduleState];
  if (/^\d+$/.test(name) && !numeric.has(name) && !Object.hasOwn(module, name))
    numeric.set(
      name,
      Object.keys(module).findLast((k) => !/^\d+$/.test(k)),
    );
  (module as unknown as Record<string, unknown>)[name] = value;
}

/** The own properties in the order of their registration. */
function keysOf(module: Module): string[] {
  const keys = Object.keys(module);
  const { numeric } = module[moduleState];
  if (numeric.size === 0) return keys;
  const behind = new Map<string | undefined, string[]>();
  for (const [name, after] of numeric) {
    if (!Object.hasOwn(module, name)) continue;
    const list = behind.get(after);
    if (list) list.push(name);
    else behind.set(after, [name]);
  }
  const out = [...(behind.get(undefined) ?? [])];
  behind.delete(undefined);
  for (const key of keys) {
    if (numeric.has(key)) continue;
    out.push(key, ...(behind.get(key) ?? []));
    behind.delete(key);
  }
  return [...out, ...[...behind.values()].flat()];
}

/** Throws unless a member may have this name. `taken`: something else has it. */
export function checkName(name: string, what: "parameter" | "buffer" | "module", taken: boolean): void {
  if (typeof name !== "string") throw new TorchTypeError(`${what} name should be a string. Got ${typeText(name)}`);
  if (taken) throw new TorchKeyError(`attribute '${name}' already exists`);
  if (name.includes("."))
    throw new TorchKeyError(`${what} name can't contain "."${what === "module" ? `, got: ${name}` : ""}`);
  if (name === "") throw new TorchKeyError(`${what} name can't be empty string ""`);
}

export interface AllMembers {
  readonly parameters: Members<Parameter | null>;
  readonly buffers: Members<Tensor | null>;
  readonly modules: Members<Module | null>;
}

function wrongKind(value: unknown, name: string, what: string, expected: string): TorchTypeError {
  return new TorchTypeError(`cannot assign '${typeText(value)}' as ${what} '${name}' (${expected} expected)`);
}

/** Sorts one property into the maps. Throws when a parameter, a submodule or a buffer was replaced by something else. */
function sort(state: ModuleState, out: AllMembers, name: string, value: unknown): void {
  if (value instanceof Parameter) {
    state.parameters.add(name);
    state.buffers.delete(name);
    state.modules.delete(name);
    out.parameters.set(name, value);
  } else if (isModule(value)) {
    state.modules.add(name);
    state.buffers.delete(name);
    state.parameters.delete(name);
    out.modules.set(name, value);
  } else if (state.parameters.has(name)) {
    if (value !== null && value !== undefined) throw wrongKind(value, name, "parameter", "torch.nn.Parameter or None");
    out.parameters.set(name, null);
  } else if (state.modules.has(name)) {
    if (value !== null && value !== undefined) throw wrongKind(value, name, "child module", "torch.nn.Module or None");
    out.modules.set(name, null);
  } else if (state.buffers.has(name) || value instanceof Buffer) {
    if (value !== null && value !== undefined && !(value instanceof Tensor))
      throw wrongKind(value, name, "buffer", "torch.nn.Buffer, torch.Tensor or None");
    if (value instanceof Buffer) state.buffers.set(name, value.persistent);
    out.buffers.set(name, value ?? null);
  }
}

/** The parameters, buffers and submodules of `module` itself, in the order of registration. */
export function membersOf(module: Module): AllMembers {
  const state = module[moduleState];
  const out: AllMembers = { parameters: new Members(), buffers: new Members(), modules: new Members() };
  for (const name of keysOf(module)) sort(state, out, name, valueOf(module, name));
  out.parameters.attach(module, state.parameters);
  out.buffers.attach(module, state.buffers);
  out.modules.attach(module, state.modules);
  return out;
}
