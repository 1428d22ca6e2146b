/** @file Batch normalization, with running statistics. */
import { float64, TorchError, uint8, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { computeType } from "./helpers.js";
import { op, type Torch } from "./registry.js";

const to = (t: Torch, x: Tensor, dtype: DType): Tensor => (x.dtype === dtype ? x : t._to_copy(x, { dtype }));

interface Inputs {
  readonly input: Tensor;
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly running_mean: Tensor | null;
  readonly running_var: Tensor | null;
  readonly training: boolean;
  readonly momentum: number;
  readonly eps: number;
}

/** All dimensions but the channels'. */
const others = (x: Tensor): number[] => x.shape.map((_, i) => i).filter((i) => i !== 1);
const perChannel = (t: Torch, v: Tensor, x: Tensor): Tensor =>
  x.ndim < 2
    ? v
    : t.reshape(
        v,
        x.shape.map((n, i) => (i === 1 ? n : 1)),
      );

interface Normalized {
  out: Tensor;
  mean: Tensor;
  rstd: Tensor;
  /** What the running statistics become. */
  running: [Tensor, Tensor] | null;
}

function checkChannels(a: Inputs): void {
  const channels = a.input.ndim > 1 ? a.input.shape[1] : 0;
  if (!a.training && !(a.running_mean && a.running_var))
    throw new TorchError("running_mean and running_var must be defined in evaluation mode");
  for (const name of ["weight", "bias", "running_mean", "running_var"] as const) {
    const p = a[name];
    if (p && p.numel() !== channels)
      throw new TorchError(`${name} should contain ${channels} elements not ${p.numel()}`);
  }
}

function normalize(t: Torch, a: Inputs): Normalized {
  checkChannels(a);
  const { input, weight, bias, eps } = a;
  const type = computeType(input.dtype);
  const x = to(t, input, type);
  let mean: Tensor;
  let variance: Tensor;
  let running: [Tensor, Tensor] | null = null;
  if (a.training) {
    const dims = others(x);
    mean = t.mean(x, dims);
    const centred = t.sub(x, perChannel(t, mean, x));
    variance = t.mean(t.mul(centred, centred), dims);
    const n = x.numel() / Math.max(1, x.shape[1]);
    const kept = t.sub(t.ones([], { dtype: float64, device: x.device }), a.momentum);
    const move = (old: Tensor, now: Tensor): Tensor =>
      to(t, t.add(t.mul(to(t, old, type), kept), t.mul(now, a.momentum)), old.dtype);
    if (a.running_mean && a.running_var)
      running = [move(a.running_mean, mean), move(a.running_var, t.mul(variance, n / Math.max(1, n - 1)))];
  } else {
    mean = to(t, a.running_mean!, type);
    variance = to(t, a.running_var!, type);
  }
  const rstd = t.rsqrt(t.add(variance, eps));
  let out = t.mul(t.sub(x, perChannel(t, mean, x)), perChannel(t, rstd, x));
  if (weight) out = t.mul(out, perChannel(t, to(t, weight, type), x));
  if (bias) out = t.add(out, perChannel(t, to(t, bias, type), x));
  return { out: to(t, out, input.dtype), mean, rstd, running };
}

const stats = (t: Torch, a: Inputs, { mean, rstd }: Normalized): [Tensor, Tensor] => {
  const type = a.weight && a.weight.dtype !== a.input.dtype ? mean.dtype : a.input.dtype;
  if (!a.training) return [to(t, t.new_zeros(mean, [0]), type), to(t, t.new_zeros(mean, [0]), type)];
  return [to(t, mean, type), to(t, rstd, type)];
};

/** Writes what the running statistics become. */
function update(a: Inputs, n: Normalized): void {
  if (!n.running) return;
  a.running_mean!.copy_(n.running[0]);
  a.running_var!.copy_(n.running[1]);
}

/** The cotangents of input, weight and bias. `mean` and `rstd` were computed from the input when training. */
function gradients(
  t: Torch,
  a: Inputs,
  dy: Tensor,
  needs: readonly boolean[] = [true, true, true],
): Record<string, Tensor | null> {
  const { input, weight } = a;
  const type = computeType(input.dtype);
  const x = to(t, input, type);
  const g = to(t, dy, type);
  const dims = others(x);
  const { mean, rstd } = normalize(t, {
    ...a,
    weight: null,
    bias: null,
    running_mean: a.training ? null : a.running_mean,
    running_var: a.training ? null : a.running_var,
  });
  const hat = t.mul(t.sub(x, perChannel(t, mean, x)), perChannel(t, rstd, x));
  const dBias = t.sum(g, dims);
  const dWeight = t.sum(t.mul(g, hat), dims);
  let scale = rstd;
  if (weight) scale = t.mul(scale, to(t, weight, type));
  let inner = g;
  if (a.training) {
    const n = x.numel() / Math.max(1, x.shape[1]);
    const drift = t.add(perChannel(t, dBias, x), t.mul(hat, perChannel(t, dWeight, x)));
    inner = t.sub(g, t.div(drift, n));
  }
  return {
    input: needs[0] ? t.mul(inner, perChannel(t, scale, x)) : null,
    weight: needs[1] && weight ? dWeight : null,
    bias: needs[2] && a.bias ? dBias : null,
  };
}

const full =
  "Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps";

op(`native_batch_norm(${full}) -> (Tensor, Tensor, Tensor)`, {
  decompose: (t, args) => {
    const found = normalize(t, args);
    update(args, found);
    return [found.out, ...stats(t, args, found)];
  },
  grad: (t, args, [dy]) => gradients(t, args, dy),
  mutates: ["running_mean", "running_var"],
  runtime: ["momentum"],
  nonDifferentiableOutputs: [1, 2],
  doc: "`batch_norm` with the statistics that it used.",
});

op(
  "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
  {
    composite: (t, a) =>
      t.native_batch_norm(a.input, a.weight, a.bias, a.running_mean, a.running_var, a.training, a.momentum, a.eps),
    doc: "`native_batch_norm` whose schema says what it overwrites.",
  },
);
op(
  "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
  { composite: (t, a) => t.native_batch_norm(a.input, a.weight, a.bias, null, null, a.training, a.momentum, a.eps) },
);
op(
  "_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
  {
    composite: (t, a) =>
      t.native_batch_norm(a.input, a.weight, a.bias, a.running_mean, a.running_var, false, a.momentum, a.eps),
    doc: "`native_batch_norm` with running statistics.",
  },
);
op(
  "_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
  {
    composite: (t, a) => [
      ...t.native_batch_norm(a.input, a.weight, a.bias, a.running_mean, a.running_var, true, a.momentum, a.eps),
      t.empty([0], { dtype: uint8, device: a.input.device }),
    ],
    doc: "`native_batch_norm` in training, with an empty reserve.",
  },
);

op(
  "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
  {
    composite: (t, a) =>
      t.native_batch_norm(a.input, a.weight, a.bias, a.running_mean, a.running_var, a.training, a.momentum, a.eps)[0],
    doc: "Normalizes each channel over the batch, with running statistics, then scales and shifts.",
  },
);

op(
  "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
  {
    decompose: (t, { grad_out, input, weight, running_mean, running_var, train, eps }) => {
      const a: Inputs = { input, weight, bias: weight, running_mean, running_var, training: train, momentum: 0, eps };
      const found = gradients(t, a, grad_out);
      const channels = t.new_zeros(grad_out, [input.shape[1]]);
      return [found.input!, found.weight ?? channels, found.bias ?? channels];
    },
    doc: "The gradients of batch normalization.",
  },
);
