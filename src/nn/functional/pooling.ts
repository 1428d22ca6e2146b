/** @file nn.functional: pooling. */
import { TorchValueError } from "../../schema/index.js";
import type { Tensor } from "../../tensor/index.js";
import { aten, t } from "../aten.js";
import { define } from "../signature.js";

type Ints = number | readonly number[];

export const avg_pool1d = aten("avg_pool1d");
export const avg_pool2d = aten("avg_pool2d");
export const avg_pool3d = aten("avg_pool3d");
export const adaptive_avg_pool1d = aten("adaptive_avg_pool1d");
export const max_pool1d_with_indices = aten("max_pool1d_with_indices");
export const max_pool2d_with_indices = aten("max_pool2d_with_indices");
export const max_pool3d_with_indices = aten("max_pool3d_with_indices");

const repeated = (x: Ints, n: number): readonly number[] => (typeof x === "number" ? new Array<number>(n).fill(x) : x);

/** Sizes of the result, those of the input where null. */
function withDefaults(output_size: Ints | readonly (number | null)[], shape: readonly number[]): Ints {
  if (typeof output_size === "number") return output_size;
  if (shape.length <= output_size.length)
    throw new TorchValueError(`Input dimension should be at least ${output_size.length + 1}`);
  const defaults = shape.slice(shape.length - output_size.length);
  return output_size.map((n, i) => n ?? defaults[i]);
}

/** Averages over windows such that the result has this size. */
export const adaptive_avg_pool2d = define(
  "adaptive_avg_pool2d(Tensor input, sizes output_size)",
  ({ input, output_size }): Tensor => t.adaptive_avg_pool2d(input, withDefaults(output_size, input.shape)),
);
/** Averages over windows such that the result has this size. */
export const adaptive_avg_pool3d = define(
  "adaptive_avg_pool3d(Tensor input, sizes output_size)",
  ({ input, output_size }): Tensor => t.adaptive_avg_pool3d(input, withDefaults(output_size, input.shape)),
);

const maxPool =
  "(Tensor input, ints kernel_size, ints? stride=None, ints padding=0, ints dilation=1, bool ceil_mode=False, bool return_indices=False)";
type MaxPoolArgs = [input: Tensor, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: boolean];

/** A pool that also gives the indices of its maxima when asked to. */
interface MaxPool {
  (input: Tensor, kernel_size: Ints, options: MaxPoolOptions & { return_indices: true }): [Tensor, Tensor];
  (input: Tensor, kernel_size: Ints, options?: MaxPoolOptions & { return_indices?: false }): Tensor;
  (input: Tensor, kernel_size: Ints, stride: Ints | null, options?: Omit<MaxPoolOptions, "stride">): Tensor;
  (
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | null,
    padding: Ints,
    options?: Omit<MaxPoolOptions, "stride" | "padding">,
  ): Tensor;
  (
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | null,
    padding: Ints,
    dilation: Ints,
    ceil_mode?: boolean,
    return_indices?: false,
  ): Tensor;
  (
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | null,
    padding: Ints,
    dilation: Ints,
    ceil_mode: boolean,
    return_indices: true,
  ): [Tensor, Tensor];
}

interface MaxPoolOptions {
  stride?: Ints | null;
  padding?: Ints;
  dilation?: Ints;
  ceil_mode?: boolean;
}

function maxPoolOf(
  dims: 1 | 2 | 3,
  values: (...args: MaxPoolArgs) => Tensor,
  both: (...args: MaxPoolArgs) => Tensor[],
): MaxPool {
  return define(`max_pool${dims}d${maxPool}` as `max_pool2d${typeof maxPool}`, (a) => {
    const args: MaxPoolArgs = [a.input, a.kernel_size, a.stride ?? [], a.padding, a.dilation, a.ceil_mode];
    return a.return_indices ? both(...args) : values(...args);
  }) as MaxPool;
}

/** The maximum of every window. stride: kernel_size unless given. */
export const max_pool1d = maxPoolOf(
  1,
  (...a) => t.max_pool1d(...a),
  (...a) => t.max_pool1d_with_indices(...a),
);
/** The maximum of every window. stride: kernel_size unless given. */
export const max_pool2d = maxPoolOf(
  2,
  (...a) => t.max_pool2d(...a),
  (...a) => t.max_pool2d_with_indices(...a),
);
/** The maximum of every window. stride: kernel_size unless given. */
export const max_pool3d = maxPoolOf(
  3,
  (...a) => t.max_pool3d(...a),
  (...a) => t.max_pool3d_with_indices(...a),
);

type Sizes = number | readonly (number | null)[];

/** A pool to a given size that also gives the indices of its maxima when asked to. */
interface AdaptiveMaxPool<S> {
  (input: Tensor, output_size: S, return_indices: true | { return_indices: true }): [Tensor, Tensor];
  (input: Tensor, output_size: S, return_indices?: false | { return_indices?: false }): Tensor;
}

