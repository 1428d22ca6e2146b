/**
 * @file Fused mode: operators wait in a graph; what is needed of it runs as one program, found by its structure.
 *
 * A value that nobody asked for stays a recipe: its node, with the buffers that it reads, which nobody overwrites. When a
 * later program needs such a value although an earlier one computed it in passing, it is computed twice, once: the
 * earlier program learns to hand it out, so that a loop settles on a fixed set of programs after its second round.
 */
import type { BufferHandle } from "../pjrt/index.js";
import type { Complex } from "../schema/index.js";
import { scalarKind, toNumber, type Aval, type Scalar } from "../schema/index.js";
import type { DeferredValue, Device, Storage, Tensor } from "../tensor/index.js";
import { backendOf, type Backend } from "./backend.js";
import { FusedPrograms, type FusedProgram } from "./fused_program.js";
import type { Kernel } from "./program.js";
import type { RngState } from "./rng_state.js";

/** A result of a node, or a buffer that is there. */
export class PendingValue implements DeferredValue {
  /** How many nodes read it. */
  uses = 0;
  constructor(
    public node: PendingNode | null,
    readonly index: number,
    readonly aval: Aval,
    public handle: BufferHandle | null,
    readonly generation: number,
    private readonly deferral: Deferral,
  ) {}
  materialize(): BufferHandle {
    if (this.handle === null) this.deferral.run(this);
    return this.handle!;
  }
}

/** A call that waits. */
export class PendingNode {
  outputs: PendingValue[] = [];
  /** The program that computed it in passing, and its position there. */
  ranIn: FusedProgram | null = null;
  position = -1;
  constructor(
    readonly id: number,
    readonly kernel: Kernel,
    /** Null where only type and shape are read. */
    readonly inputs: readonly (PendingValue | null)[],
    /** Offsets of views and numbers, in the order of the kernel's parameters. */
    readonly numbers: readonly Scalar[],
    readonly rng: RngState | null,
  ) {}
}

/** Results up to this size that nobody reads run along: most are losses and counts that will be read soon. */
const smallBytes = 4096;
/** Limits of fused mode. */
export const fusing = {
  /** So many calls wait at most: longer programs take long to compile, and rarely gain from it. */
  maxWaiting: 1500,
};

export class Deferral {
  private recent: PendingNode[] = [];
  private nextId = 0;
  private generation = 0;
  private limit = 0;
  /** Storages from before that were overwritten since the last run. */
  private readonly dirty = new Set<Storage>();
  /** Values of earlier rounds that nobody computed and that are read again. */
  private readonly carried = new Set<PendingValue>();
  private readonly backend: Backend;
  private readonly programs: FusedPrograms;

  constructor(device: Device) {
    this.backend = backendOf(device);
    this.programs = new FusedPrograms(this.backend);
  }

  /** Puts off a call. Returns its results, then what the written storages will hold. */
  append(
    kernel: Kernel,
    tensors: readonly Tensor[],
    scalars: readonly Scalar[],
    rng: RngState | null,
  ): readonly PendingValue[] {
    if (this.recent.length >= Math.min(this.limit || Infinity, fusing.maxWaiting)) this.cut();
    const inputs = new Array<PendingValue | null>(tensors.length);
    const numbers: Scalar[] = [];
    for (let i = 0; i < tensors.length; i++) {
      const t = tensors[i];
      inputs[i] = kernel.reads[i] ? this.valueOf(t.storageRef) : null;
      for (let k = 0; k < t.offsets.length; k++) numbers.push(t.offsets[k]);
    }
    for (let i = 0; i < scalars.length; i++) numbers.push(scalars[i]);
    const node = new PendingNode(this.nextId++, kernel, inputs, numbers, rng);
    const { results } = kernel;
    for (let i = 0; i < results.length; i++)
      node.outputs.push(new PendingValue(node, i, results[i], null, this.generation, this));
    this.recent.push(node);
    return node.outputs;
  }

  private valueOf(storage: Storage): PendingValue {
    const { deferred } = storage;
    if (deferred instanceof PendingValue) {
      deferred.uses++;
      if (deferred.handle === null && deferred.generation < this.generation && deferred.node!.ranIn === null)
        this.carried.add(deferred);
      return deferred;
    }
    return new PendingValue(null, 0, storage.aval, storage.handle!, this.generation, this);
  }

