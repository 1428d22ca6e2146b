/** @file Program: a graph lowered to one StableHLO module and compiled for one device. */
import { HloError, Module, type Builder, type ParamSpec, type Value } from "../hlo/index.js";
import { executeRaw, type BufferHandle, type ExecutableHandle, type LoadedExecutable } from "../pjrt/index.js";
import { rootSpec, type ViewSpec } from "../ops/view_spec.js";
import { Storage, Tensor, type Device } from "../tensor/index.js";
import { aval, int64, scalarDtype, TorchError, uint64, type Aval } from "../schema/index.js";
import type { Backend } from "./backend.js";
import type { Ref } from "./graph.js";
import { reachable, type EmitContext, type Graph } from "./graph.js";
import { offsetValues } from "./trace.js";
import { debugProgram } from "./debug.js";
import { programCaching } from "./program_cache.js";

/** A write of a graph value to what an input shows. */
export interface GraphWrite {
  /** Which input. */
  readonly input: number;
  readonly value: Ref;
  /** Whether the input's buffer may be reused for the result. */
  readonly donate: boolean;
}

export interface ProgramSpec {
  readonly name: string;
  readonly graph: Graph;
  readonly outputs: readonly Ref[];
  readonly writes: readonly GraphWrite[];
  /** How each input is seen from its storage. */
  readonly specs: readonly ViewSpec[];
  /** Which of the graph's inputs they are; default: all, in order. */
  readonly inputOrder?: readonly number[];
}

/**
 * A compiled program. Its arguments are: for every tensor its storage's buffer and then its offsets; then the numbers;
 * then, if it draws random numbers, the generator's state. Its results are the outputs, then the written storages.
 */
export class Program {
  readonly executable: ExecutableHandle;
  readonly usesRng: boolean;
  constructor(
    readonly loaded: LoadedExecutable,
    readonly outputs: readonly Aval[],
    graph: Graph,
  ) {
    this.executable = loaded.raw;
    this.usesRng = graph.usesRng;
  }
  run(args: readonly BufferHandle[]): BufferHandle | BufferHandle[] {
    return executeRaw(this.executable, args);
  }
  /** One of its results as a tensor. */
  tensor(result: number, handle: BufferHandle, device: Device): Tensor {
    const of = this.outputs[result];
    return new Tensor(new Storage(handle, of, device), rootSpec(of));
  }
}

const rngAval = aval(uint64, [2]);

function parameters(spec: ProgramSpec): ParamSpec[] {
  const params: ParamSpec[] = [];
  spec.specs.forEach((s, i) => {
    const write = spec.writes.findIndex((w) => w.input === i && w.donate);
    params.push({
      dtype: s.base.dtype,
      shape: s.base.shape,
      ...(write >= 0 ? { aliasOutput: spec.outputs.length + write } : {}),
    });
    for (let k = 0; k < s.numOffsets; k++) params.push({ dtype: int64, shape: [] });
  });
  for (const kind of spec.graph.scalars) params.push({ dtype: scalarDtype(kind), shape: [] });
  if (spec.graph.usesRng) params.push({ dtype: rngAval.dtype, shape: rngAval.shape });
  return params;
}

/** Values of a graph by need: inputs from the parameters, views where they are read, nodes in order. */
class Emitter implements EmitContext {
  private readonly values = new Map<object, Value[]>();
  private readonly views = new Map<object, Map<string, Value>>();
  constructor(
    readonly h: Builder,
    private readonly inputs: readonly Value[],
    private readonly scalars: readonly Value[],
    private readonly rngState: Value | null,
  ) {}

  set(node: object, values: Value[]): void {
    this.values.set(node, values);
  }

  scalar(s: { index: number }): Value {
    return this.scalars[s.index];
  }

  rng(index: number): Value {
    const step = this.h.constant(BigUint64Array.of(0n, BigInt(index) << 32n), uint64, [2]);
    return index === 0 ? this.rngState! : this.h.add(this.rngState!, step);
  }

  value(ref: Ref): Value {
    const { node, index } = ref.value;
    const base = node === null ? this.inputs[index] : this.values.get(node)![index];
    if (ref.spec.isRoot) return base;
    let views = this.views.get(ref.value);
    if (!views) this.views.set(ref.value, (views = new Map<string, Value>()));
    const key = `${ref.spec.steps.map((s) => s.key).join("|")}@${ref.offsets.join()}`;
    let found = views.get(key);
    if (!found) views.set(key, (found = ref.spec.emit(this.h, base, offsetValues(this.h, ref.offsets))));
    return found;
  }
}