function adaptiveMaxPoolOf<S extends Sizes>(
  dims: number,
  pool: (input: Tensor, size: S) => Tensor[],
): AdaptiveMaxPool<S> {
  return define(
    `adaptive_max_pool${dims}d(Tensor input, sizes output_size, bool return_indices=False)` as "adaptive_max_pool2d(Tensor input, sizes output_size, bool return_indices=False)",
    ({ input, output_size, return_indices }) => {
      const results = pool(input, output_size as S);
      return return_indices ? results : results[0];
    },
  ) as unknown as AdaptiveMaxPool<S>;
}

/** The maximum of windows such that the result has this size; with return_indices also where they are. */
export const adaptive_max_pool1d = adaptiveMaxPoolOf<Ints>(1, (x, size) => t.adaptive_max_pool1d(x, size));
/** The maximum of windows such that the result has this size; with return_indices also where they are. */
export const adaptive_max_pool2d = adaptiveMaxPoolOf<Sizes>(2, (x, size) =>
  t.adaptive_max_pool2d(x, withDefaults(size, x.shape)),
);
/** The maximum of windows such that the result has this size; with return_indices also where they are. */
export const adaptive_max_pool3d = adaptiveMaxPoolOf<Sizes>(3, (x, size) =>
  t.adaptive_max_pool3d(x, withDefaults(size, x.shape)),
);

function fractionalSize(dims: number, input: Tensor, size: Ints | null, ratio: Ints | null): readonly number[] {
  if (size === null && ratio === null)
    throw new TorchValueError(
      `fractional_max_pool${dims}d requires specifying either an output_size or an output_ratio`,
    );
  if (size !== null) return repeated(size, dims);
  const spatial = input.shape.slice(-dims);
  return repeated(ratio!, dims).map((r, i) => Math.trunc(spatial[i] * r));
}

function samplesFor(dims: number, input: Tensor): Tensor {
  const batch = input.ndim === dims + 1 ? 1 : input.shape[0];
  return t.rand([batch, input.shape[input.ndim - dims - 1], dims], { dtype: input.dtype, device: input.device });
}

interface FractionalOptions {
  output_size?: Ints | null;
  output_ratio?: Ints | null;
  _random_samples?: Tensor | null;
}
/** A pool over random windows that also gives the indices of its maxima when asked to. */
interface FractionalMaxPool {
  (input: Tensor, kernel_size: Ints, options: FractionalOptions & { return_indices: true }): [Tensor, Tensor];
  (input: Tensor, kernel_size: Ints, options: FractionalOptions & { return_indices?: false }): Tensor;
  (
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | null,
    output_ratio?: Ints | null,
    return_indices?: false,
    _random_samples?: Tensor | null,
  ): Tensor;
}

function fractionalMaxPoolOf(
  dims: number,
  pool: (input: Tensor, kernel: Ints, size: readonly number[], samples: Tensor) => Tensor[],
): FractionalMaxPool {
  return define(
    `fractional_max_pool${dims}d(Tensor input, ints kernel_size, ints? output_size=None, floats? output_ratio=None, bool return_indices=False, Tensor? _random_samples=None)` as "fractional_max_pool2d(Tensor input, ints kernel_size, ints? output_size=None, floats? output_ratio=None, bool return_indices=False, Tensor? _random_samples=None)",
    (a) => {
      const size = fractionalSize(dims, a.input, a.output_size, a.output_ratio);
      const results = pool(a.input, a.kernel_size, size, a._random_samples ?? samplesFor(dims, a.input));
      return a.return_indices ? results : results[0];
    },
  ) as FractionalMaxPool;
}

/** Max pooling over windows whose places are drawn at random. */
export const fractional_max_pool2d = fractionalMaxPoolOf(2, (...a) => t.fractional_max_pool2d(...a));
/** Max pooling over windows whose places are drawn at random. */
export const fractional_max_pool3d = fractionalMaxPoolOf(3, (...a) => t.fractional_max_pool3d(...a));

/** The size of the input that a max pool had, or the given one when that is possible. */
function unpoolSize(
  input: Tensor,
  kernel: readonly number[],
  stride: readonly number[],
  padding: readonly number[],
  given: readonly number[] | null,
): readonly number[] {
  const dims = kernel.length;
  const spatial = input.shape.slice(-dims);
  const defaults = spatial.map((n, d) => (n - 1) * stride[d] + kernel[d] - 2 * padding[d]);
  if (given !== null && given.length === dims + 2) given = given.slice(2);
  if (given !== null && given.length !== dims)
    throw new TorchValueError(
      `output_size should be a sequence containing ${dims} or ${dims + 2} elements, but it has a length of '${given.length}'`,
    );
  given?.forEach((n, d) => {
    const [low, high] = [defaults[d] - stride[d], defaults[d] + stride[d]];
    if (!(low < n && n < high))
      throw new TorchValueError(
        `invalid output_size "[${given.join(", ")}]" (dim ${d} must be between ${low} and ${high})`,
      );
  });
  const size = given ?? defaults;
  size.forEach((n, d) => {
    if (n < 0)
      throw new TorchValueError(
        `max_unpooling: output_size must contain non-negative spatial dimensions, but got output_size[${d}]=${n}`,
      );
  });
  return size;
}

