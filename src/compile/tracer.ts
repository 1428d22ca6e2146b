/** @file Traces one call of a function to the program that computes it, whatever it changes outside included. */
import { autocastKey, grad, gradientEdge, is_grad_enabled, is_inference_mode_enabled } from "../autograd/index.js";
import {
  backendOf,
  Kernel,
  operationsOf,
  withTrace,
  type GraphNode,
  type GraphValue,
  type GraphWrite,
  Ref,
} from "../dispatch/index.js";
import { rootSpec } from "../ops/view_spec.js";
import { get_default_dtype, isScalar, TorchError } from "../schema/index.js";
import { get_default_device, Tensor, type Device, type Storage } from "../tensor/index.js";
import { BackwardPlan } from "./backward.js";
import { CaptureTrace, type Captured, type Guard } from "./capture.js";
import { CompiledEntry, type EntryInput, type EntryOutput, type EntryPlan, type TensorSource } from "./entry.js";
import { cutGraph, inputsOf } from "./graph_cut.js";
import { valuesToSave } from "./partition.js";
import { flatten, replaceLeaves, sameStructure, type Structure } from "./pytree.js";

export type AnyFunction = (...args: never[]) => unknown;

export interface TraceOptions {
  readonly name: string;
  readonly effort: "fast" | "full";
}

/** Runs `fn` on the arguments once with its operators recorded, and makes a program of what was recorded. */
export function traceCall(
  fn: AnyFunction,
  args: readonly unknown[],
  structure: Structure,
  leaves: readonly unknown[],
  options: TraceOptions,
): CompiledEntry {
  return new CallTracer(structure, leaves, options).run(fn, args);
}

/** The part of an argument that a guard compares. */
interface ArgumentFacts {
  readonly spec: unknown;
  readonly device: Device;
  readonly requiresGrad: boolean;
  /** The first argument that shows the same storage. */
  readonly aliasOf: number;
  /** Null where the offsets enter at run time. */
  readonly offsets: readonly number[] | null;
}

class CallTracer {
  private readonly trace: CaptureTrace;
  /** Arguments that are views stand in the trace as tensors of their own. */
  private readonly standIns = new Map<number, { tensor: Tensor; value: GraphValue }>();
  private readonly argumentOf = new Map<Storage, number>();
  private readonly grad = is_grad_enabled();
  private readonly inference = is_inference_mode_enabled();
  private readonly dtype = get_default_dtype();
  private readonly autocast = autocastKey();

  constructor(
    private readonly structure: Structure,
    private readonly leaves: readonly unknown[],
    private readonly options: TraceOptions,
  ) {
    const first =
      leaves.find((x): x is Tensor => x instanceof Tensor && x.ndim > 0) ?? leaves.find((x) => x instanceof Tensor);
    this.trace = new CaptureTrace(first?.device ?? get_default_device(), first !== undefined);
  }

  run(fn: AnyFunction, args: readonly unknown[]): CompiledEntry {
    const { trace, leaves } = this;
    let last: Map<Storage, GraphValue> | null = null;
    try {
      const traced = withTrace(trace, () => {
        const replaced = new Map<number, unknown>();
        leaves.forEach((leaf, i) => {
          if (leaf instanceof Tensor) replaced.set(i, this.enter(leaf, i));
        });
        const result = fn(...(replaceLeaves(args, replaced) as never[]));
        if (result instanceof Promise)
          throw new TorchError("torch.compile(): expected a function that returns its result, got an async function");
        return this.collect(result);
      });
      last = trace.leave();
      return traced(last);
    } finally {
      if (last === null) trace.leave();
    }
  }

  /** What the function gets for a tensor argument. */
  private enter(leaf: Tensor, index: number): Tensor {
    const storage = leaf.storageRef;
    if (!this.argumentOf.has(storage)) this.argumentOf.set(storage, index);
    const alone = this.leaves.filter((o) => o instanceof Tensor && o.storageRef === storage).length === 1;
    if (leaf.spec.isRoot || leaf.requires_grad || !alone) {
      this.trace.use(leaf);
      return leaf;
    }
    const tensor = this.trace.input(leaf.spec.aval);
    this.standIns.set(index, { tensor, value: tensor.storageRef.traced as GraphValue });
    return tensor;
  }

