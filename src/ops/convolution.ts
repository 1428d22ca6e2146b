/** @file Convolutions: plain, transposed, grouped, dilated, in one, two and three dimensions. */
import type { Builder, Value } from "../hlo/index.js";
import { TorchError, TorchValueError, sizeText } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast, computeType, scalarTypeName } from "./helpers.js";
import { op, type Torch } from "./registry.js";

interface Geometry {
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
  readonly transposed: boolean;
  readonly output_padding: readonly number[];
  readonly groups: number;
}

/** A list of `n` numbers, for which one may stand. */
export const repeated = (xs: readonly number[], n: number): number[] =>
  xs.length === 1 ? new Array<number>(n).fill(xs[0]) : [...xs];

const spatial = (rank: number): number[] => Array.from({ length: rank - 2 }, (_, i) => i + 2);

function geometryOf(args: Geometry, n: number): Geometry {
  const { stride, padding, dilation, output_padding } = args;
  return {
    ...args,
    stride: repeated(stride, n),
    padding: repeated(padding, n),
    dilation: repeated(dilation, n),
    output_padding: repeated(output_padding, n),
  };
}

/** Checks that PyTorch makes before any convolution, in its words. */
function check(input: Value, weight: Value, bias: Value | null, g: Geometry): void {
  const k = weight.rank;
  if (g.padding.some((n) => n < 0)) throw new TorchError("negative padding is not supported");
  if (g.stride.some((n) => n <= 0)) throw new TorchError("non-positive stride is not supported");
  if (g.dilation.some((n) => n <= 0)) throw new TorchError("dilation should be greater than zero");
  if (g.groups <= 0) throw new TorchError("non-positive groups is not supported");
  if (k < 3) throw new TorchError("weight should have at least three dimensions");
  if (input.rank !== k)
    throw new TorchError(
      `Expected ${k}-dimensional input for ${k}-dimensional weight ${sizeText(weight.shape)}, but got ${input.rank}-dimensional input of size ${sizeText(input.shape)} instead`,
    );
  if (input.dtype !== weight.dtype)
    throw new TorchError(
      `Input type (${scalarTypeName(input.dtype)}) and weight type (${scalarTypeName(weight.dtype)}) should be the same`,
    );
  if (bias && bias.dtype !== input.dtype)
    throw new TorchError(
      `Input type (${scalarTypeName(input.dtype)}) and bias type (${scalarTypeName(bias.dtype)}) should be the same`,
    );
  const { groups, transposed } = g;
  if (weight.shape[0] < groups)
    throw new TorchError(
      `Given groups=${groups}, expected weight to be at least ${groups} at dimension 0, but got weight of size ${sizeText(weight.shape)} instead`,
    );
  if (weight.shape[0] % groups !== 0)
    throw new TorchError(
      `Given groups=${groups}, expected weight to be divisible by ${groups} at dimension 0, but got weight of size ${sizeText(weight.shape)} instead`,
    );
  const channels = transposed ? weight.shape[0] : weight.shape[1] * groups;
  if (input.shape[1] !== channels)
    throw new TorchError(
      `Given ${transposed ? "transposed=1" : `groups=${groups}`}, weight of size ${sizeText(weight.shape)}, expected input${sizeText(input.shape)} to have ${channels} channels, but got ${input.shape[1]} channels instead`,
    );
  const features = transposed ? weight.shape[1] * groups : weight.shape[0];
  if (bias && (bias.rank !== 1 || bias.shape[0] !== features))
    throw new TorchError(
      `Given weight of size ${sizeText(weight.shape)}, expected bias to be 1-dimensional with ${features} elements, but got bias of size ${sizeText(bias.shape)} instead`,
    );
  if (transposed) return;
  const padded = input.shape.slice(2).map((n, i) => n + 2 * g.padding[i]);
  const kernel = weight.shape.slice(2).map((n, i) => (n - 1) * g.dilation[i] + 1);
  if (padded.some((n, i) => n < kernel[i]))
    throw new TorchError(
      `Calculated padded input size per channel: (${padded.join(" x ")}). Kernel size: (${kernel.join(" x ")}). Kernel size can't be greater than actual input size`,
    );
}

