/** @file Module: the base class of all neural network modules. */
import { no_grad, type RemovableHandle } from "../autograd/index.js";
import { functional } from "../api/index.js";
import * as dt from "../schema/dtype.js";
import { TorchError, TorchNotImplementedError, TorchTypeError, TorchValueError, type DType } from "../schema/index.js";
import { Tensor, type DeviceLike } from "../tensor/index.js";
import { TorchAttributeError } from "./errors.js";
import {
  callModule,
  hooksOf,
  type BackwardHook,
  type BackwardPreHook,
  type ForwardHook,
  type ForwardPreHook,
  type LoadStateDictPostHook,
  type LoadStateDictPreHook,
  type StateDictHook,
  type StateDictPreHook,
} from "./hooks.js";
import {
  checkName,
  isModule,
  membersOf,
  moduleState,
  ModuleState,
  setValue,
  typeText,
  valueOf,
  type Members,
} from "./members.js";
import { Parameter } from "./parameter.js";
import { parseTo, type ToTarget } from "./placement.js";
import { indent, printed } from "./printing.js";
import { signature, type Args } from "./signature.js";
import {
  emptyStateDict,
  extraStateKey,
  loadOwnState,
  loadStateDict,
  noteVersion,
  saveOwnState,
  type IncompatibleKeys,
  type LocalMetadata,
  type StateDict,
} from "./state_dict.js";
import { lacks, namedMembers, ownerAt, submoduleAt, valueAt, walk } from "./traversal.js";

const membersArgs = signature("named_members(str prefix='', bool recurse=True, bool remove_duplicate=True)");
const modulesArgs = signature("named_modules(str prefix='', bool remove_duplicate=True)");

export interface Module {
  /** A module is called like a function: its hooks run around its `forward`. */
  (...args: Parameters<this["forward"]>): ReturnType<this["forward"]>;
}

/**
 * `torch.nn.Module`. Parameters, buffers and modules that are assigned to properties belong to it.
 *
 * @example
 * class Net extends nn.Module {
 *   fc1 = new nn.Linear(4, 8);
 *   fc2 = new nn.Linear(8, 2);
 *   override forward(x: Tensor): Tensor {
 *     return this.fc2(F.relu(this.fc1(x)));
 *   }
 * }
 * const net = new Net();
 * const y = net(torch.ones([1, 4]));
 *
 * @see https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
 */
export class Module {
  /** @internal */
  declare readonly [moduleState]: ModuleState;
  /** Whether the module is in training mode; dropout and batch norm ask. */
  declare training: boolean;

  constructor() {
    // The instance is a function, so that it can be called; everything else it has comes from its class.
    const module = ((...args: unknown[]) => callModule(module, args)) as unknown as this;
    const bare = module as { name?: unknown; length?: unknown };
    delete bare.name;
    delete bare.length;
    Object.setPrototypeOf(module, new.target.prototype as object);
    Object.defineProperty(module, moduleState, { value: new ModuleState() });
    module.training = true;
    return module;
  }

  /** What the module computes. Subclasses say. */
  forward(..._args: never[]): unknown {
    throw new TorchNotImplementedError(`Module [${this._get_name()}] is missing the required "forward" function`);
  }

  /** Parameters of the module itself, by name; null where one is declared without a value. */
  get _parameters(): Members<Parameter | null> {
    return membersOf(this).parameters;
  }
  /** Buffers of the module itself, by name. */
  get _buffers(): Members<Tensor | null> {
    return membersOf(this).buffers;
  }
  /** Direct submodules, by name. */
  get _modules(): Members<Module | null> {
    return membersOf(this).modules;
  }
  /** Version of the format of this class's state_dict. */
  get _version(): number {
    return 1;
  }

  /** Whether something that is no such member has the name. */
  private hasOther(name: string, isMember: boolean): boolean {
    const value = valueOf(this, name);
    return name in this && !isMember && value !== undefined && value !== null;
  }

