import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as torch from "../index.js";

const float = (data: number[]): torch.Tensor => torch.tensor(data, { dtype: torch.float32 });
const numbers = fc.array(fc.constantFrom(-Infinity, -2, -1, -0, 0, 1, 1.5, 7, Infinity, NaN), {
  minLength: 1,
  maxLength: 12,
});
/** NaN above every number, as PyTorch orders. */
const order = (a: number, b: number): number =>
  Number.isNaN(a) ? (Number.isNaN(b) ? 0 : 1) : Number.isNaN(b) ? -1 : a < b ? -1 : a > b ? 1 : 0;

describe("sort", () => {
  it("is stable, with NaN last, and first when descending", () => {
    fc.assert(
      fc.property(numbers, fc.boolean(), (data, descending) => {
        const want = data
          .map((_, i) => i)
          .sort((i, j) => (descending ? order(data[j], data[i]) : order(data[i], data[j])) || i - j);
        expect(torch.sort(float(data), { descending })[1].tolist()).toEqual(want);
      }),
      { numRuns: 25 },
    );
  });
});

describe("topk", () => {
  it("is the head of the descending order, whatever the sign of zero and NaN", () => {
    fc.assert(
      fc.property(numbers, (data) => {
        const k = Math.ceil(data.length / 2);
        const x = float(data);
        const [values, indices] = torch.topk(x, k);
        const [sorted, at] = torch.sort(x, { descending: true, stable: true });
        expect(values.tolist()).toEqual(sorted.at(`0:${k}`).tolist());
        expect(indices.tolist()).toEqual(at.at(`0:${k}`).tolist());
      }),
      { numRuns: 25 },
    );
  });
  it("takes both zeros for equal", () => {
    expect(torch.topk(float([-0, 0, -Infinity]), 2)[1].tolist()).toEqual([0, 1]);
  });
  it("takes a NaN with its sign bit set for a NaN", () => {
    const x = torch.neg(float([NaN, 1, 2]));
    expect(torch.topk(x, 1)[1].tolist()).toEqual([0]);
  });
  it("works along any dimension", () => {
    const x = torch.tensor(
      [
        [1, 5],
        [9, 2],
        [4, 7],
      ],
      { dtype: torch.float32 },
    );
    expect(torch.topk(x, 2, 0)[0].tolist()).toEqual([
      [9, 7],
      [4, 5],
    ]);
  });
});

describe("searchsorted", () => {
  it("finds the place left or right of equal elements", () => {
    const rows = float([1, 3, 3, 5]);
    const values = float([0, 1, 3, 4, 6, NaN]);
    expect(torch.searchsorted(rows, values).tolist()).toEqual([0, 0, 1, 3, 4, 4]);
    expect(torch.searchsorted(rows, values, { right: true }).tolist()).toEqual([0, 1, 3, 3, 4, 4]);
  });
});

describe("extreme values", () => {
  it("NaN wins, the first of equal elements is named", () => {
    expect(torch.max(float([1, NaN, 3, NaN]), 0)[1].item()).toBe(1);
    expect(torch.argmax(float([2, 3, 3])).item()).toBe(1);
    expect(torch.amin(float([2, NaN])).item()).toBeNaN();
  });
  it("amax shares its gradient evenly, max along a dimension gives it to the first", () => {
    const x = float([3, 1, 3]).requires_grad_();
    torch.amax(x, [0]).backward();
    expect(x.grad!.tolist()).toEqual([0.5, 0, 0.5]);
    const y = float([3, 1, 3]).requires_grad_();
    torch.max(y, 0)[0].backward();
    expect(y.grad!.tolist()).toEqual([1, 0, 0]);
  });
});

describe("distinct elements", () => {
  it("come in order, with their places and counts", () => {
    const x = torch.tensor([3, 1, 3, 2], { dtype: torch.int64 });
    const [values, inverse, counts] = torch.unique(x, {
      return_inverse: true,
      return_counts: true,
    }) as unknown as torch.Tensor[];
    expect([values.tolist(), inverse.tolist(), counts.tolist()]).toEqual([
      [1, 2, 3],
      [2, 0, 2, 1],
      [1, 1, 2],
    ]);
  });
});
