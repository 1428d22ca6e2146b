/** @file Step 3 of a call, the mode: runs one operator at once (strict), or appends it to the graph being traced. */
import { copyOnWrite, is_grad_enabled, is_inference_mode_enabled, ModeGuard } from "../autograd/index.js";
import { type Overload } from "../ops/registry.js";
import { torchFunctions } from "../ops/torch_ref.js";
import { rootSpec } from "../ops/view_spec.js";
import { executeRaw, type BufferHandle } from "../pjrt/index.js";
import { scalarKind, SymScalar, TorchNotImplementedError, userLine, type Scalar } from "../schema/index.js";
import type { Generator } from "../tensor/index.js";
import { defaultGenerator, Storage, Tensor, type Device } from "../tensor/index.js";
import { flatTensors } from "./arguments.js";
import { backendOf } from "./backend.js";
import { debugCall, debugCalls } from "./debug.js";
import { deferralOf } from "./deferral.js";
import { isBlocking, isDeferring } from "./eager_mode.js";
import { missingBuffer } from "./graph_function.js";
import type { Kernel, Program } from "./program.js";
import { RngState } from "./rng_state.js";
import type { NodeArg } from "./graph.js";
import { deviceFor } from "./placement.js";
import { isDifferentiable, makePlan, OpNode, type GradPlan } from "./record.js";
import { cacheRoot, CallSite, makeSite, returnsList, traceSlot } from "./site.js";
import { currentTrace, emitOperator, inferAvals, withTrace, type Trace } from "./trace.js";
import { flat, restoreWalk, scalars, symbolic, walk } from "./walk.js";

const args: BufferHandle[] = [];

/** Calls a lowering or a decomposition. Views, composites and in-place operators go other ways. */
export function callOperator(overload: Overload, given: unknown[]): Tensor | Tensor[] {
  const trace = currentTrace();
  if (trace !== null)
    return trace.host === null ? tracedCall(trace, overload, given) : placedCall(trace, overload, given);
  const device = deviceFor(overload, given);
  let leaf = walk(overload, given, cacheRoot(overload, 1 + 2 * device.id), false);
  if (overload.entry.definition.mutates !== undefined) leaf = leaf.next(donationKey());
  const site = (leaf.value ??= makeSite(overload, given, device, null));
  const record = is_grad_enabled() && needsGrad() && isDifferentiable(overload.entry.definition);
  const { kernel } = site;
  if (kernel === null) return metaCall(overload, given, site, device, record);
  if (debugCalls) debugCall(overload.qualified, flat);
  if (isDeferring()) return deferredCall(overload, given, site, kernel, device, record);
  const { program } = kernel;
  const rngState = pushArguments(overload, given, program, device);
  const node = record && site.writes.length > 0 ? makeNode(overload, given, site, device, rngState) : null;
  const result = executeRaw(program.executable, args);
  if (isBlocking()) backendOf(device).synchronize();
  if (!Array.isArray(result)) {
    if (site.writes.length > 0) {
      storeWrites(site, [result], 0);
      return [];
    }
    const spec = site.outSpecs[0];
    const out = new Tensor(new Storage(result, spec.aval, device), spec);
    if (record) recordCall(overload, given, site, device, rngState, [out]);
    else if (is_inference_mode_enabled()) out.inference = true;
    return site.isList ? [out] : out;
  }
  const outs: Tensor[] = [];
  for (let i = 0; i < site.outSpecs.length; i++)
    outs.push(new Tensor(new Storage(result[i], site.outSpecs[i].aval, device), site.outSpecs[i]));
  if (site.writes.length > 0) storeWrites(site, result, outs.length);
  if (is_inference_mode_enabled()) for (const out of outs) out.inference = true;
  if (node) attach(overload, node, outs);
  else if (record) recordCall(overload, given, site, device, rngState, outs);
  return site.isList ? outs : outs[0];
}

