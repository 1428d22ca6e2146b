/** @file Autocast: casts the arguments of a call as its operator's policy says, recorded like any other cast. */
import { autocastCache, autocastType, is_grad_enabled, withoutAutocast } from "../autograd/index.js";
import type { AutocastPolicy } from "../ops/autocast.js";
import type { Overload } from "../ops/registry.js";
import { torchFunctions } from "../ops/torch_ref.js";
import { float32, float64, TorchError, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { flatTensors, mapTensors } from "./arguments.js";
import { currentTrace } from "./trace.js";

type Run = (overload: Overload, args: unknown[]) => unknown;

/** Runs a call, on cast arguments where autocast applies to its operator. */
export function autocastCall(overload: Overload, args: unknown[], run: Run): unknown {
  const fact = overload.entry.autocast;
  const trace = currentTrace();
  // operators inside of others run as these were given their arguments
  if (fact === null || (trace !== null && (trace.host === null || trace.depth > 0))) return run(overload, args);
  const tensors = flatTensors(args);
  const device = tensors.find((t) => t.device.type === "cpu" || t.device.type === "tpu")?.device.type;
  const low = device === undefined ? null : autocastType(device);
  const policy = fact[device as "cpu" | "tpu"];
  if (low === null || policy === undefined) return run(overload, args);
  if (policy === "inside") {
    const { decompose } = overload.entry.definition;
    return decompose ? decompose(torchFunctions(), overload.named(args)) : run(overload, args);
  }
  const eligible = (t: Tensor): boolean => t.device.type === device && t.dtype.is_floating_point && t.dtype !== float64;
  const dtype = targetType(policy, tensors.filter(eligible), low);
  const cast = tensors.map((t) => (eligible(t) && t.dtype !== dtype ? castOnce(t, dtype, low) : t));
  return withoutAutocast(() => run(overload, mapTensors(args, cast)));
}

function targetType(policy: AutocastPolicy, tensors: readonly Tensor[], low: DType): DType {
  if (policy === "lower") return low;
  if (policy === "float32") return float32;
  for (const { dtype } of tensors)
    if (dtype !== float32 && dtype !== low)
      throw new TorchError("Unexpected floating ScalarType in at::autocast::prioritize");
  return tensors.some((t) => t.dtype === float32) ? float32 : low;
}

/** The tensor in another type. A parameter is cast once for the whole region. */
function castOnce(x: Tensor, dtype: DType, low: DType): Tensor {
  const t = torchFunctions();
  const cache = autocastCache();
  if (cache === null || dtype !== low || x.dtype !== float32 || !x.requires_grad || !x.is_leaf || x.meta?.base)
    return t._to_copy(x, { dtype });
  const [version, grad, trace] = [x.storageRef.version, is_grad_enabled(), currentTrace()];
  const found = cache.get(x);
  if (found?.dtype === dtype && found.version === version && found.grad === grad && found.trace === trace)
    return found.value;
  const value = t._to_copy(x, { dtype });
  cache.set(x, { value, dtype, version, grad, trace });
  return value;
}
