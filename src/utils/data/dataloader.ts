/** @file DataLoader: batches of a data set, loaded ahead of their use. */
import { TorchError, TorchTypeError, TorchValueError } from "../../schema/index.js";
import type { Generator } from "../../tensor/index.js";
import { default_collate, default_convert, type Collated } from "./collate.js";
import { asyncItems, Dataset, IterableDataset, syncItems } from "./dataset.js";
import { Limiter } from "./limiter.js";
import { BatchSampler, RandomSampler, SequentialSampler, type Sized } from "./sampler.js";

export interface DataLoaderOptions<T, B = Collated<T>> {
  /** Items of a batch. Default 1; null: no batches, each item by itself. */
  batch_size?: number | null;
  /** A new random order in every pass. */
  shuffle?: boolean;
  /** The order of the items. */
  sampler?: (Iterable<number> & Partial<Sized>) | null;
  /** The items of each batch. */
  batch_sampler?: (Iterable<readonly number[]> & Partial<Sized>) | null;
  /**
   * How many `get` calls may wait at the same time, where `get` returns promises; 0: all those of the batches that are
   * loaded ahead. JavaScript's promises take the place of PyTorch's processes.
   */
  num_workers?: number;
  /** Makes a batch of its items. Default: default_collate. */
  collate_fn?: ((items: T[]) => B) | null;
  /** Leave out a last batch that is not full. */
  drop_last?: boolean;
  /** Batches loaded ahead for each worker, where the data set returns promises. Default 2. */
  prefetch_factor?: number | null;
  /** Where a random order comes from. Default: the CPU's generator, which torch.manual_seed sets. */
  generator?: Generator | null;
  /** Accepted for PyTorch's sake; they change nothing here. */
  pin_memory?: boolean;
  persistent_workers?: boolean;
}

const isCount = (n: unknown): n is number => typeof n === "number" && Number.isInteger(n) && n > 0;

type Items<T> = (T | Promise<T>)[];

/** A batch that was begun: its items, or the batch itself where the data set has a faster way. */
interface Begun<T> {
  readonly items: Items<T>;
  readonly batch?: unknown;
}

/**
 * Batches of a data set, in the order of a sampler.
 * @example
 * const loader = new DataLoader(new TensorDataset(x, y), { batch_size: 32, shuffle: true });
 * for await (const [xs, ys] of loader) train(xs, ys); // or without `await` where `get` returns no promises
 * @see https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
 */
export class DataLoader<T, B = Collated<T>> implements AsyncIterable<B>, Iterable<B> {
  readonly batch_size: number | null;
  readonly drop_last: boolean;
  readonly sampler: (Iterable<number> & Partial<Sized>) | null = null;
  readonly batch_sampler: (Iterable<readonly number[]> & Partial<Sized>) | null = null;
  readonly num_workers: number;
  readonly prefetch_factor: number;
  readonly collate_fn: (items: T[]) => B;
  /** Whether batches may come from the data set's own `getBatch`. */
  private readonly collatesByDefault: boolean;

  constructor(
    readonly dataset: Dataset<T> | IterableDataset<T>,
    options: DataLoaderOptions<T, B> = {},
  ) {
    checkOptions(dataset, options);
    const { sampler, batch_sampler, collate_fn } = options;
    this.batch_size = batch_sampler ? null : options.batch_size === undefined ? 1 : options.batch_size;
    this.drop_last = options.drop_last ?? false;
    this.num_workers = options.num_workers ?? 0;
    this.prefetch_factor = options.prefetch_factor ?? 2;
    this.collatesByDefault = !collate_fn;
    this.collate_fn = collate_fn ?? (default_collate as (items: T[]) => B);
    if (!(dataset instanceof Dataset)) return;
    const random = (): RandomSampler => new RandomSampler(dataset, { generator: options.generator });
    this.sampler = batch_sampler ? null : (sampler ?? (options.shuffle ? random() : new SequentialSampler(dataset)));
    this.batch_sampler = batch_sampler ?? null;
    if (this.batch_size !== null) this.batch_sampler = new BatchSampler(this.sampler!, this.batch_size, this.drop_last);
  }

