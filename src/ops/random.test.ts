import { describe, expect, it } from "vitest";
import * as torch from "../index.js";
import { functional } from "../api/index.js";
import type { Tensor } from "../tensor/index.js";

const count = 40_000;
const numbers = (x: Tensor): number[] => x.to(torch.float64).reshape(-1).tolist() as number[];
const mean = (xs: readonly number[]): number => xs.reduce((a, b) => a + b, 0) / xs.length;
const deviation = (xs: readonly number[]): number => {
  const m = mean(xs);
  return Math.sqrt(mean(xs.map((x) => (x - m) ** 2)));
};

/** The distance of Kolmogorov and Smirnov, times the root of the count: above 1.95 once in a thousand times. */
function distance(xs: readonly number[], cdf: (x: number) => number): number {
  const sorted = [...xs].sort((a, b) => a - b);
  let largest = 0;
  sorted.forEach((x, i) => {
    const f = cdf(x);
    largest = Math.max(largest, Math.abs(f - i / sorted.length), Math.abs(f - (i + 1) / sorted.length));
  });
  return largest * Math.sqrt(sorted.length);
}

/** Abramowitz and Stegun 7.1.26: error below 1.5e-7. */
function normalCdf(x: number): number {
  const z = Math.abs(x) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * z);
  const poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const tail = 0.5 * poly * Math.exp(-z * z);
  return x > 0 ? 1 - tail : tail;
}

const filled = (fill: (x: Tensor) => Tensor): number[] => numbers(fill(torch.empty([count])));

describe("continuous distributions follow their distribution functions", () => {
  const cases: [string, () => number[], (x: number) => number][] = [
    ["rand", () => numbers(torch.rand([count])), (x) => Math.min(1, Math.max(0, x))],
    ["randn", () => numbers(torch.randn([count])), normalCdf],
    ["normal_", () => filled((x) => x.normal_(3, 2)), (x) => normalCdf((x - 3) / 2)],
    ["uniform_", () => filled((x) => x.uniform_(-2, 6)), (x) => (x + 2) / 8],
    ["exponential_", () => filled((x) => x.exponential_(0.5)), (x) => 1 - Math.exp(-x / 2)],
    ["cauchy_", () => filled((x) => x.cauchy_(1, 2)), (x) => 0.5 + Math.atan((x - 1) / 2) / Math.PI],
    ["log_normal_", () => filled((x) => x.log_normal_(0.5, 0.25)), (x) => normalCdf((Math.log(x) - 0.5) / 0.25)],
    ["randn in float64", () => numbers(torch.randn([count], { dtype: torch.float64 })), normalCdf],
  ];
  it.each(cases)("%s", (_, draw, cdf) => {
    torch.manual_seed(7);
    expect(distance(draw(), cdf)).toBeLessThan(1.95);
  });
});

/** Whether a mean is within five standard errors of what it should be. */
function expectMoments(xs: readonly number[], wantMean: number, wantDeviation: number): void {
  expect(Math.abs(mean(xs) - wantMean)).toBeLessThan((5 * wantDeviation) / Math.sqrt(xs.length));
  expect(Math.abs(deviation(xs) / wantDeviation - 1)).toBeLessThan(0.05);
}

describe("counts have the right mean and deviation", () => {
  it.each([0.5, 4, 30, 450, 800, 50_000])("poisson(%f)", (lambda) => {
    torch.manual_seed(1);
    expectMoments(
      numbers(functional.poisson(torch.full([count], lambda, { dtype: torch.float32 }))),
      lambda,
      Math.sqrt(lambda),
    );
  });
  it.each([
    [10, 0.3],
    [10, 0.9],
    [1000, 0.02],
    [5000, 0.5],
  ])("binomial(%d, %f)", (n, p) => {
    torch.manual_seed(2);
    const got = numbers(functional.binomial(torch.full([count], n, { dtype: torch.float32 }), torch.full([count], p)));
    expectMoments(got, n * p, Math.sqrt(n * p * (1 - p)));
    expect(Math.max(...got)).toBeLessThanOrEqual(n);
  });
  it("geometric_", () => {
    torch.manual_seed(3);
    expectMoments(
      filled((x) => x.geometric_(0.25)),
      4,
      Math.sqrt(12),
    );
  });
  it("bernoulli and dropout", () => {
    torch.manual_seed(4);
    expectMoments(numbers(torch.bernoulli(torch.full([count], 0.3))), 0.3, Math.sqrt(0.21));
    const [kept, mask] = functional.native_dropout(torch.ones([count]), 0.2, true);
    expect(mean(numbers(mask))).toBeCloseTo(0.8, 1);
    expect(new Set(numbers(kept).map((x) => x.toFixed(4)))).toEqual(new Set(["0.0000", "1.2500"]));
  });
});