const layout = (
  rank: number,
): {
  inputBatch: number;
  inputFeature: number;
  inputSpatial: number[];
  outputBatch: number;
  outputFeature: number;
  outputSpatial: number[];
  kernelSpatial: number[];
} => ({
  inputBatch: 0,
  inputFeature: 1,
  inputSpatial: spatial(rank),
  outputBatch: 0,
  outputFeature: 1,
  outputSpatial: spatial(rank),
  kernelSpatial: spatial(rank),
});

/** The kernel [in, out/groups, …] of a transposed convolution as [in/groups, out, …]. */
function regroup(h: Builder, weight: Value, groups: number): Value {
  if (groups === 1) return weight;
  const [ci, co, ...k] = weight.shape;
  const split = h.reshape(weight, [groups, ci / groups, co, ...k]);
  const order = [1, 0, 2, ...k.map((_, i) => i + 3)];
  return h.reshape(h.transpose(split, order), [ci / groups, groups * co, ...k]);
}

function convolve(h: Builder, input: Value, weight: Value, g: Geometry): Value {
  const { stride, padding, dilation, transposed, output_padding, groups } = g;
  const wide = computeType(input.dtype);
  const common = { ...layout(input.rank), rhsDilation: dilation, featureGroupCount: groups, outDtype: wide };
  const out = transposed
    ? // the kernel is reversed apart: XLA's CPU library takes no reversed windows, and without it is far slower
      h.convolution(input, h.reverse(regroup(h, weight, groups), spatial(weight.rank)), {
        ...common,
        kernelInput: 0,
        kernelOutput: 1,
        lhsDilation: stride,
        padding: padding.map((p, i) => {
          const full = dilation[i] * (weight.shape[i + 2] - 1);
          return [full - p, full - p + output_padding[i]] as const;
        }),
      })
    : h.convolution(input, weight, {
        ...common,
        kernelInput: 1,
        kernelOutput: 0,
        strides: stride,
        padding: padding.map((p) => [p, p] as const),
      });
  return cast(h, out, input.dtype);
}

/** The sizes of the result's spatial dimensions. */
function outputSizes(input: readonly number[], kernel: readonly number[], g: Geometry): number[] {
  return input.map((n, i) => {
    const reach = g.dilation[i] * (kernel[i] - 1);
    return g.transposed
      ? (n - 1) * g.stride[i] - 2 * g.padding[i] + reach + g.output_padding[i] + 1
      : Math.floor((n + 2 * g.padding[i] - reach - 1) / g.stride[i]) + 1;
  });
}

op(
  "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
  {
    lower: (h, args) => {
      const { input, weight, bias } = args;
      const g = geometryOf(args, Math.max(1, weight.rank - 2));
      check(input, weight, bias, g);
      const features = g.transposed ? weight.shape[1] * g.groups : weight.shape[0];
      const shape = [input.shape[0], features, ...outputSizes(input.shape.slice(2), weight.shape.slice(2), g)];
      const empty = shape.includes(0) || input.numel === 0 || weight.numel === 0;
      const y = empty ? h.splat(0, input.dtype, shape) : convolve(h, input, weight, g);
      return bias ? h.add(y, h.broadcast_in_dim(bias, y.shape, [1])) : y;
    },
    grad: (t, args, dy) => {
      const { input, weight, bias } = args;
      const g = geometryOf(args, weight.ndim - 2);
      return {
        input: inputGrad(t, dy, input.shape, weight, g),
        weight: t._convolution_weight(input, dy, weight.shape, g.stride, g.padding, g.dilation, g.transposed, g.groups),
        bias: bias ? t.sum(dy, [0, ...spatial(dy.ndim)]) : null,
      };
    },
    doc: "A convolution of any rank, plain or transposed.",
  },
);

