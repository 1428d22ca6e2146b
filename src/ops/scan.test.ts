import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as torch from "../index.js";

const sizes = [0, 1, 2, 15, 16, 17, 33, 100, 257, 1000];
const data = (n: number): number[] => Array.from({ length: n }, (_, i) => ((i * 37) % 19) - 9);

describe("running combinations equal the loop, at every size around a block", () => {
  it.each(sizes)("cumsum of %i", (n) => {
    let sum = 0;
    const want = data(n).map((x) => (sum += x));
    expect(torch.cumsum(torch.tensor(data(n), { dtype: torch.int64 }), 0).tolist()).toEqual(want);
  });

  it.each(sizes.filter((n) => n > 0))("cummax of %i: the last of equal elements counts", (n) => {
    const x = data(n);
    const [values, indices] = torch.cummax(torch.tensor(x, { dtype: torch.float32 }), 0);
    let best = 0;
    const at = x.map((v, i) => (v >= x[best] ? (best = i) : best));
    expect(indices.tolist()).toEqual(at);
    expect(values.tolist()).toEqual(at.map((i) => x[i]));
  });

  it("an element says nothing of those before it: NaN and infinity stay where they are", () => {
    const x = torch.tensor([1, 2, Infinity, -Infinity, 5], { dtype: torch.float32 });
    expect(torch.cumsum(x, 0).tolist()).toEqual([1, 3, Infinity, NaN, NaN]);
  });

  it("the gradient of cumprod is right beside zeros", () => {
    const x = torch.tensor([2, 0, 3, 0, 5], { dtype: torch.float64, requires_grad: true });
    torch.cumprod(x, 0).sum().backward();
    expect(x.grad!.tolist()).toEqual([1, 8, 0, 0, 0]);
  });

  it("is the same along every dimension", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 5 }), (n, m) => {
        const x = torch.tensor(data(n * m), { dtype: torch.int64 }).reshape(n, m);
        expect(torch.cumsum(x, 0).tolist()).toEqual(torch.cumsum(x.t(), 1).t().tolist());
      }),
      { numRuns: 8 },
    );
  });
});
