/** @file Recording: the nodes of operators, and the graphs of their gradients. */
import { accumulatorOf, grad as gradOf, ModeGuard, Node, type Grad } from "../autograd/index.js";
import { notDifferentiable, type AnyDefinition, type Overload } from "../ops/registry.js";
import { torchFunctions } from "../ops/torch_ref.js";
import {
  TorchError,
  TorchNotImplementedError,
  type Aval,
  type Scalar,
  type SymScalar,
  type UserLine,
} from "../schema/index.js";
import { Tensor, type Device, type Storage } from "../tensor/index.js";
import { mapTensors, withoutTensors } from "./arguments.js";
import { GraphFunction } from "./graph_function.js";
import type { Ref } from "./graph.js";
import type { RngState } from "./rng_state.js";
import { currentTrace, Trace, withTrace } from "./trace.js";

/** The gradient of one kind of call, for one choice of arguments that need it. */
export interface GradPlan {
  readonly overload: Overload;
  /** `AddBackward0`. */
  readonly name: string;
  /** Which of the flat tensor arguments, then results, are saved. */
  readonly savedInputs: readonly number[];
  readonly savedOutputs: readonly number[];
  /** Which of the flat tensor arguments get a cotangent. */
  readonly needs: readonly number[];
  /** The arguments with holes for tensors and symbols for the numbers that are inputs. */
  readonly args: readonly unknown[];
  readonly flatAvals: readonly Aval[];
  readonly outAvals: readonly Aval[];
  readonly isList: boolean;
  /** Backward graphs, by which results have a cotangent. */
  readonly byMask: Map<string, GraphFunction>;
}

/** Cotangents of `flat` tensor arguments by an entry's formula, or through its decomposition. */
function formula(
  overload: Overload,
  args: readonly unknown[],
  flat: readonly Tensor[],
  needs: readonly number[],
  outs: readonly Tensor[] | null,
  dys: readonly Grad[],
  isList: boolean,
): Grad[] {
  const { definition } = overload.entry;
  if (typeof definition.grad !== "function") return throughDecomposition(overload, definition, args, flat, needs, dys);
  const t = torchFunctions();
  const full = outs!.map((o, i) => dys[i] ?? (o.dtype.is_differentiable ? t.zeros_like(o) : null));
  const named = overload.named(args);
  const found = definition.grad(t, named, isList ? full : full[0], isList ? outs : outs![0]);
  const byTensor = new Map<number, Grad>();
  let at = 0;
  overload.schema.args.forEach((argument, i) => {
    const value = args[i];
    const cotangent = found[argument.name];
    if (value instanceof Tensor) byTensor.set(at++, (cotangent as Grad | undefined) ?? null);
    else if (Array.isArray(value) && argument.type.base === "Tensor") {
      (value as unknown[]).forEach((v, k) => {
        if (v instanceof Tensor) byTensor.set(at++, (cotangent as Grad[] | undefined)?.[k] ?? null);
      });
    }
  });
  return needs.map((i) => fit(byTensor.get(i) ?? null, flat[i]));
}

/** Sums over broadcast dimensions, takes the real part for a real tensor, and casts to the tensor's type. */
function fit(grad: Grad, like: Tensor): Grad {
  if (grad === null) return null;
  const t = torchFunctions();
  let g = grad;
  if (g.is_complex() && !like.is_complex()) g = t.real(g);
  if (g.shape.length !== like.shape.length || g.shape.some((n, i) => n !== like.shape[i]))
    g = t.sum_to_size(g, like.shape);
  return g.dtype === like.dtype ? g : t._to_copy(g, { dtype: like.dtype });
}

