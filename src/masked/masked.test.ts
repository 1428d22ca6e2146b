/** @file Masked functions against the same functions of the kept elements alone. */
import { describe, expect, it } from "vitest";
import * as torch from "../index.js";

const { masked } = torch;
const x = torch.tensor([3, -1, 4, 1.5, -5, 9], { dtype: torch.float64 });
const mask = torch.tensor([true, false, true, true, false, true]);
const kept = torch.tensor([3, 4, 1.5, 9], { dtype: torch.float64 });
const none = torch.zeros([6], { dtype: torch.bool });

describe("torch.masked", () => {
  it("reduces as if the other elements were not there", () => {
    const pairs: [torch.Tensor, torch.Tensor][] = [
      [masked.sum(x, { mask }), kept.sum()],
      [masked.prod(x, 0, { mask }), kept.prod()],
      [masked.amax(x, { mask }), kept.amax()],
      [masked.amin(x, { mask }), kept.amin()],
      [masked.mean(x, { mask }), kept.mean()],
      [masked.std(x, { mask }), kept.std()],
      [masked.var(x, 0, false, { mask }), kept.var({ correction: 0 })],
      [masked.median(x, { mask }), kept.median()],
      [masked.logsumexp(x, { mask }), kept.logsumexp(0)],
      [masked.norm(x, 3, { mask }), torch.linalg.vector_norm(kept, 3)],
      [masked.softmax(x, 0, { mask }).at(mask), kept.softmax(0)],
      [masked.softmin(x, 0, { mask }).at(mask), kept.neg().softmax(0)],
      [masked.cumsum(x, 0, { mask }).at(mask), kept.cumsum(0)],
      [masked.cumprod(x, 0, { mask }).at(mask), kept.cumprod(0)],
    ];
    for (const [got, want] of pairs) expect(torch.allclose(got, want)).toBe(true);
    expect(masked.argmin(x, { mask }).item()).toBe(3);
    expect(masked.argmax(x, { mask: mask.logical_not() }).item()).toBe(1);
  });

  it("gives the identity where nothing is kept", () => {
    expect(masked.sum(x, { mask: none }).item()).toBe(0);
    expect(masked.prod(x, { mask: none }).item()).toBe(1);
    expect(masked.amax(x, { mask: none }).item()).toBe(-Infinity);
    expect(masked.mean(x, { mask: none }).item()).toBeNaN();
    expect(masked.amin(x.to(torch.int32), { mask: none }).item()).toBe(2147483647);
    expect(() => masked.median(x.to(torch.int64), { mask: none })).toThrow("no fully masked out rows");
  });

  it("broadcasts the mask, never the input", () => {
    const m = torch.ones([2, 6], { dtype: torch.float64 });
    expect(masked.sum(m, 1, { mask }).tolist()).toEqual([4, 4]);
    expect(() => masked.sum(x, { mask: torch.ones([1, 6], { dtype: torch.bool }) })).toThrow(
      "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)",
    );
  });

  it("sums small integers as int64, and has no identity for the largest of booleans", () => {
    expect(masked.sum(x.to(torch.int8)).dtype).toBe(torch.int64);
    expect(() => masked.amax(mask, { mask })).toThrow("identity of amax on torch.bool input");
    expect(() => masked.mean(x.to(torch.int64))).toThrow("mean(): Could not infer output dtype. Input dtype must be");
  });

  it("has no gradient where the mask is false", () => {
    const leaf = x.clone().requires_grad_();
    masked.normalize(leaf, 2, 0, { mask }).sum().backward();
    expect(leaf.grad!.at(mask.logical_not()).tolist()).toEqual([0, 0]);
    expect(torch.autograd.gradcheck((a: torch.Tensor) => masked.std(a, { mask }), [leaf])).toBe(true);
  });
});