/** The cotangent of a convolution's input: the convolution transposed. */
function inputGrad(t: Torch, dy: Tensor, shape: readonly number[], weight: Tensor, g: Geometry): Tensor {
  const transposed = !g.transposed;
  const back = { ...g, transposed, output_padding: g.padding.map(() => 0) };
  const sizes = outputSizes(dy.shape.slice(2), weight.shape.slice(2), back);
  const missing = transposed ? shape.slice(2).map((n, i) => n - sizes[i]) : back.output_padding;
  const dx = t.convolution(dy, weight, null, g.stride, g.padding, g.dilation, transposed, missing, g.groups);
  // output padding beyond a stride gives positions that no input reached
  return shape.reduce((x, n, d) => (x.shape[d] > n ? t.slice(x, d, 0, n, 1) : x), dx);
}

op(
  "_convolution_weight(Tensor input, Tensor grad_output, SymInt[] weight_size, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt groups) -> Tensor",
  {
    lower: (h, { input, grad_output, weight_size, stride, padding, dilation, transposed, groups }) => {
      const [x, dy] = transposed ? [grad_output, input] : [input, grad_output];
      const kernel = weight_size.slice(2);
      if (x.numel === 0 || dy.numel === 0) return h.splat(0, input.dtype, weight_size);
      const high = kernel.map(
        (k, i) => (k - 1) * dilation[i] + (dy.shape[i + 2] - 1) * stride[i] + 1 - x.shape[i + 2] - padding[i],
      );
      const out = h.convolution(x, dy, {
        ...layout(x.rank),
        inputBatch: 1,
        inputFeature: 0,
        kernelInput: 0,
        kernelOutput: 1,
        outputBatch: 1,
        outputFeature: 0,
        strides: dilation,
        rhsDilation: stride,
        padding: padding.map((p, i) => [p, high[i]] as const),
        batchGroupCount: groups,
        outDtype: computeType(input.dtype),
      });
      return cast(h, out, input.dtype);
    },
    grad: (t, args, dw) => {
      const { input, grad_output, stride, padding, dilation, transposed, groups } = args;
      const none = stride.map(() => 0);
      const g: Geometry = { stride, padding, dilation, transposed, output_padding: none, groups };
      const sizes = outputSizes(input.shape.slice(2), dw.shape.slice(2), g);
      const extra = transposed ? grad_output.shape.slice(2).map((n, i) => n - sizes[i]) : none;
      return {
        input: inputGrad(t, grad_output, input.shape, dw, g),
        grad_output: t.convolution(input, dw, null, stride, padding, dilation, transposed, extra, groups),
      };
    },
    doc: "The gradient of a convolution's kernel.",
  },
);

op(
  "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
  {
    decompose: (t, args) => {
      const { grad_output, input, weight } = args;
      const g = geometryOf(args, weight.ndim - 2);
      return [
        inputGrad(t, grad_output, input.shape, weight, g),
        t._convolution_weight(
          input,
          grad_output,
          weight.shape,
          g.stride,
          g.padding,
          g.dilation,
          g.transposed,
          g.groups,
        ),
        t.sum(grad_output, [0, ...spatial(grad_output.ndim)]),
      ];
    },
    doc: "The gradients of a convolution's input, kernel and bias.",
  },
);

/** A batch of one for an input that lacks the batch dimension. */
function batched(t: Torch, input: Tensor, n: number, name: string, run: (x: Tensor) => Tensor): Tensor {
  if (input.ndim !== n + 1 && input.ndim !== n + 2)
    throw new TorchError(
      `Expected ${n + 1}D (unbatched) or ${n + 2}D (batched) input to ${name}, but got input of size: ${sizeText(input.shape)}`,
    );
  return input.ndim === n + 2 ? run(input) : t.squeeze(run(t.unsqueeze(input, 0)), 0);
}

/** The padding "same": both sides as equal as can be, the odd one behind. */
function samePadding(weight: Tensor, dilation: readonly number[]): { left: number; right: number }[] {
  return weight.shape.slice(2).map((k, i) => {
    const total = dilation[i] * (k - 1);
    const left = Math.floor(total / 2);
    return { left, right: total - left };
  });
}

