/** @file gradcheck and gradgradcheck: gradients against finite differences. */
import { torchFunctions } from "../ops/torch_ref.js";
import { TorchError, TorchValueError } from "../schema/index.js";
import { Tensor } from "../tensor/index.js";
import { grad } from "./engine.js";
import { ModeGuard } from "./grad_mode.js";

/** Gradients and finite differences disagree. */
export class GradcheckError extends TorchError {
  override name = "GradcheckError";
}

export interface GradcheckOptions {
  /** Step of the finite differences. Default 1e-6. */
  eps?: number;
  atol?: number;
  rtol?: number;
  /** Throw instead of returning false. Default true. */
  raise_exception?: boolean;
}

type Fn = (...inputs: Tensor[]) => Tensor | readonly Tensor[];

const listOf = (x: Tensor | readonly Tensor[]): Tensor[] =>
  (x instanceof Tensor ? [x] : [...x]).filter((t) => t.dtype.is_differentiable);

/** Real numbers of a tensor; a complex one as pairs. */
function realParts(t: Tensor): number[] {
  const torch = torchFunctions();
  const real = t.is_complex() ? torch.view_as_real(t.detach().contiguous()) : t.detach();
  const flat = torch.reshape(real, [-1]).tolist() as number[];
  return flat.map(Number);
}

/** A copy of `t` whose `k`-th real number is moved by `by`. */
function moved(t: Tensor, k: number, by: number): Tensor {
  const torch = torchFunctions();
  const copy = torch.clone(t.detach());
  const real = copy.is_complex() ? torch.view_as_real(copy) : copy;
  const flat = real.view(-1);
  flat.select(0, k).add_(by);
  return copy;
}

/** Rows: real numbers of the input; columns: those of the output. */
function numericalJacobian(fn: Fn, inputs: readonly Tensor[], at: number, output: number, eps: number): number[][] {
  using _ = new ModeGuard(false, false);
  const count = inputs[at].numel() * (inputs[at].is_complex() ? 2 : 1);
  const run = (k: number, by: number): number[] =>
    realParts(listOf(fn(...inputs.map((x, i) => (i === at ? moved(x, k, by) : x.detach()))))[output]);
  return Array.from({ length: count }, (_unused, k) => {
    const up = run(k, eps);
    const down = run(k, -eps);
    return up.map((u, j) => (u - down[j]) / (2 * eps));
  });
}

/** The same through backward: one cotangent for each real number of the output. */
function analyticalJacobian(out: Tensor, input: Tensor): number[][] {
  const torch = torchFunctions();
  const columns = out.numel() * (out.is_complex() ? 2 : 1);
  const rows = input.numel() * (input.is_complex() ? 2 : 1);
  const jacobian = Array.from({ length: rows }, () => new Array<number>(columns).fill(0));
  for (let j = 0; j < columns; j++) {
    const [g] = grad(out, input, {
      grad_outputs: moved(torch.zeros_like(out.detach()), j, 1),
      retain_graph: true,
      allow_unused: true,
    });
    if (g) realParts(g).forEach((v, k) => (jacobian[k][j] = v));
  }
  return jacobian;
}

function firstDifference(a: readonly number[][], b: readonly number[][], atol: number, rtol: number): string | null {
  for (let i = 0; i < a.length; i++) {
    for (let j = 0; j < a[i].length; j++) {
      if (!(Math.abs(a[i][j] - b[i][j]) <= atol + rtol * Math.abs(b[i][j])))
        return `at [${i}, ${j}]: numerical ${a[i][j]}, analytical ${b[i][j]}`;
    }
  }
  return null;
}

/** Whether the gradients of `fn` at `inputs` (float64 or complex128 that require gradients) agree with finite differences. */
export function gradcheck(fn: Fn, inputs: readonly Tensor[], options: GradcheckOptions = {}): boolean {
  const { eps = 1e-6, atol = 1e-5, rtol = 1e-3, raise_exception = true } = options;
  const checked = inputs.flatMap((x, i) => (x.requires_grad ? [i] : []));
  if (checked.length === 0)
    throw new TorchValueError(
      "gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.",
    );
  const outs = listOf(fn(...inputs));
  for (let o = 0; o < outs.length; o++) {
    if (!outs[o].requires_grad) continue;
    for (const i of checked) {
      const numerical = numericalJacobian(fn, inputs, i, o, eps);
      const difference = firstDifference(numerical, analyticalJacobian(outs[o], inputs[i]), atol, rtol);
      if (difference === null) continue;
      if (!raise_exception) return false;
      throw new GradcheckError(`Jacobian mismatch for output ${o} with respect to input ${i}, ${difference}`);
    }
  }
  return true;
}

/** The same for the gradients of the gradients. */
export function gradgradcheck(fn: Fn, inputs: readonly Tensor[], options: GradcheckOptions = {}): boolean {
  const torch = torchFunctions();
  const outs = listOf(fn(...inputs));
  const cotangents = outs.map((o) => {
    const ones = torch.add(torch.randn_like(o.detach()), 1);
    return ones.requires_grad_();
  });
  const first = (...all: Tensor[]): Tensor[] => {
    const xs = all.slice(0, inputs.length);
    const results = listOf(fn(...xs));
    const wanted = xs.filter((x) => x.requires_grad);
    const found = grad(results, wanted, {
      grad_outputs: all.slice(inputs.length),
      create_graph: true,
      allow_unused: true,
    });
    return found.filter((g): g is Tensor => g !== null);
  };
  // finite differences call `first` without recording: it needs leaves of its own
  const recorded = (...all: Tensor[]): Tensor[] => {
    using _ = new ModeGuard(true, false);
    const leaves = all.map((x, i) =>
      (inputs[i] ?? cotangents[i - inputs.length]).requires_grad && !x.requires_grad ? x.detach().requires_grad_() : x,
    );
    return first(...leaves);
  };
  return gradcheck(recorded, [...inputs, ...cotangents], options);
}