  /** How many batches one pass has. Throws TorchTypeError where data set or sampler do not know. */
  get length(): number {
    const { dataset } = this;
    if (dataset instanceof Dataset) {
      const { length } = this.batch_sampler ?? this.sampler!;
      if (length === undefined)
        throw new TorchTypeError("DataLoader.length: expected a sampler with a length, got none");
      return length;
    }
    const { length } = dataset;
    if (length === undefined)
      throw new TorchTypeError("DataLoader.length: expected a data set with a length, got an IterableDataset without");
    const batches = length / (this.batch_size ?? 1);
    return this.drop_last ? Math.floor(batches) : Math.ceil(batches);
  }

  private finish(items: readonly T[], batch: unknown): B {
    if (batch !== undefined) return batch as B;
    if (this.batch_size === null && !this.batch_sampler)
      return this.collatesByDefault ? (default_convert(items[0]) as B) : this.collate_fn(items[0] as unknown as T[]);
    return this.collate_fn(items as T[]);
  }

  /** The batches of a data set that has items by number. */
  private *byNumber(dataset: Dataset<T>): Begunner<T> {
    const limiter = new Limiter(this.num_workers > 0 ? this.num_workers : Infinity);
    const get = (index: number): T | Promise<T> => named(`item ${index}`, () => limiter.run(() => dataset.get(index)));
    if (!this.batch_sampler) {
      for (const i of this.sampler!) yield { items: [get(i)] };
      return;
    }
    for (const indices of this.batch_sampler) {
      const whole = `items ${indices.join(", ")}`;
      const batch = this.collatesByDefault ? named(whole, () => dataset.getBatch?.(indices)) : undefined;
      if (batch !== undefined) yield { items: [], batch };
      else if (dataset.getItems)
        yield {
          items: listed(
            named(whole, () => dataset.getItems!(indices)),
            indices.length,
          ),
        };
      else yield { items: indices.map(get) };
    }
  }

  /** Collects items one by one; gives a group when it is full. */
  private grouper(): { add(item: T): T[] | null; rest(): T[] | null } {
    const size = this.batch_size ?? 1;
    let group: T[] = [];
    return {
      add: (item) => {
        group.push(item);
        if (group.length < size) return null;
        const full = group;
        group = [];
        return full;
      },
      rest: () => (group.length > 0 && !this.drop_last ? group : null),
    };
  }

  private *inOrder(dataset: IterableDataset<T>): Begunner<T> {
    const groups = this.grouper();
    for (const item of syncItems(dataset)) {
      const items = groups.add(item);
      if (items) yield { items };
    }
    const items = groups.rest();
    if (items) yield { items };
  }

  private async *inOrderAsync(dataset: IterableDataset<T>): AsyncGenerator<Begun<T>, void, void> {
    const groups = this.grouper();
    for await (const item of asyncItems(dataset)) {
      const items = groups.add(item);
      if (items) yield { items };
    }
    const items = groups.rest();
    if (items) yield { items };
  }

  *[Symbol.iterator](): Iterator<B> {
    const { dataset } = this;
    for (const { items, batch } of dataset instanceof Dataset ? this.byNumber(dataset) : this.inOrder(dataset)) {
      const waiting = items.filter((i) => i instanceof Promise);
      if (waiting.length > 0) {
        for (const w of waiting) (w as Promise<T>).catch(() => undefined);
        throw new TorchTypeError("DataLoader: expected `for await` for a data set whose get() returns promises");
      }
      yield this.finish(items as T[], batch);
    }
  }

  async *[Symbol.asyncIterator](): AsyncIterator<B> {
    const { dataset } = this;
    const ahead = this.prefetch_factor * Math.max(1, this.num_workers);
    const source =
      dataset instanceof Dataset
        ? this.byNumber(dataset)
        : dataset[Symbol.asyncIterator]
          ? this.inOrderAsync(dataset)
          : this.inOrder(dataset);
    const queue: (Promise<Loaded<T> | null> | Loaded<T> | null)[] = [];
    try {
      while (true) {
        // what is there at once needs no loading ahead; batches are begun in order, so that a seed decides all of them
        while (queue.length < ahead && (queue.length === 0 || queue.at(-1) instanceof Promise))
          queue.push(load(source));
        const next = await queue.shift()!;
        if (next === null) return;
        yield this.finish(next.items, next.batch);
      }
    } finally {
      await source.return();
    }
  }
}