  /** Adds a tensor that is state but no parameter. `persistent`: whether the state_dict has it. */
  register_buffer(name: string, tensor: Tensor | null, persistent: boolean | { persistent?: boolean } = true): void {
    const { buffers } = this[moduleState];
    checkName(name, "buffer", this.hasOther(name, buffers.has(name)));
    if (tensor !== null && !(tensor instanceof Tensor))
      throw new TorchTypeError(
        `cannot assign '${typeText(tensor)}' object to buffer '${name}' (torch Tensor or None required)`,
      );
    buffers.set(name, typeof persistent === "boolean" ? persistent : (persistent.persistent ?? true));
    setValue(this, name, tensor);
  }

  /** Adds a parameter by name; null declares one that has no value. */
  register_parameter(name: string, param: Parameter | null): void {
    const { parameters } = this[moduleState];
    checkName(name, "parameter", this.hasOther(name, parameters.has(name) || valueOf(this, name) instanceof Parameter));
    if (param !== null && !(param instanceof Parameter))
      throw new TorchTypeError(
        `cannot assign '${typeText(param)}' object to parameter '${name}' (torch.nn.Parameter or None required)`,
      );
    if (param?.grad_fn)
      throw new TorchValueError(
        `Cannot assign non-leaf Tensor to parameter '${name}'. Model parameters must be created explicitly. To express '${name}' as a function of another Tensor, compute the value in the forward() method.`,
      );
    parameters.add(name);
    setValue(this, name, param);
  }

  /** Adds a submodule by name. */
  add_module(name: string, module: Module | null): void {
    if (module !== null && !isModule(module)) throw new TorchTypeError(`${typeText(module)} is not a Module subclass`);
    const { modules } = this[moduleState];
    checkName(name, "module", this.hasOther(name, modules.has(name) || isModule(valueOf(this, name))));
    modules.add(name);
    setValue(this, name, module);
  }
  /** `add_module`, by its other name. */
  register_module(name: string, module: Module | null): void {
    this.add_module(name, module);
  }

  /** The submodule at a dotted path; "" is the module itself. */
  get_submodule(target: string): Module {
    return submoduleAt(this, target);
  }
  /** Replaces the submodule at a dotted path, or adds one unless `strict`. */
  set_submodule(target: string, module: Module, strict: boolean | { strict?: boolean } = false): void {
    if (target === "") throw new TorchValueError("Cannot set the submodule without a target name!");
    if (!isModule(module)) throw new TorchValueError(`\`module\` is not an nn.Module, found ${typeText(module)}`);
    const [parent, name] = ownerAt(this, target);
    const mustExist = typeof strict === "boolean" ? strict : strict.strict;
    if (name in parent && !isModule(valueOf(parent, name)))
      throw new TorchAttributeError(`\`${name}\` is not an nn.Module`);
    if (mustExist && !(name in parent)) throw lacks(parent, name);
    setValue(parent, name, module);
  }
  /** The parameter at a dotted path. */
  get_parameter(target: string): Parameter {
    const value = valueAt(this, target);
    if (value instanceof Parameter) return value;
    throw new TorchAttributeError(`\`${ownerAt(this, target)[1]}\` is not an nn.Parameter`);
  }
  /** The buffer at a dotted path. */
  get_buffer(target: string): Tensor {
    valueAt(this, target);
    const [owner, name] = ownerAt(this, target);
    const found = owner._buffers.get(name);
    if (found) return found;
    throw new TorchAttributeError(`\`${name}\` is not a buffer`);
  }