  private source(t: Tensor): TensorSource {
    const index = this.leaves.indexOf(t);
    return index >= 0 ? { kind: "argument", index } : { kind: "tensor", tensor: t };
  }

  private storageSource(storage: Storage, captured: Captured): TensorSource {
    const index = this.argumentOf.get(storage);
    if (index !== undefined) return { kind: "argument", index };
    for (const [leaf, before] of this.trace.gradsBefore)
      if (before?.storageRef === storage) return { kind: "grad", leaf: this.source(leaf) };
    const [seen] = captured.tensors;
    return { kind: "tensor", tensor: seen ?? new Tensor(storage, rootSpec(storage.aval)) };
  }

  /** Notes the results while the trace is current. Returns what makes the entry once the trace is left. */
  private collect(result: unknown): (last: Map<Storage, GraphValue>) => CompiledEntry {
    const { trace } = this;
    const resultLeaves: unknown[] = [];
    const structure = flatten(result, resultLeaves);
    const gradsAfter = [...trace.gradsBefore].flatMap(([leaf, before]) => {
      const after = leaf.meta?.grad ?? null;
      return leaf.storageRef.handle === null || after === before ? [] : [{ leaf, after }];
    });
    const outputs = new OutputCollector(
      trace,
      (t) => this.source(t),
      (s, c) => this.storageSource(s, c),
    );
    const outs = resultLeaves.map((leaf) => outputs.output(leaf));
    const grads = gradsAfter.map(({ leaf, after }) => ({
      leaf: this.source(leaf),
      output: after === null ? null : outputs.output(after, false),
    }));
    const joint = this.jointGraph(outputs.differentiable);
    if (joint === null) outputs.dropHistory();
    const objectGuards = trace.objectGuards();
    return (last) => {
      const plan = this.plan(
        last,
        structure,
        outs.map((o) => o()),
        grads.map((g) => ({ leaf: g.leaf, output: g.output?.() ?? null })),
        outputs,
        joint,
      );
      return new CompiledEntry(plan, [...trace.guards, ...objectGuards], this.mismatch());
    };
  }

  /** The gradients of what the results came from, in the same graph; null where there are none. */
  private jointGraph(results: readonly Tensor[]): Joint | null {
    if (results.length === 0) return null;
    const { trace } = this;
    const targets = [...trace.captured.values()].flatMap(({ tensors }) =>
      [...tensors].filter((t) => t.requires_grad && gradientEdge(t)),
    );
    if (targets.length === 0) return null;
    const cotangents = results.map((r) => trace.input(r.spec.aval));
    let grads: (Tensor | null)[];
    try {
      grads = trace.nested(() => grad(results, targets, { grad_outputs: cotangents, allow_unused: true }));
    } catch (error) {
      if (error instanceof TorchError && error.message.startsWith("Trying to backward through the graph a second time"))
        return null;
      throw error;
    }
    return {
      targets: targets.map((t) => this.source(t)),
      cotangents: cotangents.map((c) => c.storageRef.traced as GraphValue),
      grads: grads.map((g) => (g === null ? null : trace.ref(g))),
    };
  }

