/** @file Small complex matrices on the host, for results that are compared through what they multiply to. */
import * as torch from "torch-tpu";
import { elementsOf } from "./compare.js";
import type { HostTensor } from "./vectors.js";

/** One matrix, row-major; `im` is all zeros for a real one. */
export interface Matrix {
  readonly rows: number;
  readonly cols: number;
  readonly re: Float64Array;
  readonly im: Float64Array;
}

const blank = (rows: number, cols: number): Matrix => ({
  rows,
  cols,
  re: new Float64Array(rows * cols),
  im: new Float64Array(rows * cols),
});

/** Batches of matrices in the last two dimensions; a vector counts as one row. */
export function matricesOf(t: HostTensor, vectors = false): Matrix[] {
  const shape = vectors ? [...t.shape.slice(0, -1), 1, t.shape.at(-1) ?? 1] : t.shape;
  const [rows, cols] = shape.slice(-2);
  const batch = shape.slice(0, -2).reduce((n, d) => n * d, 1);
  const all = elementsOf(t.bytes, t.dtype);
  return Array.from({ length: batch }, (_, b) => {
    const m = blank(rows, cols);
    for (let i = 0; i < rows * cols; i++) {
      const x = all[b * rows * cols + i];
      m.re[i] = x instanceof torch.Complex ? x.re : Number(x);
      m.im[i] = x instanceof torch.Complex ? x.im : 0;
    }
    return m;
  });
}

/** a · b */
export function multiply(a: Matrix, b: Matrix): Matrix {
  const out = blank(a.rows, b.cols);
  for (let i = 0; i < a.rows; i++)
    for (let j = 0; j < b.cols; j++)
      for (let k = 0; k < a.cols; k++) {
        const [p, q] = [i * a.cols + k, k * b.cols + j];
        out.re[i * b.cols + j] += a.re[p] * b.re[q] - a.im[p] * b.im[q];
        out.im[i * b.cols + j] += a.re[p] * b.im[q] + a.im[p] * b.re[q];
      }
  return out;
}

/** The conjugate transpose. */
export function adjoint(a: Matrix): Matrix {
  const out = blank(a.cols, a.rows);
  for (let i = 0; i < a.rows; i++)
    for (let j = 0; j < a.cols; j++) {
      out.re[j * a.rows + i] = a.re[i * a.cols + j];
      out.im[j * a.rows + i] = -a.im[i * a.cols + j];
    }
  return out;
}

/** The first `count` columns. */
export function columns(a: Matrix, count: number): Matrix {
  const out = blank(a.rows, count);
  for (let i = 0; i < a.rows; i++)
    for (let j = 0; j < count; j++) {
      out.re[i * count + j] = a.re[i * a.cols + j];
      out.im[i * count + j] = a.im[i * a.cols + j];
    }
  return out;
}

/** Columns scaled by the numbers of a one-row matrix. */
export function scaleColumns(a: Matrix, by: Matrix): Matrix {
  const diagonal = blank(by.cols, by.cols);
  for (let j = 0; j < by.cols; j++) {
    diagonal.re[j * by.cols + j] = by.re[j];
    diagonal.im[j * by.cols + j] = by.im[j];
  }
  return multiply(a, diagonal);
}

export function identity(n: number): Matrix {
  const out = blank(n, n);
  for (let i = 0; i < n; i++) out.re[i * n + i] = 1;
  return out;
}

/** The largest distance between elements, beside the largest modulus of `want` (at least 1). */
export function relativeDistance(got: Matrix, want: Matrix): number {
  let worst = 0;
  let scale = 1;
  for (let i = 0; i < want.re.length; i++) {
    const d = Math.hypot(got.re[i] - want.re[i], got.im[i] - want.im[i]);
    worst = Number.isFinite(d) ? Math.max(worst, d) : Infinity;
    scale = Math.max(scale, Math.hypot(want.re[i], want.im[i]));
  }
  return worst / scale;
}

/** For each column of `got`, the unit number that turns the column of `want` nearest to it into it. */
export function columnPhases(got: Matrix, want: Matrix): { re: number; im: number }[] {
  return Array.from({ length: want.cols }, (_, j) => {
    let re = 0;
    let im = 0;
    for (let i = 0; i < want.rows; i++) {
      const k = i * want.cols + j;
      re += want.re[k] * got.re[k] + want.im[k] * got.im[k];
      im += want.re[k] * got.im[k] - want.im[k] * got.re[k];
    }
    const size = Math.hypot(re, im);
    return size === 0 ? { re: 1, im: 0 } : { re: re / size, im: im / size };
  });
}
