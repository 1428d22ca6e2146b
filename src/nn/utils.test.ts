/** @file Gradient clipping and parameters as a vector. Values are PyTorch 2.13's. */
import { expect, test } from "vitest";
import * as torch from "torch-tpu";
import * as nn from "torch-tpu/nn";
import type { Tensor } from "torch-tpu";

const floats = (data: number[] | number[][]): Tensor => torch.tensor(data, { dtype: torch.float32 });
const numbers = (t: Tensor): number[] => Array.from(t.flatten().detach().numpy() as ArrayLike<number>, Number);
const close = (got: readonly number[], want: readonly number[]): void =>
  got.forEach((g, i) => expect(g).toBeCloseTo(want[i], 5));

/** Two parameters with gradients, and one without. */
function parameters(): nn.Parameter[] {
  const [a, b, c] = [[2, 2], [3], [1]].map((shape) => new nn.Parameter(torch.zeros(shape)));
  a.grad = floats([
    [3, -4],
    [0, 12],
  ]);
  b.grad = floats([1, 2, -2]);
  return [a, b, c];
}

test.each([
  [
    2,
    13.34166431427002,
    [0.22485947608947754, -0.2998126447200775, 0, 0.8994379043579102],
    [0.07495316118001938, 0.14990632236003876, -0.14990632236003876],
  ],
  [
    1,
    24,
    [0.1249999925494194, -0.1666666567325592, 0, 0.4999999701976776],
    [0.0416666641831398, 0.0833333283662796, -0.0833333283662796],
  ],
  [
    Infinity,
    12,
    [0.2499999850988388, -0.3333333134651184, 0, 0.9999999403953552],
    [0.0833333283662796, 0.1666666567325592, -0.1666666567325592],
  ],
  [
    3,
    12.244967460632324,
    [0.24499857425689697, -0.3266647756099701, 0, 0.9799942970275879],
    [0.08166619390249252, 0.16333238780498505, -0.16333238780498505],
  ],
] as const)("clip_grad_norm_ with the %s-norm", (norm_type, norm, first, second) => {
  const p = parameters();
  expect(nn.utils.clip_grad_norm_(p, 1, { norm_type }).item()).toBeCloseTo(norm, 4);
  close(numbers(p[0].grad!), first);
  close(numbers(p[1].grad!), second);
  expect(p[2].grad).toBe(null);
});

test("a norm below the limit leaves gradients as they are", () => {
  const p = parameters();
  nn.utils.clip_grad_norm_(p, 100);
  expect(numbers(p[0].grad!)).toEqual([3, -4, 0, 12]);
});

test("no gradient: the norm is 0", () => {
  expect(nn.utils.clip_grad_norm_([new nn.Parameter(torch.zeros([1]))], 1).item()).toBe(0);
});

test("a norm that is not finite is an error when asked for", () => {
  const p = parameters();
  p[1].grad = floats([Infinity, 0, 0]);
  expect(() => nn.utils.clip_grad_norm_(p, 1, { error_if_nonfinite: true })).toThrow(
    "The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`",
  );
  expect(numbers(p[0].grad!)).toEqual([3, -4, 0, 12]);
});

test("clip_grad_value_", () => {
  const p = parameters();
  nn.utils.clip_grad_value_(p, 2.5);
  expect(numbers(p[0].grad!)).toEqual([2.5, -2.5, 0, 2.5]);
  expect(numbers(p[1].grad!)).toEqual([1, 2, -2]);
});

test("parameters to a vector and back", () => {
  const net = new nn.Linear(2, 3);
  const vector = nn.utils.parameters_to_vector(net.parameters());
  expect(vector.shape).toEqual([9]);
  const { weight } = net;
  nn.utils.vector_to_parameters(torch.arange(9, { dtype: torch.float32 }), net.parameters());
  expect(net.weight === weight).toBe(true);
  expect(net.weight.tolist()).toEqual([
    [0, 1],
    [2, 3],
    [4, 5],
  ]);
  expect(numbers(net.bias!)).toEqual([6, 7, 8]);
  nn.init.zeros_(net.weight);
  expect(numbers(net.bias!)).toEqual([6, 7, 8]);
});

test("an MLP and a small convolutional net learn", () => {
  torch.manual_seed(0);
  const x = torch.randn([32, 1, 6, 6]);
  const target = x.flatten(1).sum(1).gt(0).to(torch.int64);
  const nets = [
    new nn.Sequential(new nn.Flatten(), new nn.Linear(36, 16), new nn.ReLU(), new nn.Linear(16, 2)),
    new nn.Sequential(
      new nn.Conv2d(1, 4, 3, { padding: 1 }),
      new nn.BatchNorm2d(4),
      new nn.ReLU(),
      new nn.MaxPool2d(2),
      new nn.Flatten(),
      new nn.Dropout(0.1),
      new nn.Linear(36, 2),
    ),
  ];
  const criterion = new nn.CrossEntropyLoss();
  for (const net of nets) {
    const losses: number[] = [];
    for (let i = 0; i < 30; i++) {
      const loss = criterion(net(x), target);
      net.zero_grad();
      loss.backward();
      nn.utils.clip_grad_norm_(net.parameters(), 5);
      torch.no_grad(() => {
        for (const p of net.parameters()) p.sub_(p.grad!.mul(0.3));
      });
      losses.push(loss.item() as number);
    }
    expect(losses.at(-1)!).toBeLessThan(0.5 * losses[0]);
  }
});
