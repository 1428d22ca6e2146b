import { describe, expect, it } from "vitest";
import * as torch from "../../index.js";
import {
  BatchSampler,
  ChainDataset,
  ConcatDataset,
  DataLoader,
  Dataset,
  default_collate,
  default_convert,
  IterableDataset,
  random_split,
  RandomSampler,
  SequentialSampler,
  StackDataset,
  Subset,
  SubsetRandomSampler,
  TensorDataset,
  WeightedRandomSampler,
} from "./index.js";

class Squares extends Dataset<[number, number]> {
  constructor(override readonly length: number) {
    super();
  }
  get(i: number): [number, number] {
    return [i, i * i];
  }
}

/** Items that come later, the even ones later still; counts the calls that wait. */
class Slow extends Dataset<number> {
  waiting = 0;
  most = 0;
  readonly begun: number[] = [];
  constructor(
    readonly length: number,
    private readonly bad = -1,
  ) {
    super();
  }
  async get(i: number): Promise<number> {
    this.begun.push(i);
    this.most = Math.max(this.most, ++this.waiting);
    await new Promise((resolve) => setTimeout(resolve, i % 2 === 0 ? 5 : 1));
    this.waiting--;
    if (i === this.bad) throw new RangeError("no such picture");
    return i;
  }
}

class Counting extends IterableDataset<number> {
  closed = false;
  constructor(override readonly length: number) {
    super();
  }
  override *[Symbol.iterator](): Iterator<number> {
    try {
      for (let i = 0; i < this.length; i++) yield i;
    } finally {
      this.closed = true;
    }
  }
}

class Stream extends IterableDataset<string> {
  closed = false;
  override async *[Symbol.asyncIterator](): AsyncIterator<string> {
    try {
      for (const word of ["to", "be", "or", "not"]) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        yield word;
      }
    } finally {
      this.closed = true;
    }
  }
}

const list = (x: unknown): unknown => (x instanceof torch.Tensor ? x.tolist() : Array.isArray(x) ? x.map(list) : x);

async function all<B>(loader: AsyncIterable<B>): Promise<unknown[]> {
  const out: unknown[] = [];
  for await (const batch of loader) out.push(list(batch));
  return out;
}

const seeded = (seed: number): torch.Generator => new torch.Generator().manual_seed(seed);

describe("data sets", () => {
  const x = torch.arange(12).view(6, 2);
  const y = torch.arange(6);

  it("TensorDataset gives rows", () => {
    const data = new TensorDataset(x, y);
    expect(data.length).toBe(6);
    expect(list(data.get(2))).toEqual([[4, 5], 2]);
    expect(() => new TensorDataset(x, torch.arange(5))).toThrow("Size mismatch between tensors");
  });
  it("ConcatDataset and concat count on, from the end too", () => {
    const both = new Squares(2).concat(new Squares(3));
    expect(both.length).toBe(5);
    expect([0, 1, 2, 4, -1, -5].map((i) => both.get(i))).toEqual([
      [0, 0],
      [1, 1],
      [0, 0],
      [2, 4],
      [2, 4],
      [0, 0],
    ]);
    expect(() => both.get(5)).toThrow("index 5 is out of bounds");
    expect(() => both.get(-6)).toThrow("absolute value of index should not exceed dataset length");
    expect(() => new ConcatDataset([])).toThrow("datasets should not be an empty iterable");
  });
  it("ChainDataset goes through one after the other", async () => {
    const chain = new ChainDataset([new Counting(2), new Counting(3)]);
    expect([...chain]).toEqual([0, 1, 0, 1, 2]);
    expect(chain.length).toBe(5);
    expect(await all(new DataLoader(new Stream().concat(new Stream()), { batch_size: 3 }))).toEqual([
      ["to", "be", "or"],
      ["not", "to", "be"],
      ["or", "not"],
    ]);
  });
  it("StackDataset pairs them, by place or by name", async () => {
    expect(new StackDataset(new Squares(3), new Squares(3)).get(2)).toEqual([
      [2, 4],
      [2, 4],
    ]);
    expect(new StackDataset({ a: new Squares(3), b: new Squares(3) }).get(1)).toEqual({ a: [1, 1], b: [1, 1] });
    expect(await new StackDataset(new Squares(3), new Slow(3)).get(2)).toEqual([[2, 4], 2]);
    expect(() => new StackDataset(new Squares(3), new Squares(2))).toThrow("Size mismatch between datasets");
    expect(() => new StackDataset()).toThrow("At least one dataset should be passed");
  });
  it("random_split takes lengths or fractions and gives every item once", () => {
    const parts = random_split(new Squares(10), [0.55, 0.35, 0.1], seeded(1));
    expect(parts.map((p) => p.length)).toEqual([6, 3, 1]);
    expect(parts.flatMap((p) => [...p.indices]).sort((a, b) => a - b)).toEqual([...new Array(10).keys()]);
    expect(random_split(new Squares(10), [7, 3], seeded(1))[0].indices).toEqual(
      random_split(new Squares(10), [7, 3], seeded(1))[0].indices,
    );
    expect(() => random_split(new Squares(10), [7, 2])).toThrow(
      "Sum of input lengths does not equal the length of the input dataset!",
    );
    expect(() => random_split(new Squares(10), [1.5, -0.5])).toThrow("Fraction at index 0 is not between 0 and 1");
    expect(new Subset(new Squares(10), [7, 3]).get(1)).toEqual([3, 9]);
  });
});

