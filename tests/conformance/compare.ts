/** @file Whether a result is what PyTorch recorded. */
import * as torch from "torch-tpu";
import type { Tensor } from "torch-tpu";
import { tolerances } from "./tolerances.js";

interface Tolerance {
  readonly atol: number;
  readonly rtol: number;
}

const byDtype: Record<string, Tolerance> = {
  float32: { atol: 1e-5, rtol: 1.3e-5 },
  complex64: { atol: 1e-5, rtol: 1.3e-5 },
  float64: { atol: 1e-7, rtol: 1e-7 },
  complex128: { atol: 1e-7, rtol: 1e-7 },
  bfloat16: { atol: 1.6e-2, rtol: 1.6e-2 },
  float16: { atol: 1.6e-2, rtol: 1.6e-2 },
};
const exact: Tolerance = { atol: 0, rtol: 0 };

/** Real numbers of a tensor, complex ones as pairs. */
function numbers(t: Tensor): (number | bigint)[] {
  const dense = t.is_complex() ? torch.view_as_real(t.contiguous()) : t;
  const flat = (x: unknown): (number | bigint)[] =>
    Array.isArray(x) ? x.flatMap(flat) : [typeof x === "boolean" ? Number(x) : (x as number | bigint)];
  return flat(dense.reshape(-1).tolist());
}

function agree(got: number | bigint, want: number | bigint, { atol, rtol }: Tolerance): boolean {
  if (typeof got === "bigint" || typeof want === "bigint") return BigInt(got) === BigInt(want);
  if (Number.isNaN(want)) return Number.isNaN(got);
  if (got === want) return want !== 0 || Object.is(got, want) || rtol > 0;
  return Math.abs(got - want) <= atol + rtol * Math.abs(want);
}

/** Why `got` is not `want`; null when it is. */
export function differenceOfTensors(op: string, got: Tensor, want: Tensor): string | null {
  if (got.dtype !== want.dtype) return `dtype: got ${got.dtype.name}, want ${want.dtype.name}`;
  if (got.shape.join() !== want.shape.join())
    return `shape: got [${got.shape.join(", ")}], want [${want.shape.join(", ")}]`;
  if (want.numel() === 0) return null;
  const listed = tolerances[op]?.[want.dtype.name];
  const tolerance = listed ?? byDtype[want.dtype.name] ?? exact;
  const [a, b] = [numbers(got.detach()), numbers(want)];
  const bad = b.flatMap((w, i) => (agree(a[i], w, tolerance) ? [] : [i]));
  return bad.length === 0
    ? null
    : `${bad.length} of ${b.length} differ, at ${bad[0]}: got ${a[bad[0]]}, want ${b[bad[0]]}`;
}

/** Why a result, of any structure, is not the recorded one; null when it is. */
export function difference(op: string, got: unknown, want: unknown): string | null {
  if (want instanceof torch.Tensor) {
    if (!(got instanceof torch.Tensor)) return `got ${typeof got}, want a tensor`;
    return differenceOfTensors(op, got, want);
  }
  if (Array.isArray(want)) {
    if (!Array.isArray(got)) return `got ${typeof got}, want ${want.length} results`;
    if (got.length !== want.length) return `got ${got.length} results, want ${want.length}`;
    for (let i = 0; i < want.length; i++) {
      const d = difference(op, got[i], want[i]);
      if (d) return `result ${i}: ${d}`;
    }
    return null;
  }
  if (want === null) return got === null || got === undefined ? null : `got ${String(got)}, want none`;
  if (want instanceof torch.Complex)
    return got instanceof torch.Complex &&
      agree(got.re, want.re, byDtype.float32) &&
      agree(got.im, want.im, byDtype.float32)
      ? null
      : `got ${String(got)}, want ${want.toString()}`;
  if (typeof want === "number" || want instanceof torch.FloatScalar)
    return typeof got === "number" && agree(got, Number(want), byDtype.float32)
      ? null
      : `got ${String(got)}, want ${Number(want)}`;
  return got === want || String(got) === String(want) ? null : `got ${String(got)}, want ${String(want)}`;
}

/** Why a gradient is not the recorded one. No gradient and a gradient of zeros say the same. */
export function differenceOfGradients(op: string, got: Tensor | null, want: Tensor | null): string | null {
  const isZero = (t: Tensor): boolean => numbers(t.detach()).every((n) => Number(n) === 0);
  if (want === null) return got === null || isZero(got) ? null : "got a gradient, want none";
  if (got === null) return isZero(want) ? null : "got no gradient, want one";
  return differenceOfTensors(op, got, want);
}