function throughDecomposition(
  overload: Overload,
  definition: AnyDefinition,
  args: readonly unknown[],
  flat: readonly Tensor[],
  needs: readonly number[],
  dys: readonly Grad[],
): Grad[] {
  const t = torchFunctions();
  using _ = new ModeGuard(true, false);
  const fresh = flat.map((x, i) =>
    needs.includes(i)
      ? x.requires_grad
        ? t.alias(x)
        : new Tensor(x.storageRef, x.spec, x.offsets).requires_grad_()
      : x,
  );
  const replaced = mapTensors(args, fresh);
  const result = definition.decompose!(t, overload.named(replaced));
  const outs = Array.isArray(result) ? (result as Tensor[]) : [result as Tensor];
  const used = outs.map((o, i) => [o, dys[i]] as const).filter(([o, dy]) => dy && o.requires_grad);
  if (used.length === 0) return needs.map(() => null);
  // A linear function's gradient reads no argument: it depends on the cotangents alone.
  const createGraph = flat.some((x) => x.requires_grad) || dys.some((dy) => dy?.requires_grad);
  return gradOf(
    used.map(([o]) => o),
    needs.map((i) => fresh[i]),
    {
      grad_outputs: used.map(([, dy]) => dy!),
      allow_unused: true,
      create_graph: createGraph,
      retain_graph: createGraph,
    },
  );
}

/** Traces the gradient once to learn what it reads; throws when the operator has none. */
export function makePlan(
  overload: Overload,
  args: readonly unknown[],
  flat: readonly Tensor[],
  needs: readonly number[],
  outAvals: readonly Aval[],
  isList: boolean,
  device: Device,
): GradPlan {
  const { definition } = overload.entry;
  if (typeof definition.grad !== "function" && !definition.decompose) {
    throw new TorchNotImplementedError(`derivative for ${overload.qualified} is not implemented`);
  }
  const everything = outAvals.map((a) => a.dtype.is_differentiable);
  const fn = traceGradient(overload, args, flat, needs, outAvals, everything, isList, device);
  const touched = [...fn.touched].sort((a, b) => a - b);
  return {
    overload,
    name: `${titleCase(overload.name)}Backward0`,
    savedInputs: touched.filter((i) => i < flat.length),
    savedOutputs: touched
      .filter((i) => i >= flat.length && i < flat.length + outAvals.length)
      .map((i) => i - flat.length),
    needs,
    args: withoutTensors(args),
    flatAvals: flat.map((x) => x.spec.aval),
    outAvals,
    isList,
    byMask: new Map([[maskOf(everything), fn]]),
  };
}

const maskOf = (defined: readonly boolean[]): string => defined.map(Number).join("");

/** Inputs of the graph: the flat tensor arguments, the results, the cotangents. */
function traceGradient(
  overload: Overload,
  args: readonly unknown[],
  flat: readonly Tensor[],
  needs: readonly number[],
  outAvals: readonly Aval[],
  defined: readonly boolean[],
  isList: boolean,
  device: Device,
): GraphFunction {
  const trace = new Trace(device);
  return withTrace(trace, () => {
    using _ = new ModeGuard(false, false);
    const inputs = flat.map((x) => trace.input(x.spec.aval));
    const outs = outAvals.map((a) => trace.input(a));
    const dys = outAvals.map((a, i) => (defined[i] ? trace.input(a) : (trace.input(a), null)));
    const traced = mapTensors(args, inputs, (s) => trace.scalarInput(s));
    const grads = formula(overload, traced, inputs, needs, outs, dys, isList);
    const refs = grads.map((g): Ref | null => (g === null ? null : trace.ref(g)));
    return new GraphFunction(`${overload.name}_backward`, trace.graph, refs);
  });
}

const titleCase = (name: string): string => name.replace(/(^|_)([a-z0-9])/g, (_, _u, c: string) => c.toUpperCase());

const nothing: readonly never[] = Object.freeze([]);

/** The node of one operator call. */
export class OpNode extends Node {
  /** Inputs, then results, where the gradient reads them; with the storage and its version at that time. */
  private saved: readonly (Tensor | null)[] | null;
  private storages: readonly (Storage | null)[];
  private readonly versions: number[];
  /** Which call of the trace it was, if it drew random numbers there; else -1. */
  rngCall = -1;
  /** The user's line that called the operator, where a trace noted it. */
  location: UserLine | null = null;

