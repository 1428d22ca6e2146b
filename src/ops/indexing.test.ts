import { describe, expect, it } from "vitest";
import * as torch from "../index.js";

const long = (data: number[] | number[][]): torch.Tensor => torch.tensor(data, { dtype: torch.int64 });
const grid = (...shape: number[]): torch.Tensor => torch.arange(shape.reduce((a, b) => a * b, 1)).reshape(shape);

describe("index tensors", () => {
  it("neighbouring ones stand where they were, separated ones in front", () => {
    const x = grid(2, 3, 4, 5);
    expect(x.at(":", long([0, 2]), long([1, 3])).shape).toEqual([2, 2, 5]);
    expect(x.at(long([0, 1]), ":", long([1, 3])).shape).toEqual([2, 3, 5]);
  });
  it("broadcast with each other and count from the end where negative", () => {
    const x = grid(3, 4);
    expect(x.at(long([[0], [-1]]), long([1, -2])).tolist()).toEqual([
      [1, 2],
      [9, 10],
    ]);
  });
  it("a mask stands for the places where it holds", () => {
    const x = grid(2, 3);
    expect(x.at(x.gt(2)).tolist()).toEqual([3, 4, 5]);
    expect(x.at(torch.tensor([false, true])).tolist()).toEqual([[3, 4, 5]]);
    expect(x.at(torch.tensor([false, false])).shape).toEqual([0, 3]);
  });
  it("an index into an empty dimension is refused", () => {
    expect(() => torch.empty([0, 3]).at(long([0]))).toThrow("out of bounds for dimension with size 0");
  });
  it("indices that do not broadcast are refused", () => {
    expect(() => grid(3, 4).at(long([0, 1]), long([0, 1, 2]))).toThrow("shape mismatch: indexing tensors");
  });
});

describe("writes at index tensors", () => {
  it("accumulate adds as often as an index occurs", () => {
    const x = torch.zeros([3], { dtype: torch.int64 });
    x.index_put_([long([0, 2, 0])], long([1, 10, 100]), true);
    expect(x.tolist()).toEqual([101, 0, 10]);
  });
  it("a mask with one value needs no list of places", () => {
    const x = grid(2, 3);
    x.set_at([x.gt(3)], -1);
    expect(x.tolist()).toEqual([
      [0, 1, 2],
      [3, -1, -1],
    ]);
  });
  it("the gradient of a replaced element is zero, of its replacement what arrives", () => {
    const x = torch.ones([3], { requires_grad: true });
    const v = torch.ones([2], { requires_grad: true });
    torch
      .index_put(x, [long([2, 0])], v)
      .mul(torch.tensor([1, 2, 4]))
      .sum()
      .backward();
    expect(x.grad!.tolist()).toEqual([0, 2, 0]);
    expect(v.grad!.tolist()).toEqual([4, 1]);
  });
  it("16-bit floats are added in 32 bits", () => {
    const ones = torch.ones([1000], { dtype: torch.bfloat16 });
    const sum = torch
      .zeros([1], { dtype: torch.bfloat16 })
      .index_add(0, torch.zeros([1000], { dtype: torch.int64 }), ones);
    expect(sum.item()).toBe(1000);
  });
});

describe("nonzero", () => {
  it.each([0, 1, 17, 64, 1000])("lists the places of %i elements in order", (n) => {
    const values = Array.from({ length: n }, (_, i) => (i * 7) % 3);
    const want = values.flatMap((v, i) => (v === 0 ? [] : [[i]]));
    const x = torch.tensor(values, { dtype: torch.int64 });
    expect(torch.nonzero(x).tolist()).toEqual(want);
  });
  it("gives one tensor for each dimension when asked", () => {
    const [rows, columns] = torch.nonzero(grid(2, 2), { as_tuple: true }) as unknown as torch.Tensor[];
    expect([rows.tolist(), columns.tolist()]).toEqual([
      [0, 1, 1],
      [1, 0, 1],
    ]);
  });
});

describe("scatter", () => {
  it("an index smaller than the tensor leaves the rest as it is", () => {
    const x = torch.zeros([3, 4], { dtype: torch.int64 });
    expect(torch.scatter(x, 1, long([[3], [0]]), 7).tolist()).toEqual([
      [0, 0, 0, 7],
      [7, 0, 0, 0],
      [0, 0, 0, 0],
    ]);
  });
  it("without the tensor's own values, places that nothing reaches keep them", () => {
    const x = torch.tensor([5, 6], { dtype: torch.float32 });
    const src = torch.tensor([1, 3], { dtype: torch.float32 });
    expect(torch.scatter_reduce(x, 0, long([0, 0]), src, "amax", { include_self: false }).tolist()).toEqual([3, 6]);
  });
});
