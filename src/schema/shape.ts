/** @file Shape arithmetic that operators share, with PyTorch's messages. */
import { TorchError, TorchIndexError } from "./errors.js";

/** `dim` counted from the front; throws IndexError when a tensor of this rank has no such dimension. */
export function wrapDim(dim: number, rank: number): number {
  const n = Math.max(1, rank);
  if (!Number.isInteger(dim) || dim < -n || dim >= n) {
    throw new TorchIndexError(`Dimension out of range (expected to be in range of [${-n}, ${n - 1}], but got ${dim})`);
  }
  return dim < 0 ? dim + n : dim;
}

/** Every dimension of the list counted from the front, each at most once. `null` or an empty list: all of them. */
export function wrapDims(
  dims: readonly number[] | number | null | undefined,
  rank: number,
  emptyIsAll = true,
): number[] {
  if (typeof dims === "number") dims = [dims];
  if (dims === null || dims === undefined || (dims.length === 0 && emptyIsAll))
    return Array.from({ length: rank }, (_, i) => i);
  const seen = new Set<number>();
  const out: number[] = [];
  for (const d of dims) {
    const w = wrapDim(d, rank);
    if (seen.has(w)) throw new TorchError(`dim ${w} appears multiple times in the list of dims`);
    seen.add(w);
    if (rank > 0) out.push(w);
  }
  return out;
}

/** The shape that all shapes broadcast to. */
export function broadcastShapes(...shapes: readonly (readonly number[])[]): number[] {
  const rank = Math.max(0, ...shapes.map((s) => s.length));
  const out = new Array<number>(rank).fill(1);
  for (const s of shapes) {
    for (let i = 1; i <= s.length; i++) {
      const size = s[s.length - i];
      const have = out[rank - i];
      if (size === 1 || size === have) continue;
      if (have !== 1) {
        throw new TorchError(
          `The size of tensor a (${have}) must match the size of tensor b (${size}) at non-singleton dimension ${rank - i}`,
        );
      }
      out[rank - i] = size;
    }
  }
  return out;
}

export const numelOf = (shape: readonly number[]): number => shape.reduce((n, d) => n * d, 1);

/** Replaces one -1 by what `numel` leaves for it. */
export function inferSize(shape: readonly number[], numel: number): number[] {
  const unknown = shape.indexOf(-1);
  const known = shape.reduce((n, d) => (d === -1 ? n : n * d), 1);
  if (shape.some((d, i) => d < -1 || (d === -1 && i !== unknown))) {
    throw new TorchError(
      shape.some((d) => d < -1)
        ? `invalid shape dimension ${shape.find((d) => d < -1)}`
        : "only one dimension can be inferred",
    );
  }
  const bad = (): never => {
    throw new TorchError(`shape '[${shape.join(", ")}]' is invalid for input of size ${numel}`);
  };
  if (unknown < 0) return known === numel ? [...shape] : bad();
  if (known === 0) {
    if (numel !== 0) bad();
    throw new TorchError(
      `cannot reshape tensor of 0 elements into shape [${shape.join(", ")}] because the unspecified dimension size -1 can be any value and is ambiguous`,
    );
  }
  if (numel % known !== 0) bad();
  return shape.map((d) => (d === -1 ? numel / known : d));
}

/** `[2, 3]`, as PyTorch prints sizes. */
export const sizeText = (shape: readonly number[]): string => `[${shape.join(", ")}]`;