  constructor(
    private readonly plan: GradPlan,
    flat: readonly Tensor[],
    private readonly scalars: readonly (Scalar | SymScalar)[],
    private readonly rngState: RngState | null,
    private readonly device: Device,
  ) {
    const { needs } = plan;
    const nodes = new Array<Node>(needs.length);
    const nrs = new Array<number>(needs.length);
    for (let k = 0; k < needs.length; k++) {
      const t = flat[needs[k]];
      nodes[k] = t.grad_fn ?? accumulatorOf(t);
      nrs[k] = t.outputNr;
    }
    super(plan.name, nodes, nrs, plan.outAvals.length);
    const savesAny = plan.savedInputs.length + plan.savedOutputs.length > 0;
    const count = savesAny ? plan.flatAvals.length + plan.outAvals.length : 0;
    this.saved = savesAny ? new Array<Tensor | null>(count).fill(null) : nothing;
    this.storages = savesAny ? new Array<Storage | null>(count).fill(null) : nothing;
    this.versions = savesAny ? new Array<number>(count).fill(0) : (nothing as unknown as number[]);
    for (let k = 0; k < plan.savedInputs.length; k++) this.save(plan.savedInputs[k], flat[plan.savedInputs[k]]);
  }

  private save(at: number, t: Tensor): void {
    if (t.inference) {
      throw new TorchError(
        "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor and use it in autograd.",
      );
    }
    (this.saved as (Tensor | null)[])[at] = t;
    (this.storages as (Storage | null)[])[at] = t.storageRef;
    this.versions[at] = t.storageRef.version;
  }

  /** Keeps the results that the gradient reads. */
  saveOutputs(outs: readonly Tensor[]): void {
    const { savedOutputs, flatAvals } = this.plan;
    for (let k = 0; k < savedOutputs.length; k++) this.save(flatAvals.length + savedOutputs[k], outs[savedOutputs[k]]);
  }

  override release(): void {
    if (this.saved === nothing) return;
    this.saved = null;
    this.storages = nothing;
  }

  private unpack(): (Tensor | null)[] {
    if (this.saved === null) {
      throw new TorchError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after calling backward.",
      );
    }
    return this.saved.map((t, i) => {
      if (t === null) return null;
      const storage = this.storages[i]!;
      if (storage.version !== this.versions[i]) {
        throw new TorchError(
          `one of the variables needed for gradient computation has been modified by an inplace operation: [${t.dtype.toString()} [${t.shape.join(", ")}]] is at version ${storage.version}; expected version ${this.versions[i]} instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True).`,
        );
      }
      return t.storageRef === storage ? t : new Tensor(storage, t.spec, t.offsets);
    });
  }

  apply(dys: Grad[], createGraph: boolean): Grad[] {
    const saved = this.unpack();
    const trace = currentTrace();
    if (trace !== null) {
      const run = (): Grad[] => this.applyFormula(saved, dys);
      return this.rngCall >= 0 ? trace.replayCall(this.rngCall, run, this.location) : trace.nested(run, this.location);
    }
    return createGraph ? this.applyFormula(saved, dys) : this.applyPlan(saved, dys);
  }

  private applyFormula(saved: readonly (Tensor | null)[], dys: readonly Grad[]): Grad[] {
    const { overload, args, flatAvals, outAvals, needs, isList } = this.plan;
    const stand = (at: number, a: Aval): Tensor =>
      saved[at] ?? torchFunctions().empty(a.shape, { dtype: a.dtype, device: this.device });
    const flat = flatAvals.map((a, i) => stand(i, a));
    const outs = outAvals.map((a, i) => stand(flatAvals.length + i, a));
    const numbers = (s: Scalar | SymScalar): Scalar | SymScalar => this.scalars[(s as SymScalar).index];
    return formula(overload, mapTensors(args, flat, numbers), flat, needs, outs, dys, isList);
  }

  private applyPlan(saved: readonly (Tensor | null)[], dys: readonly Grad[]): Grad[] {
    const { overload, args, flatAvals, outAvals, needs, isList, byMask } = this.plan;
    const defined = outAvals.map((_, i) => Boolean(dys[i]));
    const mask = maskOf(defined);
    let fn = byMask.get(mask);
    if (!fn) {
      const flat = flatAvals.map((a) => new Trace(this.device).input(a));
      fn = traceGradient(overload, mapTensors(args, flat), flat, needs, outAvals, defined, isList, this.device);
      byMask.set(mask, fn);
    }
    const inputs = saved.length === 0 ? new Array<null>(flatAvals.length + outAvals.length).fill(null) : saved;
    return fn.call([...inputs, ...dys], this.scalars, this.rngState, this.device);
  }
}

export const isDifferentiable = (definition: AnyDefinition): boolean => definition.grad !== notDifferentiable;
