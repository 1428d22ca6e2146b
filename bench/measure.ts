/** @file Timing: many short repetitions, the median and the minimum. */

export interface Figure {
  readonly unit: "us" | "ms";
  readonly median: number;
  readonly min: number;
}

export type Figures = Record<string, Figure>;

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

const repetitions = 11;

/** Time of one call of `fn` once it is warm, over `count` calls in each of several repetitions; `settle` waits for the last result. */
export function repeated<T>(
  unit: Figure["unit"],
  count: number,
  fn: () => T,
  settle: (last: T) => unknown = () => undefined,
): Figure {
  for (let i = 0; i < 3 * count; i++) fn();
  const times = Array.from({ length: repetitions }, () => {
    const start = performance.now();
    let last: T = fn();
    for (let i = 1; i < count; i++) last = fn();
    settle(last);
    return ((performance.now() - start) / count) * (unit === "us" ? 1000 : 1);
  });
  return { unit, median: median(times), min: Math.min(...times) };
}