const sizes = (x: Ints | null, n: number): readonly number[] | null => (x === null ? null : repeated(x, n));

/** Puts the values of a max pool back where its indices say; zeros elsewhere. */
export const max_unpool1d = define(
  "max_unpool1d(Tensor input, Tensor indices, ints kernel_size, ints? stride=None, ints padding=0, ints? output_size=None)",
  (a): Tensor => {
    const kernel = repeated(a.kernel_size, 1);
    const size = unpoolSize(
      a.input,
      kernel,
      sizes(a.stride, 1) ?? kernel,
      repeated(a.padding, 1),
      sizes(a.output_size, 1),
    );
    return t.max_unpool2d(a.input.unsqueeze(-1), a.indices.unsqueeze(-1), [...size, 1]).squeeze(-1);
  },
);
/** Puts the values of a max pool back where its indices say; zeros elsewhere. */
export const max_unpool2d = define(
  "max_unpool2d(Tensor input, Tensor indices, ints kernel_size, ints? stride=None, ints padding=0, ints? output_size=None)",
  (a): Tensor => {
    const kernel = repeated(a.kernel_size, 2);
    const size = unpoolSize(
      a.input,
      kernel,
      sizes(a.stride, 2) ?? kernel,
      repeated(a.padding, 2),
      sizes(a.output_size, 2),
    );
    return t.max_unpool2d(a.input, a.indices, size);
  },
);
/** Puts the values of a max pool back where its indices say; zeros elsewhere. */
export const max_unpool3d = define(
  "max_unpool3d(Tensor input, Tensor indices, ints kernel_size, ints? stride=None, ints padding=0, ints? output_size=None)",
  (a): Tensor => {
    const kernel = repeated(a.kernel_size, 3);
    const stride = sizes(a.stride, 3) ?? kernel;
    const padding = repeated(a.padding, 3);
    const size = unpoolSize(a.input, kernel, stride, padding, sizes(a.output_size, 3));
    return t.max_unpool3d(a.input, a.indices, size, stride, padding);
  },
);

/** The p-norm of every window, from its average. */
function lpPool(
  input: Tensor,
  norm_type: number,
  windowSize: number,
  average: (x: Tensor) => Tensor,
  max: (x: Tensor) => Tensor,
): Tensor {
  if (norm_type === Infinity) return max(input.abs());
  if (norm_type === -Infinity) return max(input.abs().neg()).neg();
  const out = average(input.pow(norm_type));
  return t
    .sign(out)
    .mul(t.relu(t.abs(out)))
    .mul(windowSize)
    .pow(1 / norm_type);
}

const product = (x: Ints, n: number): number => repeated(x, n).reduce((a, b) => a * b, 1);

/** The p-norm of every window. */
export const lp_pool1d = define(
  "lp_pool1d(Tensor input, float norm_type, ints kernel_size, ints? stride=None, bool ceil_mode=False)",
  ({ input, norm_type, kernel_size, stride, ceil_mode }): Tensor =>
    lpPool(
      input,
      norm_type,
      product(kernel_size, 1),
      (x) => t.avg_pool1d(x, kernel_size, stride ?? [], 0, ceil_mode),
      (x) => t.max_pool1d(x, kernel_size, stride ?? [], 0, 1, ceil_mode),
    ),
);
/** The p-norm of every window. */
export const lp_pool2d = define(
  "lp_pool2d(Tensor input, float norm_type, ints kernel_size, ints? stride=None, bool ceil_mode=False)",
  ({ input, norm_type, kernel_size, stride, ceil_mode }): Tensor =>
    lpPool(
      input,
      norm_type,
      product(kernel_size, 2),
      (x) => t.avg_pool2d(x, kernel_size, stride ?? [], 0, ceil_mode),
      (x) => t.max_pool2d(x, kernel_size, stride ?? [], 0, 1, ceil_mode),
    ),
);
/** The p-norm of every window. */
export const lp_pool3d = define(
  "lp_pool3d(Tensor input, float norm_type, ints kernel_size, ints? stride=None, bool ceil_mode=False)",
  ({ input, norm_type, kernel_size, stride, ceil_mode }): Tensor =>
    lpPool(
      input,
      norm_type,
      product(kernel_size, 3),
      (x) => t.avg_pool3d(x, kernel_size, stride ?? [], 0, ceil_mode),
      (x) => t.max_pool3d(x, kernel_size, stride ?? [], 0, 1, ceil_mode),
    ),
);