for (const n of [1, 2, 3] as const) {
  const list = `[${new Array(n).fill(1).join(", ")}]`;
  const zeros = `[${new Array(n).fill(0).join(", ")}]`;
  const name = `conv${n}d` as const;
  op(
    `${name}(Tensor input, Tensor weight, Tensor? bias=None, SymInt[${n}] stride=${list}, SymInt[${n}] padding=${zeros}, SymInt[${n}] dilation=${list}, SymInt groups=1) -> Tensor` as "conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] dilation=1, SymInt groups=1) -> Tensor",
    {
      composite: (t, { input, weight, bias, stride, padding, dilation, groups }) =>
        batched(t, input, n, name, (x) =>
          t.convolution(x, weight, bias, stride, padding, dilation, false, new Array<number>(n).fill(0), groups),
        ),
      doc: `A ${n}-dimensional convolution.`,
    },
  );
  op(
    `${name}.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[${n}] stride=${list}, str padding="valid", SymInt[${n}] dilation=${list}, SymInt groups=1) -> Tensor` as "conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, str padding='valid', SymInt[2] dilation=1, SymInt groups=1) -> Tensor",
    {
      composite: (t, { input, weight, bias, stride, padding, dilation, groups }) =>
        batched(t, input, n, name, (x) => {
          const none = new Array<number>(n).fill(0);
          if (padding === "valid") return t.convolution(x, weight, bias, stride, none, dilation, false, none, groups);
          if (padding !== "same")
            throw new TorchValueError(`Invalid padding string '${padding}', should be one of 'valid' or 'same'`);
          if (stride.some((s) => s !== 1))
            throw new TorchError("padding='same' is not supported for strided convolutions");
          if (weight.ndim !== x.ndim)
            throw new TorchError(
              `Expected ${weight.ndim}-dimensional input for ${weight.ndim}-dimensional weight, but got ${x.ndim}-dimensional input`,
            );
          const sides = samePadding(weight, repeated(dilation, n));
          const uneven = sides.some(({ left, right }) => left !== right);
          const extra = [...sides].reverse().flatMap(({ left, right }) => [0, right - left]);
          const ready = uneven ? t.constant_pad_nd(x, extra, 0) : x;
          const pads = sides.map(({ left }) => left);
          return t.convolution(ready, weight, bias, stride, pads, dilation, false, none, groups);
        }),
    },
  );
  const overload = n === 1 ? "" : ".input";
  op(
    `conv_transpose${n}d${overload}(Tensor input, Tensor weight, Tensor? bias=None, SymInt[${n}] stride=${list}, SymInt[${n}] padding=${zeros}, SymInt[${n}] output_padding=${zeros}, SymInt groups=1, SymInt[${n}] dilation=${list}) -> Tensor` as "conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] output_padding=0, SymInt groups=1, SymInt[2] dilation=1) -> Tensor",
    {
      composite: (t, { input, weight, bias, stride, padding, output_padding, groups, dilation }) =>
        batched(t, input, n, `conv_transpose${n}d`, (x) => {
          const [s, d, extra] = [stride, dilation, output_padding].map((v) => repeated(v, n));
          if (extra.some((p, i) => p >= s[i] && p >= d[i]))
            throw new TorchError(
              `output padding must be smaller than either stride or dilation, but got output_padding: ${sizeText(extra)}`,
            );
          return t.convolution(x, weight, bias, stride, padding, dilation, true, output_padding, groups);
        }),
      doc: `A ${n}-dimensional transposed convolution.`,
    },
  );
}

op("conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor", {
  decompose: (t, { self, weight, bias, pad }) => {
    const x = t.permute(self, [1, 2, 0]);
    const y = t.convolution(x, t.permute(weight, [2, 1, 0]), bias, [1], [pad], [1], false, [0], 1);
    return t.permute(y, [2, 0, 1]);
  },
  doc: "A one-dimensional convolution of an input laid out as time, batch, channels.",
});
