/** @file Optimizer: parameter groups, state, and what all optimizers share. */
import { functional } from "../api/index.js";
import { enable_grad, ModeGuard } from "../autograd/index.js";
import { TorchError, TorchTypeError, TorchValueError } from "../schema/index.js";
import { Tensor } from "../tensor/index.js";

/** What an optimizer may be told of each group of parameters. */
export type GroupOptions = Record<string, unknown>;

/** Parameters with the options that hold for them. */
export interface ParamGroup extends GroupOptions {
  params: Tensor[];
}

/** Parameters, or groups of them with options of their own. */
export type Params = Iterable<Tensor> | Iterable<{ params: Iterable<Tensor> | Tensor; [option: string]: unknown }>;

/** What an optimizer remembers of one parameter. */
export type ParamState = Record<string, Tensor | number | boolean | null>;

/** The layout of PyTorch's `Optimizer.state_dict()`. */
export interface OptimizerState {
  state: Record<number, ParamState>;
  param_groups: (GroupOptions & { params: number[] })[];
}

type Hook<O> = (optimizer: O) => void;

/** Base of all optimizers. A subclass updates one group in `update`. */
export abstract class Optimizer {
  readonly param_groups: ParamGroup[] = [];
  readonly state = new Map<Tensor, ParamState>();
  private readonly preHooks = new Set<Hook<Optimizer>>();
  private readonly postHooks = new Set<Hook<Optimizer>>();

  constructor(
    params: Params,
    readonly defaults: GroupOptions,
  ) {
    if (params instanceof Tensor) throw new TorchTypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.Tensor");
    const list = [...(params as Iterable<Tensor | { params: Iterable<Tensor> | Tensor }>)];
    if (list.length === 0) throw new TorchValueError("optimizer got an empty parameter list");
    const groups = list[0] instanceof Tensor ? [{ params: list as Tensor[] }] : (list as { params: Iterable<Tensor> | Tensor }[]);
    for (const group of groups) this.add_param_group(group);
  }

  /** Adds parameters, with the defaults for options that the group leaves out. */
  add_param_group(group: { params: Iterable<Tensor> | Tensor; [option: string]: unknown }): void {
    const params = group.params instanceof Tensor ? [group.params] : [...group.params];
    for (const p of params) {
      if (!(p instanceof Tensor)) throw new TorchTypeError(`optimizer can only optimize Tensors, but one of the params is ${typeof p}`);
      if (!p.is_leaf && !p.retains_grad) throw new TorchValueError("can't optimize a non-leaf Tensor");
    }
    if (new Set(params).size < params.length) throw new TorchValueError("optimizer contains a parameter group with duplicate parameters");
    const seen = new Set(this.param_groups.flatMap((g) => g.params));
    if (params.some((p) => seen.has(p))) throw new TorchValueError("some parameters appear in more than one parameter group");
    this.param_groups.push({ ...this.defaults, ...group, params });
  }

  /** Forgets the gradients, or with `set_to_none: false` fills them with zeros. */
  zero_grad(set_to_none = true): void {
    for (const { params } of this.param_groups) {
      for (const p of params) {
        if (!p.grad) continue;
        if (set_to_none) p.grad = null;
        else p.grad.detach_().zero_();
      }
    }
  }

  /** One update of all parameters that have a gradient. `closure` computes the loss anew and returns it. */
  step(): void;
  step(closure: () => Tensor): Tensor;
  step(closure?: () => Tensor): Tensor | void {
    for (const hook of this.preHooks) hook(this);
    const loss = closure && enable_grad(closure);
    using _ = new ModeGuard(false, false);
    for (const group of this.param_groups) {
      const params = group.params.filter((p) => p.grad !== null);
      if (params.length > 0) this.update(group, params);
    }
    for (const hook of this.postHooks) hook(this);
    return loss;
  }

  /** Updates the parameters of one group, all of which have gradients. Runs without recording. */
  protected abstract update(group: ParamGroup, params: readonly Tensor[]): void;

  /** Calls `hook(optimizer)` before every step; returns what removes it. */
  register_step_pre_hook(hook: Hook<Optimizer>): () => void {
    this.preHooks.add(hook);
    return () => void this.preHooks.delete(hook);
  }

  /** Calls `hook(optimizer)` after every step; returns what removes it. */
  register_step_post_hook(hook: Hook<Optimizer>): () => void {
    this.postHooks.add(hook);
    return () => void this.postHooks.delete(hook);
  }

  /** State by the parameters' numbers, and the groups, as PyTorch lays them out. */
  state_dict(): OptimizerState {
    const numbers = new Map(this.param_groups.flatMap((g) => g.params).map((p, i) => [p, i]));
    const state: Record<number, ParamState> = {};
    for (const [p, s] of this.state) state[numbers.get(p)!] = { ...s };
    return { state, param_groups: this.param_groups.map(({ params, ...options }) => ({ ...options, params: params.map((p) => numbers.get(p)!) })) };
  }

  /** Takes over what state_dict() gave. Throws when the groups do not fit. */
  load_state_dict(saved: OptimizerState): void {
    const groups = saved.param_groups;
    if (groups.length !== this.param_groups.length) throw new TorchValueError("loaded state dict has a different number of parameter groups");
    if (groups.some((g, i) => g.params.length !== this.param_groups[i].params.length)) {
      throw new TorchValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group");
    }
    const byNumber = new Map<number, Tensor>();
    groups.forEach((g, i) => {
      const { params: numbers, ...options } = g;
      numbers.forEach((n, k) => byNumber.set(n, this.param_groups[i].params[k]));
      Object.assign(this.param_groups[i], options);
    });
    this.state.clear();
    for (const [n, s] of Object.entries(saved.state)) {
      const p = byNumber.get(Number(n));
      if (!p) throw new TorchError(`load_state_dict(): expected state of known parameters, got number ${n}`);
      this.state.set(p, Object.fromEntries(Object.entries(s).map(([k, v]) => [k, v instanceof Tensor ? adopt(v, p, k) : v])));
    }
  }

  toString(): string {
    const groups = this.param_groups.map(({ params: _, ...options }, i) => {
      const lines = Object.keys(options).sort().map((k) => `    ${k}: ${String(options[k])}\n`);
      return `Parameter Group ${i}\n${lines.join("")}`;
    });
    return `${this.constructor.name} (\n${groups.join("\n")})`;
  }
}

/** Loaded state on its parameter's device; a copy, so that steps do not change what was loaded. */
function adopt(value: Tensor, parameter: Tensor, key: string): Tensor {
  const moved = value.detach().to(parameter.device, { dtype: key === "step" ? value.dtype : parameter.dtype });
  return functional.clone(moved);
}

/** Throws ValueError in PyTorch's words unless `ok`. */
export function checkOption(ok: boolean, message: string): void {
  if (!ok) throw new TorchValueError(message);
}

/** State tensors of the parameters under `name`, made by `make` where new. */
export function stateTensors(optimizer: Optimizer, params: readonly Tensor[], name: string, make: (p: Tensor) => Tensor): Tensor[] {
  return params.map((p) => {
    let state = optimizer.state.get(p);
    if (!state) optimizer.state.set(p, (state = {}));
    return (state[name] ??= make(p)) as Tensor;
  });
}

/** Groups parameters that one program can update together: same device. */
export function byDevice(params: readonly Tensor[]): Tensor[][] {
  const groups = new Map<unknown, Tensor[]>();
  for (const p of params) groups.set(p.device, [...(groups.get(p.device) ?? []), p]);
  return [...groups.values()];
}
