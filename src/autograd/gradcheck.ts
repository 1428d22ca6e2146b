/** @file gradcheck and gradgradcheck: gradients against finite differences. */
import { torchFunctions } from "../ops/torch_ref.js";
import { float64, TorchError, TorchValueError, complex128 } from "../schema/index.js";
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
  /** Default 1e-5. */
  atol?: number;
  /** Default 1e-3. */
  rtol?: number;
  /** Throw instead of returning false. Default true. */
  raise_exception?: boolean;
  /** How far two backward passes on the same graph may be from each other. Default 0. */
  nondet_tol?: number;
}

type Fn = (...inputs: Tensor[]) => Tensor | readonly Tensor[];

/** Row: a real number of the input; column: one of the output. A complex number counts as two. */
type Jacobian = number[][];

const outputsOf = (x: Tensor | readonly Tensor[]): Tensor[] =>
  (x instanceof Tensor ? [x] : [...x]).filter((t) => t.dtype.is_differentiable);

const realCount = (t: Tensor): number => t.numel() * (t.is_complex() ? 2 : 1);

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
  real.view(-1).select(0, k).add_(by);
  return copy;
}

function numericalJacobian(fn: Fn, inputs: readonly Tensor[], at: number, output: number, eps: number): Jacobian {
  using _ = new ModeGuard(false, false);
  const run = (k: number, by: number): number[] =>
    realParts(outputsOf(fn(...inputs.map((x, i) => (i === at ? moved(x, k, by) : x.detach()))))[output]);
  return Array.from({ length: realCount(inputs[at]) }, (_unused, k) => {
    const up = run(k, eps);
    const down = run(k, -eps);
    return up.map((u, j) => (u - down[j]) / (2 * eps));
  });
}

/** The same through backward: one cotangent for each real number of the output. */
function analyticalJacobian(out: Tensor, input: Tensor): Jacobian {
  const torch = torchFunctions();
  const columns = realCount(out);
  const jacobian = Array.from({ length: realCount(input) }, () => new Array<number>(columns).fill(0));
  for (let j = 0; j < columns; j++) {
    const cotangent = moved(torch.zeros_like(out.detach()), j, 1);
    const [g] = grad(out, input, { grad_outputs: cotangent, retain_graph: true, allow_unused: true });
    if (g === null) continue;
    if (g.dtype !== input.dtype || g.shape.join() !== input.shape.join())
      throw new GradcheckError(
        `grad has another type or shape than its input: expected ${input.spec.aval.toString()}, got ${g.spec.aval.toString()}`,
      );
    realParts(g).forEach((v, k) => (jacobian[k][j] = v));
  }
  return jacobian;
}

function isClose(a: Jacobian, b: Jacobian, atol: number, rtol: number): boolean {
  const close = (x: number, y: number): boolean => x === y || Math.abs(x - y) <= atol + rtol * Math.abs(y);
  return a.every((row, i) => row.every((x, j) => close(x, b[i][j])));
}

const text = (j: Jacobian): string => torchFunctions().stack(j.map(asTensor)).toString();

const asTensor = (row: readonly number[]): Tensor => {
  const torch = torchFunctions();
  const out = torch.zeros([row.length], { dtype: float64 });
  row.forEach((x, i) => out.select(0, i).fill_(x));
  return out;
};

function checkInputs(inputs: readonly Tensor[]): number[] {
  const checked = inputs.flatMap((x, i) => (x instanceof Tensor && x.requires_grad ? [i] : []));
  if (checked.length === 0)
    throw new TorchValueError(
      "gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.",
    );
  for (const i of checked) {
    const { dtype, shape } = inputs[i];
    if (dtype !== float64 && dtype !== complex128)
      process.emitWarning(
        `Input #${i} requires gradient and is not a double precision floating point or complex. This check will likely fail if all the inputs are not of double precision floating point or complex.`,
      );
    if (inputs[i].stride().some((s, d) => s === 0 && shape[d] > 1))
      throw new TorchError(
        `The ${i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous on the input before passing it to gradcheck.`,
      );
  }
  return checked;
}

function check(fn: Fn, inputs: readonly Tensor[], options: GradcheckOptions): void {
  const { eps = 1e-6, atol = 1e-5, rtol = 1e-3, nondet_tol = 0 } = options;
  const checked = checkInputs(inputs);
  const outs = outputsOf(fn(...inputs));
  outs.forEach((out, o) => {
    for (const i of checked) {
      const numerical = numericalJacobian(fn, inputs, i, o, eps);
      if (!out.requires_grad) {
        if (numerical.every((row) => row.every((x) => x === 0))) continue;
        throw new GradcheckError("Numerical gradient for function expected to be zero");
      }
      const analytical = analyticalJacobian(out, inputs[i]);
      if (!isClose(numerical, analytical, atol, rtol))
        throw new GradcheckError(
          `Jacobian mismatch for output ${o} with respect to input ${i},\nnumerical:${text(numerical)}\nanalytical:${text(analytical)}\n`,
        );
      if (!isClose(analytical, analyticalJacobian(out, inputs[i]), nondet_tol, 0))
        throw new GradcheckError(
          "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different values, although analytical gradient matches numerical gradient.",
        );
    }
  });
}

/**
 * Whether the gradients of `fn` at `inputs` agree with finite differences. Inputs that require gradients should be float64
 * or complex128. Throws GradcheckError when they do not agree, or returns false without `raise_exception`.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradcheck.html
 */
export function gradcheck(fn: Fn, inputs: readonly Tensor[], options: GradcheckOptions = {}): boolean {
  try {
    check(fn, inputs, options);
    return true;
  } catch (error) {
    if (options.raise_exception === false && error instanceof GradcheckError) return false;
    throw error;
  }
}

/** The same for the gradients of the gradients. `grad_outputs`: the cotangents of the results; random unless given. */
export function gradgradcheck(
  fn: Fn,
  inputs: readonly Tensor[],
  options: GradcheckOptions & { grad_outputs?: readonly Tensor[] } = {},
): boolean {
  const torch = torchFunctions();
  const outs = outputsOf(fn(...inputs)).filter((o) => o.requires_grad);
  const cotangents = options.grad_outputs ?? outs.map((o) => torch.randn_like(o.detach()).requires_grad_());
  const gradients = (...all: Tensor[]): Tensor[] => {
    // finite differences call without recording, but the gradients need it
    using _ = new ModeGuard(true, false);
    const given = [...inputs, ...cotangents];
    const leaves = all.map((x, i) => (given[i].requires_grad && !x.requires_grad ? x.detach().requires_grad_() : x));
    const xs = leaves.slice(0, inputs.length);
    const results = outputsOf(fn(...xs)).filter((o) => o.requires_grad);
    const wanted = xs.filter((x) => x.requires_grad);
    const grad_outputs = leaves.slice(inputs.length);
    const found = grad(results, wanted, { grad_outputs, create_graph: true, allow_unused: true });
    return found.filter((g): g is Tensor => g !== null);
  };
  return gradcheck(gradients, [...inputs, ...cotangents], options);
}