/** Fills the argument list with the tensors and numbers that walk() found. Returns the generator's state, if any. */
function pushArguments(
  overload: Overload,
  given: readonly unknown[],
  program: Program,
  device: Device,
): RngState | null {
  const backend = backendOf(device);
  args.length = 0;
  for (let i = 0; i < flat.length; i++) {
    const { storageRef, offsets } = flat[i];
    const { handle } = storageRef;
    if (handle === null) throw missingBuffer(flat[i]);
    args.push(handle);
    for (let k = 0; k < offsets.length; k++) args.push(backend.scalar(offsets[k], "int"));
  }
  for (let i = 0; i < scalars.length; i++) args.push(backend.scalar(scalars[i], scalarKind(scalars[i])));
  if (!program.usesRng) return null;
  const state = nextState(overload, given, device);
  args.push(state.handle(backend));
  return state;
}

function nextState(overload: Overload, given: readonly unknown[], device: Device): RngState {
  const at = overload.index.get("generator");
  const generator = (at === undefined ? null : (given[at] as Generator | null)) ?? defaultGenerator(device);
  return new RngState(generator.next());
}

/** Below this size a write makes a new buffer: reusing the old one costs more than it saves. */
const donationThreshold = 16384;

/** Which of the tensors that walk() found may give their memory to what is written over them. */
function donationKey(): string {
  let key = "";
  for (const t of flat) {
    const s = t.storageRef;
    const alone =
      !s.shared && s.aval.nbytes >= donationThreshold && flat.filter((o) => o.storageRef === s).length === 1;
    key += alone ? "d" : "-";
  }
  return key;
}

function storeWrites(site: CallSite, results: readonly BufferHandle[], first: number): void {
  site.writes.forEach((at, k) => {
    const storage = flat[at].storageRef;
    storage.handle = results[first + k];
    storage.shared = false;
    storage.version++;
  });
}

/** A tensor of the same value and history that later writes do not reach; the buffer is shared until then. */
function snapshot(t: Tensor): Tensor {
  const copy = copyOnWrite(t);
  copy.requiresGradFlag = t.requires_grad;
  copy.gradFn = t.grad_fn;
  copy.outputNr = t.outputNr;
  return copy;
}

/** Runs an operator and writes its result over its first argument, which is `target`. */
export function executeInplace(overload: Overload, given: unknown[], target: Tensor): void {
  const device = deviceFor(overload, given);
  const found = walk(overload, given, cacheRoot(overload, 2 + 2 * device.id), false);
  const record = is_grad_enabled() && needsGrad() && isDifferentiable(overload.entry.definition);
  if (record) flat[0] = snapshot(target); // the gradient may read what the write replaces
  const leaf = found.next(donationKey());
  const site = (leaf.value ??= makeSite(overload, given, device, target));
  const { kernel } = site;
  if (kernel === null) {
    target.storageRef.version++;
    return;
  }
  if (isDeferring()) {
    const rngState = kernel.spec.graph.usesRng ? nextState(overload, given, device) : null;
    const node = record ? makeNode(overload, given, site, device, rngState) : null;
    const [value] = deferralOf(device).append(kernel, flat, scalars, rngState);
    deferralOf(device).write(target.storageRef, value);
    flat[0] = target;
    if (node) rebaseHistory(target, node);
    return;
  }
  const { program } = kernel;
  const rngState = pushArguments(overload, given, program, device);
  const node = record ? makeNode(overload, given, site, device, rngState) : null;
  const result = executeRaw(program.executable, args);
  if (isBlocking()) backendOf(device).synchronize();
  flat[0] = target;
  storeWrites(site, Array.isArray(result) ? result : [result], 0);
  if (node) rebaseHistory(target, node);
}

