/** @file Hyperparameters: learning rates as numbers or tensors, checks, copies, and how Python prints them. */
import { asFloat, functional } from "../api/index.js";
import { hostNumber } from "../dispatch/index.js";
import { TorchNotImplementedError, TorchValueError, type FloatScalar } from "../schema/index.js";
import { Tensor } from "../tensor/index.js";

/** A learning rate: a number, or a tensor of one element, which a program reads from the device. */
export type LearningRate = number | Tensor;

/** Options that PyTorch's optimizers share. */
export interface CommonOptions {
  /** Climb instead of descend. */
  maximize?: boolean;
  /** Accepted for PyTorch's sake, as are the two below: how a step is run is decided by the optimizer. */
  foreach?: boolean | null;
  capturable?: boolean;
  fused?: boolean | null;
  /** Only false: a step through which gradients flow is not implemented. */
  differentiable?: boolean;
}

/** The value of a learning rate. Reads a tensor's. */
export const numberOf = (lr: LearningRate): number => (lr instanceof Tensor ? Number(lr.item()) : lr);

/** A number that always counts as a float, so that 1 and 0.5 run the same program. */
export const real = (n: number): FloatScalar => asFloat(n);

/** A hyperparameter of a group for a program: a compiled step reads it anew each time. */
export const option = (group: Readonly<Record<string, unknown>>, key: string): FloatScalar =>
  hostNumber(() => group[key] as number, group, key);

/** The learning rate of a group for a program on the device of `like`. */
export function rateFor(group: Readonly<Record<string, unknown>>, like: Tensor): FloatScalar | Tensor {
  const { lr } = group as { lr: LearningRate };
  if (!(lr instanceof Tensor)) return option(group, "lr");
  return lr.device === like.device ? lr : lr.to(like.device);
}

/** Throws ValueError in PyTorch's words unless `ok`. */
export function checkOption(ok: boolean, message: string): void {
  if (!ok) throw new TorchValueError(message);
}

/** Checks what all optimizers check. */
export function checkCommon(options: { lr: LearningRate; weight_decay?: number; eps?: number } & CommonOptions): void {
  const { lr, weight_decay, eps, differentiable } = options;
  if (lr instanceof Tensor) checkOption(lr.numel() === 1, "Tensor lr must be 1-element");
  else checkOption(lr >= 0, `Invalid learning rate: ${pythonRepr(lr)}`);
  if (eps !== undefined) checkOption(eps >= 0, `Invalid epsilon value: ${pythonRepr(eps)}`);
  if (weight_decay !== undefined)
    checkOption(weight_decay >= 0, `Invalid weight_decay value: ${pythonRepr(weight_decay)}`);
  if (differentiable)
    throw new TorchNotImplementedError("step(): expected differentiable to be false, got true: it is not implemented");
}

/** Checks Adam's decay rates. */
export function checkBetas(betas: readonly number[]): void {
  betas.forEach((b, i) => checkOption(b >= 0 && b < 1, `Invalid beta parameter at index ${i}: ${pythonRepr(b)}`));
}

/** A copy of options: lists and tensors of their own. */
export const copied = (options: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(options).map(([k, v]) => [
      k,
      v instanceof Tensor ? functional.clone(v.detach()) : Array.isArray(v) ? [...(v as unknown[])] : v,
    ]),
  );

const lists: ReadonlySet<string> = new Set(["param_names", "params"]);

/** A value as Python prints it. */
export function pythonRepr(x: unknown, key = ""): string {
  if (x === null || x === undefined) return "None";
  if (typeof x === "boolean") return x ? "True" : "False";
  if (typeof x === "string") return `'${x}'`;
  if (Array.isArray(x)) {
    const inner = x.map((e) => pythonRepr(e)).join(", ");
    return lists.has(key) ? `[${inner}]` : `(${inner})`;
  }
  if (typeof x !== "number") return String(x);
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
  const size = Math.abs(x);
  const text = size !== 0 && size < 1e-4 ? x.toExponential() : String(x);
  return text.replace(/e([+-])(\d)$/, "e$10$2");
}
