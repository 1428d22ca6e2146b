/** @file CompiledEntry: one traced call of a compiled function, run again for as long as its guards hold. */
import {
  untraced,
  missingBuffer,
  pushTensor,
  type Backend,
  type BufferHandle,
  type Kernel,
} from "../dispatch/index.js";
import { torchFunctions } from "../ops/torch_ref.js";
import { rootSpec, type ViewSpec } from "../ops/view_spec.js";
import { scalarKind, uint64, type Scalar } from "../schema/index.js";
import { defaultGenerator, Storage, Tensor, type Device } from "../tensor/index.js";
import { CompiledNode, ReleasedNode, type BackwardPlan } from "./backward.js";
import type { Guard, HostAction } from "./capture.js";
import { unflatten, type Structure } from "./pytree.js";

/** Where a run finds a tensor that the trace saw: an argument, the gradient of a leaf, or a tensor from outside. */
export type TensorSource =
  | { readonly kind: "argument"; readonly index: number }
  | { readonly kind: "grad"; readonly leaf: TensorSource }
  | { readonly kind: "tensor"; readonly tensor: Tensor };

/** One input of the program. */
export interface EntryInput {
  readonly source: TensorSource;
  /** How the program sees the tensor's storage. */
  readonly spec: ViewSpec;
}

/** One tensor or other value that a run hands out. */
export type EntryOutput =
  | { readonly kind: "constant"; readonly value: unknown }
  | { readonly kind: "same"; readonly source: TensorSource }
  | {
      readonly kind: "view";
      readonly source: TensorSource;
      readonly spec: ViewSpec;
      readonly offsets: readonly number[];
    }
  | {
      readonly kind: "computed";
      /** Which of the program's results it is, and which of the run's new storages holds it. */
      readonly result: number;
      readonly storage: number;
      readonly spec: ViewSpec;
      readonly offsets: readonly number[];
      readonly inference: boolean;
      /** Position among the results that carry a gradient; -1 for none. */
      readonly differentiable: number;
      /** Its history was used up by a backward inside of the function. */
      readonly released: boolean;
    };

/** All that a run does. Filled by the tracer. */
export interface EntryPlan {
  readonly name: string;
  readonly device: Device;
  readonly backend: Backend;
  /** Null where nothing is computed. */
  readonly kernel: Kernel | null;
  readonly inputs: readonly EntryInput[];
  /** Which inputs are overwritten, in the order of the program's results after the outputs. */
  readonly writes: readonly number[];
  /** How many results come before the written storages: outputs, then what backward needs. */
  readonly resultCount: number;
  readonly savedFrom: number;
  /** For each new storage, the result it holds and whether others hold it too. */
  readonly storages: readonly { readonly result: number; readonly shared: boolean }[];
  readonly actions: readonly HostAction[];
  readonly literals: ReadonlyMap<number, Scalar>;
  readonly scalarCount: number;
  readonly rngCalls: number;
  readonly structure: Structure;
  readonly outputs: readonly EntryOutput[];
  readonly grads: readonly { readonly leaf: TensorSource; readonly output: EntryOutput | null }[];
  readonly backward: BackwardPlan | null;
}

export class CompiledEntry {
  /** How often it ran. */
  runs = 0;
  constructor(
    readonly plan: EntryPlan,
    readonly guards: readonly Guard[],
    /** Whether it fits a call. Returns what differs, or null. */
    readonly mismatch: (structure: Structure, leaves: readonly unknown[]) => string | null,
  ) {}

  get isCompiled(): boolean {
    return this.plan.kernel?.isCompiled ?? true;
  }
  /** Compiles its programs in other threads. */
  async prepare(): Promise<void> {
    await Promise.all([this.plan.kernel?.prepare(), this.plan.backward?.kernel.prepare()]);
  }

  /** Runs the program on the call's arguments and does what the function did besides. */
  run(leaves: readonly unknown[]): unknown {
    this.runs++;
    const { plan } = this;
    const numbers = this.hostPart();
    const tensors = plan.inputs.map((i) => sourceTensor(i.source, leaves));
    for (const at of plan.writes) ownBuffer(tensors[at].storageRef);
    const rngState = this.rngState();
    const results = this.execute(tensors, numbers, rngState);
    const node =
      plan.backward === null ? null : this.backwardNode(plan.backward, leaves, tensors, results, numbers, rngState);
    plan.writes.forEach((at, k) => {
      const storage = tensors[at].storageRef;
      storage.handle = results[plan.resultCount + k];
      storage.shared = false;
      storage.version++;
    });
    const storages = plan.storages.map(({ result, shared }, i) => {
      const storage = new Storage(results[result], this.baseOf(i), plan.device);
      storage.shared = shared;
      return storage;
    });
    const give = (o: EntryOutput): unknown => give1(o, leaves, storages, node);
    for (const { leaf, output } of plan.grads)
      sourceTensor(leaf, leaves).ensureMeta().grad = output === null ? null : (give(output) as Tensor);
    return unflatten(plan.structure, plan.outputs.map(give));
  }

