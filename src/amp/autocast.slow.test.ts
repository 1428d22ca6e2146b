/** @file Autocast against the types that PyTorch gives under autocast("cpu", bfloat16), and under compilation. */
import { expect, test } from "vitest";
import * as torch from "../index.js";
import { nn, optim, type Tensor } from "../index.js";

const F = nn.functional;
const { bfloat16, float32, float64 } = torch;
const low = (a: Tensor): Tensor => a.to(bfloat16);

/** Each on a 4×4 float32 tensor; the type of the result in PyTorch. */
const onCpu: Record<string, [(a: Tensor) => Tensor, torch.DType]> = {
  matmul: [(a) => a.matmul(a), bfloat16],
  mm: [(a) => torch.mm(a, a), bfloat16],
  linear: [(a) => F.linear(a, a, a.at(0)), bfloat16],
  bmm: [(a) => torch.bmm(a.unsqueeze(0), a.unsqueeze(0)), bfloat16],
  addmm: [(a) => torch.addmm(a, a, a), bfloat16],
  baddbmm: [(a) => torch.baddbmm(a.unsqueeze(0), a.unsqueeze(0), a.unsqueeze(0)), bfloat16],
  addbmm: [(a) => torch.addbmm(a, a.unsqueeze(0), a.unsqueeze(0)), bfloat16],
  einsum: [(a) => torch.einsum("ij,jk->ik", [a, a]), bfloat16],
  "einsum without a sum": [(a) => torch.einsum("ij,ij->ij", [a, a]), float32],
  tensordot: [(a) => torch.tensordot(a, a, 1), bfloat16],
  inner: [(a) => torch.inner(a, a), bfloat16],
  multi_dot: [(a) => torch.linalg.multi_dot([a, a, a]), bfloat16],
  vecdot: [(a) => torch.linalg.vecdot(a, a), bfloat16],
  conv1d: [(a) => F.conv1d(a.unsqueeze(0), a.unsqueeze(2)), bfloat16],
  conv2d: [(a) => F.conv2d(a.view(1, 1, 4, 4), a.view(1, 1, 4, 4)), bfloat16],
  conv_transpose2d: [(a) => F.conv_transpose2d(a.view(1, 1, 4, 4), a.view(1, 1, 4, 4)), bfloat16],
  attention: [(a) => F.scaled_dot_product_attention(a.view(1, 4, 4), a.view(1, 4, 4), a.view(1, 4, 4)), bfloat16],
  prelu: [(a) => F.prelu(a, a.at(0).narrow(0, 0, 1)), bfloat16],
  mv: [(a) => torch.mv(a, a.at(0)), float32],
  dot: [(a) => torch.dot(a.at(0), a.at(0)), float32],
  addmv: [(a) => torch.addmv(a.at(0), a, a.at(0)), float32],
  "float64 stays": [(a) => torch.mm(a.to(float64), a.to(float64)), float64],
  softmax: [(a) => torch.softmax(low(a), -1), bfloat16],
  layer_norm: [(a) => F.layer_norm(low(a), [4]), bfloat16],
  exp: [(a) => low(a).exp(), bfloat16],
  sum: [(a) => low(a).sum(), bfloat16],
  prod: [(a) => low(a).prod(0), float32],
  trace: [(a) => low(a).trace(), float32],
  quantile: [(a) => low(a).quantile(0.5), float32],
  cdist: [(a) => torch.cdist(low(a), low(a)), float32],
  mse_loss: [(a) => F.mse_loss(low(a), low(a)), float32],
  l1_loss: [(a) => F.l1_loss(low(a), low(a)), float32],
  huber_loss: [(a) => F.huber_loss(low(a), low(a)), float32],
  kl_div: [(a) => F.kl_div(low(a), low(a)), float32],
  cross_entropy: [(a) => F.cross_entropy(low(a), torch.arange(4)), float32],
  nll_loss: [(a) => F.nll_loss(low(a), torch.arange(4)), float32],
  "binary cross entropy": [(a) => F.binary_cross_entropy_with_logits(low(a), low(a)), float32],
  avg_pool3d: [(a) => F.avg_pool3d(low(a).view(1, 1, 1, 4, 4), 1), float32],
  "reflection padding": [(a) => F.pad(low(a).unsqueeze(0), [1, 1], "reflect"), float32],
  "cat of both": [(a) => torch.cat([low(a), a]), float32],
  "cat of one": [(a) => torch.cat([low(a), low(a)]), bfloat16],
  stack: [(a) => torch.stack([low(a), a]), float32],
  add: [(a) => low(a).add(a), float32],
};

test.each(Object.entries(onCpu))(
  "on a CPU, %s has PyTorch's type, and the gradient its input's",
  (_name, [fn, dtype]) => {
    const a = torch.rand([4, 4], { requires_grad: true });
    const y = torch.autocast("cpu", { dtype: bfloat16 }, () => fn(a));
    expect(y.dtype).toBe(dtype);
    y.to(float32).sum().backward();
    expect(a.grad!.dtype).toBe(float32);
  },
);

const onTpu: Record<string, [(a: Tensor) => Tensor, torch.DType]> = {
  mv: [(a) => torch.mv(a, a.at(0)), bfloat16],
  softmax: [(a) => torch.softmax(low(a), -1), float32],
  layer_norm: [(a) => F.layer_norm(low(a), [4]), float32],
  exp: [(a) => low(a).exp(), float32],
  sum: [(a) => low(a).sum(), float32],
  norm: [(a) => low(a).norm(), float32],
  addcmul: [(a) => torch.addcmul(low(a), a, a), float32],
};

