/** @file Normalization: layer, group, batch, instance and root mean square. */
import { numelOf, sizeText, TorchError, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { computeType } from "./helpers.js";
import { op, type Torch } from "./registry.js";

const to = (t: Torch, x: Tensor, dtype: DType): Tensor => (x.dtype === dtype ? x : t._to_copy(x, { dtype }));

/** Throws unless `normalized_shape` is how the input's shape ends, and the parameters have it. */
function checkNormalized(input: Tensor, shape: readonly number[], weight: Tensor | null, bias: Tensor | null): void {
  if (shape.length < 1)
    throw new TorchError(
      `Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = ${sizeText(shape)}`,
    );
  for (const [name, p] of [
    ["weight", weight],
    ["bias", bias],
  ] as const) {
    if (p && p.shape.join() !== shape.join())
      throw new TorchError(
        `Expected ${name} to be of same shape as normalized_shape, but got ${name} of shape ${sizeText(p.shape)} and normalized_shape = ${sizeText(shape)}`,
      );
  }
  if (input.ndim < shape.length || input.shape.slice(input.ndim - shape.length).join() !== shape.join())
    throw new TorchError(
      `Given normalized_shape=${sizeText(shape)}, expected input with shape [*, ${shape.join(", ")}], but got input of size${sizeText(input.shape)}`,
    );
}

/** Values less their mean, times the reciprocal of their deviation, over the last dimensions; in the compute type. */
function standardize(
  t: Torch,
  x: Tensor,
  dims: readonly number[],
  eps: number,
): { y: Tensor; mean: Tensor; rstd: Tensor } {
  const mean = t.mean(x, dims, true);
  const centred = t.sub(x, mean);
  const variance = t.mean(t.mul(centred, centred), dims, true);
  const rstd = t.rsqrt(t.add(variance, eps));
  return { y: t.mul(centred, rstd), mean, rstd };
}

op(
  "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
  {
    decompose: (t, { input, normalized_shape, weight, bias, eps }) => {
      checkNormalized(input, normalized_shape, weight, bias);
      const type = computeType(input.dtype);
      const dims = normalized_shape.map((_, i) => input.ndim - normalized_shape.length + i);
      const { y, mean, rstd } = standardize(t, to(t, input, type), dims, eps);
      let out = y;
      if (weight) out = t.mul(out, to(t, weight, type));
      if (bias) out = t.add(out, to(t, bias, type));
      const stats = weight && weight.dtype !== input.dtype ? type : input.dtype;
      return [to(t, out, input.dtype), to(t, mean, stats), to(t, rstd, stats)];
    },
    nonDifferentiableOutputs: [1, 2],
    doc: "`layer_norm` with the mean and the reciprocal deviation that it used.",
  },
);

op(
  "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
  {
    decompose: (t, { input, normalized_shape, weight, bias, eps }) =>
      t.native_layer_norm(input, normalized_shape, weight, bias, eps)[0],
    doc: "Normalizes over the last dimensions to mean zero and variance one, then scales and shifts.",
  },
);

op("rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor", {
  decompose: (t, { input, normalized_shape, weight, eps }) =>
    t._fused_rms_norm(input, normalized_shape, weight, eps)[0],
  doc: "Divides by the root mean square over the last dimensions, then scales.",
});

const epsilon: Record<string, number> = { float64: 2 ** -52, float32: 2 ** -23, float16: 2 ** -10, bfloat16: 2 ** -7 };

op("_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)", {
  decompose: (t, { input, normalized_shape, weight, eps }) => {
    checkNormalized(input, normalized_shape, weight, null);
    const type = computeType(input.dtype);
    const dims = normalized_shape.map((_, i) => input.ndim - normalized_shape.length + i);
    const x = to(t, input, type);
    const square = input.is_complex() ? t.mul(x, x) : t.mul(x, x);
    const rstd = t.rsqrt(t.add(t.mean(square, dims, true), eps ?? epsilon[type.to_real().name]));
    const y = t.mul(x, rstd);
    const out = weight ? t.mul(y, to(t, weight, type)) : y;
    return [to(t, out, input.dtype), rstd];
  },
  doc: "`rms_norm` with the reciprocal root mean square that it used.",
});

op(
  "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
  {
    decompose: (t, { input, weight, bias, N, C, HxW, group, eps }) => {
      checkGroups(input, weight, bias, C, group);
      const type = computeType(input.dtype);
      const stats = weight && weight.dtype !== input.dtype ? type : input.dtype;
      const x = t.reshape(to(t, input, type), [N, group, (C / group) * HxW]);
      const { y, mean, rstd } = standardize(t, x, [2], eps);
      const out = affine(t, t.reshape(y, input.shape), weight, bias, type);
      return [
        to(t, out, input.dtype),
        to(t, t.reshape(mean, [N, group]), stats),
        to(t, t.reshape(rstd, [N, group]), stats),
      ];
    },
    doc: "`group_norm` with the means and the reciprocal deviations that it used.",
  },
);

function checkGroups(
  input: Tensor,
  weight: Tensor | null,
  bias: Tensor | null,
  channels: number,
  groups: number,
): void {
  if (groups <= 0) throw new TorchError(`Expected num groups to be greater than 0, got ${groups}`);
  if (channels % groups !== 0)
    throw new TorchError(
      `Expected number of channels in input to be divisible by num_groups, but got input of shape ${sizeText(input.shape)} and num_groups=${groups}`,
    );
  for (const [name, p] of [
    ["weight", weight],
    ["bias", bias],
  ] as const) {
    if (p && (p.ndim !== 1 || p.numel() !== channels))
      throw new TorchError(
        `Expected ${name} to be a vector of size equal to the number of channels in input, but got ${name} of shape ${sizeText(p.shape)} and input of shape ${sizeText(input.shape)}`,
      );
  }
}

/** Scale and shift of each channel, dimension 1. */
function affine(t: Torch, x: Tensor, weight: Tensor | null, bias: Tensor | null, type: DType): Tensor {
  const shape = x.shape.map((n, i) => (i === 1 ? n : 1));
  let out = x;
  if (weight) out = t.mul(out, t.reshape(to(t, weight, type), shape));
  if (bias) out = t.add(out, t.reshape(to(t, bias, type), shape));
  return out;
}

op(
  "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
  {
    decompose: (t, { input, num_groups, weight, bias, eps }) => {
      if (input.ndim < 2)
        throw new TorchError(`Expected at least 2 dimensions for input tensor but received ${input.ndim}`);
      const [n, c, ...rest] = input.shape;
      return t.native_group_norm(input, weight, bias, n, c, numelOf(rest), num_groups, eps)[0];
    },
    doc: "Normalizes groups of channels to mean zero and variance one, then scales and shifts each channel.",
  },
);

op(
  "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
  {
    composite: (t, { input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps }) => {
      if (!use_input_stats && !(running_mean && running_var))
        throw new TorchError("Expected running_mean and running_var to be defined when use_input_stats is false");
      const [n, c, ...rest] = input.shape;
      const tile = (x: Tensor | null): Tensor | null => (x ? t.repeat(x, [n]) : null);
      const [mean, variance] = [tile(running_mean), tile(running_var)];
      const x = t.reshape(input, [1, n * c, ...rest]);
      const y = t.batch_norm(x, tile(weight), tile(bias), mean, variance, use_input_stats, momentum, eps, false);
      if (use_input_stats) {
        running_mean?.copy_(t.mean(t.reshape(mean!, [n, c]), 0));
        running_var?.copy_(t.mean(t.reshape(variance!, [n, c]), 0));
      }
      return t.reshape(y, input.shape);
    },
    doc: "Normalizes each channel of each element of the batch.",
  },
);

op("renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", {
  decompose: (t, { self, p, dim, maxnorm }) => {
    if (self.ndim < 2) throw new TorchError(`renorm: input needs at least 2 dimensions, got ${self.ndim} dimensions`);
    const d = dim < 0 ? dim + self.ndim : dim;
    if (d < 0 || d >= self.ndim) throw new TorchError(`renorm: invalid dimension ${dim}`);
    const others = self.shape.map((_, i) => i).filter((i) => i !== d);
    const type = computeType(self.dtype);
    const norm = t.linalg_vector_norm(to(t, self, type), p, others, true);
    const factor = t.where(t.gt(norm, maxnorm), t.div(maxnorm, t.add(norm, 1e-7)), t.ones_like(norm));
    return to(t, t.mul(to(t, self, type), factor), self.dtype);
  },
  statics: ["p"],
  doc: "Scales down the slices along a dimension whose norm exceeds `maxnorm`.",
});
