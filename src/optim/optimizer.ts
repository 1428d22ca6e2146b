/** @file Optimizer: parameter groups, state, hooks, and what all optimizers share. */
import { functional, tensor } from "../api/index.js";
import { addHook, enable_grad, ModeGuard, type RemovableHandle } from "../autograd/index.js";
import { guardObject, isDeferring, runDeferred } from "../dispatch/index.js";
import { float32, TorchError, TorchTypeError, TorchValueError } from "../schema/index.js";
import { Tensor } from "../tensor/index.js";
import { copied, pythonRepr } from "./values.js";

/** What an optimizer may be told of each group of parameters. */
export type GroupOptions = Record<string, unknown>;

/** Parameters with the options that hold for them. */
export interface ParamGroup extends GroupOptions {
  params: Tensor[];
}

/** A parameter, or one with its name as in `module.named_parameters()`. */
export type Param = Tensor | readonly [name: string, parameter: Tensor];

/** A group as it is given: options that are left out take the optimizer's defaults. */
export interface GroupLike extends GroupOptions {
  params: Tensor | Iterable<Param>;
}

/** Parameters, or groups of them with options of their own. */
export type Params = Iterable<Param> | Iterable<GroupLike>;

/** What an optimizer remembers of one parameter: tensors, numbers, lists of them. */
export type ParamState = Record<string, unknown>;

/** The layout of PyTorch's `Optimizer.state_dict()`. */
export interface OptimizerState {
  state: Record<number, ParamState>;
  param_groups: (GroupOptions & { params: number[] })[];
}

type StepHook = (optimizer: Optimizer, args: readonly unknown[]) => void;
type StateHook = (optimizer: Optimizer, state: OptimizerState) => OptimizerState | void;
type PlainHook = (optimizer: Optimizer) => void;

const globalPreHooks = new Map<number, StepHook>();
const globalPostHooks = new Map<number, StepHook>();

/** Calls `hook(optimizer, args)` before every step of every optimizer. */
export const register_optimizer_step_pre_hook = (hook: StepHook): RemovableHandle => addHook(globalPreHooks, hook);

/** Calls `hook(optimizer, args)` after every step of every optimizer. */
export const register_optimizer_step_post_hook = (hook: StepHook): RemovableHandle => addHook(globalPostHooks, hook);

const typeOf = (x: unknown): string =>
  x === null ? "NoneType" : typeof x === "object" ? x.constructor.name : typeof x;

/**
 * Base of all optimizers. A subclass updates the parameters of one group in `update`.
 * @see https://docs.pytorch.org/docs/stable/optim.html#torch.optim.Optimizer
 */
export abstract class Optimizer {
  readonly param_groups: ParamGroup[] = [];
  /** What is remembered of each parameter. */
  readonly state = new Map<Tensor, ParamState>();
  /** Set by a gradient scaler: what the loss was multiplied with, and 1 where a gradient overflowed. */
  grad_scale: Tensor | null = null;
  found_inf: Tensor | null = null;
  /** @internal Whether step() was called: schedules warn when it was not. */
  _opt_called = false;
  private readonly preHooks = new Map<number, StepHook>();
  private readonly postHooks = new Map<number, StepHook>();
  private readonly stateDictPreHooks = new Map<number, PlainHook>();
  private readonly stateDictPostHooks = new Map<number, StateHook>();
  private readonly loadPreHooks = new Map<number, StateHook>();
  private readonly loadPostHooks = new Map<number, PlainHook>();

  constructor(
    params: Params,
    readonly defaults: GroupOptions,
  ) {
    if (params instanceof Tensor || typeof params?.[Symbol.iterator] !== "function")
      throw new TorchTypeError(
        `params argument given to the optimizer should be an iterable of Tensors or dicts, but got ${params instanceof Tensor ? "torch.Tensor" : typeOf(params)}`,
      );
    const list: (Param | GroupLike)[] = [...params];
    if (list.length === 0) throw new TorchValueError("optimizer got an empty parameter list");
    const grouped = !(list[0] instanceof Tensor) && !Array.isArray(list[0]) && typeof list[0] === "object";
    const groups = grouped ? (list as GroupLike[]) : [{ params: list as Param[] }];
    for (const group of groups) this.add_param_group(group);
  }

