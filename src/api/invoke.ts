/** @file Calls an operator by its group: binds the arguments, then runs, views, writes in place or into `out`. */
import { isAutocasting, is_grad_enabled, no_grad, withoutAutocast } from "../autograd/index.js";
import { autocastCall, callInplace, callOperator, callView } from "../dispatch/index.js";
import { scalarTypeName } from "../ops/helpers.js";
import type { OpGroup, Overload } from "../ops/registry.js";
import { torchFunctions } from "../ops/torch_ref.js";
import { can_cast, TorchError } from "../schema/index.js";
import { rootSpec } from "../ops/view_spec.js";
import { Storage, Tensor } from "../tensor/index.js";
import { bind } from "./bind.js";

/** Runs one overload on bound arguments, cast first where autocast says so. */
export function callOverload(overload: Overload, args: unknown[]): unknown {
  if (isAutocasting()) return autocastCall(overload, args, runOverload);
  return runOverload(overload, args);
}

function runOverload(overload: Overload, args: unknown[]): unknown {
  const { definition } = overload.entry;
  definition.check?.(overload.named(args));
  if (definition.composite) return named(overload, definition.composite(torchFunctions(), overload.named(args)));
  if (definition.view) return callView(overload, args);
  if (overload.isInplace) return callInplace(overload, args);
  return named(overload, callOperator(overload, args));
}

/** Gives the results of a tuple their names, as in `x.max(0).values`. */
function named(overload: Overload, result: unknown): unknown {
  const { returns } = overload.schema;
  if (returns.length < 2 || returns[0].name === null || !Array.isArray(result)) return result;
  returns.forEach((r, i) =>
    Object.defineProperty(result, r.name!, { value: (result as unknown[])[i], enumerable: false }),
  );
  return result;
}

export function invoke(group: OpGroup, args: readonly unknown[]): unknown {
  const bound = bind(group, args);
  if (bound.out !== null) return callOut(bound.overload, bound.args, bound.out);
  const result = callOverload(bound.overload, bound.args);
  if (bound.requires_grad) (result as Tensor).requires_grad_();
  return result;
}

/** The in-place form of an operator that has none of its own: its result replaces its first argument. */
export function invokeInplace(group: OpGroup, args: readonly unknown[]): Tensor {
  const { overload, args: bound } = bind(group, args);
  const { definition } = overload.entry;
  if (!definition.composite && !definition.view) {
    definition.check?.(overload.named(bound));
    return callInplace(overload, bound);
  }
  const self = bound[0] as Tensor;
  const result = callOverload(overload, bound) as Tensor;
  if (definition.view) return replaceView(self, result);
  if (!can_cast(result.dtype, self.dtype))
    throw new TorchError(
      `result type ${scalarTypeName(result.dtype)} can't be cast to the desired output type ${scalarTypeName(self.dtype)}`,
    );
  return self.copy_(result);
}

/** `transpose_` and its kin: the tensor itself becomes the view. */
function replaceView(self: Tensor, view: Tensor): Tensor {
  self.spec = view.spec;
  self.offsets = view.offsets;
  if (view.gradFn) {
    self.gradFn = view.gradFn;
    self.outputNr = view.outputNr;
    self.requiresGradFlag = true;
  }
  return self;
}

/** Writes results into given tensors, which take their shapes. */
function callOut(overload: Overload, args: unknown[], out: unknown): unknown {
  const targets = (Array.isArray(out) ? out : [out]) as unknown[];
  const bad = targets.find((t) => !(t instanceof Tensor));
  if (bad !== undefined) throw new TorchError(`${overload.name}(): argument 'out' must be Tensor, not ${typeof bad}`);
  const needs = is_grad_enabled() && [...args.flat(), ...targets].some((a) => a instanceof Tensor && a.requires_grad);
  if (needs)
    throw new TorchError(
      `${overload.name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad.`,
    );
  return no_grad(() => {
    const result = withoutAutocast(() => callOverload(overload, args));
    const results = (Array.isArray(result) ? result : [result]) as Tensor[];
    if (results.length !== targets.length)
      throw new TorchError(`${overload.name}(): expected ${results.length} tensors in 'out', got ${targets.length}`);
    results.forEach((r, i) => {
      if (overload.entry.definition.exactOut) checkExactOut(r, targets[i] as Tensor);
      writeOut(overload.name, targets[i] as Tensor, r);
    });
    return out;
  });
}

function checkExactOut(result: Tensor, target: Tensor): void {
  if (result.dtype !== target.dtype)
    throw new TorchError(
      `Expected object of scalar type ${scalarTypeName(result.dtype)} but got scalar type ${scalarTypeName(target.dtype)} for argument 'out'`,
    );
}

function writeOut(name: string, target: Tensor, result: Tensor): void {
  if (target.device !== result.device)
    throw new TorchError(
      `${name}(): expected 'out' on device ${result.device.toString()}, got ${target.device.toString()}`,
    );
  if (!can_cast(result.dtype, target.dtype))
    throw new TorchError(
      `result type ${scalarTypeName(result.dtype)} can't be cast to the desired output type ${scalarTypeName(target.dtype)}`,
    );
  if (target.shape.join() !== result.shape.join()) {
    const value = result.to(target.dtype).contiguous();
    const version = target.storageRef.version + 1;
    target.storageRef = new Storage(value.storageRef.handle, value.spec.base, value.device);
    target.storageRef.traced = value.storageRef.traced;
    target.storageRef.shared = value.storageRef.shared = true;
    target.storageRef.version = version;
    target.spec = rootSpec(value.spec.aval);
    target.offsets = value.offsets;
    return;
  }
  target.copy_(result);
}