  /** Overwrites a storage with a value that waits. */
  write(storage: Storage, value: PendingValue): void {
    const { deferred } = storage;
    if (deferred === null || (deferred as PendingValue).generation < this.generation) this.dirty.add(storage);
    storage.defer(value);
    storage.version++;
  }

  /** Runs what waits and will be needed; with `value`, that too. */
  run(value: PendingValue | null = null): void {
    const targets = new Set<PendingValue>();
    const add = (v: PendingValue): void => {
      if (v.handle === null) targets.add(v);
    };
    if (value) add(value);
    for (const storage of this.dirty) if (storage.deferred !== null) add(storage.deferred as PendingValue);
    for (const v of this.carried) add(v);
    for (const node of this.recent)
      for (const v of node.outputs) if (v.uses === 0 && v.aval.nbytes <= smallBytes) add(v);
    this.recent = [];
    this.dirty.clear();
    this.carried.clear();
    this.generation++;
    if (targets.size > 0) this.execute([...targets]);
  }

  private execute(targets: readonly PendingValue[]): void {
    const nodes = waitingFor(targets);
    const wanted = [...targets, ...repeats(nodes, targets)];
    const call = this.programs.describe(nodes, wanted);
    const { program } = call;
    const results = program.run(call);
    program.outputs.forEach(([position, index], i) => (nodes[position].outputs[index].handle = results[i]));
    nodes.forEach((node, position) => {
      node.ranIn = program;
      node.position = position;
    });
    for (const node of nodes) for (const v of node.outputs) if (v.handle !== null) v.node = null; // its recipe may go
  }

  /** Too much waits: runs it, at the end of a round if the calls repeat, so that the next cut falls there too. */
  private cut(): void {
    const period = repetition(this.recent);
    const { maxWaiting } = fusing;
    this.limit = period === 0 ? 0 : Math.max(period, maxWaiting - (maxWaiting % period));
    this.run();
  }
}

/** The nodes that must run for the values, in the order in which they were called. */
function waitingFor(targets: readonly PendingValue[]): PendingNode[] {
  const found = new Set<PendingNode>();
  const stack: PendingNode[] = [];
  const visit = (v: PendingValue | null): void => {
    if (v === null || v.handle !== null || found.has(v.node!)) return;
    found.add(v.node!);
    stack.push(v.node!);
  };
  targets.forEach(visit);
  while (stack.length > 0) stack.pop()!.inputs.forEach(visit);
  return [...found].sort((a, b) => a.id - b.id);
}

/**
 * The values besides the targets that were computed before and dropped, and that new calls read: they are kept this time,
 * and the program that had them will hand them out from now on.
 */
function repeats(nodes: readonly PendingNode[], targets: readonly PendingValue[]): Set<PendingValue> {
  const found = new Set<PendingValue>();
  const want = (v: PendingValue | null): void => {
    if (v === null || v.handle !== null || v.node!.ranIn === null) return;
    v.node!.ranIn.want(v.node!.position, v.index);
    found.add(v);
  };
  targets.forEach(want);
  for (const node of nodes) if (node.ranIn === null) node.inputs.forEach(want);
  for (const v of targets) found.delete(v);
  return found;
}

/** The length of the round that the last calls repeat, or 0. */
function repetition(nodes: readonly PendingNode[]): number {
  const last = nodes.length - 1;
  for (let period = 1; period <= nodes.length >> 1; period++) {
    let same = 0;
    while (same < period && nodes[last - same].kernel === nodes[last - same - period].kernel) same++;
    if (same === period) return period;
  }
  return 0;
}

/** Numbers by the vector in which they enter a program. */
export function packNumber(value: Scalar, floats: number[], ints: bigint[]): void {
  const kind = scalarKind(value);
  if (kind === "float") floats.push(toNumber(value));
  else if (kind !== "complex") ints.push(BigInt.asIntN(64, BigInt(value as number | bigint | boolean)));
  else floats.push((value as Complex).re, (value as Complex).im);
}

const deferrals: Deferral[] = [];

/** What waits on a device. */
export const deferralOf = (device: Device): Deferral => (deferrals[device.id] ??= new Deferral(device));

/** Runs everything that waits and will be needed, on all devices. */
export function runDeferred(): void {
  for (const deferral of deferrals) deferral?.run();
}
