/** @file L-BFGS: a quasi-Newton method that evaluates the loss several times a step. */
import { functional } from "../api/index.js";
import { enable_grad, ModeGuard } from "../autograd/index.js";
import { TorchError, TorchTypeError, TorchValueError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { byName, type Ordered } from "./arguments.js";
import { asReal } from "./eager.js";
import { strongWolfe } from "./line_search.js";
import { Optimizer, type Params } from "./optimizer.js";
import { checkCommon, numberOf, real, type LearningRate } from "./values.js";

export interface LBFGSOptions {
  /** Factor of each step. Default 1. */
  lr?: LearningRate;
  /** Iterations of one step. Default 20. */
  max_iter?: number;
  /** Evaluations of one step; default, a quarter more than iterations. */
  max_eval?: number | null;
  /** Ends when no gradient is larger. Default 1e-7. */
  tolerance_grad?: number;
  /** Ends when neither loss nor parameters change more. Default 1e-9. */
  tolerance_change?: number;
  /** How many steps the approximation of the curvature remembers. Default 100. */
  history_size?: number;
  line_search_fn?: "strong_wolfe" | null;
}

const order = [
  "lr",
  "max_iter",
  "max_eval",
  "tolerance_grad",
  "tolerance_change",
  "history_size",
  "line_search_fn",
] as const;

interface State {
  func_evals: number;
  n_iter: number;
  d?: Tensor;
  t?: number;
  old_dirs?: Tensor[];
  old_stps?: Tensor[];
  ro?: number[];
  H_diag?: number;
  prev_flat_grad?: Tensor;
  prev_loss?: number;
}

const dot = (a: Tensor, b: Tensor): number => Number(a.dot(b).item());
const largest = (x: Tensor): number => Number(x.abs().max().item());

/**
 * L-BFGS (Nocedal 1980). `step` needs a closure that clears the gradients, computes the loss and its gradients, and
 * returns the loss. One group of parameters, all on one device.
 * @example
 * optimizer.step(() => {
 *   optimizer.zero_grad();
 *   const loss = criterion(model(x), y);
 *   loss.backward();
 *   return loss;
 * });
 * @see https://docs.pytorch.org/docs/stable/generated/torch.optim.LBFGS.html
 */
export class LBFGS extends Optimizer {
  constructor(params: Params, ...args: Ordered<LBFGSOptions, typeof order>) {
    const options = byName<LBFGSOptions>("LBFGS", order, args, {
      lr: 1,
      max_iter: 20,
      max_eval: null,
      tolerance_grad: 1e-7,
      tolerance_change: 1e-9,
      history_size: 100,
      line_search_fn: null,
    });
    checkCommon(options);
    super(params, { ...options, max_eval: options.max_eval ?? Math.floor((options.max_iter * 5) / 4) });
    if (this.param_groups.length !== 1)
      throw new TorchValueError("LBFGS doesn't support per-parameter options (parameter groups)");
  }

  private get params(): readonly Tensor[] {
    return this.param_groups[0].params;
  }

  private flatGrad(): Tensor {
    const flat = this.params.map((p) => asReal(p.grad?.detach() ?? functional.zeros_like(p)).reshape(-1));
    return functional.cat(flat, 0);
  }

  private move(by: number, direction: Tensor): void {
    let at = 0;
    for (const p of this.params) {
      const target = asReal(p);
      const part = direction.narrow(0, at, target.numel()).view(target.shape);
      target.add_(part, { alpha: real(by) });
      at += target.numel();
    }
  }

  protected update(): void {
    throw new TorchError("LBFGS.step(): expected a closure");
  }

  protected override run<R>(closure?: () => R): R {
    if (typeof closure !== "function")
      throw new TorchTypeError("LBFGS.step() missing 1 required positional argument: 'closure'");
    using _ = new ModeGuard(false, false);
    const first = enable_grad(closure);
    const evaluate = (): number => numberOf(enable_grad(closure) as LearningRate);
    this.minimize(numberOf(first as LearningRate), evaluate);
    return first;
  }

  private minimize(start: number, evaluate: () => number): void {
    const o = this.param_groups[0] as unknown as Required<LBFGSOptions> & { max_eval: number };
    if (o.line_search_fn !== null && o.line_search_fn !== "strong_wolfe")
      throw new TorchError("only 'strong_wolfe' is supported");
    const rate = numberOf(o.lr);
    const state = this.stateOf<State>(this.params[0], () => ({ func_evals: 0, n_iter: 0 }));
    state.func_evals++;
    let evals = 1;
    let loss = start;
    let grad = this.flatGrad();
    if (largest(grad) <= o.tolerance_grad) return;
    for (let iteration = 1; iteration <= o.max_iter; iteration++) {
      state.n_iter++;
      const d = (state.d = this.direction(state, grad, o.history_size));
      state.prev_flat_grad = grad;
      const before = (state.prev_loss = loss);
      let t = state.n_iter === 1 ? Math.min(1, 1 / Number(grad.abs().sum().item())) * rate : rate;
      state.t = t;
      const slope = dot(grad, d);
      if (slope > -o.tolerance_change) break;
      let used = 0;
      if (o.line_search_fn === "strong_wolfe") {
        const at = this.params.map((p) => functional.clone(p));
        const found = strongWolfe(
          (step) => this.evaluateAt(at, step, d, evaluate),
          { t, loss, grad, slope },
          { direction: d, tolerance_change: o.tolerance_change, max_ls: o.max_eval - evals },
        );
        ({ loss, grad, evals: used } = found);
        state.t = t = found.t;
        this.move(t, d);
      } else {
        this.move(t, d);
        if (iteration !== o.max_iter) {
          loss = evaluate();
          grad = this.flatGrad();
          used = 1;
        }
      }
      evals += used;
      state.func_evals += used;
      const done =
        iteration === o.max_iter ||
        evals >= o.max_eval ||
        largest(grad) <= o.tolerance_grad ||
        largest(d) * Math.abs(t) <= o.tolerance_change ||
        Math.abs(loss - before) < o.tolerance_change;
      if (done) break;
    }
  }

  /** Loss and gradient after a step along `d` from `at`; the parameters return there. */
  private evaluateAt(at: readonly Tensor[], t: number, d: Tensor, evaluate: () => number): [number, Tensor] {
    this.move(t, d);
    const loss = evaluate();
    const grad = this.flatGrad();
    this.params.forEach((p, i) => p.copy_(at[i]));
    return [loss, grad];
  }

  /** The gradient times the remembered approximation of the inverse curvature, downwards. */
  private direction(state: State, grad: Tensor, history: number): Tensor {
    if (state.n_iter === 1) {
      Object.assign(state, { old_dirs: [], old_stps: [], ro: [], H_diag: 1 });
      return grad.neg();
    }
    const dirs = state.old_dirs!;
    const steps = state.old_stps!;
    const ro = state.ro!;
    const y = grad.sub(state.prev_flat_grad!);
    const s = state.d!.mul(real(state.t!));
    const ys = dot(y, s);
    if (ys > 1e-10) {
      if (dirs.length === history) for (const list of [dirs, steps, ro]) list.shift();
      dirs.push(y);
      steps.push(s);
      ro.push(1 / ys);
      state.H_diag = ys / dot(y, y);
    }
    const al: number[] = [];
    const q = grad.neg();
    for (let i = dirs.length - 1; i >= 0; i--) {
      al[i] = dot(steps[i], q) * ro[i];
      q.add_(dirs[i], { alpha: real(-al[i]) });
    }
    const r = q.mul(real(state.H_diag!));
    for (let i = 0; i < dirs.length; i++) r.add_(steps[i], { alpha: real(al[i] - dot(dirs[i], r) * ro[i]) });
    return r;
  }
}