test.each(Object.entries(onTpu))("on a TPU, %s has the type of PyTorch's accelerators", (_name, [fn, dtype]) => {
  const a = torch.rand([4, 4], { device: "tpu", requires_grad: true });
  expect(torch.autocast("tpu", () => fn(a)).dtype).toBe(dtype);
});

test("a region ends with its block, its promise or its error, and regions nest", async () => {
  {
    using _ = torch.autocast("cpu", { dtype: torch.float16 });
    expect(torch.get_autocast_dtype("cpu")).toBe(torch.float16);
    expect(torch.autocast("cpu", { enabled: false }, () => torch.is_autocast_enabled("cpu"))).toBe(false);
    expect(torch.is_autocast_enabled("cpu")).toBe(true);
    expect(torch.is_autocast_enabled("tpu")).toBe(false);
  }
  expect(torch.is_autocast_enabled("cpu")).toBe(false);
  expect(torch.get_autocast_dtype("cpu")).toBe(bfloat16);
  const waiting = torch.autocast("cpu", async () => {
    await Promise.resolve();
    return torch.is_autocast_enabled("cpu");
  });
  expect(await waiting).toBe(true);
  expect(() =>
    torch.autocast("cpu", () => {
      throw new Error("x");
    }),
  ).toThrow("x");
  expect(torch.is_autocast_enabled("cpu")).toBe(false);
  expect(() => torch.autocast("cuda")).toThrow("User specified an unsupported autocast device_type 'cuda'");
});

test("a parameter is cast once for a region, and anew after it was changed", () => {
  const w = torch.rand([4, 4], { requires_grad: true });
  const x = torch.rand([4, 4]);
  const castsOf = (options: torch.amp.AutocastOptions): number => {
    const seen = new Set<unknown>();
    torch.autocast("cpu", options, () => {
      for (let i = 0; i < 3; i++) {
        const y = torch.mm(x, w);
        for (const node of y.grad_fn!.next_functions) if (node[0]) seen.add(node[0]);
      }
    });
    return seen.size;
  };
  expect(castsOf({})).toBe(1);
  expect(castsOf({ cache_enabled: false })).toBe(3);
  torch.autocast("cpu", () => {
    const before = torch.mm(x, w);
    torch.no_grad(() => w.mul_(2));
    expect(torch.mm(x, w).sub(before.mul(2)).abs().max().item()).toBe(0);
  });
});

test("out= and operators inside of others are not cast", () => {
  const a = torch.rand([4, 4]);
  torch.autocast("cpu", () => {
    const out = torch.empty([4, 4]);
    torch.mm(a, a, { out });
    expect(out.dtype).toBe(float32);
    expect(
      out
        .sub(torch.autocast("cpu", { enabled: false }, () => torch.mm(a, a)))
        .abs()
        .max()
        .item(),
    ).toBe(0);
  });
});

test("a compiled step with autocast inside learns as the eager one, and autocast outside is a guard", () => {
  const make = () => {
    torch.manual_seed(3);
    const model = new nn.Sequential(new nn.Linear(8, 16), new nn.ReLU(), new nn.Linear(16, 4)).to("tpu");
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    const step = (x: Tensor, y: Tensor): Tensor => {
      const loss = torch.autocast("tpu", () => F.cross_entropy(model(x) as Tensor, y));
      loss.backward();
      optimizer.step();
      optimizer.zero_grad();
      return loss;
    };
    return step;
  };
  torch.manual_seed(1);
  const x = torch.randn([6, 8], { device: "tpu" });
  const y = torch.randint(0, 4, [6], { device: "tpu" });
  const [eager, step] = [make(), torch.compile(make(), { fullgraph: true })];
  for (let i = 0; i < 3; i++) expect(step(x, y).item()).toBeCloseTo(eager(x, y).item() as number, 2);
  const product = torch.compile((a: Tensor) => a.matmul(a));
  const a = torch.rand([4, 4], { device: "tpu" });
  expect(product(a).dtype).toBe(float32);
  expect(torch.autocast("tpu", () => product(a)).dtype).toBe(bfloat16);
  expect(product(a).dtype).toBe(float32);
});

test("custom_fwd casts its inputs where autocast is on, and custom_bwd runs as forward did", () => {
  const seen: unknown[] = [];
  class Product extends torch.autograd.Function {
    static forward = torch.amp.custom_fwd(
      (ctx, a: Tensor) => {
        seen.push(a.dtype, torch.is_autocast_enabled("cpu"));
        ctx.save_for_backward(a);
        return a.mul(a);
      },
      { device_type: "cpu", cast_inputs: float32 },
    );
    static backward = torch.amp.custom_bwd(
      (ctx, dy: Tensor) => {
        seen.push(torch.is_autocast_enabled("cpu"));
        return dy.mul(ctx.saved_tensors[0]).mul(2);
      },
      { device_type: "cpu" },
    );
  }
  const a = torch.rand([2], { dtype: bfloat16, requires_grad: true });
  torch
    .autocast("cpu", () => Product.apply(a))
    .sum()
    .backward();
  expect(seen).toEqual([float32, false, false]);
  expect(a.grad!.dtype).toBe(bfloat16);
});
