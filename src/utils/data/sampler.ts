/** @file Samplers: the order in which items are taken. */
import { TorchValueError } from "../../schema/index.js";
import type { Generator } from "../../tensor/index.js";
import { permutation, uniform } from "./random.js";

/** Numbers of items, in order. */
export interface Sampler<T = number> extends Iterable<T> {
  readonly length: number;
}

const checkCount = (name: string, n: number): void => {
  if (!Number.isInteger(n) || n <= 0)
    throw new TorchValueError(`${name} should be a positive integer value, but got ${name}=${n}`);
};

export class SequentialSampler implements Sampler {
  readonly length: number;
  constructor(source: { readonly length: number }) {
    this.length = source.length;
  }
  *[Symbol.iterator](): Iterator<number> {
    for (let i = 0; i < this.length; i++) yield i;
  }
}

export interface RandomSamplerOptions {
  /** Whether an item may come more than once. */
  replacement?: boolean;
  /** How many numbers to draw; default, the length of the data set. */
  num_samples?: number;
  generator?: Generator;
}

export class RandomSampler implements Sampler {
  readonly length: number;
  constructor(
    private readonly source: { readonly length: number },
    private readonly options: RandomSamplerOptions = {},
  ) {
    this.length = options.num_samples ?? source.length;
    checkCount("num_samples", this.length);
  }
  *[Symbol.iterator](): Iterator<number> {
    const { replacement, generator } = this.options;
    const n = this.source.length;
    if (replacement) {
      const next = uniform(generator);
      for (let i = 0; i < this.length; i++) yield Math.floor(next() * n);
      return;
    }
    for (let left = this.length; left > 0; left -= n) yield* permutation(n, generator).slice(0, Math.min(left, n));
  }
}

/** Random order of some items. */
export class SubsetRandomSampler implements Sampler {
  constructor(
    private readonly indices: readonly number[],
    private readonly generator?: Generator,
  ) {}
  get length(): number {
    return this.indices.length;
  }
  *[Symbol.iterator](): Iterator<number> {
    for (const i of permutation(this.indices.length, this.generator)) yield this.indices[i];
  }
}

/** Items drawn by weight. */
export class WeightedRandomSampler implements Sampler {
  constructor(
    private readonly weights: readonly number[],
    private readonly num_samples: number,
    private readonly replacement = true,
    private readonly generator?: Generator,
  ) {
    checkCount("num_samples", num_samples);
    if (weights.some((w) => !(w >= 0))) throw new TorchValueError("weights should be non-negative numbers");
    if (!replacement && num_samples > weights.filter((w) => w > 0).length)
      throw new TorchValueError("num_samples should be at most the number of positive weights without replacement");
  }
  get length(): number {
    return this.num_samples;
  }
  *[Symbol.iterator](): Iterator<number> {
    const next = uniform(this.generator);
    const weights = [...this.weights];
    let total = weights.reduce((a, b) => a + b, 0);
    for (let k = 0; k < this.num_samples; k++) {
      let at = next() * total;
      let i = 0;
      while (i < weights.length - 1 && (at >= weights[i] || weights[i] === 0)) at -= weights[i++];
      yield i;
      if (this.replacement) continue;
      total -= weights[i];
      weights[i] = 0;
    }
  }
}

/** Groups of `batch_size` numbers. */
export class BatchSampler implements Sampler<number[]> {
  constructor(
    private readonly sampler: Sampler | readonly number[],
    private readonly batch_size: number,
    private readonly drop_last: boolean,
  ) {
    checkCount("batch_size", batch_size);
  }
  get length(): number {
    const n = this.sampler.length / this.batch_size;
    return this.drop_last ? Math.floor(n) : Math.ceil(n);
  }
  *[Symbol.iterator](): Iterator<number[]> {
    let batch: number[] = [];
    for (const i of this.sampler) {
      batch.push(i);
      if (batch.length < this.batch_size) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0 && !this.drop_last) yield batch;
  }
}