type Begunner<T> = globalThis.Generator<Begun<T>, void, void>;

interface Loaded<T> {
  readonly items: readonly T[];
  readonly batch?: unknown;
}

/** The next batch of a source, at once where nothing needs to be waited for; null at the end. Errors come with it. */
function load<T>(
  source: Begunner<T> | AsyncGenerator<Begun<T>, void, void>,
): Promise<Loaded<T> | null> | Loaded<T> | null {
  const settled = ({ items, batch }: Begun<T>): Promise<Loaded<T>> | Loaded<T> =>
    batch instanceof Promise || items.some((i) => i instanceof Promise)
      ? Promise.all([batch, Promise.all(items)]).then(([whole, all]) => ({ items: all, batch: whole }))
      : { items: items as T[], batch };
  const step = (r: IteratorResult<Begun<T>, void>): Promise<Loaded<T>> | Loaded<T> | null =>
    r.done ? null : settled(r.value);
  let next: ReturnType<typeof source.next>;
  try {
    next = source.next();
  } catch (error) {
    next = Promise.reject(error as Error);
  }
  const loaded = next instanceof Promise ? next.then(step) : step(next);
  if (loaded instanceof Promise) loaded.catch(() => undefined); // it surfaces where the batch is awaited
  return loaded;
}

/** The items of a list that may be promised, each by itself. */
function listed<T>(all: readonly T[] | Promise<readonly T[]>, count: number): Items<T> {
  const check = (list: readonly T[]): readonly T[] => {
    if (list.length !== count)
      throw new TorchError(`DataLoader: expected ${count} items from getItems(), got ${list.length}`);
    return list;
  };
  if (!(all instanceof Promise)) return [...check(all)];
  const checked = all.then(check);
  return Array.from({ length: count }, (_, i) => checked.then((list) => list[i]));
}

/** Errors of a data set say of which item. */
function named<R>(what: string, run: () => R): R {
  const fail = (error: unknown): never => {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    throw new TorchError(`DataLoader: expected ${what} of the data set, got ${text}`, { cause: error });
  };
  try {
    const result = run();
    return result instanceof Promise ? (result.catch(fail) as R) : result;
  } catch (error) {
    return fail(error);
  }
}

function checkOptions<T, B>(dataset: Dataset<T> | IterableDataset<T>, options: DataLoaderOptions<T, B>): void {
  const { shuffle, sampler, batch_sampler, drop_last, num_workers = 0, prefetch_factor, batch_size } = options;
  if (!(dataset instanceof Dataset) && !(dataset instanceof IterableDataset))
    throw new TorchTypeError("DataLoader: expected a Dataset or an IterableDataset as its first argument");
  if (!Number.isInteger(num_workers) || num_workers < 0)
    throw new TorchValueError(
      "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.",
    );
  if (prefetch_factor !== undefined && prefetch_factor !== null && !isCount(prefetch_factor))
    throw new TorchValueError(`prefetch_factor option should be a positive integer, got ${prefetch_factor}`);
  if (batch_size !== undefined && batch_size !== null && !isCount(batch_size))
    throw new TorchValueError(`batch_size should be a positive integer value, but got batch_size=${batch_size}`);
  if (dataset instanceof IterableDataset) {
    for (const [name, value] of Object.entries({ shuffle, sampler, batch_sampler }))
      if (value)
        throw new TorchValueError(
          `DataLoader with IterableDataset: expected unspecified ${name} option, but got ${name}=${value === true ? "True" : value.constructor.name}`,
        );
  }
  if (sampler && shuffle) throw new TorchValueError("sampler option is mutually exclusive with shuffle");
  if (batch_sampler && ((batch_size !== undefined && batch_size !== 1) || shuffle || sampler || drop_last))
    throw new TorchValueError(
      "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last",
    );
  if (batch_size === null && drop_last)
    throw new TorchValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last");
}