  private readonly bases: ViewSpec["base"][] = [];
  private baseOf(storage: number): ViewSpec["base"] {
    return (this.bases[storage] ??= this.findBase(storage));
  }
  private findBase(storage: number): ViewSpec["base"] {
    const all = [...this.plan.outputs, ...this.plan.grads.map((g) => g.output)];
    for (const o of all) if (o?.kind === "computed" && o.storage === storage) return o.spec.base;
    throw new Error("compiled function: expected an output for every storage");
  }

  /** Does the host's actions in order; returns the numbers of the program's inputs. */
  private hostPart(): Scalar[] {
    const { actions, literals, scalarCount } = this.plan;
    const numbers = new Array<Scalar>(scalarCount);
    for (const [slot, value] of literals) numbers[slot] = value;
    for (const action of actions) {
      if (action.kind === "effect") action.run();
      else numbers[action.slot] = action.read();
    }
    return numbers;
  }

  private rngState(): BufferHandle | null {
    const { rngCalls, device, backend } = this.plan;
    if (rngCalls === 0) return null;
    const generator = defaultGenerator(device);
    const state = generator.next();
    generator.advance(rngCalls - 1);
    return backend.upload(state, uint64, [2]);
  }

  private execute(
    tensors: readonly Tensor[],
    numbers: readonly Scalar[],
    rngState: BufferHandle | null,
  ): BufferHandle[] {
    const { kernel, backend, inputs, literals } = this.plan;
    if (kernel === null) return [];
    const { program } = kernel;
    const args: BufferHandle[] = [];
    tensors.forEach((t, i) => {
      if (inputs[i].spec.isRoot) {
        const { handle } = t.storageRef;
        if (handle === null) throw missingBuffer(t);
        args.push(handle);
      } else pushTensor(args, t, backend);
    });
    numbers.forEach((n, slot) => args.push(backend.scalar(n, literals.has(slot) ? scalarKind(n) : "float")));
    if (program.usesRng) args.push(rngState!);
    const out = program.run(args);
    return Array.isArray(out) ? out : [out];
  }

  private backwardNode(
    backward: BackwardPlan,
    leaves: readonly unknown[],
    tensors: readonly Tensor[],
    results: readonly BufferHandle[],
    numbers: readonly Scalar[],
    rngState: BufferHandle | null,
  ): CompiledNode {
    const { savedFrom, resultCount, device } = this.plan;
    const saved = backward.savedInputs.map((i) => tensors[i]);
    const computed = results.slice(savedFrom, resultCount);
    const targets = backward.targets.map((source) => sourceTensor(source, leaves));
    return new CompiledNode(backward, targets, saved, computed, numbers, rngState, device);
  }
}

/** The tensor that a source stands for in a call. */
export function sourceTensor(source: TensorSource, leaves: readonly unknown[]): Tensor {
  switch (source.kind) {
    case "argument":
      return leaves[source.index] as Tensor;
    case "tensor":
      return source.tensor;
    case "grad":
      return sourceTensor(source.leaf, leaves).meta!.grad!;
  }
}

/** Makes sure that nobody else holds the buffer that the program will write over. */
function ownBuffer(storage: Storage): void {
  if (!storage.shared) return;
  const whole = new Tensor(storage, rootSpec(storage.aval));
  storage.handle = untraced(() => torchFunctions().clone(whole)).storageRef.handle;
  storage.shared = false;
}

function give1(
  o: EntryOutput,
  leaves: readonly unknown[],
  storages: readonly Storage[],
  node: CompiledNode | null,
): unknown {
  switch (o.kind) {
    case "constant":
      return o.value;
    case "same":
      return sourceTensor(o.source, leaves);
    case "view":
      return new Tensor(sourceTensor(o.source, leaves).storageRef, o.spec, o.offsets);
    case "computed": {
      const t = new Tensor(storages[o.storage], o.spec, o.offsets);
      t.inference = o.inference;
      if (o.differentiable >= 0) {
        t.gradFn = node;
        t.outputNr = o.differentiable;
        t.requiresGradFlag = true;
      } else if (o.released) {
        t.gradFn = new ReleasedNode();
        t.requiresGradFlag = true;
      }
      return t;
    }
  }
}
