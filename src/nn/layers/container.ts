/** @file Containers: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict. */
import { Tensor } from "../../tensor/index.js";
import { TorchError, TorchIndexError, TorchTypeError } from "../../schema/index.js";
import { TorchKeyError } from "../errors.js";
import { isModule, moduleState, setValue, typeText, valueOf } from "../members.js";
import { Module } from "../module.js";
import { Parameter } from "../parameter.js";
import { indent, printed } from "../printing.js";

type Callable = (input: unknown) => unknown;

/** Values by name, in order. */
export type Named<T> = Readonly<Record<string, T>> | ReadonlyMap<string, T> | Iterable<readonly [string, T]>;

function entriesOf<T>(named: Named<T>): Iterable<readonly [string, T]> {
  return Symbol.iterator in named ? (named as Iterable<readonly [string, T]>) : Object.entries(named);
}

/** The position that an index, negative ones from the end, stands for. */
function positionOf(index: number, length: number): number {
  if (!Number.isInteger(index) || index < -length || index >= length)
    throw new TorchIndexError(`index ${index} is out of range`);
  return index < 0 ? index + length : index;
}

/** Modules under the names "0", "1", … or, in a Sequential, other names. */
abstract class ModuleSequence<T extends Module> extends Module {
  override get length(): number {
    return this._modules.size;
  }
  [Symbol.iterator](): IterableIterator<T> {
    return [...this._modules.values()][Symbol.iterator]() as IterableIterator<T>;
  }
  /** The module at a position; negative ones count from the end. */
  at(index: number): T {
    const modules = [...this];
    return modules[positionOf(index, modules.length)];
  }
  /** Adds a module at the end. */
  append(module: T): this {
    this.add_module(String(this.length), module);
    return this;
  }
  /** Adds modules at the end. */
  extend(modules: Iterable<T>): this {
    for (const module of [...modules]) this.append(module);
    return this;
  }
  /** Adds a module before the one at `index`. */
  insert(index: number, module: T): this {
    if (!isModule(module)) throw new TorchTypeError(`module should be of type: Module, got ${typeText(module)}`);
    const modules = [...this];
    if (index < -modules.length || index > modules.length) throw new TorchIndexError(`Index out of range: ${index}`);
    modules.splice(index < 0 ? index + modules.length : index, 0, module);
    return this.renumber(modules);
  }
  /** Removes and returns the module at a position, the last one unless given. */
  pop(index = -1): T {
    const modules = [...this];
    const [removed] = modules.splice(positionOf(index, modules.length), 1);
    this.renumber(modules);
    return removed;
  }
  private renumber(modules: readonly T[]): this {
    for (const name of this._modules.keys()) {
      delete (this as unknown as Record<string, unknown>)[name];
      this[moduleState].numeric.delete(name);
    }
    modules.forEach((m, i) => this.add_module(String(i), m));
    return this;
  }
}

export interface Sequential {
  readonly [index: number]: Module;
}
/**
 * Modules that each take what the one before gives.
 * @example
 * const net = new nn.Sequential(new nn.Linear(4, 8), new nn.ReLU(), new nn.Linear(8, 2));
 * const named = new nn.Sequential({ fc: new nn.Linear(4, 8), act: new nn.ReLU() });
 * @see https://docs.pytorch.org/docs/stable/generated/torch.nn.Sequential.html
 */
export class Sequential extends ModuleSequence<Module> {
  constructor(...modules: readonly Module[] | readonly [Named<Module>]) {
    super();
    const [first] = modules;
    if (modules.length === 1 && first !== undefined && !isModule(first))
      for (const [name, module] of entriesOf(first as Named<Module>)) this.add_module(name, module);
    else modules.forEach((m, i) => this.add_module(String(i), m as Module));
  }
  override forward(input: Tensor): Tensor {
    let value: unknown = input;
    for (const module of this) value = (module as unknown as Callable)(value);
    return value as Tensor;
  }
  /** A Sequential of some of the modules, under their names. */
  slice(start?: number, end?: number): Sequential {
    return new Sequential(new Map([...this._modules].slice(start, end)) as ReadonlyMap<string, Module>);
  }
  /** Puts a module in the place of the one at `index`. */
  set(index: number, module: Module): void {
    const names = [...this._modules.keys()];
    setValue(this, names[positionOf(index, names.length)], module);
  }
}

export interface ModuleList<T extends Module = Module> {
  [index: number]: T;
}
/**
 * Modules in a list. Has no forward: loop over it.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
 */
export class ModuleList<T extends Module = Module> extends ModuleSequence<T> {
  constructor(modules: Iterable<T> = []) {
    super();
    this.extend(modules);
  }
  /** A ModuleList of some of the modules. */
  slice(start?: number, end?: number): ModuleList<T> {
    return new ModuleList([...this].slice(start, end));
  }
  /** Equal neighbours are printed once, with their number. */
  override toString(): string {
    const blocks: { text: string; from: number; to: number }[] = [];
    [...this].forEach((module, i) => {
      const text = module.toString();
      const last = blocks.at(-1);
      if (last?.text === text) last.to = i;
      else blocks.push({ text, from: i, to: i });
    });
    const lines = blocks.map(({ text, from, to }) =>
      indent(from === to ? `(${from}): ${text}` : `(${from}-${to}): ${to - from + 1} x ${text}`),
    );
    return printed(this._get_name(), [], lines);
  }
}