function scatterByIndex(values: readonly Value[], order: readonly number[]): Value[] {
  const out: Value[] = [];
  order.forEach((index, k) => (out[index] = values[k]));
  return out;
}

/** The StableHLO text of a program. */
export function lowerProgram(spec: ProgramSpec): string {
  const module = new Module(spec.name);
  const h = module.func("main", parameters(spec));
  h.return(emitProgram(h, spec, h.params));
  return module.toString();
}

/** Emits what a program computes from its arguments. */
export function emitProgram(h: Builder, spec: ProgramSpec, params: readonly Value[]): Value[] {
  const { graph, specs } = spec;
  let at = 0;
  const bases: Value[] = [];
  const offsets: Value[][] = [];
  const inputs = specs.map((s) => {
    const base = params[at++];
    const own = params.slice(at, at + s.numOffsets);
    at += s.numOffsets;
    bases.push(base);
    offsets.push(own);
    return s.isRoot ? base : s.emit(h, base, own);
  });
  const { inputOrder } = spec;
  const byIndex = inputOrder ? scatterByIndex(inputs, inputOrder) : inputs;
  const scalars = params.slice(at, at + graph.scalars.length);
  const rngState = graph.usesRng ? params[at + graph.scalars.length] : null;
  const emitter = new Emitter(h, byIndex, scalars, rngState);
  const results = [...spec.outputs, ...spec.writes.map((w) => w.value)];
  for (const node of reachable(graph, results).nodes) {
    const emit = (): Value[] => node.emit(emitter, node);
    emitter.set(node, node.location === null ? emit() : h.withLocation(node.location, emit));
  }
  const outputs = spec.outputs.map((ref) => emitter.value(ref));
  const written = spec.writes.map((w) =>
    specs[w.input].write(h, bases[w.input], emitter.value(w.value), offsets[w.input]),
  );
  return [...outputs, ...written];
}

/** A program that is compiled when it first runs alone; fused mode makes it part of others instead. */
export class Kernel {
  readonly id = nextKernel++;
  /** Types of the outputs, then of the written storages. */
  readonly results: readonly Aval[];
  /** Whether the value of each input is read, not only its type and shape. */
  readonly reads: readonly boolean[];
  private compiled: Program | null = null;
  constructor(
    readonly spec: ProgramSpec,
    readonly backend: Backend,
    private readonly effort: "fast" | "full" = "fast",
  ) {
    this.results = resultAvals(spec);
    const { inputs } = reachable(spec.graph, [...spec.outputs, ...spec.writes.map((w) => w.value)]);
    this.reads = spec.specs.map(
      (s, i) => inputs.has(spec.inputOrder?.[i] ?? i) || (!s.isRoot && spec.writes.some((w) => w.input === i)),
    );
  }
  get program(): Program {
    return (this.compiled ??= this.made(this.backend.compile(this.spec.name, this.text, this.effort)));
  }
  /** Whether the program is there. */
  get isCompiled(): boolean {
    return this.compiled !== null;
  }
  /** Makes the program in another thread. */
  async prepare(): Promise<void> {
    if (this.compiled !== null) return;
    const loaded = await this.backend.compileAsync(this.spec.name, this.text, this.effort);
    this.compiled ??= this.made(loaded);
  }
  /** The StableHLO module. */
  get text(): string {
    return rethrow(this.spec.name, () => lowerProgram(this.spec));
  }
  private made(loaded: LoadedExecutable): Program {
    debugProgram(this.spec.name, () => this.text);
    return new Program(loaded, this.results, this.spec.graph);
  }
}
let nextKernel = 0;

const resultAvals = (spec: ProgramSpec): Aval[] => [
  ...spec.outputs.map((r) => r.spec.aval),
  ...spec.writes.map((w) => spec.specs[w.input].base),
];

/** The program of a StableHLO module. */
export function compileText(name: string, text: string, backend: Backend, effort: "fast" | "full"): LoadedExecutable {
  debugProgram(name, () => text);
  return backend.compile(name, text, effort);
}

/** Builder errors become the operator's. */
export function rethrow<R>(name: string, fn: () => R): R {
  try {
    return fn();
  } catch (error) {
    if (error instanceof HloError) throw new TorchError(`${name}(): ${error.message}`, { cause: error });
    throw error;
  }
}

/** How many programs this process compiled, or loaded from where an earlier one kept them. */
export const programsCompiled = (): number => programCaching.made;