describe("integers", () => {
  it("randint reaches every value about as often", () => {
    torch.manual_seed(5);
    const seen = new Array<number>(8).fill(0);
    for (const x of numbers(torch.randint(-3, 5, [count]))) seen[x + 3]++;
    for (const n of seen) expect(Math.abs(n - count / 8)).toBeLessThan(400);
  });
  it("randperm holds each number once, in another order each time", () => {
    const a = torch.randperm(1000).tolist() as number[];
    expect([...a].sort((x, y) => x - y)).toEqual(Array.from({ length: 1000 }, (_, i) => i));
    expect(torch.randperm(1000).tolist()).not.toEqual(a);
  });
  it("multinomial draws in proportion, with and without replacement", () => {
    torch.manual_seed(6);
    const p = torch.tensor([1, 0, 3, 4]);
    const weights = p.to(torch.float32);
    const seen = [0, 0, 0, 0];
    for (const i of numbers(torch.multinomial(weights, count, true))) seen[i]++;
    expect(seen[1]).toBe(0);
    for (const [i, w] of [1, 0, 3, 4].entries()) expect(Math.abs(seen[i] - (count * w) / 8)).toBeLessThan(500);
    const first = [0, 0, 0, 0];
    for (const i of numbers(torch.multinomial(weights.expand(count, 4), 1))) first[i]++;
    for (const [i, w] of [1, 0, 3, 4].entries()) expect(Math.abs(first[i] - (count * w) / 8)).toBeLessThan(500);
    expect((torch.multinomial(weights, 3).tolist() as number[]).sort()).toEqual([0, 2, 3]);
  });
  it("multinomial refuses what is no distribution", () => {
    expect(() => torch.multinomial(torch.tensor([1, NaN]), 1)).toThrow("inf`, `nan` or element < 0");
    expect(() => torch.multinomial(torch.tensor([0.5, -1]), 1, true)).toThrow("element < 0");
    expect(() => torch.multinomial(torch.zeros([3]), 1)).toThrow("sum of probabilities <= 0");
  });
});

describe("streams", () => {
  it("repeat after manual_seed and differ from call to call", () => {
    torch.manual_seed(11);
    const a = torch.rand([64]).tolist();
    const b = torch.rand([64]).tolist();
    torch.manual_seed(11);
    expect(torch.rand([64]).tolist()).toEqual(a);
    expect(b).not.toEqual(a);
  });
  it("belong to their generator", () => {
    const g = new torch.Generator("cpu").manual_seed(5);
    const a = torch.randn([8], { generator: g }).tolist();
    torch.randn([8]);
    g.manual_seed(5);
    expect(torch.randn([8], { generator: g }).tolist()).toEqual(a);
  });
  it("give 16-bit floats below one", () => {
    for (const dtype of [torch.bfloat16, torch.float16])
      expect(Math.max(...numbers(torch.rand([count], { dtype })))).toBeLessThan(1);
  });
});

describe("dropout", () => {
  it("sends gradients where it kept elements", () => {
    const x = torch.ones([1000], { requires_grad: true });
    const y = torch.dropout(x, 0.5, true);
    y.sum().backward();
    expect(x.grad!.tolist()).toEqual(y.tolist());
  });
  it("is the identity when not training", () => {
    const x = torch.randn([10]);
    expect(torch.dropout(x, 0.5, false)).toBe(x);
  });
  it("alpha dropout keeps mean and deviation", () => {
    torch.manual_seed(9);
    const y = numbers(torch.alpha_dropout(torch.randn([count]), 0.3, true));
    expect(Math.abs(mean(y))).toBeLessThan(0.05);
    expect(Math.abs(deviation(y) - 1)).toBeLessThan(0.05);
  });
});
