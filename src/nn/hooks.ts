/** @file Hooks of modules: before and after forward, around backward, around state_dict. */
import { gradientEdge, is_grad_enabled, Node, RemovableHandle, type Grad } from "../autograd/index.js";
import { guardObject } from "../dispatch/index.js";
import { TorchError } from "../schema/index.js";
import { Tensor } from "../tensor/index.js";
import type { Module } from "./module.js";
import { moduleState } from "./members.js";
import type { LocalMetadata, StateDict, IncompatibleKeys } from "./state_dict.js";

/** `hook(module, args)` before forward. What it returns replaces the arguments; an array is the list of them. */
export type ForwardPreHook<M> = (module: M, args: unknown[]) => unknown;
/** `hook(module, args, output)` after forward. What it returns replaces the output. */
export type ForwardHook<M> = (module: M, args: unknown[], output: unknown) => unknown;
/** `hook(module, grad_output)` before backward. What it returns replaces grad_output. */
export type BackwardPreHook<M> = (module: M, grad_output: Grad[]) => Grad[] | Tensor | null | void;
/** `hook(module, grad_input, grad_output)` after backward. What it returns replaces grad_input. */
export type BackwardHook<M> = (module: M, grad_input: Grad[], grad_output: Grad[]) => Grad[] | Tensor | null | void;
export type StateDictPreHook<M> = (module: M, prefix: string, keep_vars: boolean) => void;
export type StateDictHook<M> = (
  module: M,
  state_dict: StateDict,
  prefix: string,
  local_metadata: LocalMetadata,
) => StateDict | null | void;
export type LoadStateDictPreHook<M> = (
  module: M,
  state_dict: StateDict,
  prefix: string,
  local_metadata: LocalMetadata,
  strict: boolean,
  missing_keys: string[],
  unexpected_keys: string[],
  error_msgs: string[],
) => void;
export type LoadStateDictPostHook<M> = (module: M, incompatible_keys: IncompatibleKeys) => void;

/** Hooks of one kind, in the order in which they run. */
export class HookList<F> {
  private list: F[] = [];
  /** Adds a hook, in front of the others if `prepend`. The handle removes it. */
  add(hook: F, prepend = false): RemovableHandle {
    const entry = hook;
    this.list = prepend ? [entry, ...this.list] : [...this.list, entry];
    let present = true;
    return new RemovableHandle(() => {
      if (!present) return;
      present = false;
      const at = this.list.indexOf(entry);
      this.list = this.list.filter((_, i) => i !== at);
    });
  }
  get size(): number {
    return this.list.length;
  }
  [Symbol.iterator](): IterableIterator<F> {
    return this.list[Symbol.iterator]();
  }
}

interface AfterForward {
  readonly call: ForwardHook<Module>;
  /** Runs also when forward throws. */
  readonly always: boolean;
}

/** Every hook of one module. */
export class HookTable {
  readonly forwardPre = new HookList<ForwardPreHook<Module>>();
  readonly forward = new HookList<AfterForward>();
  readonly backwardPre = new HookList<BackwardPreHook<Module>>();
  readonly backward = new HookList<BackwardHook<Module>>();
  readonly stateDictPre = new HookList<StateDictPreHook<Module>>();
  readonly stateDict = new HookList<StateDictHook<Module>>();
  readonly loadPre = new HookList<LoadStateDictPreHook<Module>>();
  readonly loadPost = new HookList<LoadStateDictPostHook<Module>>();

  /** Whether calling the module is more than calling its forward. */
  get wrapsCall(): boolean {
    return this.forwardPre.size + this.forward.size + this.backwardPre.size + this.backward.size > 0;
  }
}

/** Hooks that run for every module. */
const everywhere = new HookTable();

/** The hooks of a module, made when first asked for. */
export const hooksOf = (module: Module): HookTable => (module[moduleState].hooks ??= new HookTable());

export const register_module_forward_pre_hook = (hook: ForwardPreHook<Module>): RemovableHandle =>
  everywhere.forwardPre.add(hook);
export const register_module_forward_hook = (
  hook: ForwardHook<Module>,
  { always_call = false }: { always_call?: boolean } = {},
): RemovableHandle => everywhere.forward.add({ call: hook, always: always_call });
export const register_module_full_backward_pre_hook = (hook: BackwardPreHook<Module>): RemovableHandle =>
  everywhere.backwardPre.add(hook);
export const register_module_full_backward_hook = (hook: BackwardHook<Module>): RemovableHandle =>
  everywhere.backward.add(hook);

type Forward = (...args: unknown[]) => unknown;

/** A call of a module: its forward between its hooks. */
export function callModule(module: Module, args: unknown[]): unknown {
  const { hooks } = module[moduleState];
  guardObject(module);
  if ((hooks === null || !hooks.wrapsCall) && !everywhere.wrapsCall) return (module.forward as Forward)(...args);
  return callWithHooks(module, hooks ?? new HookTable(), args);
}