  /** Every parameter with its dotted name; a shared one under its first name only, unless `remove_duplicate` is false. */
  named_parameters(...args: Args<typeof membersArgs.text>): IterableIterator<[string, Parameter]> {
    return namedMembers(this, (m) => m.parameters, membersArgs.bind(args));
  }
  /** Every parameter once. */
  *parameters(recurse: boolean | { recurse?: boolean } = true): IterableIterator<Parameter> {
    for (const [, p] of this.named_parameters(typeof recurse === "boolean" ? { recurse } : recurse)) yield p;
  }
  /** Every buffer with its dotted name. */
  named_buffers(...args: Args<typeof membersArgs.text>): IterableIterator<[string, Tensor]> {
    return namedMembers(this, (m) => m.buffers, membersArgs.bind(args));
  }
  /** Every buffer once. */
  *buffers(recurse: boolean | { recurse?: boolean } = true): IterableIterator<Tensor> {
    for (const [, b] of this.named_buffers(typeof recurse === "boolean" ? { recurse } : recurse)) yield b;
  }
  /** Direct submodules with their names. */
  *named_children(): IterableIterator<[string, Module]> {
    const seen = new Set<Module>();
    for (const [name, module] of membersOf(this).modules) {
      if (module === null || seen.has(module)) continue;
      seen.add(module);
      yield [name, module];
    }
  }
  /** Direct submodules. */
  *children(): IterableIterator<Module> {
    for (const [, module] of this.named_children()) yield module;
  }
  /** The module and everything below it with dotted names, parents first; a shared one once, unless told otherwise. */
  named_modules(...args: Args<typeof modulesArgs.text>): IterableIterator<[string, Module]> {
    const { prefix, remove_duplicate } = modulesArgs.bind(args);
    return walk(this, prefix, remove_duplicate ? new Set() : null);
  }
  /** The module and everything below it. */
  *modules(): IterableIterator<Module> {
    for (const [, module] of this.named_modules()) yield module;
  }

  /** Calls `fn` for every submodule, children first, then for the module itself. Returns this. */
  apply(fn: (module: Module) => void): this {
    for (const child of this.children()) child.apply(fn);
    fn(this);
    return this;
  }

  /** Puts the module and everything below it in training mode, or out of it. Returns this. */
  train(mode = true): this {
    if (typeof mode !== "boolean") throw new TorchValueError("training mode is expected to be boolean");
    this.training = mode;
    for (const child of this.children()) child.train(mode);
    return this;
  }
  /** `train(false)`. */
  eval(): this {
    return this.train(false);
  }

  /** Says of every parameter whether gradients are recorded for it. Returns this. */
  requires_grad_(requires_grad = true): this {
    for (const p of this.parameters()) p.requires_grad_(requires_grad);
    return this;
  }

  /** Removes the gradients of all parameters, or fills them with zeros. */
  zero_grad(set_to_none: boolean | { set_to_none?: boolean } = true): void {
    const remove = typeof set_to_none === "boolean" ? set_to_none : (set_to_none.set_to_none ?? true);
    for (const p of this.parameters()) {
      if (p.grad === null) continue;
      if (remove) p.grad = null;
      else {
        if (p.grad.grad_fn !== null) p.grad.detach_();
        else p.grad.requires_grad_(false);
        p.grad.zero_();
      }
    }
  }

  /**
   * Moves parameters and buffers to a device, and casts those that are floating point (or complex) to a dtype.
   * Parameters stay the same objects, so optimizers and tied weights need nothing. Returns this.
   */
  to(target: ToTarget, dtype?: DType | ToTarget): this {
    const to = parseTo(target, dtype);
    return this._apply((t) => {
      if (t.is_meta && to.device !== null && to.device.type !== "meta")
        throw new TorchNotImplementedError(
          "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module from meta to a different device.",
        );
      const cast = to.dtype !== null && t.dtype.is_differentiable ? to.dtype : undefined;
      return t.to({ device: to.device ?? undefined, dtype: cast });
    });
  }
  /** Moves to a device without copying: the values are not defined afterwards. */
  to_empty({ device, recurse = true }: { device: DeviceLike; recurse?: boolean }): this {
    return this._apply((t) => functional.empty(t.shape, { dtype: t.dtype, device }), recurse);
  }
  cpu(): this {
    return this.to("cpu");
  }
  tpu(index = 0): this {
    return this.to(`tpu:${index}`);
  }
  /** Casts all parameters and buffers. */
  type(dst_type: DType): this {
    return this._apply((t) => t.to(dst_type));
  }
  float(): this {
    return this.castFloats(dt.float32);
  }
  double(): this {
    return this.castFloats(dt.float64);
  }
  half(): this {
    return this.castFloats(dt.float16);
  }
  bfloat16(): this {
    return this.castFloats(dt.bfloat16);
  }
  private castFloats(dtype: DType): this {
    return this._apply((t) => (t.is_floating_point() ? t.to(dtype) : t));
  }

