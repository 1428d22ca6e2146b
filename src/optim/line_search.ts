/** @file A line search for the strong Wolfe conditions (Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6). */
import type { Tensor } from "../tensor/index.js";

/** A step along the direction, with the loss, the gradient and the slope there. */
export interface Point {
  readonly t: number;
  readonly loss: number;
  readonly grad: Tensor;
  readonly slope: number;
}

interface Options {
  readonly direction: Tensor;
  readonly tolerance_change: number;
  readonly max_ls: number;
}

/** The minimum of the cubic through two points with their slopes, within bounds. */
export function cubicMinimum(
  a: Omit<Point, "grad">,
  b: Omit<Point, "grad">,
  [low, high]: readonly [number, number] = a.t <= b.t ? [a.t, b.t] : [b.t, a.t],
): number {
  const d1 = a.slope + b.slope - (3 * (a.loss - b.loss)) / (a.t - b.t);
  const square = d1 ** 2 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const d2 = Math.sqrt(square);
  const at =
    a.t <= b.t
      ? b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
      : a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2));
  return Math.min(Math.max(at, low), high);
}

const c1 = 1e-4;
const c2 = 0.9;

/**
 * A step at which the loss is low enough and the slope flat enough. `first.t` is the step to try first; its other values
 * are those at the start. `evaluate` gives loss and gradient at a step. Returns the best point and how many were tried.
 */
export function strongWolfe(
  evaluate: (t: number) => [number, Tensor],
  first: Point,
  { direction, tolerance_change, max_ls }: Options,
): Point & { evals: number } {
  let evals = 0;
  const at = (t: number): Point => {
    const [loss, grad] = evaluate(t);
    evals++;
    return { t, loss, grad, slope: Number(grad.dot(direction).item()) };
  };
  const start: Point = { ...first, t: 0 };
  const tooHigh = (p: Point): boolean => p.loss > start.loss + c1 * p.t * start.slope;
  const flat = (p: Point): boolean => Math.abs(p.slope) <= -c2 * start.slope;

  let before = start;
  let now = at(first.t);
  let bracket: Point[] | null = null;
  let rounds = 0;
  for (; rounds < max_ls; rounds++) {
    if (tooHigh(now) || (rounds > 1 && now.loss >= before.loss)) bracket = [before, now];
    else if (flat(now)) return { ...now, evals };
    else if (now.slope >= 0) bracket = [before, now];
    if (bracket) break;
    const next = cubicMinimum(before, now, [now.t + 0.01 * (now.t - before.t), now.t * 10]);
    before = now;
    now = at(next);
  }
  bracket ??= [start, now];
  return { ...zoom(bracket), evals };

  /** Narrows the bracket until a point in it will do. */
  function zoom([a, b]: readonly Point[]): Point {
    let [low, high] = a.loss <= b.loss ? [a, b] : [b, a];
    let stuck = false;
    const largest = Number(direction.abs().max().item());
    for (; rounds < max_ls; rounds++) {
      if (Math.abs(high.t - low.t) * largest < tolerance_change) break;
      const [left, right] = [Math.min(low.t, high.t), Math.max(low.t, high.t)];
      let t = cubicMinimum(low, high);
      const margin = 0.1 * (right - left);
      if (Math.min(right - t, t - left) < margin) {
        if (stuck || t >= right || t <= left) {
          t = Math.abs(t - right) < Math.abs(t - left) ? right - margin : left + margin;
          stuck = false;
        } else stuck = true;
      } else stuck = false;
      const p = at(t);
      if (tooHigh(p) || p.loss >= low.loss) {
        high = p;
        if (high.loss < low.loss) [low, high] = [high, low];
        continue;
      }
      if (flat(p)) return p;
      if (p.slope * (high.t - low.t) >= 0) high = low;
      low = p;
    }
    return low;
  }
}