/**
 * Modules by name. Has no forward.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleDict.html
 */
export class ModuleDict<T extends Module = Module> extends Module {
  constructor(modules: Named<T> = {}) {
    super();
    this.update(modules);
  }
  get(name: string): T {
    const found = this._modules.get(name);
    if (!found) throw new TorchKeyError(`'${name}'`);
    return found as T;
  }
  set(name: string, module: T): void {
    this.add_module(name, module);
  }
  has(name: string): boolean {
    return this._modules.has(name);
  }
  override get length(): number {
    return this._modules.size;
  }
  keys(): IterableIterator<string> {
    return this._modules.keys();
  }
  values(): IterableIterator<T> {
    return this._modules.values() as IterableIterator<T>;
  }
  items(): IterableIterator<[string, T]> {
    return this._modules.entries() as IterableIterator<[string, T]>;
  }
  [Symbol.iterator](): IterableIterator<string> {
    return this.keys();
  }
  /** Adds modules, in place of those of the same names. */
  update(modules: Named<T>): void {
    for (const [name, module] of modules instanceof ModuleDict ? modules.items() : entriesOf(modules))
      this.set(name, module as T);
  }
  /** Removes and returns the module of this name. */
  pop(name: string): T {
    const found = this.get(name);
    this._modules.delete(name);
    return found;
  }
  clear(): void {
    for (const name of [...this.keys()]) this.pop(name);
  }
}

const asParameter = (x: Tensor): Parameter => (x instanceof Parameter ? x : new Parameter(x));

/** One line for a parameter. */
function parameterLine(name: string, p: Tensor, type: string): string {
  const size = p.shape.join("x");
  const where = p.device.type === "tpu" ? ` (${p.device.toString()})` : "";
  return `  (${name}): ${p instanceof Parameter ? "Parameter" : "Tensor"} containing: [${type} of size ${size}${where}]`;
}

export interface ParameterList {
  readonly [index: number]: Parameter;
}
/** Parameters in a list; other tensors become parameters. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.ParameterList.html */
export class ParameterList extends Module {
  constructor(values: Iterable<Tensor> = []) {
    super();
    this.extend(values);
  }
  override forward(): never {
    throw new TorchError("ParameterList should not be called.");
  }
  override get length(): number {
    return this._parameters.size;
  }
  [Symbol.iterator](): IterableIterator<Parameter> {
    return [...this._parameters.values()][Symbol.iterator]() as IterableIterator<Parameter>;
  }
  at(index: number): Parameter {
    return valueOf(this, String(positionOf(index, this.length))) as Parameter;
  }
  set(index: number, value: Tensor): void {
    setValue(this, String(positionOf(index, this.length)), asParameter(value));
  }
  append(value: Tensor): this {
    setValue(this, String(this.length), asParameter(value));
    return this;
  }
  extend(values: Iterable<Tensor>): this {
    if (values instanceof Tensor || typeof (values as Partial<Iterable<Tensor>>)[Symbol.iterator] !== "function")
      throw new TorchTypeError(`ParameterList.extend should be called with an iterable, but got ${typeText(values)}`);
    for (const value of [...values]) this.append(value);
    return this;
  }
  override extra_repr(): string {
    return [...this].map((p, i) => parameterLine(String(i), p, p.dtype.toString())).join("\n");
  }
}

/** Parameters by name; other tensors become parameters. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.ParameterDict.html */
export class ParameterDict extends Module {
  constructor(parameters: Named<Tensor> = {}) {
    super();
    this.update(parameters);
  }
  override forward(): never {
    throw new TorchError("ParameterDict should not be called.");
  }
  get(name: string): Parameter {
    const found = this._parameters.get(name);
    if (!found) throw new TorchKeyError(`'${name}'`);
    return found;
  }
  set(name: string, value: Tensor): void {
    if (typeof name !== "string")
      throw new TorchTypeError(
        `Index given to ParameterDict cannot be used as a key as it is not a string (type is '${typeText(name)}'). Open an issue on github if you need non-string keys.`,
      );
    this.register_parameter(name, asParameter(value));
  }
  has(name: string): boolean {
    return this._parameters.has(name);
  }
  override get length(): number {
    return this._parameters.size;
  }
  keys(): IterableIterator<string> {
    return this._parameters.keys();
  }
  values(): IterableIterator<Parameter> {
    return this._parameters.values() as IterableIterator<Parameter>;
  }
  items(): IterableIterator<[string, Parameter]> {
    return this._parameters.entries() as IterableIterator<[string, Parameter]>;
  }
  [Symbol.iterator](): IterableIterator<string> {
    return this.keys();
  }
  update(parameters: Named<Tensor>): void {
    if (typeof parameters !== "object" && !isModule(parameters))
      throw new TorchTypeError(
        `ParameterDict.update should be called with names and tensors, but got ${typeText(parameters)}`,
      );
    for (const [name, value] of parameters instanceof ParameterDict ? parameters.items() : entriesOf(parameters))
      this.set(name, value);
  }
  /** Removes and returns the parameter of this name. */
  pop(name: string): Parameter {
    const found = this.get(name);
    this._parameters.delete(name);
    return found;
  }
  clear(): void {
    for (const name of [...this.keys()]) this.pop(name);
  }
  override extra_repr(): string {
    return [...this.items()].map(([name, p]) => parameterLine(name, p, typeText(p))).join("\n");
  }
}