  /**
   * Adds parameters, with the defaults for options that the group leaves out.
   * Throws TorchValueError for results of operators and for parameters that are already here.
   */
  add_param_group(group: GroupLike): void {
    if (typeof group !== "object" || group === null || !("params" in group))
      throw new TorchTypeError(`param_group must be a dict, but got ${typeOf(group)}`);
    if (group.params instanceof Set)
      throw new TorchTypeError(
        "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change between runs. Please use a list instead.",
      );
    const given: Param[] = group.params instanceof Tensor ? [group.params] : [...group.params];
    const params = given.map((p) => (Array.isArray(p) ? (p as readonly [string, Tensor])[1] : (p as Tensor)));
    const names = given.flatMap((p) => (Array.isArray(p) ? [(p as readonly [string, Tensor])[0]] : []));
    this.checkParams(params);
    this.checkNames(names, params.length);
    const named = names.length > 0 ? { param_names: names } : {};
    this.param_groups.push({ ...this.defaults, ...group, ...named, params });
  }

  private checkParams(params: readonly Tensor[]): void {
    for (const p of params) {
      if (!(p instanceof Tensor))
        throw new TorchTypeError(`optimizer can only optimize Tensors, but one of the params is ${typeOf(p)}`);
      if (!p.is_leaf && !p.retains_grad) throw new TorchValueError("can't optimize a non-leaf Tensor");
    }
    // PyTorch only warns; here one program would write the same memory twice
    if (new Set(params).size < params.length)
      throw new TorchValueError("optimizer contains a parameter group with duplicate parameters");
    const seen = new Set(this.param_groups.flatMap((g) => g.params));
    if (params.some((p) => seen.has(p)))
      throw new TorchValueError("some parameters appear in more than one parameter group");
  }

  private checkNames(names: readonly string[], count: number): void {
    if (names.length > 0 && names.length < count)
      throw new TorchValueError("all optimizer params should be with/without names. Some param names are missing");
    const other = this.param_groups[0];
    if (other && "param_names" in other !== names.length > 0)
      throw new TorchValueError(
        `all optimizer param groups should be with/without names. cannot add param group ${names.length > 0 ? "with" : "without"} names to the optimizer`,
      );
  }

  /** Forgets the gradients, or with `set_to_none: false` fills them with zeros. */
  zero_grad(set_to_none: boolean | { set_to_none?: boolean } = true): void {
    const forget = typeof set_to_none === "boolean" ? set_to_none : (set_to_none.set_to_none ?? true);
    for (const { params } of this.param_groups) {
      for (const p of params) {
        if (!p.grad) continue;
        if (forget) p.grad = null;
        else p.grad.detach_().zero_();
      }
    }
  }

  /**
   * One update of all parameters that have a gradient. `closure`, which some optimizers call more than once, computes the
   * loss and its gradients anew; its first result is returned.
   */
  step(): void;
  step<R>(closure: () => R): R;
  step<R>(closure?: () => R): R | void {
    const args = closure === undefined ? [] : [closure];
    for (const hook of globalPreHooks.values()) hook(this, args);
    for (const hook of this.preHooks.values()) hook(this, args);
    this._opt_called = true;
    const loss = this.run(closure);
    for (const hook of this.postHooks.values()) hook(this, args);
    for (const hook of globalPostHooks.values()) hook(this, args);
    if (isDeferring()) runDeferred(); // what waits would grow from step to step
    return loss;
  }

  /** The step itself, between the hooks. */
  protected run<R>(closure?: () => R): R | void {
    const loss = closure && enable_grad(closure);
    using _ = new ModeGuard(false, false);
    for (const group of this.param_groups) {
      guardObject(group);
      const params = group.params.filter((p) => p.grad !== null);
      if (params.length > 0) this.update(group, params);
    }
    return loss;
  }

  /** Updates the parameters of one group, all of which have gradients. Runs without recording. */
  protected abstract update(group: ParamGroup, params: readonly Tensor[]): void;

  /** Calls `hook(optimizer, args)` before every step. */
  register_step_pre_hook(hook: StepHook): RemovableHandle {
    return addHook(this.preHooks, hook);
  }
  /** Calls `hook(optimizer, args)` after every step. */
  register_step_post_hook(hook: StepHook): RemovableHandle {
    return addHook(this.postHooks, hook);
  }
  /** Calls `hook(optimizer)` before the state is collected. */
  register_state_dict_pre_hook(hook: PlainHook): RemovableHandle {
    return addHook(this.stateDictPreHooks, hook);
  }
  /** Calls `hook(optimizer, state)` with the collected state, which it may replace. */
  register_state_dict_post_hook(hook: StateHook): RemovableHandle {
    return addHook(this.stateDictPostHooks, hook);
  }
  /** Calls `hook(optimizer, state)` before a state is loaded, which it may replace. */
  register_load_state_dict_pre_hook(hook: StateHook): RemovableHandle {
    return addHook(this.loadPreHooks, hook);
  }
  /** Calls `hook(optimizer)` after a state was loaded. */
  register_load_state_dict_post_hook(hook: PlainHook): RemovableHandle {
    return addHook(this.loadPostHooks, hook);
  }

