/** @file DataLoader: batches of a data set, loaded ahead of their use. */
import { functional, tensor } from "../../api/index.js";
import { TorchError, TorchTypeError, TorchValueError } from "../../schema/index.js";
import { Tensor, type Generator } from "../../tensor/index.js";
import { Dataset, type IterableDataset } from "./dataset.js";
import { BatchSampler, RandomSampler, SequentialSampler, type Sampler } from "./sampler.js";

/** Items as one batch: tensors stacked, numbers as a tensor, arrays and objects by their parts, texts as they are. */
export function default_collate(items: readonly unknown[]): unknown {
  const first = items[0];
  if (first instanceof Tensor) return functional.stack(items as readonly Tensor[]);
  if (typeof first === "number" || typeof first === "bigint" || typeof first === "boolean")
    return tensor(items as readonly number[]);
  if (typeof first === "string") return [...items];
  if (Array.isArray(first)) {
    if (items.some((i) => (i as unknown[]).length !== first.length))
      throw new TorchError("each element in list of batch should be of equal size");
    return first.map((_, k) => default_collate(items.map((i) => (i as unknown[])[k])));
  }
  if (typeof first === "object" && first !== null)
    return Object.fromEntries(
      Object.keys(first).map((k) => [k, default_collate(items.map((i) => (i as Record<string, unknown>)[k]))]),
    );
  throw new TorchTypeError(
    `default_collate: batch must contain tensors, numbers, strings, arrays or objects; found ${typeof first}`,
  );
}

export interface DataLoaderOptions<T, B = T> {
  batch_size?: number;
  /** A new random order in every pass. */
  shuffle?: boolean;
  drop_last?: boolean;
  sampler?: Sampler | readonly number[];
  batch_sampler?: Iterable<readonly number[]> & { readonly length: number };
  collate_fn?: (items: T[]) => B;
  /** Batches that are loaded ahead. Default 2. */
  prefetch_factor?: number;
  generator?: Generator;
}

/** Batches of a data set: `for await (const [x, y] of loader)`, or without `await` where `get` returns no promises. */
export class DataLoader<T, B = T> implements AsyncIterable<B>, Iterable<B> {
  private readonly batches: (Iterable<readonly number[]> & { readonly length: number }) | null;
  private readonly collate: (items: T[]) => B;
  private readonly prefetch: number;

  constructor(
    readonly dataset: Dataset<T> | IterableDataset<T>,
    private readonly options: DataLoaderOptions<T, B> = {},
  ) {
    const {
      batch_size = 1,
      shuffle = false,
      drop_last = false,
      sampler,
      batch_sampler,
      collate_fn,
      prefetch_factor = 2,
      generator,
    } = options;
    if (sampler && shuffle) throw new TorchValueError("sampler option is mutually exclusive with shuffle");
    if (batch_sampler && (options.batch_size !== undefined || shuffle || sampler || drop_last))
      throw new TorchValueError(
        "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last",
      );
    if (!Number.isInteger(prefetch_factor) || prefetch_factor < 1)
      throw new TorchValueError(`prefetch_factor option should be a positive integer, got ${prefetch_factor}`);
    this.collate = collate_fn ?? (default_collate as (items: T[]) => B);
    this.prefetch = prefetch_factor;
    if (!(dataset instanceof Dataset)) {
      if (shuffle || sampler || batch_sampler)
        throw new TorchValueError(
          "DataLoader with IterableDataset: expected unspecified shuffle, sampler and batch_sampler options",
        );
      this.batches = null;
      return;
    }
    const order = sampler ?? (shuffle ? new RandomSampler(dataset, { generator }) : new SequentialSampler(dataset));
    this.batches = batch_sampler ?? new BatchSampler(order, batch_size, drop_last);
  }

  /** How many batches one pass has. */
  get length(): number {
    if (!this.batches)
      throw new TorchTypeError("DataLoader.length: expected a data set with a length, got an IterableDataset");
    return this.batches.length;
  }

  private *groups(): Generator_<(T | Promise<T>)[]> {
    const { dataset } = this;
    if (this.batches && dataset instanceof Dataset) {
      for (const batch of this.batches) yield batch.map((i) => itemOf(dataset, i));
      return;
    }
    const { batch_size = 1, drop_last = false } = this.options;
    let group: T[] = [];
    for (const item of dataset as IterableDataset<T>) {
      group.push(item);
      if (group.length < batch_size) continue;
      yield group;
      group = [];
    }
    if (group.length > 0 && !drop_last) yield group;
  }

  *[Symbol.iterator](): Iterator<B> {
    for (const group of this.groups()) {
      if (group.some((i) => i instanceof Promise))
        throw new TorchTypeError("DataLoader: expected `for await` for a data set whose get() returns promises");
      yield this.collate(group as T[]);
    }
  }

  async *[Symbol.asyncIterator](): AsyncIterator<B> {
    const groups = this.groups();
    const ahead: Promise<T[]>[] = [];
    const load = (): boolean => {
      const next = groups.next();
      if (next.done) return false;
      const loading = Promise.all(next.value);
      loading.catch(() => undefined); // it surfaces where the batch is awaited
      ahead.push(loading);
      return true;
    };
    while (ahead.length < this.prefetch && load());
    while (ahead.length > 0) {
      const items = await ahead.shift()!;
      load();
      yield this.collate(items);
    }
  }
}

type Generator_<T> = globalThis.Generator<T, void, void>;

function itemOf<T>(dataset: Dataset<T>, index: number): T | Promise<T> {
  const named = (error: unknown): never => {
    throw new TorchError(
      `DataLoader: expected item ${index} of the data set, got an error: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  };
  try {
    const item = dataset.get(index);
    return item instanceof Promise ? item.catch(named) : item;
  } catch (error) {
    return named(error);
  }
}
