/** @file torch.nn.utils: gradient clipping, and parameters as one vector. */
import { no_grad } from "../autograd/index.js";
import { tensor } from "../api/index.js";
import { TorchError, TorchTypeError } from "../schema/index.js";
import { Tensor } from "../tensor/index.js";
import { t } from "./aten.js";
import { typeText } from "./members.js";
import { floatText } from "./printing.js";

/** One tensor or several, as from `model.parameters()`. */
export type Tensors = Tensor | Iterable<Tensor>;

const listOf = (tensors: Tensors): Tensor[] => (tensors instanceof Tensor ? [tensors] : [...tensors]);

export interface NormOptions {
  /** The p of the norm; Infinity for the largest element. Default 2. */
  norm_type?: number;
  /** Whether a norm that is infinite or NaN is an error; reading it waits for the device. */
  error_if_nonfinite?: boolean;
  /** Accepted for ported code; there is one implementation. */
  foreach?: boolean | null;
}

/** The arguments after the tensors: in PyTorch's order, or by name. */
type NormArgs = [
  norm_type?: number | NormOptions,
  error_if_nonfinite?: boolean | NormOptions,
  foreach?: boolean | null,
];

function normOptions([norm_type, error_if_nonfinite]: NormArgs): { p: number; strict: boolean } {
  const named = {
    ...(typeof norm_type === "object" ? norm_type : {}),
    ...(typeof error_if_nonfinite === "object" ? error_if_nonfinite : {}),
  };
  return {
    p: typeof norm_type === "number" ? norm_type : (named.norm_type ?? 2),
    strict: typeof error_if_nonfinite === "boolean" ? error_if_nonfinite : (named.error_if_nonfinite ?? false),
  };
}

/** The norm of all tensors together, as if they were one vector. */
export function get_total_norm(tensors: Tensors, ...args: NormArgs): Tensor {
  const { p, strict } = normOptions(args);
  const list = listOf(tensors);
  if (list.length === 0) return tensor(0, { dtype: t.empty([0]).dtype });
  return no_grad(() => {
    const norms = list.map((x) => t.linalg_vector_norm(x.detach(), p).to(list[0].device));
    const total = t.linalg_vector_norm(t.stack(norms), p);
    if (strict && !t.isfinite(total).item())
      throw new TorchError(
        `The total norm of order ${floatText(p)} for gradients from \`parameters\` is non-finite, so it cannot be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set \`error_if_nonfinite=False\``,
      );
    return total;
  });
}

const gradsOf = (parameters: readonly Tensor[]): Tensor[] =>
  parameters.map((p) => p.grad).filter((g): g is Tensor => g !== null);

/** Scales the gradients down, in place, such that their total norm is at most max_norm. */
export function clip_grads_with_norm_(parameters: Tensors, max_norm: number, total_norm: Tensor): void {
  const grads = gradsOf(listOf(parameters));
  if (grads.length === 0) return;
  no_grad(() => {
    const factor = t.clamp_max(t.mul(t.reciprocal(total_norm.add(1e-6)), max_norm), 1);
    const factors = new Map(grads.map((g) => [g.device, factor.to(g.device)] as const));
    for (const g of grads) g.mul_(factors.get(g.device)!);
  });
}

/**
 * Clips the norm of the gradients of all parameters together, in place. Returns the norm before.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
 */
export function clip_grad_norm_(parameters: Tensors, max_norm: number, ...args: NormArgs): Tensor {
  const list = listOf(parameters);
  const total = get_total_norm(gradsOf(list), ...args);
  clip_grads_with_norm_(list, max_norm, total);
  return total;
}

/** Clips every element of the gradients to [-clip_value, clip_value], in place. */
export function clip_grad_value_(parameters: Tensors, clip_value: number, _foreach: boolean | null = null): void {
  no_grad(() => {
    for (const g of gradsOf(listOf(parameters))) g.clamp_(-clip_value, clip_value);
  });
}

function checkDevices(parameters: readonly Tensor[]): void {
  if (parameters.some((p) => p.device !== parameters[0].device))
    throw new TorchTypeError("Found two parameters on different devices, this is currently not supported.");
}

/** All elements of the parameters in one vector. */
export function parameters_to_vector(parameters: Iterable<Tensor>): Tensor {
  const list = [...parameters];
  checkDevices(list);
  return t.cat(list.map((p) => p.reshape(-1)));
}

/** Replaces the parameters' data by slices of the vector. */
export function vector_to_parameters(vec: Tensor, parameters: Iterable<Tensor>): void {
  if (!(vec instanceof Tensor)) throw new TorchTypeError(`expected torch.Tensor, but got: ${typeText(vec)}`);
  const list = [...parameters];
  checkDevices(list);
  let at = 0;
  for (const p of list) {
    const n = p.numel();
    p.data = vec.detach().narrow(0, at, n).view(p.shape);
    at += n;
  }
}