  /** Replaces the data of every parameter, its gradient and every buffer by `fn` of it. */
  _apply(fn: (t: Tensor) => Tensor, recurse = true): this {
    if (recurse) for (const child of this.children()) child._apply(fn);
    const { parameters, buffers } = membersOf(this);
    no_grad(() => {
      for (const p of parameters.values()) {
        if (p === null) continue;
        const { grad } = p;
        p.data = fn(p.data);
        if (grad !== null) grad.data = fn(grad.data);
      }
      for (const [name, b] of buffers) if (b !== null) setValue(this, name, fn(b));
    });
    return this;
  }

  /** Parameters and persistent buffers by dotted name, outside of the graph unless `keep_vars`. They share memory. */
  state_dict(options: { destination?: StateDict; prefix?: string; keep_vars?: boolean } = {}): StateDict {
    const { prefix = "", keep_vars = false } = options;
    let destination = options.destination ?? emptyStateDict();
    const local: LocalMetadata = { version: this._version };
    noteVersion(destination, prefix, local);
    const { hooks } = this[moduleState];
    for (const hook of hooks?.stateDictPre ?? []) hook(this, prefix, keep_vars);
    this._save_to_state_dict(destination, prefix, keep_vars);
    for (const [name, child] of membersOf(this).modules)
      child?.state_dict({ destination, prefix: `${prefix}${name}.`, keep_vars });
    for (const hook of hooks?.stateDict ?? []) destination = hook(this, destination, prefix, local) ?? destination;
    return destination;
  }
  /** Adds what belongs to the module itself. Subclasses may add more. */
  _save_to_state_dict(destination: StateDict, prefix: string, keep_vars: boolean): void {
    saveOwnState(this, destination, prefix, keep_vars);
    if (this.hasExtraState("get_extra_state"))
      (destination as Record<string, unknown>)[prefix + extraStateKey] = this.get_extra_state();
  }

  /**
   * Copies parameters and buffers from a state_dict; `assign` makes its tensors the module's own instead.
   * Throws when `strict` and the keys differ, and when sizes differ. Returns the keys that did not match.
   */
  load_state_dict(
    state_dict: StateDict,
    strict: boolean | { strict?: boolean; assign?: boolean } = true,
    assign: boolean | { assign?: boolean } = false,
  ): IncompatibleKeys {
    const options = {
      ...(typeof strict === "boolean" ? { strict } : strict),
      ...(typeof assign === "boolean" ? (assign ? { assign } : {}) : assign),
    };
    return loadStateDict(this, state_dict, options.strict ?? true, options.assign ?? false);
  }
  /** Loads what belongs to the module itself. Subclasses may read older formats. */
  _load_from_state_dict(
    state_dict: StateDict,
    prefix: string,
    local_metadata: LocalMetadata,
    strict: boolean,
    missing_keys: string[],
    unexpected_keys: string[],
    error_msgs: string[],
  ): void {
    for (const hook of this[moduleState].hooks?.loadPre ?? [])
      hook(this, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs);
    loadOwnState(this, state_dict, prefix, local_metadata, strict, {
      missing: missing_keys,
      unexpected: unexpected_keys,
      errors: error_msgs,
    });
  }