  private plan(
    last: Map<Storage, GraphValue>,
    structure: Structure,
    outputs: readonly EntryOutput[],
    grads: EntryPlan["grads"],
    collector: OutputCollector,
    joint: Joint | null,
  ): EntryPlan {
    const { trace, options } = this;
    const { graph, device } = trace;
    const backend = backendOf(device);
    const results = [...collector.results];
    const writes = this.findWrites(last);
    const saved = joint === null ? null : this.chooseSaved(joint);
    const savedFrom = results.length;
    if (saved) results.push(...saved.computed.map((v) => new Ref(v, rootSpec(v.aval), [])));
    const used = inputsOf(graph, [...results, ...writes.map((w) => w.value)]);
    for (const w of writes) if (!used.includes(w.target)) used.push(w.target);
    for (const v of saved?.inputs ?? []) if (!used.includes(v)) used.push(v);
    const sources = this.inputSources();
    const inputs = used.map((v) => sources.get(v)!);
    const graphWrites: GraphWrite[] = writes.map((w) => ({
      input: used.indexOf(w.target),
      value: w.value,
      donate: true,
    }));
    const kernel =
      results.length + writes.length === 0
        ? null
        : new Kernel(
            {
              name: options.name,
              graph,
              outputs: results,
              writes: graphWrites,
              specs: inputs.map((i) => i.spec),
              inputOrder: used.map((v) => v.index),
            },
            backend,
            options.effort,
          );
    return {
      name: options.name,
      device,
      backend,
      kernel,
      inputs,
      writes: graphWrites.map((w) => w.input),
      resultCount: results.length,
      savedFrom,
      storages: collector.storages,
      actions: trace.actions,
      literals: trace.literals,
      scalarCount: graph.scalars.length,
      rngCalls: trace.rngCalls,
      structure,
      outputs,
      grads,
      backward: joint === null || saved === null ? null : this.backwardPlan(joint, saved, used, inputs),
    };
  }

  /** Where each input of the graph comes from. */
  private inputSources(): Map<GraphValue, EntryInput> {
    const sources = new Map<GraphValue, EntryInput>();
    for (const [index, { value }] of this.standIns)
      sources.set(value, { source: { kind: "argument", index }, spec: (this.leaves[index] as Tensor).spec });
    for (const [storage, captured] of this.trace.captured)
      sources.set(captured.value, { source: this.storageSource(storage, captured), spec: rootSpec(storage.aval) });
    return sources;
  }

  /** The tensors from outside that hold another value at the end. */
  private findWrites(last: Map<Storage, GraphValue>): { target: GraphValue; value: Ref }[] {
    const writes: { target: GraphValue; value: Ref }[] = [];
    const add = (target: GraphValue, value: GraphValue): void => {
      if (value !== target) writes.push({ target, value: new Ref(value, rootSpec(value.aval), []) });
    };
    for (const [storage, { value }] of this.trace.captured) add(value, last.get(storage)!);
    for (const { tensor, value } of this.standIns.values()) add(value, tensor.storageRef.traced as GraphValue);
    return writes;
  }

  /** What the forward program keeps: of its inputs, and of what it computes. */
  private chooseSaved(joint: Joint): Saved {
    const refs = joint.grads.filter((g) => g !== null);
    const values = valuesToSave(this.trace.graph, refs, new Set(joint.cotangents), isCheap);
    return { inputs: values.filter((v) => v.node === null), computed: values.filter((v) => v.node !== null) };
  }

  private backwardPlan(
    joint: Joint,
    saved: Saved,
    used: readonly GraphValue[],
    inputs: readonly EntryInput[],
  ): BackwardPlan {
    const refs = joint.grads.filter((g) => g !== null);
    const at = saved.inputs.map((v) => used.indexOf(v));
    const values = [...saved.inputs, ...saved.computed, ...joint.cotangents];
    const { graph, outputs } = cutGraph(this.trace.graph, values, refs);
    let slot = 0;
    return new BackwardPlan(
      `${this.options.name}_backward`,
      joint.targets,
      at,
      at.map((i) => !inputs[i].spec.isRoot),
      joint.cotangents.map((v) => v.aval),
      joint.grads.map((g) => (g === null ? -1 : slot++)),
      new Kernel(
        {
          name: `${this.options.name}_backward`,
          graph,
          outputs,
          writes: [],
          specs: [
            ...at.map((i) => inputs[i].spec),
            ...[...saved.computed, ...joint.cotangents].map((v) => rootSpec(v.aval)),
          ],
        },
        backendOf(this.trace.device),
        this.options.effort,
      ),
    );
  }