/** A call in fused mode: its results wait until somebody needs them. */
function deferredCall(
  overload: Overload,
  given: readonly unknown[],
  site: CallSite,
  kernel: Kernel,
  device: Device,
  record: boolean,
): Tensor | Tensor[] {
  const deferral = deferralOf(device);
  const rngState = kernel.spec.graph.usesRng ? nextState(overload, given, device) : null;
  const values = deferral.append(kernel, flat, scalars, rngState);
  const node = record && site.writes.length > 0 ? makeNode(overload, given, site, device, rngState) : null;
  const inference = is_inference_mode_enabled();
  const count = kernel.spec.outputs.length;
  const outs: Tensor[] = [];
  for (let i = 0; i < count; i++) {
    const spec = site.outSpecs[i];
    const storage = new Storage(null, spec.aval, device);
    storage.defer(values[i]);
    const out = new Tensor(storage, spec);
    if (inference) out.inference = true;
    outs.push(out);
  }
  site.writes.forEach((at, k) => deferral.write(flat[at].storageRef, values[count + k]));
  if (node) attach(overload, node, outs);
  else if (record) recordCall(overload, given, site, device, rngState, outs);
  return site.isList || count === 0 ? outs : outs[0];
}

function needsGrad(): boolean {
  for (let i = 0; i < flat.length; i++) if (flat[i].requires_grad) return true;
  return false;
}

/** A call on the meta device: types and shapes, no values. */
function metaCall(
  overload: Overload,
  given: readonly unknown[],
  site: CallSite,
  device: Device,
  record: boolean,
): Tensor | Tensor[] {
  const outs = site.outSpecs.map((s) => new Tensor(new Storage(null, s.aval, device), s));
  if (record) recordCall(overload, given, site, device, null, outs);
  return site.isList ? outs : outs[0];
}

/** Notes the gradient of a call that walk() has just seen. */
function recordCall(
  overload: Overload,
  given: readonly unknown[],
  site: CallSite,
  device: Device,
  rngState: RngState | null,
  outs: readonly Tensor[],
): void {
  const node = makeNode(overload, given, site, device, rngState);
  if (node === null) return;
  const trace = currentTrace();
  if (trace !== null) {
    node.rngCall = trace.rngCall;
    node.location = trace.location;
  }
  attach(overload, node, outs);
}

/** The node for the call that walk() has just seen, or null when none of its results can carry a gradient. */
function makeNode(
  overload: Overload,
  given: readonly unknown[],
  site: CallSite,
  device: Device,
  rngState: RngState | null,
): OpNode | null {
  const { nonDifferentiableOutputs } = overload.entry.definition;
  if (!site.carriesGradient(nonDifferentiableOutputs)) return null;
  let key: string | number = 0;
  for (let i = 0; i < flat.length; i++) {
    if (flat[i].requires_grad && flat[i].spec.aval.dtype.is_differentiable)
      key = i < 30 && typeof key === "number" ? key | (1 << i) : `${key},${i}`;
  }
  const plan = site.plans.get(key) ?? planFor(overload, given, site, device, key);
  return new OpNode(plan, flat, scalars.length === 0 ? noScalars : scalars.slice(), rngState, device);
}

const noScalars: readonly Scalar[] = [];

/** Traces the gradient of the call that walk() has just seen. */
function planFor(
  overload: Overload,
  given: readonly unknown[],
  site: CallSite,
  device: Device,
  key: string | number,
): GradPlan {
  const tensors = [...flat];
  const numbers = [...scalars];
  const needs = tensors.flatMap((t, i) => (t.requires_grad && t.dtype.is_differentiable ? [i] : []));
  let n = 0;
  const symbols = symbolic(overload, given, (s) => new SymScalar(scalarKind(s), n++));
  const plan = makePlan(overload, symbols, tensors, needs, site.outAvals, site.isList, device);
  site.plans.set(key, plan);
  restoreWalk(tensors, numbers);
  return plan;
}

