/** @file Python's brackets: `x.at("1:3", "...", -1)` and `x.set_at(["1:3"], value)`. */
import { torchFunctions } from "../ops/torch_ref.js";
import { int64, isScalar, TorchIndexError, TorchTypeError, type Scalar } from "../schema/index.js";
import { isTensor, type Tensor } from "../tensor/index.js";
import { tensor } from "./factories.js";

/** Python's `slice(start, stop, step)`. */
export class Slice {
  constructor(
    readonly start: number | null = null,
    readonly stop: number | null = null,
    readonly step: number | null = null,
  ) {}
}

/**
 * One item between brackets: a number; `"1:3"`, `":"`, `"::2"` or a Slice; `"..."`; `null` for a new dimension;
 * a boolean; a tensor or an array of indices or of booleans. A string may hold several items: `"1:3, -1"`.
 */
export type Index =
  number | bigint | string | null | boolean | Slice | Tensor | readonly (number | boolean)[] | readonly Index[];

type Item = number | Slice | "..." | null | boolean | Tensor;

function parseText(text: string): Item[] {
  return text.split(",").map((part) => {
    const item = part.trim();
    if (item === "..." || item === "None") return item === "..." ? "..." : null;
    if (item === "True" || item === "False") return item === "True";
    if (/^-?\d+$/.test(item)) return Number(item);
    if (!/^(-?\d*):(-?\d*)(:(-?\d*))?$/.test(item))
      throw new TorchIndexError(`at(): expected an index like "1:3", "...", "-1" or "None", got "${item}"`);
    const [start, stop, step] = item.split(":").map((n) => (n === "" ? null : Number(n)));
    return new Slice(start, stop ?? null, step ?? null);
  });
}

function itemsOf(index: readonly Index[], self: Tensor): Item[] {
  return index.flatMap((i): Item[] => {
    if (typeof i === "string") return parseText(i);
    if (typeof i === "bigint") return [Number(i)];
    if (Array.isArray(i))
      return [
        tensor(i as number[], { device: self.device, ...((i as unknown[]).length === 0 ? { dtype: int64 } : {}) }),
      ];
    if (i === null || typeof i === "number" || typeof i === "boolean" || i instanceof Slice || isTensor(i)) return [i];
    throw new TorchTypeError(
      `only integers, slices (\`:\`), ellipsis (\`...\`), None and long or byte Variables are valid indices (got ${typeof i})`,
    );
  });
}

/** Dimensions of the tensor that an item uses up. */
const consumes = (item: Item): number =>
  item === null || item === "..." || typeof item === "boolean"
    ? 0
    : isTensor(item) && (item.dtype.name === "bool" || item.dtype.name === "uint8")
      ? item.ndim
      : 1;

/** Applies the items that make views. What remains are index tensors, by dimension; null where there is none. */
function applyViews(self: Tensor, index: readonly Index[]): { view: Tensor; indices: (Tensor | null)[] } {
  const t = torchFunctions();
  const items = itemsOf(index, self);
  const used = items.reduce((n: number, i) => n + consumes(i), 0);
  if (used > self.ndim)
    throw new TorchIndexError(
      self.ndim === 0
        ? "invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number"
        : `too many indices for tensor of dimension ${self.ndim}`,
    );
  if (items.filter((i) => i === "...").length > 1)
    throw new TorchIndexError("an index can only have a single ellipsis ('...')");
  let view = self;
  let dim = 0;
  const indices: (Tensor | null)[] = [];
  for (const item of items) {
    if (item === "...") dim += self.ndim - used;
    else if (item === null) view = t.unsqueeze(view, dim++);
    else if (typeof item === "boolean") {
      view = t.unsqueeze(view, dim);
      indices[dim++] = tensor([item], { device: self.device });
    } else if (typeof item === "number") {
      const size = view.shape[dim];
      if (item < -size || item >= size)
        throw new TorchIndexError(`index ${item} is out of bounds for dimension ${dim} with size ${size}`);
      view = t.select(view, dim, item);
    } else if (item instanceof Slice) {
      if ((item.step ?? 1) <= 0) throw new TorchIndexError("step must be greater than zero");
      view = t.slice(view, dim++, item.start, item.stop, item.step ?? 1);
    } else {
      indices[dim] = item.device === self.device ? item : item.to(self.device);
      dim += item.dtype.name === "bool" || item.dtype.name === "uint8" ? item.ndim : 1;
    }
  }
  const last = indices.length;
  const full = Array.from({ length: last }, (_, i) => indices[i] ?? null);
  return { view, indices: withoutCovered(full) };
}

/** A mask of several dimensions stands alone for all of them. */
function withoutCovered(indices: (Tensor | null)[]): (Tensor | null)[] {
  const out: (Tensor | null)[] = [];
  for (let i = 0; i < indices.length; i++) {
    const index = indices[i];
    out.push(index);
    if (index !== null && (index.dtype.name === "bool" || index.dtype.name === "uint8") && index.ndim > 1)
      i += index.ndim - 1;
  }
  return out;
}

/** `self[index]`: a view for numbers and slices, a copy for index tensors and masks. */
export function getItem(self: Tensor, index: readonly Index[]): Tensor {
  const { view, indices } = applyViews(self, index);
  const t = torchFunctions();
  if (indices.some((i) => i !== null)) return t.index(view, indices);
  return view === self ? t.alias(self) : view;
}

/** `self[index] = value`. */
export function setItem(self: Tensor, index: readonly Index[], value: Tensor | Scalar): void {
  const { view, indices } = applyViews(self, index);
  const source = isScalar(value) ? tensor(value, { device: self.device, dtype: self.dtype }) : value;
  if (indices.some((i) => i !== null)) view.index_put_(indices, source.to(self.device));
  else view.copy_(trimmed(source, view.ndim));
}

/** Leading dimensions of size one that a value may have beyond the target's. */
function trimmed(value: Tensor, rank: number): Tensor {
  let out = value;
  while (out.ndim > rank && out.shape[0] === 1) out = torchFunctions().squeeze(out, 0);
  return out;
}