  /** The guards on modes and arguments. */
  private mismatch(): CompiledEntry["mismatch"] {
    const { structure, leaves, grad: gradMode, inference, dtype, autocast, trace } = this;
    const facts = leaves.map((leaf, i) => this.factsOf(leaf, i));
    const outside = new Set<Storage>();
    const gradStorages = new Set([...trace.gradsBefore.values()].map((g) => g?.storageRef));
    const tensors: { tensor: Tensor; storage: Storage; requiresGrad: boolean }[] = [];
    for (const [storage, captured] of trace.captured) {
      if (this.argumentOf.has(storage) || gradStorages.has(storage)) continue;
      outside.add(storage);
      for (const tensor of captured.tensors) tensors.push({ tensor, storage, requiresGrad: tensor.requiresGradFlag });
    }
    const grads = this.gradGuards();
    return (given, values) => {
      if (is_grad_enabled() !== gradMode) return "grad mode";
      if (is_inference_mode_enabled() !== inference) return "inference mode";
      if (get_default_dtype() !== dtype) return "default dtype";
      if (autocastKey() !== autocast) return "autocast";
      if (!sameStructure(given, structure)) return "the number or nesting of the arguments";
      for (let i = 0; i < facts.length; i++) {
        const fact = facts[i];
        const value = values[i];
        if (fact === null) {
          if (!Object.is(value, leaves[i])) return `argument ${i}: ${describe(leaves[i])}, now ${describe(value)}`;
          continue;
        }
        const wrong = value instanceof Tensor ? differs(fact, value, values, outside) : "no tensor";
        if (wrong !== null) return `argument ${i}: ${wrong}`;
      }
      for (const { tensor, storage, requiresGrad } of tensors)
        if (tensor.storageRef !== storage || tensor.requiresGradFlag !== requiresGrad)
          return `a tensor from outside of shape [${tensor.shape.join(", ")}] was replaced or its requires_grad changed`;
      for (const guard of grads) if (!guard.holds()) return guard.what;
      return null;
    };
  }

  private factsOf(leaf: unknown, index: number): ArgumentFacts | null {
    if (!(leaf instanceof Tensor)) return null;
    const storage = leaf.storageRef;
    return {
      spec: leaf.spec,
      device: leaf.device,
      requiresGrad: leaf.requires_grad,
      aliasOf: this.leaves.findIndex((o) => o instanceof Tensor && o.storageRef === storage),
      offsets: this.standIns.has(index) || leaf.spec.isRoot ? null : leaf.offsets,
    };
  }

  /** Whether leaves must have a gradient, or none, when the function is called. */
  private gradGuards(): Guard[] {
    const { trace, leaves } = this;
    return [...trace.gradsBefore].flatMap(([leaf, before]): Guard[] => {
      if (leaves.includes(leaf) || leaf.storageRef.handle === null) return [];
      if (before === null)
        return [{ what: "a gradient was there at the call", holds: () => (leaf.meta?.grad ?? null) === null }];
      if (!trace.captured.has(before.storageRef)) return []; // dropped before anybody read it
      return [
        {
          what: "a gradient was missing or of another kind at the call",
          holds: () => leaf.meta?.grad?.spec === before.spec && leaf.meta.grad.device === before.device,
        },
      ];
    });
  }
}

const describe = (x: unknown): string => (isScalar(x) || typeof x === "string" ? JSON.stringify(x) : typeof x);

/** What of an argument differs from what the program was made for. */
function differs(
  fact: ArgumentFacts,
  value: Tensor,
  all: readonly unknown[],
  outside: ReadonlySet<Storage>,
): string | null {
  if (value.spec !== fact.spec)
    return `another shape, type or view: now ${value.dtype.toString()}[${value.shape.join(", ")}]`;
  if (value.device !== fact.device) return `another device: now ${value.device.toString()}`;
  if (value.requires_grad !== fact.requiresGrad) return "requires_grad";
  const storage = value.storageRef;
  if (all.findIndex((o) => o instanceof Tensor && o.storageRef === storage) !== fact.aliasOf)
    return "shares its storage otherwise";
  if (fact.offsets !== null && fact.offsets.join() !== value.offsets.join()) return "another offset";
  if (outside.has(storage)) return "shares its storage with a tensor from outside";
  return null;
}