describe("samplers", () => {
  it("RandomSampler gives every item once, anew in each pass, the same from the same seed", () => {
    const passes = (seed: number): number[][] => {
      const sampler = new RandomSampler(new Squares(50), { generator: seeded(seed) });
      return [[...sampler], [...sampler]];
    };
    const [first, second] = passes(3);
    expect(first.toSorted((a, b) => a - b)).toEqual([...new Array(50).keys()]);
    expect(second).not.toEqual(first);
    expect(passes(3)).toEqual([first, second]);
    expect(passes(4)[0]).not.toEqual(first);
    torch.manual_seed(5);
    const free = [...new RandomSampler(new Squares(50))];
    torch.manual_seed(5);
    expect([...new RandomSampler(new Squares(50))]).toEqual(free);
  });
  it("RandomSampler draws more than there is, with and without replacement", () => {
    const more = [...new RandomSampler(new Squares(4), { num_samples: 10, generator: seeded(1) })];
    expect(more).toHaveLength(10);
    expect(more.slice(4, 8).toSorted()).toEqual([0, 1, 2, 3]);
    const counts = [0, 0, 0, 0];
    for (const i of new RandomSampler(new Squares(4), { replacement: true, num_samples: 40000, generator: seeded(1) }))
      counts[i]++;
    for (const c of counts) expect(Math.abs(c - 10000)).toBeLessThan(5 * Math.sqrt(7500));
    expect(() => new RandomSampler(new Squares(0))).toThrow(
      "num_samples should be a positive integer value, but got num_samples=0",
    );
  });
  it("orders are uniform: every permutation of three comes equally often", () => {
    const counts = new Map<string, number>();
    const sampler = new RandomSampler({ length: 3 }, { generator: seeded(9) });
    for (let i = 0; i < 12000; i++) {
      const key = [...sampler].join();
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    expect(counts.size).toBe(6);
    for (const c of counts.values()) expect(Math.abs(c - 2000)).toBeLessThan(5 * Math.sqrt(2000 * (5 / 6)));
  });
  it("WeightedRandomSampler draws in proportion, and without replacement each once", () => {
    const counts = [0, 0, 0, 0];
    for (const i of new WeightedRandomSampler([1, 0, 3, 6], 20000, true, seeded(2))) counts[i]++;
    [0.1, 0, 0.3, 0.6].forEach((p, i) =>
      expect(Math.abs(counts[i] - 20000 * p)).toBeLessThanOrEqual(5 * Math.sqrt(20000 * p * (1 - p))),
    );
    const first = [0, 0, 0];
    for (let i = 0; i < 6000; i++) {
      const drawn = [...new WeightedRandomSampler(torch.tensor([1, 2, 3]), 2, false, seeded(i))];
      expect(new Set(drawn).size).toBe(2);
      first[drawn[0]]++;
    }
    [1, 2, 3].forEach((w, i) => expect(Math.abs(first[i] - w * 1000)).toBeLessThan(250));
    expect(() => new WeightedRandomSampler([1, -1], 1)).toThrow(
      "probability tensor contains either `inf`, `nan` or element < 0",
    );
    expect(() => new WeightedRandomSampler([0, 0], 1)).toThrow("sum of probabilities <= 0");
    expect(() => new WeightedRandomSampler([1, 0], 2, false)).toThrow("without replacement");
    expect(() => new WeightedRandomSampler(torch.ones([2, 2]), 1)).toThrow(
      "weights should be a 1d sequence but given weights have shape (2, 2)",
    );
  });
  it("BatchSampler and SubsetRandomSampler", () => {
    const batches = (drop: boolean): number[][] => [
      ...new BatchSampler(new SequentialSampler(new Squares(5)), 2, drop),
    ];
    expect(batches(false)).toEqual([[0, 1], [2, 3], [4]]);
    expect(batches(true)).toEqual([
      [0, 1],
      [2, 3],
    ]);
    expect([false, true].map((d) => new BatchSampler([1, 2, 3], 2, d).length)).toEqual([2, 1]);
    expect([...new SubsetRandomSampler([7, 8, 9], seeded(0))].toSorted()).toEqual([7, 8, 9]);
    expect(() => new BatchSampler([1], 0, false)).toThrow(
      "batch_size should be a positive integer value, but got batch_size=0",
    );
  });
});

describe("default_collate", () => {
  it("makes tensors of numbers and stacks tensors", () => {
    const ints = default_collate([1, 2]) as torch.Tensor;
    expect([ints.dtype, ints.tolist()]).toEqual([torch.int64, [1, 2]]);
    expect((default_collate([0.5, 2]) as torch.Tensor).dtype).toBe(torch.float64);
    expect((default_collate([true, false]) as torch.Tensor).dtype).toBe(torch.bool);
    expect((default_collate([2n ** 60n, 1n]) as torch.Tensor).tolist()).toEqual([2n ** 60n, 1]);
    expect((default_collate([torch.ones([2]), torch.zeros([2])]) as torch.Tensor).tolist()).toEqual([
      [1, 1],
      [0, 0],
    ]);
    const typed = default_collate([Float32Array.of(1, 2), Float32Array.of(3, 4)]) as torch.Tensor;
    expect([typed.dtype, typed.tolist()]).toEqual([
      torch.float32,
      [
        [1, 2],
        [3, 4],
      ],
    ]);
  });
  it("takes arrays, objects and Maps apart", () => {
    const batch = default_collate([
      { x: [1, "a"], y: new Map([["z", 0.5]]) },
      { x: [2, "b"], y: new Map([["z", 1.5]]) },
    ]) as { x: [torch.Tensor, string[]]; y: Map<string, torch.Tensor> };
    expect(list(batch.x)).toEqual([
      [1, 2],
      ["a", "b"],
    ]);
    expect(list(batch.y.get("z"))).toEqual([0.5, 1.5]);
  });
  it("says what does not fit together", () => {
    expect(() => default_collate([[1], [1, 2]])).toThrow("each element in list of batch should be of equal size");
    expect(() => default_collate([1, "a"])).toThrow("expected items of one kind in a batch, got number and string");
    expect(() => default_collate([{ a: 1 }, { b: 1 }])).toThrow("expected the key 'a' in every item");
    expect(() => default_collate([undefined])).toThrow("found undefined");
    expect(() => default_collate([new Date()])).toThrow("found an object of class Date");
  });
  it("default_convert leaves items as they are, but for typed arrays", () => {
    expect(list((default_convert({ a: Int32Array.of(1, 2), b: "x" }) as { a: unknown }).a)).toEqual([1, 2]);
  });
});

describe("DataLoader", () => {
  it("gives batches with and without await", async () => {
    const loader = new DataLoader(new Squares(5), { batch_size: 2 });
    const want = [
      [
        [0, 1],
        [0, 1],
      ],
      [
        [2, 3],
        [4, 9],
      ],
      [[4], [16]],
    ];
    expect([...loader].map(list)).toEqual(want);
    expect(await all(loader)).toEqual(want);
    expect(await all(loader)).toEqual(want);
    expect([loader.length, new DataLoader(new Squares(5), { batch_size: 2, drop_last: true }).length]).toEqual([3, 2]);
    const [xs, ys]: [torch.Tensor, torch.Tensor] = [...loader][0];
    expect([xs.dtype, ys.dtype]).toEqual([torch.int64, torch.int64]);
  });
  it("takes whole batches of tensors by index, through subsets too", async () => {
    const data = new TensorDataset(torch.arange(10).view(5, 2), torch.arange(5));
    const want = [
      [
        [
          [8, 9],
          [0, 1],
        ],
        [4, 0],
      ],
      [[[4, 5]], [2]],
    ];
    expect(await all(new DataLoader(data, { batch_size: 2, sampler: [4, 0, -3] }))).toEqual(want);
    const subset = new Subset(data, [4, 0, 2]);
    expect(await all(new DataLoader(subset, { batch_size: 2 }))).toEqual(want);
    class Noisy extends TensorDataset<[torch.Tensor, torch.Tensor]> {
      override get(i: number): [torch.Tensor, torch.Tensor] {
        return super.get(i).map((t) => t.mul(10)) as [torch.Tensor, torch.Tensor];
      }
    }
    const noisy = new Noisy(torch.arange(10).view(5, 2), torch.arange(5));
    expect((await all(new DataLoader(noisy, { batch_size: 2 })))[0]).toEqual([
      [
        [0, 10],
        [20, 30],
      ],
      [0, 10],
    ]);
    await expect(all(new DataLoader(data, { sampler: [7] }))).rejects.toThrow(
      "expected items 7 of the data set, got TorchIndexError: index 7 is out of bounds",
    );
  });
  it("shuffles anew in each pass, the same from the same seed", async () => {
    const run = async (): Promise<unknown[]> => {
      const loader = new DataLoader(new Squares(20), { batch_size: 5, shuffle: true, generator: seeded(7) });
      return [await all(loader), await all(loader)];
    };
    const [first, second] = await run();
    expect(first).not.toEqual(second);
    expect(await run()).toEqual([first, second]);
  });
  it("loads ahead in order, so many at a time", async () => {
    const data = new Slow(12);
    const loader = new DataLoader(data, { batch_size: 2, num_workers: 2, prefetch_factor: 1 });
    const order: number[] = [];
    for await (const batch of loader) {
      order.push(...(batch.tolist() as number[]));
      expect(data.begun.length).toBeLessThanOrEqual(order.length + 4);
    }
    expect(order).toEqual([...new Array(12).keys()]);
    expect(data.most).toBe(2);
    const free = new Slow(12);
    await all(new DataLoader(free, { batch_size: 3, prefetch_factor: 3 }));
    expect(free.most).toBe(9);
    expect(() => [...new DataLoader(new Slow(2))]).toThrow(
      "expected `for await` for a data set whose get() returns promises",
    );
  });
  it("brings an error to the batch it belongs to, with the item's number", async () => {
    for (const options of [{}, { num_workers: 3 }]) {
      const seen: unknown[] = [];
      const failed = (async () => {
        for await (const batch of new DataLoader(new Slow(10, 5), { batch_size: 2, ...options }))
          seen.push(list(batch));
      })();
      await expect(failed).rejects.toThrow(
        "DataLoader: expected item 5 of the data set, got RangeError: no such picture",
      );
      await failed.catch((e: Error) => expect(e.cause).toBeInstanceOf(RangeError));
      expect(seen).toEqual([
        [0, 1],
        [2, 3],
      ]);
    }
    class Bad extends Squares {
      override get(i: number): [number, number] {
        if (i === 3) throw new Error("torn");
        return super.get(i);
      }
    }
    expect(() => [...new DataLoader(new Bad(5))]).toThrow("expected item 3 of the data set, got Error: torn");
    await expect(all(new DataLoader(new Bad(5)))).rejects.toThrow("expected item 3");
  });
  it("reads streams, with and without await, and closes them when left early", async () => {
    const counting = new Counting(5);
    const loader = new DataLoader(counting, { batch_size: 2 });
    expect([...loader].map(list)).toEqual([[0, 1], [2, 3], [4]]);
    expect(loader.length).toBe(3);
    expect(await all(new DataLoader(counting, { batch_size: 2, drop_last: true }))).toEqual([
      [0, 1],
      [2, 3],
    ]);
    const stream = new Stream();
    for await (const batch of new DataLoader(stream, { batch_size: 2 })) {
      expect(batch).toEqual(["to", "be"]);
      break;
    }
    expect(stream.closed).toBe(true);
    counting.closed = false;
    for (const _ of loader) break;
    expect(counting.closed).toBe(true);
    expect(() => [...new DataLoader(stream)]).toThrow("expected `for await`");
    expect(() => new DataLoader(stream).length).toThrow("expected a data set with a length");
  });
  it("takes samplers of batches, own collation, and no batches at all", async () => {
    const data = new Squares(6);
    const pairs = new DataLoader(data, { batch_sampler: [[5, 0], [1]] });
    expect((await all(pairs)).map((b) => (b as unknown[])[0])).toEqual([[5, 0], [1]]);
    expect(pairs.length).toBe(2);
    const sums = new DataLoader(data, { batch_size: 3, collate_fn: (items) => items.reduce((n, [, s]) => n + s, 0) });
    expect([...sums]).toEqual([5, 50]);
    expect([...new DataLoader(data, { batch_size: null, sampler: [2] })]).toEqual([[2, 4]]);
  });
  it("uses getItems where a data set has it", async () => {
    class Many extends Squares {
      calls = 0;
      override getItems(indices: readonly number[]): [number, number][] {
        this.calls++;
        return indices.map((i) => [i, 0 - i]);
      }
    }
    const data = new Many(4);
    expect(await all(new DataLoader(data, { batch_size: 2 }))).toEqual([
      [
        [0, 1],
        [0, -1],
      ],
      [
        [2, 3],
        [-2, -3],
      ],
    ]);
    expect(data.calls).toBe(2);
  });
  it("refuses options that contradict each other", () => {
    const data = new Squares(4);
    expect(() => new DataLoader(data, { sampler: [1], shuffle: true })).toThrow(
      "sampler option is mutually exclusive with shuffle",
    );
    expect(() => new DataLoader(data, { batch_sampler: [[1]], batch_size: 2 })).toThrow(
      "batch_sampler option is mutually exclusive",
    );
    expect(() => new DataLoader(data, { batch_size: null, drop_last: true })).toThrow(
      "batch_size=None option disables auto-batching",
    );
    expect(() => new DataLoader(data, { batch_size: 0 })).toThrow(
      "batch_size should be a positive integer value, but got batch_size=0",
    );
    expect(() => new DataLoader(data, { num_workers: -1 })).toThrow("num_workers option should be non-negative");
    expect(() => new DataLoader(data, { prefetch_factor: 0 })).toThrow(
      "prefetch_factor option should be a positive integer",
    );
    expect(() => new DataLoader(new Counting(3), { shuffle: true })).toThrow(
      "expected unspecified shuffle option, but got shuffle=True",
    );
    expect(() => new DataLoader([] as never)).toThrow("expected a Dataset or an IterableDataset");
  });
});
