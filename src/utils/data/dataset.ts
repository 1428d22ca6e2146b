/** @file Data sets. @see https://docs.pytorch.org/docs/stable/data.html */
import { TorchIndexError, TorchValueError } from "../../schema/index.js";
import type { Tensor } from "../../tensor/index.js";
import type { Generator } from "../../tensor/index.js";
import { permutation } from "./random.js";

/** Items by number. `get` may return a promise. */
export abstract class Dataset<T> {
  abstract get length(): number;
  abstract get(index: number): T | Promise<T>;
}

/** Items one after another. */
export abstract class IterableDataset<T> {
  abstract [Symbol.iterator](): Iterator<T>;
}

/** Rows of tensors of the same length. */
export class TensorDataset<T extends readonly Tensor[] = Tensor[]> extends Dataset<T> {
  readonly tensors: T;
  constructor(...tensors: T) {
    super();
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
    return this.dataset.get(this.indices[index]);
  }
}

/** Several data sets one after another. */
export class ConcatDataset<T> extends Dataset<T> {
  private readonly ends: number[] = [];
  constructor(readonly datasets: readonly Dataset<T>[]) {
    super();
    if (datasets.length === 0) throw new TorchValueError("datasets should not be an empty iterable");
    let end = 0;
    for (const d of datasets) this.ends.push((end += d.length));
  }
  get length(): number {
    return this.ends[this.ends.length - 1];
  }
  get(index: number): T | Promise<T> {
    const at = index < 0 ? index + this.length : index;
    const which = this.ends.findIndex((end) => at < end);
    if (which < 0 || at < 0) throw new TorchIndexError(`get(): expected an index below ${this.length}, got ${index}`);
    return this.datasets[which].get(at - (which === 0 ? 0 : this.ends[which - 1]));
  }
}

/** Splits a data set at random into parts of these lengths, or of these fractions. */
export function random_split<T>(dataset: Dataset<T>, lengths: readonly number[], generator?: Generator): Subset<T>[] {
  const total = lengths.reduce((a, b) => a + b, 0);
  let sizes = lengths;
  if (Math.abs(total - 1) < 1e-9 && lengths.every((n) => n <= 1)) {
    const floors = lengths.map((f) => Math.floor(dataset.length * f));
    let rest = dataset.length - floors.reduce((a, b) => a + b, 0);
    sizes = floors.map((n) => n + (rest-- > 0 ? 1 : 0));
  }
  if (sizes.reduce((a, b) => a + b, 0) !== dataset.length)
    throw new TorchValueError("Sum of input lengths does not equal the length of the input dataset!");
  const order = permutation(dataset.length, generator);
  let at = 0;
  return sizes.map((n) => new Subset(dataset, order.slice(at, (at += n))));
}