/** Makes results those of a node. */
function attach(overload: Overload, node: OpNode, outs: readonly Tensor[]): void {
  const { nonDifferentiableOutputs } = overload.entry.definition;
  for (let i = 0; i < outs.length; i++) {
    const out = outs[i];
    if (!out.spec.aval.dtype.is_differentiable || nonDifferentiableOutputs?.includes(i)) continue;
    out.gradFn = node;
    out.outputNr = i;
    out.requiresGradFlag = true;
  }
  node.saveOutputs(outs);
}

/** After a recorded write: `target`, and what it is a view of, come from `node`. Set by inplace.ts. */
let rebaseHistory: (target: Tensor, node: OpNode) => void = () => undefined;
export function setRebaseHistory(fn: typeof rebaseHistory): void {
  rebaseHistory = fn;
}

/** A call while a function is traced: on another device than the trace's it makes a constant of the program. */
function placedCall(trace: Trace, overload: Overload, given: unknown[]): Tensor | Tensor[] {
  if (trace.depth === 0) trace.location = userLine();
  if (trace.depth > 0 || deviceFor(overload, given) === trace.device) return tracedCall(trace, overload, given);
  return withTrace(null, () => callOperator(overload, given));
}

/** Appends a call to a trace. */
export function tracedCall(trace: Trace, overload: Overload, given: unknown[]): Tensor | Tensor[] {
  if (trace.host !== null && trace.depth === 0) for (const t of flatTensors(given)) trace.host.use(t);
  return trace.inCall(() => appendCall(trace, overload, given));
}

function appendCall(trace: Trace, overload: Overload, given: unknown[]): Tensor | Tensor[] {
  const { definition } = overload.entry;
  const record = is_grad_enabled() && isDifferentiable(definition) && flatTensors(given).some((t) => t.requires_grad);
  const outs = definition.lower ? appendLowering(trace, overload, given) : inline(overload, given);
  const isList = returnsList(overload);
  if (record) {
    const leaf = walk(overload, given, cacheRoot(overload, traceSlot), true);
    const site = (leaf.value ??= new CallSite(
      outs.map((o) => rootSpec(o.spec.aval)),
      isList,
      [],
      null,
    ));
    recordCall(overload, given, site, trace.device, null, outs);
  }
  return isList ? outs : outs[0];
}

function inline(overload: Overload, given: readonly unknown[]): Tensor[] {
  const { definition } = overload.entry;
  if (!definition.decompose)
    throw new TorchNotImplementedError(
      `operator '${overload.qualified}' has no lowering and no decomposition: ${overload.schema.text}`,
    );
  using _ = new ModeGuard(false, false);
  const result = definition.decompose(torchFunctions(), overload.named(given));
  return Array.isArray(result) ? (result as Tensor[]) : [result as Tensor];
}

function appendLowering(trace: Trace, overload: Overload, given: readonly unknown[]): Tensor[] {
  const { shapeOnly } = overload.entry.definition;
  const toRef = (a: unknown): NodeArg => {
    if (a instanceof Tensor) return shapeOnly ? trace.blank(a.spec.aval) : trace.ref(a);
    return Array.isArray(a) ? (a as unknown[]).map(toRef) : a;
  };
  const nodeArgs = given.map(toRef);
  const avals = inferAvals(overload, nodeArgs);
  const values = trace.append(
    overload.name,
    overload,
    nodeArgs,
    avals,
    (context, node) => emitOperator(overload, context, node.args, node.rngIndex),
    overload.entry.definition.random,
  );
  const tensors = values.map((v) => trace.tensorOf(v));
  const written = mutatedTensors(overload, given);
  const count = tensors.length - written.length;
  written.forEach((t, i) => trace.write(t, tensors[count + i]));
  return tensors.slice(0, count);
}

/** The tensors that a call of a mutating entry overwrites. */
function mutatedTensors(overload: Overload, given: readonly unknown[]): Tensor[] {
  const { mutates = [] } = overload.entry.definition;
  return mutates.flatMap((name) => {
    const value = given[overload.index.get(name)!];
    return value instanceof Tensor ? [value] : Array.isArray(value) ? (value as Tensor[]) : [];
  });
}