interface Joint {
  readonly targets: readonly TensorSource[];
  readonly cotangents: readonly GraphValue[];
  readonly grads: readonly (Ref | null)[];
}

interface Saved {
  readonly inputs: readonly GraphValue[];
  readonly computed: readonly GraphValue[];
}

/** StableHLO operations that cost more than moving their result through memory. */
const expensive =
  /\.(dot_general|convolution|reduce|reduce_window|sort|gather|scatter|select_and_scatter|while|case|if|fft|cholesky|triangular_solve|custom_call|rng_bit_generator|composite|top_k|optimization_barrier)$/;

/** Whether computing a node's results twice is cheaper than keeping them. */
function isCheap(node: GraphNode): boolean {
  if (node.rngIndex >= 0) return false;
  if (node.overload === null) return true;
  for (const name of operationsOf(node.overload, node.args)) if (expensive.test(name)) return false;
  return true;
}

/** Sorts what a function hands out into results of the program and tensors that were there before. */
class OutputCollector {
  readonly results: Ref[] = [];
  readonly storages: { result: number; shared: boolean }[] = [];
  /** The results that carry a gradient. */
  readonly differentiable: Tensor[] = [];
  private historyDropped = false;
  private readonly byValue = new Map<GraphValue, number>();
  private readonly byStorage = new Map<Storage, number>();

  constructor(
    private readonly trace: CaptureTrace,
    private readonly sourceOf: (t: Tensor) => TensorSource,
    private readonly storageSource: (s: Storage, c: Captured) => TensorSource,
  ) {}

  /** The results carry no gradient after all. */
  dropHistory(): void {
    this.historyDropped = true;
  }

  /** What to do for one value at each run; known in full once all values are collected. */
  output(value: unknown, withHistory = true): () => EntryOutput {
    if (!(value instanceof Tensor)) return () => ({ kind: "constant", value });
    const storage = value.storageRef;
    const captured = this.trace.captured.get(storage);
    if (captured?.tensors.has(value) || this.isSeen(value)) {
      const source = this.sourceOf(value);
      return () => ({ kind: "same", source });
    }
    if (storage.traced === null) return () => ({ kind: "constant", value });
    if (captured && !value.requires_grad) {
      const source = this.storageSource(storage, captured);
      return () => ({ kind: "view", source, spec: value.spec, offsets: value.offsets });
    }
    const slot = this.storageSlot(storage);
    const differentiable =
      withHistory && value.requires_grad && value.grad_fn !== null ? this.differentiable.push(value) - 1 : -1;
    return () => ({
      kind: "computed",
      result: this.storages[slot].result,
      storage: slot,
      spec: value.spec,
      offsets: value.offsets,
      inference: value.inference,
      differentiable: this.historyDropped ? -1 : differentiable,
      released: this.historyDropped && differentiable >= 0,
    });
  }

  /** Whether a tensor from outside was given back as it came, without any operator on it. */
  private isSeen(t: Tensor): boolean {
    return this.sourceOf(t).kind === "argument";
  }

  private storageSlot(storage: Storage): number {
    let slot = this.byStorage.get(storage);
    if (slot !== undefined) return slot;
    const value = this.trace.ref(new Tensor(storage, rootSpec(storage.aval))).value;
    let result = this.byValue.get(value);
    if (result === undefined) {
      result = this.results.push(new Ref(value, rootSpec(value.aval), [])) - 1;
      this.byValue.set(value, result);
    } else for (const s of this.storages) if (s.result === result) s.shared = true;
    slot = this.storages.push({ result, shared: this.storages.some((s) => s.result === result) }) - 1;
    this.byStorage.set(storage, slot);
    return slot;
  }
}
