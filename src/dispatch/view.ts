/** @file View operators: a tensor that shows the same storage, and its place in the autograd graph. */
import { gradientEdge, is_grad_enabled, Node, type Grad } from "../autograd/index.js";
import type { Overload, PlacedStep, ViewInput } from "../ops/registry.js";
import { torchFunctions } from "../ops/torch_ref.js";
import { rootSpec } from "../ops/view_spec.js";
import { currentTrace } from "./trace.js";
import { TorchError, type Aval } from "../schema/index.js";
import { Tensor } from "../tensor/index.js";

const chains = new WeakMap<Tensor, readonly PlacedStep[]>();

/** The steps from a differentiable view's base to it. */
export const chainOf = (view: Tensor): readonly PlacedStep[] => chains.get(view) ?? [];

/** A tensor seen through more steps, not recorded. */
export function applySteps(t: Tensor, chain: readonly PlacedStep[]): Tensor {
  let { spec } = t;
  let offsets: number[] | readonly number[] = t.offsets;
  for (const { step, offset } of chain) {
    spec = spec.then(step);
    if (step.hasOffset) offsets = [...offsets, offset ?? 0];
  }
  return new Tensor(t.storageRef, spec, offsets);
}

/** The cotangent of what a chain of steps started from. */
export function viewBackward(dy: Tensor, chain: readonly PlacedStep[], input: Aval): Tensor {
  const avals = [input];
  for (const { step } of chain) avals.push(step.apply(avals[avals.length - 1]));
  const t = torchFunctions();
  let grad = dy;
  for (let i = chain.length - 1; i >= 0; i--)
    grad = t._view_backward(grad, chain[i].step, avals[i], chain[i].offset ?? 0);
  return grad;
}

export class ViewNode extends Node {
  private readonly input: Aval;
  constructor(
    of: Tensor,
    private readonly chain: readonly PlacedStep[],
    name: string,
  ) {
    const edge = gradientEdge(of);
    super(`${name}Backward0`, [edge?.node ?? null], [edge?.nr ?? 0], 1);
    this.input = of.spec.aval;
  }
  apply([dy]: Grad[]): Grad[] {
    return [dy ? viewBackward(dy, this.chain, this.input) : null];
  }
}

class LazyViewInput implements ViewInput {
  private layout: { strides: readonly number[]; offset: number } | null = null;
  constructor(private readonly t: Tensor) {}
  get aval(): Aval {
    return this.t.spec.aval;
  }
  get shape(): readonly number[] {
    return this.t.spec.aval.shape;
  }
  get base(): Aval {
    return this.t.spec.base;
  }
  get strides(): readonly number[] {
    return (this.layout ??= this.t.spec.layout(this.t.offsets)).strides;
  }
  get storage_offset(): number {
    return (this.layout ??= this.t.spec.layout(this.t.offsets)).offset;
  }
}

const titleCase = (name: string): string => name.replace(/(^|_)([a-z0-9])/g, (_, _u, c: string) => c.toUpperCase());

/** Calls a view operator. */
export function callView(overload: Overload, given: readonly unknown[]): Tensor {
  const self = given[0];
  if (!(self instanceof Tensor))
    throw new TorchError(`${overload.name}(): expected a Tensor as the first argument, got ${typeof self}`);
  const named = overload.named(given);
  named.self = new LazyViewInput(self);
  const steps = overload.entry.definition.view!(named);
  return viewOf(self, steps, overload.name);
}

/** A view of `self` through `steps`, recorded. */
export function viewOf(self: Tensor, steps: readonly PlacedStep[], name: string): Tensor {
  const fromBase = steps[0]?.fromBase === true;
  const out = fromBase
    ? applySteps(new Tensor(self.storageRef, rootSpec(self.spec.base)), steps)
    : applySteps(self, steps);
  const trace = currentTrace();
  if (trace !== null && trace.host !== null) {
    if (trace.depth === 0) trace.host.use(self);
    trace.host.madeView(out);
  }
  if (is_grad_enabled() && self.dtype.is_differentiable) track(self, out, steps, name, fromBase);
  if (self.inference) out.inference = true;
  return out;
}

function track(self: Tensor, out: Tensor, steps: readonly PlacedStep[], name: string, fromBase: boolean): void {
  const base = self.meta?.base ?? null;
  const from = fromBase ? (base ?? self) : self;
  if (fromBase && !from.spec.isRoot) {
    if (self.requires_grad)
      throw new TorchError(`${name}(): expected a tensor whose base covers its storage, got a view made by detach()`);
    return;
  }
  if (from.requires_grad) {
    out.gradFn = new ViewNode(from, steps, titleCase(name));
    out.requiresGradFlag = out.dtype.is_differentiable;
  }
  const meta = out.ensureMeta();
  meta.base = base ?? self;
  meta.viewVersion = out.storageRef.version;
  chains.set(out, base && !fromBase ? [...chainOf(self), ...steps] : steps);
}
