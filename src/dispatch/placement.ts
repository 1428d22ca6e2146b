/** @file The device of a call. */
import type { Overload } from "../ops/registry.js";
import { torchFunctions } from "../ops/torch_ref.js";
import { TorchError } from "../schema/index.js";
import { device as deviceOf, Generator, get_default_device, Tensor, type Device } from "../tensor/index.js";
import { flatTensors } from "./arguments.js";
import { currentTrace } from "./trace.js";

/** The device on which the call runs; throws when the tensors are on several. A 0-dim CPU tensor may join any. */
export function deviceFor(overload: Overload, args: unknown[]): Device {
  if (overload.entry.definition.shapeOnly) moveShapes(overload, args);
  let found: Device | null = null;
  let mixed = false;
  for (let i = 0; i < args.length; i++) {
    const a = args[i];
    if (a instanceof Tensor) {
      if (found === null) found = a.storageRef.device;
      else if (found !== a.storageRef.device) mixed = true;
    } else if (Array.isArray(a)) {
      for (const e of a as unknown[]) {
        if (!(e instanceof Tensor)) continue;
        if (found === null) found = e.storageRef.device;
        else if (found !== e.storageRef.device) mixed = true;
      }
    }
  }
  if (mixed) return unifyDevices(args);
  if (found !== null) return found;
  const at = overload.index.get("device");
  const given = at === undefined ? null : args[at];
  if (given !== null && given !== undefined) return deviceOf(given as Device);
  const g = overload.index.get("generator");
  const generator = g === undefined ? null : args[g];
  if (generator instanceof Generator) return generator.device;
  const trace = currentTrace();
  return trace !== null && trace.host === null ? trace.device : get_default_device();
}

/** `zeros_like(x, { device })` reads only x's type and shape: a tensor there stands for it. */
function moveShapes(overload: Overload, args: unknown[]): void {
  const at = overload.index.get("device");
  const given = at === undefined ? null : args[at];
  if (given === null || given === undefined) return;
  const device = deviceOf(given as Device);
  args.forEach((a, i) => {
    if (a instanceof Tensor && a.device !== device)
      args[i] = torchFunctions().empty(a.shape, { dtype: a.dtype, device });
  });
}

function unifyDevices(args: unknown[]): Device {
  const tensors = flatTensors(args);
  const main = tensors.find((t) => t.ndim > 0 || t.device.type !== "cpu") ?? tensors[0];
  const stray = tensors.find((t) => t.device !== main.device && !(t.ndim === 0 && t.device.type === "cpu"));
  if (stray) {
    throw new TorchError(
      `Expected all tensors to be on the same device, but found at least two devices, ${main.device.toString()} and ${stray.device.toString()}!`,
    );
  }
  const move = (a: unknown): unknown => (a instanceof Tensor && a.device !== main.device ? a.to(main.device) : a);
  args.forEach((a, i) => (args[i] = Array.isArray(a) ? (a as unknown[]).map(move) : move(a)));
  return main.device;
}
