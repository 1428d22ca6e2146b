/** @file Data sets. @see https://docs.pytorch.org/docs/stable/data.html#dataset-types */
import { functional, tensor } from "../../api/index.js";
import { int64, TorchIndexError, TorchTypeError, TorchValueError } from "../../schema/index.js";
import type { Generator, Tensor } from "../../tensor/index.js";
import { permutation } from "./random.js";

/**
 * Items by number. `get` may return a promise.
 * @example
 * class Squares extends Dataset<[number, number]> {
 *   get length(): number { return 100; }
 *   get(i: number): [number, number] { return [i, i * i]; }
 * }
 */
export abstract class Dataset<T> {
  abstract get length(): number;
  abstract get(index: number): T | Promise<T>;
  /** Several items at once, where that is faster than one by one (PyTorch's `__getitems__`). */
  getItems?(indices: readonly number[]): readonly T[] | Promise<readonly T[]>;
  /** A batch as default_collate makes it of these items, where there is a faster way; else undefined. */
  getBatch?(indices: readonly number[]): unknown;
  /** This data set and then another: PyTorch's `a + b`. */
  concat(other: Dataset<T>): ConcatDataset<T> {
    return new ConcatDataset([this, other]);
  }
}

/** What an IterableDataset may have. */
export interface IterableDataset<T> {
  [Symbol.iterator]?(): Iterator<T>;
  [Symbol.asyncIterator]?(): AsyncIterator<T>;
  readonly length?: number;
}

/**
 * Items one after another. A subclass has `[Symbol.iterator]`, or `[Symbol.asyncIterator]`, or both, and where it is known
 * a `length`.
 */
export abstract class IterableDataset<T> {
  /** This data set and then another: PyTorch's `a + b`. */
  concat(other: IterableDataset<T>): ChainDataset<T> {
    return new ChainDataset([this, other]);
  }
}

/** Rows of tensors of the same length. */
export class TensorDataset<T extends readonly Tensor[] = Tensor[]> extends Dataset<T> {
  readonly tensors: T;
  constructor(...tensors: T) {
    super();
    if (tensors.length === 0) throw new TorchValueError("TensorDataset(): expected at least one tensor, got none");
    if (tensors.some((t) => t.size(0) !== tensors[0].size(0)))
      throw new TorchValueError("Size mismatch between tensors");
    this.tensors = tensors;
  }
  get length(): number {
    return this.tensors[0].size(0);
  }
  get(index: number): T {
    return this.tensors.map((t) => t.at(index)) as unknown as T;
  }
  /** The rows at once, one program for each tensor. */
  override getBatch(indices: readonly number[]): unknown {
    if (this.get !== TensorDataset.prototype.get) return undefined; // a subclass changes the items
    const rows = indices.map((i) => wrapped(i, this.length));
    return this.tensors.map((t) => functional.index_select(t, 0, tensor(rows, { dtype: int64, device: t.device })));
  }
}

function wrapped(index: number, length: number): number {
  const at = index < 0 ? index + length : index;
  if (!Number.isInteger(index) || at < 0 || at >= length)
    throw new TorchIndexError(`index ${index} is out of bounds for dimension 0 with size ${length}`);
  return at;
}

type ItemOf<D> = D extends Dataset<infer T> ? T : never;
type Named = Readonly<Record<string, Dataset<unknown>>>;
type Parts = readonly Dataset<unknown>[] | readonly [Named];
type Stacked<D extends Parts> = D extends readonly Dataset<unknown>[]
  ? { [K in keyof D]: ItemOf<D[K]> }
  : { [K in keyof D[0]]: ItemOf<D[0][K]> };

/**
 * Data sets of the same length side by side: an item is an array, or an object, of one item of each.
 * @example
 * new StackDataset(images, texts).get(0); // [image, text]
 * new StackDataset({ images, texts }).get(0); // { images: image, texts: text }
 */
export class StackDataset<D extends Parts> extends Dataset<Stacked<D>> {
  private readonly parts: readonly Dataset<unknown>[];
  private readonly keys: readonly string[] | null;
  constructor(...datasets: D) {
    super();
    const first = datasets[0];
    if (first === undefined) throw new TorchValueError("At least one dataset should be passed");
    this.keys = first instanceof Dataset ? null : Object.keys(first);
    this.parts = first instanceof Dataset ? (datasets as readonly Dataset<unknown>[]) : Object.values(first as Named);
    if (this.parts.length === 0) throw new TorchValueError("At least one dataset should be passed");
    if (this.parts.some((d) => d.length !== this.parts[0].length))
      throw new TorchValueError("Size mismatch between datasets");
  }
  get length(): number {
    return this.parts[0].length;
  }
  get(index: number): Stacked<D> | Promise<Stacked<D>> {
    const items = this.parts.map((d) => d.get(index));
    const together = (of: readonly unknown[]): unknown =>
      this.keys ? Object.fromEntries(this.keys.map((k, i) => [k, of[i]])) : of;
    const isAsync = items.some((i) => i instanceof Promise);
    return (isAsync ? Promise.all(items).then(together) : together(items)) as Stacked<D>;
  }
}

