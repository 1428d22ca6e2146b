/** @file Samplers: the order in which items are taken. @see https://docs.pytorch.org/docs/stable/data.html#data-loading-order-and-sampler */
import { TorchTypeError, TorchValueError } from "../../schema/index.js";
import { Tensor, type Generator } from "../../tensor/index.js";
import { permutation, uniform } from "./random.js";

/** Numbers of items, or of batches of items, in the order of one pass. */
export abstract class Sampler<T = number> implements Iterable<T> {
  /** How many numbers a pass gives. */
  abstract readonly length: number;
  abstract [Symbol.iterator](): Iterator<T>;
}

/** Anything that has a length. */
export interface Sized {
  readonly length: number;
}

function checkCount(name: string, n: number): void {
  if (!Number.isInteger(n) || n <= 0)
    throw new TorchValueError(`${name} should be a positive integer value, but got ${name}=${n}`);
}

function checkFlag(name: string, value: unknown): void {
  if (typeof value !== "boolean")
    throw new TorchTypeError(`${name} should be a boolean value, but got ${name}=${String(value)}`);
}

/** 0, 1, 2, … */
export class SequentialSampler extends Sampler {
  constructor(readonly data_source: Sized) {
    super();
  }
  get length(): number {
    return this.data_source.length;
  }
  *[Symbol.iterator](): Iterator<number> {
    for (let i = 0; i < this.length; i++) yield i;
  }
}

export interface RandomSamplerOptions {
  /** Whether an item may come more than once. */
  replacement?: boolean;
  /** How many numbers to draw; default, the length of the data set. More than that begin further passes. */
  num_samples?: number | null;
  /** Default: the CPU's. */
  generator?: Generator | null;
}

/**
 * A new random order in every pass.
 * @example
 * const generator = new torch.Generator().manual_seed(0);
 * const order = [...new RandomSampler(dataset, { generator })];
 */
export class RandomSampler extends Sampler {
  readonly replacement: boolean;
  private readonly count: number | null;
  private readonly generator: Generator | undefined;
  constructor(
    readonly data_source: Sized,
    options: RandomSamplerOptions = {},
  ) {
    super();
    this.replacement = options.replacement ?? false;
    this.count = options.num_samples ?? null;
    this.generator = options.generator ?? undefined;
    checkFlag("replacement", this.replacement);
    checkCount("num_samples", this.length);
  }
  get num_samples(): number {
    return this.count ?? this.data_source.length;
  }
  get length(): number {
    return this.num_samples;
  }
  *[Symbol.iterator](): Iterator<number> {
    const n = this.data_source.length;
    if (this.replacement) {
      const next = uniform(this.generator);
      for (let i = 0; i < this.length; i++) yield Math.floor(next() * n);
      return;
    }
    for (let left = this.length; left > 0; left -= n)
      yield* permutation(n, this.generator).subarray(0, Math.min(left, n));
  }
}

/** Some items, in random order. */
export class SubsetRandomSampler extends Sampler {
  constructor(
    readonly indices: readonly number[],
    private readonly generator?: Generator,
  ) {
    super();
  }
  get length(): number {
    return this.indices.length;
  }
  *[Symbol.iterator](): Iterator<number> {
    for (const i of permutation(this.indices.length, this.generator)) yield this.indices[i];
  }
}

function checkedWeights(given: Iterable<number> | Tensor): Float64Array {
  const shape = given instanceof Tensor ? given.shape : null;
  if (shape !== null && shape.length !== 1)
    throw new TorchValueError(
      `weights should be a 1d sequence but given weights have shape (${shape.join(", ")}${shape.length === 1 ? "," : ""})`,
    );
  const weights = Float64Array.from(given instanceof Tensor ? (given.detach().tolist() as number[]) : given);
  if (weights.some((w) => !(w >= 0 && w < Infinity)))
    throw new TorchValueError("probability tensor contains either `inf`, `nan` or element < 0");
  if (!weights.some((w) => w > 0))
    throw new TorchValueError("invalid multinomial distribution (sum of probabilities <= 0)");
  return weights;
}

/** Items drawn with a probability in proportion to their weight. */
export class WeightedRandomSampler extends Sampler {
  readonly weights: Float64Array;
  constructor(
    weights: Iterable<number> | Tensor,
    readonly num_samples: number,
    readonly replacement = true,
    private readonly generator?: Generator,
  ) {
    super();
    checkCount("num_samples", num_samples);
    checkFlag("replacement", replacement);
    this.weights = checkedWeights(weights);
    const possible = this.weights.filter((w) => w > 0).length;
    if (!replacement && num_samples > possible)
      throw new TorchValueError(
        `cannot sample n_sample > prob_dist.size(-1) samples without replacement: expected at most ${possible}, got ${num_samples}`,
      );
  }
  get length(): number {
    return this.num_samples;
  }
  *[Symbol.iterator](): Iterator<number> {
    yield* this.replacement ? this.withReplacement() : this.withoutReplacement();
  }

  private *withReplacement(): Iterable<number> {
    const next = uniform(this.generator);
    const sums = this.weights.slice();
    for (let i = 1; i < sums.length; i++) sums[i] += sums[i - 1];
    const total = sums[sums.length - 1];
    for (let k = 0; k < this.num_samples; k++) yield upperBound(sums, next() * total);
  }

  /** Each item waits for a time of exponential distribution; the first come first (Efraimidis and Spirakis 2006). */
  private withoutReplacement(): Iterable<number> {
    const next = uniform(this.generator);
    const times = this.weights.map((w) => (w > 0 ? -Math.log1p(-next()) / w : Infinity));
    const order = Uint32Array.from(times, (_, i) => i).sort((a, b) => times[a] - times[b] || a - b);
    return order.subarray(0, this.num_samples);
  }
}

/** The first position whose sum is larger than `x`, where sums do not fall. */
function upperBound(sums: Float64Array, x: number): number {
  let low = 0;
  let high = sums.length - 1;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (sums[mid] > x) high = mid;
    else low = mid + 1;
  }
  return low;
}

/** Another sampler's numbers in groups of `batch_size`. */
export class BatchSampler extends Sampler<number[]> {
  constructor(
    readonly sampler: Iterable<number> & Partial<Sized>,
    readonly batch_size: number,
    readonly drop_last = false,
  ) {
    super();
    checkCount("batch_size", batch_size);
    checkFlag("drop_last", drop_last);
  }
  get length(): number {
    const { length } = this.sampler;
    if (length === undefined)
      throw new TorchTypeError("BatchSampler.length: expected a sampler with a length, got none");
    const n = length / this.batch_size;
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
