/** @file A traced graph as a function of tensors: one program for each way in which its inputs are seen. */
import type { SymScalar } from "../schema/index.js";
import { type Scalar } from "../schema/index.js";
import type { ViewStep } from "../ops/view_steps.js";
import { rootSpec, type ViewSpec } from "../ops/view_spec.js";
import type { BufferHandle } from "../pjrt/index.js";
import { Storage, Tensor, type Device } from "../tensor/index.js";
import { backendOf, type Backend } from "./backend.js";
import type { Ref } from "./graph.js";
import { reachable, type Graph } from "./graph.js";
import { deferralOf } from "./deferral.js";
import { isBlocking, isDeferring } from "./eager_mode.js";
import { Kernel, type ProgramSpec } from "./program.js";
import type { RngState } from "./rng_state.js";
import { Trie } from "./trie.js";

interface Alias {
  readonly input: number;
  readonly steps: readonly ViewStep[];
  readonly offsets: readonly number[];
}

/** Appends one tensor's buffer and offsets to a program's arguments. */
export function pushTensor(args: BufferHandle[], t: Tensor, backend: Backend): void {
  const { handle } = t.storageRef;
  if (handle === null) throw missingBuffer(t);
  args.push(handle);
  for (const n of t.offsets) args.push(backend.scalar(n, "int"));
}

export function missingBuffer(t: Tensor): Error {
  if (t.storageRef.traced !== null)
    return new Error("A tensor made while tracing a function was used outside of it: expected a tensor with a value");
  return new Error("expected a tensor with storage, got one whose storage was freed by dispose()");
}

/** A new tensor that owns the buffer. */
export const tensorOf = (handle: BufferHandle, spec: ViewSpec, device: Device): Tensor =>
  new Tensor(new Storage(handle, spec.base, device), spec);

export class GraphFunction {
  private readonly kernels: Trie<Kernel>[] = [];
  /** Which inputs the computed outputs read. */
  readonly used: ReadonlySet<number>;
  private readonly computed: readonly Ref[];
  private readonly slots: readonly (Alias | number | null)[];
  private readonly computedSpecs: readonly ViewSpec[];

  constructor(
    readonly name: string,
    readonly graph: Graph,
    /** The results; null for "none". Those that only view an input cost nothing. */
    readonly outputs: readonly (Ref | null)[],
  ) {
    const computed: Ref[] = [];
    this.slots = outputs.map((ref) => {
      if (ref === null) return null;
      if (ref.value.node === null) return { input: ref.value.index, steps: ref.spec.steps, offsets: ref.offsets };
      computed.push(ref);
      return computed.length - 1;
    });
    this.computed = computed;
    this.computedSpecs = computed.map((r) => rootSpec(r.spec.aval));
    const live = reachable(graph, computed);
    this.used = live.inputs;
  }

  /** Inputs that any output reads or views. */
  get touched(): Set<number> {
    const all = new Set(this.used);
    for (const s of this.slots) if (s !== null && typeof s === "object") all.add(s.input);
    return all;
  }

  /** Runs on these inputs; null stands for an input that no output reads. */
  call(
    inputs: readonly (Tensor | null)[],
    scalars: readonly (Scalar | SymScalar)[],
    rngState: RngState | null,
    device: Device,
  ): (Tensor | null)[] {
    const results = this.computed.length === 0 ? [] : this.execute(inputs, scalars, rngState, device);
    return this.slots.map((slot) => {
      if (slot === null) return null;
      if (typeof slot === "number") return results[slot];
      const from = inputs[slot.input]!;
      const spec = slot.steps.reduce((s, step) => s.then(step), from.spec);
      return new Tensor(
        from.storageRef,
        spec,
        slot.offsets.length === 0 ? from.offsets : [...from.offsets, ...slot.offsets],
      );
    });
  }

  private execute(
    inputs: readonly (Tensor | null)[],
    scalars: readonly (Scalar | SymScalar)[],
    rngState: RngState | null,
    device: Device,
  ): Tensor[] {
    const backend = backendOf(device);
    let leaf = (this.kernels[device.id] ??= new Trie<Kernel>());
    const tensors: Tensor[] = [];
    for (const i of this.used) {
      const t = inputs[i]!;
      leaf = leaf.next(t.spec);
      tensors.push(t);
    }
    const kernel = (leaf.value ??= this.kernel(inputs, backend));
    if (isDeferring()) {
      const values = deferralOf(device).append(kernel, tensors, scalars as readonly Scalar[], rngState);
      return values.map((value, i) => {
        const storage = new Storage(null, value.aval, device);
        storage.defer(value);
        return new Tensor(storage, this.computedSpecs[i]);
      });
    }
    const { program } = kernel;
    const args: BufferHandle[] = [];
    for (const t of tensors) pushTensor(args, t, backend);
    this.graph.scalars.forEach((kind, i) => args.push(backend.scalar(scalars[i] as Scalar, kind)));
    if (program.usesRng) args.push(rngState!.handle(backend));
    const out = program.run(args);
    if (isBlocking()) backend.synchronize();
    return (Array.isArray(out) ? out : [out]).map((handle, i) => tensorOf(handle, this.computedSpecs[i], device));
  }

  private kernel(inputs: readonly (Tensor | null)[], backend: Backend): Kernel {
    const order = [...this.used];
    return new Kernel(
      this.withInputs(
        order,
        order.map((i) => inputs[i]!.spec),
      ),
      backend,
    );
  }

  private withInputs(order: readonly number[], specs: readonly ViewSpec[]): ProgramSpec {
    return { name: this.name, graph: this.graph, outputs: this.computed, writes: [], specs, inputOrder: order };
  }
}