  /** State by the parameters' numbers, and the groups, as PyTorch lays them out. The tensors are those in use. */
  state_dict(): OptimizerState {
    for (const hook of this.stateDictPreHooks.values()) hook(this);
    const numbers = new Map(this.param_groups.flatMap((g) => g.params).map((p, i) => [p, i]));
    const state: Record<number, ParamState> = {};
    for (const [p, s] of this.state) state[numbers.get(p)!] = { ...s };
    const param_groups = this.param_groups.map(({ params, ...options }) => ({
      ...options,
      params: params.map((p) => numbers.get(p)!),
    }));
    let out: OptimizerState = { state, param_groups };
    for (const hook of this.stateDictPostHooks.values()) out = hook(this, out) ?? out;
    return out;
  }

  /** Takes over a copy of what state_dict() gave, here or in PyTorch. Throws, and changes nothing, when it does not fit. */
  load_state_dict(given: OptimizerState): void {
    let saved: OptimizerState = { ...given };
    for (const hook of this.loadPreHooks.values()) saved = hook(this, saved) ?? saved;
    const groups = saved.param_groups;
    if (groups.length !== this.param_groups.length)
      throw new TorchValueError("loaded state dict has a different number of parameter groups");
    if (groups.some((g, i) => g.params.length !== this.param_groups[i].params.length))
      throw new TorchValueError(
        "loaded state dict contains a parameter group that doesn't match the size of optimizer's group",
      );
    const byNumber = new Map(groups.flatMap((g, i) => g.params.map((n, k) => [n, this.param_groups[i].params[k]])));
    const loaded = Object.entries(saved.state).map(([n, s]): [Tensor, ParamState] => {
      const p = byNumber.get(Number(n));
      if (!p) throw new TorchError(`load_state_dict(): expected state of known parameters, got number ${n}`);
      return [p, Object.fromEntries(Object.entries(s).map(([key, v]) => [key, this.adopt(v, p, key)]))];
    });
    groups.forEach(({ params: _, ...options }, i) => Object.assign(this.param_groups[i], copied(options)));
    this.state.clear();
    for (const [p, s] of loaded) this.state.set(p, s);
    for (const hook of this.loadPostHooks.values()) hook(this);
  }

  /** Loaded state where this optimizer wants it; a copy, so that steps do not change what was loaded. */
  private adopt(value: unknown, parameter: Tensor, key: string): unknown {
    if (key === "step") {
      const device = this.stepDevice(parameter);
      if (!(value instanceof Tensor)) return tensor(Number(value), { dtype: float32, device });
      return functional.clone(value.detach().to(device, { dtype: float32 }));
    }
    if (Array.isArray(value)) return value.map((v) => this.adopt(v, parameter, ""));
    if (!(value instanceof Tensor)) return value;
    const dtype = parameter.is_floating_point() ? parameter.dtype : value.dtype;
    return functional.clone(value.detach().to(parameter.device, { dtype }));
  }

  /** Where the count of a parameter's steps lives: beside the parameter where a program reads it, else on the host. */
  protected stepDevice(_parameter: Tensor): "cpu" | Tensor["device"] {
    return "cpu";
  }

  /** The state of a parameter, made by `make` at the first step. */
  protected stateOf<S extends object>(parameter: Tensor, make: () => S): S {
    let state = this.state.get(parameter);
    if (!state || Object.keys(state).length === 0) this.state.set(parameter, (state = make() as ParamState));
    return state as S;
  }

  /** As PyTorch prints it. */
  toString(): string {
    const groups = this.param_groups.map((group, i) => {
      const keys = Object.keys(group).filter((k) => k !== "params");
      const lines = keys.sort().map((k) => `    ${k}: ${pythonRepr(group[k], k)}\n`);
      return `\nParameter Group ${i}\n${lines.join("")}`;
    });
    return `${this.constructor.name} (${groups.join("")})`;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}
