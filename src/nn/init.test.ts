/** @file Initialization: exact values where there are some, moments where they are drawn. Texts are PyTorch 2.13's. */
import { describe, expect, test } from "vitest";
import * as torch from "torch-tpu";
import * as nn from "torch-tpu/nn";
import type { Tensor } from "torch-tpu";

const { init } = nn;
const numbers = (t: Tensor): number[] => Array.from(t.flatten().detach().numpy() as ArrayLike<number>, Number);
const mean = (x: readonly number[]): number => x.reduce((a, b) => a + b, 0) / x.length;
const std = (x: readonly number[]): number => Math.sqrt(mean(x.map((v) => (v - mean(x)) ** 2)));

test.each([
  ["linear", null, 1],
  ["conv_transpose2d", null, 1],
  ["sigmoid", null, 1],
  ["tanh", null, 5 / 3],
  ["relu", null, Math.SQRT2],
  ["leaky_relu", null, 1.4141428569978354],
  ["leaky_relu", 0.2, 1.3867504905630728],
  ["selu", null, 0.75],
] as const)("calculate_gain(%s, %s)", (name, param, gain) => {
  expect(init.calculate_gain(name, param)).toBeCloseTo(gain, 12);
});

const large = (): Tensor => torch.empty([200, 100]);

test.each([
  ["uniform_", () => init.uniform_(large(), -1, 3), 1, 4 / Math.sqrt(12), [-1, 3]],
  ["normal_", () => init.normal_(large(), 2, 0.5), 2, 0.5, [-Infinity, Infinity]],
  ["xavier_uniform_", () => init.xavier_uniform_(large()), 0, Math.sqrt(2 / 300), [-Math.sqrt(0.02), Math.sqrt(0.02)]],
  ["xavier_normal_", () => init.xavier_normal_(large(), { gain: 2 }), 0, 2 * Math.sqrt(2 / 300), [-Infinity, Infinity]],
  ["kaiming_uniform_", () => init.kaiming_uniform_(large(), { a: Math.sqrt(5) }), 0, 0.1 / Math.sqrt(3), [-0.1, 0.1]],
  [
    "kaiming_normal_",
    () => init.kaiming_normal_(large(), { mode: "fan_out", nonlinearity: "relu" }),
    0,
    0.1,
    [-Infinity, Infinity],
  ],
  // of a normal cut at one standard deviation, 0.5396 is left
  ["trunc_normal_", () => init.trunc_normal_(large(), 1, 0.5, 0.5, 1.5), 1, 0.5 * 0.5396, [0.5, 1.5]],
  // mean and deviation of a normal between 2 and 3: its tail
  ["trunc_normal_ of a tail", () => init.trunc_normal_(large(), 0, 1, 2, 3), 2.31582, 0.24803, [2, 3]],
  ["trunc_normal_ far out", () => init.trunc_normal_(large(), 0, 1, 5, 6), 5.18315, 0.17162, [5, 6]],
] as const)("%s", (_name, make, wantMean, wantStd, [low, high]) => {
  torch.manual_seed(1);
  const x = numbers(make());
  expect(Math.abs(mean(x) - wantMean)).toBeLessThan((4 * wantStd) / Math.sqrt(x.length));
  expect(std(x) / wantStd).toBeGreaterThan(0.97);
  expect(std(x) / wantStd).toBeLessThan(1.03);
  expect(Math.min(...x)).toBeGreaterThanOrEqual(low - 1e-6);
  expect(Math.max(...x)).toBeLessThanOrEqual(high + 1e-6);
});

describe("without chance", () => {
  test("constants, eye and dirac", () => {
    expect(numbers(init.constant_(torch.empty([2]), 1.5))).toEqual([1.5, 1.5]);
    expect(numbers(init.ones_(torch.empty([2])))).toEqual([1, 1]);
    expect(numbers(init.zeros_(torch.ones([2])))).toEqual([0, 0]);
    expect(numbers(init.eye_(torch.empty([2, 3])))).toEqual([1, 0, 0, 0, 1, 0]);
    const dirac = numbers(init.dirac_(torch.empty([4, 2, 3]), 2));
    expect(dirac.flatMap((v, i) => (v === 0 ? [] : [i]))).toEqual([1, 10, 13, 22]);
  });

  test("the generator decides, not the global seed", () => {
    const draw = (): number[] =>
      numbers(init.normal_(torch.empty([4]), { generator: new torch.Generator("cpu").manual_seed(3) }));
    expect(draw()).toEqual(draw());
  });

  test("a parameter is filled in place and outside of its graph", () => {
    const p = new nn.Parameter(torch.zeros([2, 2]));
    expect(init.kaiming_uniform_(p) === p).toBe(true);
    expect(p.is_leaf).toBe(true);
    expect(p.grad_fn).toBe(null);
  });

  test("a share of every column is zero", () => {
    const x = numbers(init.sparse_(torch.empty([10, 3]), 0.25));
    for (const column of [0, 1, 2]) expect(x.filter((v, i) => i % 3 === column && v === 0).length).toBe(3);
  });
});

test.each([
  [
    "xavier of a vector",
    () => init.xavier_uniform_(torch.zeros([3])),
    "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
  ],
  [
    "unknown mode",
    () => init.kaiming_uniform_(torch.zeros([3, 3]), { mode: "x" as "fan_in" }),
    "Mode x not supported, please use one of ['fan_in', 'fan_out']",
  ],
  ["unknown gain", () => init.calculate_gain("x" as "relu"), "Unsupported nonlinearity x"],
  ["eye of a vector", () => init.eye_(torch.zeros([3])), "Only tensors with 2 dimensions are supported"],
  [
    "dirac of a matrix",
    () => init.dirac_(torch.zeros([3, 3])),
    "Only tensors with 3, 4, or 5 dimensions are supported",
  ],
  ["dirac of odd groups", () => init.dirac_(torch.zeros([3, 3, 3]), 2), "dim 0 must be divisible by groups"],
  ["sparse of a vector", () => init.sparse_(torch.zeros([3]), 0.1), "Only tensors with 2 dimensions are supported"],
  [
    "orthogonal of a vector",
    () => init.orthogonal_(torch.zeros([3])),
    "Only tensors with 2 or more dimensions are supported",
  ],
] as const)("%s is refused", (_name, act, message) => {
  expect(act).toThrow(message);
});

test.each([
  [4, 6],
  [6, 4],
])("orthogonal_: rows or columns of a %i by %i matrix are orthogonal, of length gain", (rows, columns) => {
  const w = init.orthogonal_(torch.empty([rows, columns], { dtype: torch.float64 }), 2);
  const product = rows < columns ? w.matmul(w.mT) : w.mT.matmul(w);
  expect(
    product
      .sub(torch.eye(4, { dtype: torch.float64 }).mul(4))
      .abs()
      .max()
      .item(),
  ).toBeLessThan(1e-12);
});
