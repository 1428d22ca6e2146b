/** @file Whether a result is what PyTorch recorded. */
import * as torch from "torch-tpu";
import type { DType, Tensor } from "torch-tpu";
import { readElement, typedView } from "../../src/tensor/index.js";
import { toleranceFor, type Tolerance } from "./tolerances.js";
import { HostTensor } from "./vectors.js";

export type Element = ReturnType<typeof readElement>;

/** Elements of row-major bytes. */
export function elementsOf(bytes: Uint8Array, dtype: DType): Element[] {
  const view = typedView(bytes, dtype) as unknown as number[];
  const count = bytes.byteLength / dtype.itemsize;
  return Array.from({ length: count }, (_, i) => readElement(view, i, dtype));
}

/** Copies a tensor to the host. */
export const onHost = (t: Tensor): HostTensor => new HostTensor(t.dtype, t.shape, t.detach().toBytes());

const isZero = (x: number): boolean => x === 0;

function realsAgree(got: number, want: number, { atol, rtol }: Tolerance): boolean {
  if (Number.isNaN(want)) return Number.isNaN(got);
  if (isZero(got) && isZero(want)) return Object.is(got, want);
  if (got === want) return true;
  return Number.isFinite(want) && Math.abs(got - want) <= atol + rtol * Math.abs(want);
}

/** Complex numbers are close when their distance is small beside the modulus; infinities and NaN are where they were. */
function complexAgree(got: torch.Complex, want: torch.Complex, tolerance: Tolerance): boolean {
  const loose = { re: got.re || 0, im: got.im || 0 };
  if ([got.re, got.im, want.re, want.im].every(Number.isFinite)) {
    const distance = Math.hypot(loose.re - want.re, loose.im - want.im);
    return distance <= tolerance.atol + tolerance.rtol * Math.hypot(want.re, want.im);
  }
  return partAgrees(got.re, want.re, tolerance) && partAgrees(got.im, want.im, tolerance);
}

const partAgrees = (got: number, want: number, tolerance: Tolerance): boolean =>
  (isZero(got) && isZero(want)) || realsAgree(got, want, tolerance);

/** Whether two numbers agree. Zeros of real numbers agree in their sign. */
export function agree(got: Element, want: Element, tolerance: Tolerance): boolean {
  if (want instanceof torch.Complex) return got instanceof torch.Complex && complexAgree(got, want, tolerance);
  if (got instanceof torch.Complex) return false;
  if (typeof got === "bigint" || typeof want === "bigint") return BigInt(got) === BigInt(want);
  return realsAgree(Number(got), Number(want), tolerance);
}

const text = (x: Element): string => (Object.is(x, -0) ? "-0" : String(x));

/** Why elements are not those wanted; null when they are. */
export function differenceOfElements(
  got: readonly Element[],
  want: readonly Element[],
  tolerance: Tolerance,
): string | null {
  let first = -1;
  let count = 0;
  for (let i = 0; i < want.length; i++) {
    if (agree(got[i], want[i], tolerance)) continue;
    if (count++ === 0) first = i;
  }
  if (count === 0) return null;
  return `${count} of ${want.length} differ, at ${first}: got ${text(got[first])}, want ${text(want[first])}`;
}

/** Why dtype or shape are not those wanted; null when they are. */
export function differenceOfType(got: Tensor | HostTensor, want: HostTensor): string | null {
  if (got.dtype !== want.dtype) return `dtype: got ${got.dtype.name}, want ${want.dtype.name}`;
  if (got.shape.join() !== want.shape.join())
    return `shape: got [${got.shape.join(", ")}], want [${want.shape.join(", ")}]`;
  return null;
}

function differenceOfTensors(op: string, got: Tensor, want: HostTensor, isGradient = false): string | null {
  const type = differenceOfType(got, want);
  if (type || want.bytes.length === 0) return type;
  const tolerance = toleranceFor(op, want.dtype, isGradient);
  const unsigned = (x: Element): Element => (x === 0 ? 0 : x);
  const [a, b] = [onHost(got), want].map(({ bytes, dtype }) => {
    const all = elementsOf(bytes, dtype);
    return isGradient ? all.map(unsigned) : all;
  });
  return differenceOfElements(a, b, tolerance);
}

/** Why a result, of any structure, is not the recorded one; null when it is. */
export function difference(op: string, got: unknown, want: unknown): string | null {
  if (want instanceof HostTensor) {
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
  if (typeof want === "number" || want instanceof torch.FloatScalar || want instanceof torch.Complex)
    return differenceOfNumbers(op, got, want instanceof torch.FloatScalar ? want.value : want);
  return String(got) === String(want) ? null : `got ${String(got)}, want ${String(want)}`;
}

function differenceOfNumbers(op: string, got: unknown, want: number | torch.Complex): string | null {
  const isNumber = typeof got === "number" || got instanceof torch.Complex;
  const tolerance = toleranceFor(op, want instanceof torch.Complex ? torch.complex64 : torch.float32);
  return isNumber && agree(got, want, tolerance) ? null : `got ${String(got)}, want ${String(want)}`;
}

/**
 * Why a gradient is not the recorded one: none where PyTorch gives none, else the values. Signs of zeros are not compared:
 * they follow the order of additions.
 */
export function differenceOfGradients(op: string, got: Tensor | null, want: HostTensor | null): string | null {
  if (want === null) return got === null ? null : "got a gradient, want none";
  return got === null ? "got no gradient, want one" : differenceOfTensors(op, got, want, true);
}
