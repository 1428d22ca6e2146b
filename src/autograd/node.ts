/** @file Nodes of the autograd graph. */
import { torchFunctions } from "../ops/torch_ref.js";
import { Storage, Tensor } from "../tensor/index.js";

export type Grad = Tensor | null;
export type TensorHook = (grad: Tensor) => Tensor | void;
export type NodeHook = (gradInputs: Grad[], gradOutputs: Grad[]) => Grad[] | void;
export type NodePreHook = (gradOutputs: Grad[]) => Grad[] | void;

let sequence = 0;

/** Handle of a registered hook. */
export class RemovableHandle implements Disposable {
  constructor(private readonly removeHook: () => void) {}
  remove(): void {
    this.removeHook();
  }
  [Symbol.dispose](): void {
    this.removeHook();
  }
}

let nextHook = 0;
/** Adds a hook to a list of hooks and returns the handle that takes it out. */
export function addHook<F>(hooks: Map<number, F>, hook: F): RemovableHandle {
  const id = nextHook++;
  hooks.set(id, hook);
  return new RemovableHandle(() => void hooks.delete(id));
}

/** A function to run in backward: takes the cotangents of its results and gives those of its inputs. */
export abstract class Node {
  /** Later nodes run first. */
  readonly seq: number = sequence++;
  /** Hooks on single results: of tensors, and retain_grad. */
  outputHooks: Map<number, Map<number, TensorHook>> | null = null;
  private preHooks: Map<number, NodePreHook> | null = null;
  private postHooks: Map<number, NodeHook> | null = null;

  constructor(
    /** `AddBackward0`, as PyTorch prints it. */
    readonly name: string,
    /** For each input, the node that its cotangent goes to. */
    readonly nextNodes: readonly (Node | null)[],
    /** For each input, which result of that node it is. */
    readonly nextNrs: readonly number[],
    readonly numOutputs: number,
  ) {}

  /** `next_functions`, as in PyTorch. */
  get next_functions(): [Node | null, number][] {
    return this.nextNodes.map((n, i) => [n, this.nextNrs[i]]);
  }

  /** Cotangents of the inputs. With `createGraph` they are recorded, so that they can be differentiated again. */
  abstract apply(gradOutputs: Grad[], createGraph: boolean): Grad[];

  /** Drops what was saved for backward. */
  release(): void {}

  /** Cotangents after the hooks on the results. */
  runPreHooks(grads: Grad[]): Grad[] {
    if (this.outputHooks) {
      for (const [nr, hooks] of this.outputHooks) {
        for (const hook of hooks.values()) {
          const grad = grads[nr];
          if (grad) grads[nr] = hook(grad) ?? grad;
        }
      }
    }
    if (this.preHooks) for (const hook of this.preHooks.values()) grads = hook(grads) ?? grads;
    return grads;
  }

  runPostHooks(gradInputs: Grad[], gradOutputs: Grad[]): Grad[] {
    if (this.postHooks)
      for (const hook of this.postHooks.values()) gradInputs = hook(gradInputs, gradOutputs) ?? gradInputs;
    return gradInputs;
  }

  /** Calls `hook(grad_inputs, grad_outputs)` after the node ran; it may return other grad_inputs. */
  register_hook(hook: NodeHook): RemovableHandle {
    return addHook((this.postHooks ??= new Map()), hook);
  }

  /** Calls `hook(grad_outputs)` before the node runs; it may return other grad_outputs. */
  register_prehook(hook: NodePreHook): RemovableHandle {
    return addHook((this.preHooks ??= new Map()), hook);
  }

  /** @internal Hooks of result `nr`. */
  hooksOf(nr: number): Map<number, TensorHook> {
    const all = (this.outputHooks ??= new Map<number, Map<number, TensorHook>>());
    let hooks = all.get(nr);
    if (!hooks) all.set(nr, (hooks = new Map()));
    return hooks;
  }

  toString(): string {
    return `<${this.name}>`;
  }
}

/** Whether a function is being traced, and what its tracer wants to know of gradients. Set by the dispatcher. */
export const tracing: { active: boolean; touchGrad: ((leaf: Tensor) => void) | null } = {
  active: false,
  touchGrad: null,
};

/** A tensor of the same value whose later in-place changes stay its own; costs nothing until then. */
export function copyOnWrite(t: Tensor): Tensor {
  const from = t.storageRef;
  if (from.traced !== null) {
    const storage = new Storage(null, from.aval, from.device);
    storage.traced = from.traced;
    return new Tensor(storage, t.spec, t.offsets);
  }
  if (tracing.active) return torchFunctions().clone(t);
  if (from.deferred !== null) {
    const storage = new Storage(null, from.aval, from.device);
    storage.defer(from.deferred);
    return new Tensor(storage, t.spec, t.offsets);
  }
  if (from.handle === null) return new Tensor(from, t.spec, t.offsets);
  const storage = new Storage(from.handle, from.aval, from.device);
  from.shared = storage.shared = true;
  return new Tensor(storage, t.spec, t.offsets);
}

/** Adds what arrives to the `grad` of a leaf. */
export class AccumulateGrad extends Node {
  override readonly seq = Number.MAX_SAFE_INTEGER;
  constructor(readonly variable: Tensor) {
    super("AccumulateGrad", [], [], 1);
  }
  apply([grad]: Grad[], createGraph: boolean): Grad[] {
    if (!grad) return [];
    const { variable } = this;
    tracing.touchGrad?.(variable);
    const meta = variable.ensureMeta();
    if (meta.grad === null)
      meta.grad = createGraph ? grad : grad.spec.isRoot ? copyOnWrite(grad) : torchFunctions().clone(grad);
    else if (createGraph) meta.grad = torchFunctions().add(meta.grad, grad);
    else meta.grad.add_(grad);
    if (meta.postAccumulateHooks) for (const hook of meta.postAccumulateHooks.values()) hook(variable);
    return [];
  }
}

/** Where the gradient of `t` goes: its grad_fn, or the accumulator of a leaf. */
export function gradientEdge(t: Tensor): { node: Node; nr: number } | null {
  if (!t.requires_grad) return null;
  const fn = t.grad_fn;
  if (fn) return { node: fn, nr: t.outputNr };
  return { node: accumulatorOf(t), nr: 0 };
}

/** The one accumulator of a leaf. */
export function accumulatorOf(t: Tensor): Node {
  return (t.ensureMeta().accumulator ??= new AccumulateGrad(t));
}
