/** @file CallSite: what is known of one operator on one kind of arguments, and how it becomes a program. */
import { ModeGuard } from "../autograd/index.js";
import { scalarTypeName } from "../ops/helpers.js";
import type { Overload } from "../ops/registry.js";
import { torchFunctions } from "../ops/torch_ref.js";
import { rootSpec, type ViewSpec } from "../ops/view_spec.js";
import { can_cast, get_default_dtype, sizeText, TorchError, type Aval } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { type Device } from "../tensor/index.js";
import { mapTensors } from "./arguments.js";
import { backendOf } from "./backend.js";
import { tracedCall } from "./call.js";
import { Kernel, rethrow, type GraphWrite } from "./program.js";
import type { GradPlan } from "./record.js";
import { Trace, withTrace } from "./trace.js";
import { Trie } from "./trie.js";
import { flat, restoreWalk, scalars, symbolic } from "./walk.js";

export class CallSite {
  /** Gradients, by which tensor arguments need one. */
  readonly plans = new Map<string | number, GradPlan>();
  readonly outAvals: readonly Aval[];
  constructor(
    readonly outSpecs: readonly ViewSpec[],
    /** Whether the operator returns a list or a tuple. */
    readonly isList: boolean,
    /** The flat tensor arguments whose storages the program overwrites. */
    readonly writes: readonly number[],
    /** Null where no value is computed: on the meta device and while tracing. */
    readonly kernel: Kernel | null,
  ) {
    this.outAvals = outSpecs.map((s) => s.aval);
  }

  /** Whether any result can have a gradient, those at the positions given left out. */
  carriesGradient(without: readonly number[] | undefined): boolean {
    for (let i = 0; i < this.outAvals.length; i++)
      if (this.outAvals[i].dtype.is_differentiable && !without?.includes(i)) return true;
    return false;
  }
}

/** Where an overload keeps what it learns while tracing; devices follow, two slots each. */
export const traceSlot = 0;

/** The root of an overload's call sites for one use and the present default dtype, which promotion depends on. */
export function cacheRoot(overload: Overload, slot: number): Trie<CallSite> {
  const caches = overload.caches as Trie<CallSite>[][];
  const byDtype = (caches[slot] ??= []);
  return (byDtype[get_default_dtype().index] ??= new Trie<CallSite>());
}

/** Whether results come as a list. */
export const returnsList = (overload: Overload): boolean => {
  const { returns } = overload.schema;
  return returns.length !== 1 || returns[0].type.list !== null;
};

/** The result of an operator as it will be written over `target`: its shape must be the target's, its type castable. */
export function fitForWrite(target: Tensor, result: Tensor): Tensor {
  const t = torchFunctions();
  if (!can_cast(result.dtype, target.dtype)) {
    throw new TorchError(
      `result type ${scalarTypeName(result.dtype)} can't be cast to the desired output type ${scalarTypeName(target.dtype)}`,
    );
  }
  if (result.shape.join() !== target.shape.join()) {
    throw new TorchError(
      `output with shape ${sizeText(target.shape)} doesn't match the broadcast shape ${sizeText(result.shape)}`,
    );
  }
  return result.dtype === target.dtype ? result : t._to_copy(result, { dtype: target.dtype });
}

/** Traces and compiles the call that walk() has just seen. `target`: the first argument, which the result overwrites. */
export function makeSite(
  overload: Overload,
  given: readonly unknown[],
  device: Device,
  target: Tensor | null,
): CallSite {
  const tensors = [...flat];
  const numbers = [...scalars];
  const trace = new Trace(device);
  const { outs, inputs, before } = withTrace(trace, () => {
    using _ = new ModeGuard(false, false);
    const inputs = tensors.map((t) => trace.input(t.spec.aval));
    const before = inputs.map((t) => t.storageRef.traced);
    const traced = mapTensors(
      symbolic(overload, given, (s) => trace.scalarInput(s)),
      inputs,
    );
    const result = rethrow(overload.name, () => tracedCall(trace, overload, traced));
    if (target !== null) trace.write(inputs[0], fitForWrite(inputs[0], result as Tensor));
    return { outs: Array.isArray(result) ? result : [result], inputs, before };
  });
  restoreWalk(tensors, numbers);
  const writes: GraphWrite[] = [];
  inputs.forEach((t, input) => {
    if (t.storageRef.traced === before[input]) return;
    const storage = tensors[input].storageRef;
    const alone = !storage.shared && tensors.filter((o) => o.storageRef === storage).length === 1;
    writes.push({ input, value: trace.ref(t), donate: alone && storage.aval.nbytes >= 16384 });
  });
  const outSpecs = outs.map((o) => rootSpec(o.spec.aval));
  const outputs = target === null ? outs.map((o) => trace.ref(o)) : [];
  const kernel =
    device.type === "meta"
      ? null
      : new Kernel(
          { name: overload.name, graph: trace.graph, outputs, writes, specs: tensors.map((t) => t.spec) },
          backendOf(device),
        );
  return new CallSite(
    outSpecs,
    returnsList(overload),
    writes.map((w) => w.input),
    kernel,
  );
}