  /** What to keep in the state_dict besides tensors. Define it together with set_extra_state. */
  get_extra_state(): unknown {
    throw new TorchError("get_extra_state(): expected a subclass to define it");
  }
  set_extra_state(_state: unknown): void {
    throw new TorchError("set_extra_state(): expected a subclass to define it");
  }
  /** @internal Whether the class has extra state. */
  hasExtraState(method: "get_extra_state" | "set_extra_state"): boolean {
    return this[method] !== Module.prototype[method];
  }

  /** Calls `hook(module, args)` before forward; what it returns replaces the arguments. */
  register_forward_pre_hook(
    hook: ForwardPreHook<this>,
    { prepend = false }: { prepend?: boolean } = {},
  ): RemovableHandle {
    return hooksOf(this).forwardPre.add(hook as ForwardPreHook<Module>, prepend);
  }
  /** Calls `hook(module, args, output)` after forward; what it returns replaces the output. */
  register_forward_hook(
    hook: ForwardHook<this>,
    { prepend = false, always_call = false }: { prepend?: boolean; always_call?: boolean } = {},
  ): RemovableHandle {
    return hooksOf(this).forward.add({ call: hook as ForwardHook<Module>, always: always_call }, prepend);
  }
  /** Calls `hook(module, grad_output)` when the gradients of the outputs are known; it may replace them. */
  register_full_backward_pre_hook(
    hook: BackwardPreHook<this>,
    { prepend = false }: { prepend?: boolean } = {},
  ): RemovableHandle {
    return hooksOf(this).backwardPre.add(hook as BackwardPreHook<Module>, prepend);
  }
  /** Calls `hook(module, grad_input, grad_output)` when the gradients of the inputs are known; it may replace them. */
  register_full_backward_hook(
    hook: BackwardHook<this>,
    { prepend = false }: { prepend?: boolean } = {},
  ): RemovableHandle {
    return hooksOf(this).backward.add(hook as BackwardHook<Module>, prepend);
  }
  /** Calls `hook(module, prefix, keep_vars)` before state_dict. */
  register_state_dict_pre_hook(hook: StateDictPreHook<this>): RemovableHandle {
    return hooksOf(this).stateDictPre.add(hook as StateDictPreHook<Module>);
  }
  /** Calls `hook(module, state_dict, prefix, local_metadata)` after state_dict; it may change it. */
  register_state_dict_post_hook(hook: (...args: Parameters<StateDictHook<this>>) => void): RemovableHandle {
    return hooksOf(this).stateDict.add((module, ...rest) => {
      if ((hook(module as this, ...rest) as unknown) !== undefined)
        throw new TorchError("state_dict post-hook must return None");
    });
  }
  /** As register_state_dict_post_hook, and the hook may return another state_dict. */
  _register_state_dict_hook(hook: StateDictHook<this>): RemovableHandle {
    return hooksOf(this).stateDict.add(hook as StateDictHook<Module>);
  }
  /** Calls the hook before the module's own tensors are loaded; it may change the state_dict and the reports. */
  register_load_state_dict_pre_hook(hook: LoadStateDictPreHook<this>): RemovableHandle {
    return hooksOf(this).loadPre.add(hook as LoadStateDictPreHook<Module>);
  }
  /** Calls `hook(module, incompatible_keys)` after loading; it may change the lists of keys. */
  register_load_state_dict_post_hook(hook: LoadStateDictPostHook<this>): RemovableHandle {
    return hooksOf(this).loadPost.add(hook as LoadStateDictPostHook<Module>);
  }

  /** The class's name. */
  _get_name(): string {
    return this.constructor.name;
  }
  /** What the printed form says besides the submodules. */
  extra_repr(): string {
    return "";
  }
  /** The module and its submodules as PyTorch prints them. */
  toString(): string {
    const extra = this.extra_repr();
    const extraLines = extra === "" ? [] : extra.split("\n");
    const childLines = [...membersOf(this).modules].map(
      ([name, m]) => `(${name}): ${indent(m === null ? "None" : m.toString())}`,
    );
    return printed(this._get_name(), extraLines, childLines);
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}