function callWithHooks(module: Module, hooks: HookTable, args: unknown[]): unknown {
  const after = [...everywhere.forward, ...hooks.forward];
  const ran = new Set<AfterForward>();
  let result: unknown = null;
  try {
    for (const hook of [...everywhere.forwardPre, ...hooks.forwardPre]) {
      const changed = hook(module, args);
      if (changed !== undefined && changed !== null) args = Array.isArray(changed) ? (changed as unknown[]) : [changed];
    }
    const backward = [...everywhere.backward, ...hooks.backward];
    const backwardPre = [...everywhere.backwardPre, ...hooks.backwardPre];
    const around = backward.length + backwardPre.length > 0 ? new AroundBackward(module, backward, backwardPre) : null;
    if (around) args = around.takeInputs(args);
    result = (module.forward as Forward)(...args);
    for (const hook of after) {
      if (hook.always) ran.add(hook);
      result = hook.call(module, args, result) ?? result;
    }
    return around ? around.takeOutputs(result) : result;
  } catch (error) {
    for (const hook of after) {
      if (!hook.always || ran.has(hook)) continue;
      try {
        result = hook.call(module, args, result) ?? result;
      } catch {
        // the error of forward is the one to report
      }
    }
    throw error;
  }
}

/** The identity on several tensors: one place in the graph that their gradients pass together. */
class ModuleBoundary extends Node {
  constructor(
    tensors: readonly Tensor[],
    private readonly pass: (grads: Grad[]) => Grad[],
  ) {
    const edges = tensors.map(gradientEdge);
    super(
      "BackwardHookFunctionBackward",
      edges.map((e) => e?.node ?? null),
      edges.map((e) => e?.nr ?? 0),
      tensors.length,
    );
  }
  apply(gradOutputs: Grad[]): Grad[] {
    return this.pass(gradOutputs);
  }
}

/** Puts a boundary behind the tensors of `values`; null where no gradient will pass. */
function addBoundary(
  values: readonly unknown[],
  pass: (grads: Grad[]) => Grad[],
): { values: unknown[]; at: number[] } | null {
  const at = values.flatMap((v, i) => (v instanceof Tensor ? [i] : []));
  const tensors = at.map((i) => values[i] as Tensor);
  if (!is_grad_enabled() || !tensors.some((t) => t.requires_grad)) return null;
  const node = new ModuleBoundary(tensors, pass);
  const out = [...values];
  tensors.forEach((t, nr) => {
    const through = new Tensor(t.storageRef, t.spec, t.offsets);
    if (t.dtype.is_differentiable) {
      through.gradFn = node;
      through.outputNr = nr;
      through.requiresGradFlag = true;
    }
    out[at[nr]] = through;
  });
  return { values: out, at };
}

const spread = (at: readonly number[], grads: readonly Grad[], count: number): Grad[] => {
  const out = new Array<Grad>(count).fill(null);
  at.forEach((i, nr) => (out[i] = grads[nr]));
  return out;
};

const asGrads = (x: Grad[] | Tensor): Grad[] => (Array.isArray(x) ? x : [x]);

/** Catches the gradients of a module's outputs and inputs during one call's backward. */
class AroundBackward {
  private gradOutput: Grad[] | null = null;
  private inputCount = 0;
  private inputsAt: number[] | null = null;

  constructor(
    private readonly module: Module,
    private readonly hooks: readonly BackwardHook<Module>[],
    private readonly preHooks: readonly BackwardPreHook<Module>[],
  ) {}

  takeInputs(args: unknown[]): unknown[] {
    this.inputCount = args.length;
    const boundary = addBoundary(args, (grads) => this.atInputs(grads));
    if (boundary === null) return args;
    this.inputsAt = boundary.at;
    return boundary.values;
  }

  takeOutputs(result: unknown): unknown {
    const values = Array.isArray(result) ? (result as unknown[]) : [result];
    let at: number[] = [];
    const boundary = addBoundary(values, (grads) => this.atOutputs(grads, at, values.length));
    if (boundary === null) return result;
    at = boundary.at;
    return Array.isArray(result) ? boundary.values : boundary.values[0];
  }

  private atOutputs(grads: Grad[], at: readonly number[], count: number): Grad[] {
    let gradOutput = spread(at, grads, count);
    for (const hook of this.preHooks) {
      const changed = hook(this.module, gradOutput);
      if (!changed) continue;
      const list = asGrads(changed);
      if (list.length !== count)
        throw new TorchError(
          `Backward pre hook returned an invalid number of grad_output, got ${list.length}, but expected ${count}`,
        );
      gradOutput = list;
    }
    this.gradOutput = gradOutput;
    if (this.inputsAt === null) this.withoutInputs(gradOutput);
    return at.map((i) => gradOutput[i]);
  }

  private withoutInputs(gradOutput: Grad[]): void {
    const none = new Array<Grad>(this.inputCount).fill(null);
    for (const hook of this.hooks) {
      const changed = hook(this.module, none, gradOutput);
      if (changed && asGrads(changed).some((g) => g !== null))
        throw new TorchError(
          "Backward hook for Modules where no input requires gradient should always return None or None for all gradients.",
        );
    }
    this.gradOutput = null;
  }

  private atInputs(grads: Grad[]): Grad[] {
    const gradOutput = this.gradOutput;
    if (gradOutput === null) return grads;
    let gradInput = spread(this.inputsAt!, grads, this.inputCount);
    for (const hook of this.hooks) {
      const changed = hook(this.module, gradInput, gradOutput);
      if (!changed) continue;
      const list = asGrads(changed);
      if (list.length !== this.inputCount)
        throw new TorchError(
          `Backward hook returned an invalid number of grad_input, got ${list.length}, but expected ${this.inputCount}`,
        );
      gradInput = list;
    }
    this.gradOutput = null;
    return this.inputsAt!.map((i) => gradInput[i]);
  }
}