/** Some items of another data set. */
export class Subset<T> extends Dataset<T> {
  constructor(
    readonly dataset: Dataset<T>,
    readonly indices: readonly number[],
  ) {
    super();
  }
  get length(): number {
    return this.indices.length;
  }
  get(index: number): T | Promise<T> {
    return this.dataset.get(this.indices[wrapped(index, this.length)]);
  }
  override getBatch(indices: readonly number[]): unknown {
    if (this.get !== Subset.prototype.get) return undefined; // a subclass changes the items
    return this.dataset.getBatch?.(indices.map((i) => this.indices[wrapped(i, this.length)]));
  }
}

/** Several data sets one after another. */
export class ConcatDataset<T> extends Dataset<T> {
  readonly cumulative_sizes: readonly number[];
  constructor(readonly datasets: readonly Dataset<T>[]) {
    super();
    if (datasets.length === 0) throw new TorchValueError("datasets should not be an empty iterable");
    if (datasets.some((d) => !(d instanceof Dataset)))
      throw new TorchTypeError("ConcatDataset does not support IterableDataset");
    let end = 0;
    this.cumulative_sizes = datasets.map((d) => (end += d.length));
  }
  get length(): number {
    return this.cumulative_sizes[this.cumulative_sizes.length - 1];
  }
  get(index: number): T | Promise<T> {
    if (index < -this.length) throw new TorchValueError("absolute value of index should not exceed dataset length");
    const at = wrapped(index, this.length);
    const which = this.cumulative_sizes.findIndex((end) => at < end);
    return this.datasets[which].get(at - (which === 0 ? 0 : this.cumulative_sizes[which - 1]));
  }
}

/** Several iterable data sets one after another. */
export class ChainDataset<T> extends IterableDataset<T> {
  constructor(readonly datasets: readonly IterableDataset<T>[]) {
    super();
    if (datasets.some((d) => !(d instanceof IterableDataset)))
      throw new TorchTypeError("ChainDataset only supports IterableDataset");
  }
  override get length(): number {
    const lengths = this.datasets.map((d) => d.length);
    if (lengths.includes(undefined))
      throw new TorchTypeError("ChainDataset.length: expected data sets with a length, got one without");
    return (lengths as number[]).reduce((a, b) => a + b, 0);
  }
  override *[Symbol.iterator](): Iterator<T> {
    for (const d of this.datasets) yield* syncItems(d);
  }
  override async *[Symbol.asyncIterator](): AsyncIterator<T> {
    for (const d of this.datasets) yield* asyncItems(d);
  }
}

/** The items of a data set that gives them without promises. Throws TorchTypeError for another. */
export function syncItems<T>(dataset: IterableDataset<T>): Iterable<T> {
  if (!dataset[Symbol.iterator])
    throw new TorchTypeError("DataLoader: expected `for await` for a data set that has only [Symbol.asyncIterator]");
  return dataset as Iterable<T>;
}

/** The items of a data set, with `await` where it has an asynchronous iterator. */
export const asyncItems = <T>(dataset: IterableDataset<T>): AsyncIterable<T> | Iterable<T> =>
  dataset[Symbol.asyncIterator] ? (dataset as AsyncIterable<T>) : syncItems(dataset);

const isClose = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));

/** The sizes that fractions of `total` items give; what is left over goes to the first ones in turn. */
function sizesOf(fractions: readonly number[], total: number): number[] {
  fractions.forEach((f, i) => {
    if (!(f >= 0 && f <= 1)) throw new TorchValueError(`Fraction at index ${i} is not between 0 and 1`);
  });
  const sizes = fractions.map((f) => Math.floor(total * f));
  const left = total - sizes.reduce((a, b) => a + b, 0);
  for (let i = 0; i < left; i++) sizes[i % sizes.length]++;
  return sizes;
}

/**
 * Splits a data set at random into parts of these lengths, or of these fractions, which add up to 1.
 * @example
 * const [train, test] = random_split(dataset, [0.9, 0.1], new torch.Generator().manual_seed(42));
 */
export function random_split<T>(dataset: Dataset<T>, lengths: readonly number[], generator?: Generator): Subset<T>[] {
  const total = lengths.reduce((a, b) => a + b, 0);
  const sizes = isClose(total, 1) && total <= 1 ? sizesOf(lengths, dataset.length) : lengths;
  if (sizes.reduce((a, b) => a + b, 0) !== dataset.length || sizes.some((n) => !Number.isInteger(n) || n < 0))
    throw new TorchValueError("Sum of input lengths does not equal the length of the input dataset!");
  const order = permutation(dataset.length, generator);
  let at = 0;
  return sizes.map((n) => new Subset(dataset, [...order.subarray(at, (at += n))]));
}
