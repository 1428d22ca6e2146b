/** @file Pooling. @see https://docs.pytorch.org/docs/stable/nn.html#pooling-layers */
import type { Tensor } from "../../tensor/index.js";
import { TorchValueError } from "../../schema/index.js";
import * as F from "../functional/pooling.js";
import { pythonText } from "../printing.js";
import { functionLayer } from "./function_layer.js";

type Ints = number | readonly number[];

/** stride is kernel_size unless given. */
const strideOf = (m: { kernel_size: Ints; stride: Ints | null }): Ints => m.stride ?? m.kernel_size;

interface MaxPoolFields {
  kernel_size: Ints;
  stride: Ints | null;
  padding: Ints;
  dilation: Ints;
  ceil_mode: boolean;
  return_indices: boolean;
}
const maxPool = {
  repr: (m: MaxPoolFields): string =>
    `kernel_size=${pythonText(m.kernel_size)}, stride=${pythonText(strideOf(m))}, padding=${pythonText(m.padding)}, dilation=${pythonText(m.dilation)}, ceil_mode=${pythonText(m.ceil_mode)}`,
};
type MaxPool = (
  input: Tensor,
  kernel: Ints,
  stride: Ints,
  padding: Ints,
  dilation: Ints,
  ceil: boolean,
  indices?: false,
) => Tensor;
const runMax = (pool: MaxPool, m: MaxPoolFields, x: Tensor): Tensor =>
  pool(x, m.kernel_size, strideOf(m), m.padding, m.dilation, m.ceil_mode, m.return_indices as false);

/** The maximum of every window of (N, C, L). With return_indices, gives values and indices. */
export class MaxPool1d extends functionLayer(
  "MaxPool1d.__init__(ints kernel_size, ints? stride=None, ints padding=0, ints dilation=1, bool return_indices=False, bool ceil_mode=False)",
  (m, x) => runMax(F.max_pool1d, m, x),
  maxPool,
) {}
/** The maximum of every window of (N, C, H, W). With return_indices, gives values and indices. */
export class MaxPool2d extends functionLayer(
  "MaxPool2d.__init__(ints kernel_size, ints? stride=None, ints padding=0, ints dilation=1, bool return_indices=False, bool ceil_mode=False)",
  (m, x) => runMax(F.max_pool2d, m, x),
  maxPool,
) {}
/** The maximum of every window of (N, C, D, H, W). With return_indices, gives values and indices. */
export class MaxPool3d extends functionLayer(
  "MaxPool3d.__init__(ints kernel_size, ints? stride=None, ints padding=0, ints dilation=1, bool return_indices=False, bool ceil_mode=False)",
  (m, x) => runMax(F.max_pool3d, m, x),
  maxPool,
) {}

interface UnpoolFields {
  kernel_size: Ints;
  stride: Ints | null;
  padding: Ints;
}
const repeatedText = (x: Ints, n: number): string =>
  pythonText(typeof x === "number" ? new Array<number>(n).fill(x) : x);
const unpoolText =
  (n: number) =>
  (m: UnpoolFields): string =>
    `kernel_size=${repeatedText(m.kernel_size, n)}, stride=${repeatedText(strideOf(m), n)}, padding=${repeatedText(m.padding, n)}`;

/** Undoes MaxPool1d with its indices; zeros elsewhere. */
export class MaxUnpool1d extends functionLayer(
  "MaxUnpool1d.__init__(ints kernel_size, ints? stride=None, ints padding=0)",
  (m, x: Tensor, indices: Tensor, output_size: readonly number[] | null = null) =>
    F.max_unpool1d(x, indices, m.kernel_size, strideOf(m), m.padding, output_size),
  { repr: unpoolText(1) },
) {}
/** Undoes MaxPool2d with its indices; zeros elsewhere. */
export class MaxUnpool2d extends functionLayer(
  "MaxUnpool2d.__init__(ints kernel_size, ints? stride=None, ints padding=0)",
  (m, x: Tensor, indices: Tensor, output_size: readonly number[] | null = null) =>
    F.max_unpool2d(x, indices, m.kernel_size, strideOf(m), m.padding, output_size),
  { repr: unpoolText(2) },
) {}
/** Undoes MaxPool3d with its indices; zeros elsewhere. */
export class MaxUnpool3d extends functionLayer(
  "MaxUnpool3d.__init__(ints kernel_size, ints? stride=None, ints padding=0)",
  (m, x: Tensor, indices: Tensor, output_size: readonly number[] | null = null) =>
    F.max_unpool3d(x, indices, m.kernel_size, strideOf(m), m.padding, output_size),
  { repr: unpoolText(3) },
) {}

const single = (x: Ints): readonly number[] => (typeof x === "number" ? [x] : x);

/** The average of every window of (N, C, L). */
export class AvgPool1d extends functionLayer(
  "AvgPool1d.__init__(ints kernel_size, ints? stride=None, ints padding=0, bool ceil_mode=False, bool count_include_pad=True)",
  (m, x) => F.avg_pool1d(x, m.kernel_size, strideOf(m), m.padding, m.ceil_mode, m.count_include_pad),
  {
    repr: (m) =>
      `kernel_size=${pythonText(single(m.kernel_size))}, stride=${pythonText(single(strideOf(m)))}, padding=${pythonText(single(m.padding))}`,
  },
) {}

const avgText = (m: { kernel_size: Ints; stride: Ints | null; padding: Ints }): string =>
  `kernel_size=${pythonText(m.kernel_size)}, stride=${pythonText(strideOf(m))}, padding=${pythonText(m.padding)}`;

/** The average of every window of (N, C, H, W). */
export class AvgPool2d extends functionLayer(
  "AvgPool2d.__init__(ints kernel_size, ints? stride=None, ints padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None)",
  (m, x) =>
    F.avg_pool2d(x, m.kernel_size, strideOf(m), m.padding, m.ceil_mode, m.count_include_pad, m.divisor_override),
  { repr: avgText },
) {}
/** The average of every window of (N, C, D, H, W). */
export class AvgPool3d extends functionLayer(
  "AvgPool3d.__init__(ints kernel_size, ints? stride=None, ints padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None)",
  (m, x) =>
    F.avg_pool3d(x, m.kernel_size, strideOf(m), m.padding, m.ceil_mode, m.count_include_pad, m.divisor_override),
  { repr: avgText },
) {}

const outputText = (m: { output_size: number | readonly (number | null)[] }): string =>
  `output_size=${pythonText(m.output_size)}`;

/** Averages of (N, C, L) such that the result has this size. */
export class AdaptiveAvgPool1d extends functionLayer(
  "AdaptiveAvgPool1d.__init__(ints output_size)",
  (m, x) => F.adaptive_avg_pool1d(x, m.output_size),
  { repr: outputText },
) {}
/** Averages of (N, C, H, W) such that the result has this size; null keeps a dimension's size. */
export class AdaptiveAvgPool2d extends functionLayer(
  "AdaptiveAvgPool2d.__init__(sizes output_size)",
  (m, x) => F.adaptive_avg_pool2d(x, m.output_size),
  { repr: outputText },
) {}
/** Averages of (N, C, D, H, W) such that the result has this size; null keeps a dimension's size. */
export class AdaptiveAvgPool3d extends functionLayer(
  "AdaptiveAvgPool3d.__init__(sizes output_size)",
  (m, x) => F.adaptive_avg_pool3d(x, m.output_size),
  { repr: outputText },
) {}
/** Maxima of (N, C, L) such that the result has this size. */
export class AdaptiveMaxPool1d extends functionLayer(
  "AdaptiveMaxPool1d.__init__(ints output_size, bool return_indices=False)",
  (m, x) => F.adaptive_max_pool1d(x, m.output_size, m.return_indices as false),
  { repr: outputText },
) {}
/** Maxima of (N, C, H, W) such that the result has this size. */
export class AdaptiveMaxPool2d extends functionLayer(
  "AdaptiveMaxPool2d.__init__(sizes output_size, bool return_indices=False)",
  (m, x) => F.adaptive_max_pool2d(x, m.output_size, m.return_indices as false),
  { repr: outputText },
) {}
/** Maxima of (N, C, D, H, W) such that the result has this size. */
export class AdaptiveMaxPool3d extends functionLayer(
  "AdaptiveMaxPool3d.__init__(sizes output_size, bool return_indices=False)",
  (m, x) => F.adaptive_max_pool3d(x, m.output_size, m.return_indices as false),
  { repr: outputText },
) {}

interface FractionalFields {
  output_size: Ints | null;
  output_ratio: Ints | null;
}
const fractional = (dims: number): { check(m: FractionalFields): void } => ({
  check: ({ output_size, output_ratio }) => {
    const name = `FractionalMaxPool${dims}d`;
    if (output_size === null && output_ratio === null)
      throw new TorchValueError(`${name} requires specifying either an output size, or a pooling ratio`);
    if (output_size !== null && output_ratio !== null)
      throw new TorchValueError(`only one of output_size and output_ratio may be specified`);
    const ratios = output_ratio === null ? [] : single(output_ratio);
    if (ratios.some((r) => !(r > 0 && r < 1)))
      throw new TorchValueError(`output_ratio must be between 0 and 1 (got ${pythonText(output_ratio)})`);
  },
});

/** Max pooling of (N, C, H, W) over windows at random places. */
export class FractionalMaxPool2d extends functionLayer(
  "FractionalMaxPool2d.__init__(ints kernel_size, ints? output_size=None, floats? output_ratio=None, bool return_indices=False, Tensor? _random_samples=None)",
  (m, x) =>
    F.fractional_max_pool2d(
      x,
      m.kernel_size,
      m.output_size,
      m.output_ratio,
      m.return_indices as false,
      m._random_samples,
    ),
  fractional(2),
) {}
/** Max pooling of (N, C, D, H, W) over windows at random places. */
export class FractionalMaxPool3d extends functionLayer(
  "FractionalMaxPool3d.__init__(ints kernel_size, ints? output_size=None, floats? output_ratio=None, bool return_indices=False, Tensor? _random_samples=None)",
  (m, x) =>
    F.fractional_max_pool3d(
      x,
      m.kernel_size,
      m.output_size,
      m.output_ratio,
      m.return_indices as false,
      m._random_samples,
    ),
  fractional(3),
) {}

const lpText = (m: { norm_type: number; kernel_size: Ints; stride: Ints | null; ceil_mode: boolean }): string =>
  `norm_type=${pythonText(m.norm_type)}, kernel_size=${pythonText(m.kernel_size)}, stride=${pythonText(m.stride)}, ceil_mode=${pythonText(m.ceil_mode)}`;

/** The p-norm of every window of (N, C, L). */
export class LPPool1d extends functionLayer(
  "LPPool1d.__init__(float norm_type, ints kernel_size, ints? stride=None, bool ceil_mode=False)",
  (m, x) => F.lp_pool1d(x, m.norm_type, m.kernel_size, m.stride, m.ceil_mode),
  { repr: lpText },
) {}
/** The p-norm of every window of (N, C, H, W). */
export class LPPool2d extends functionLayer(
  "LPPool2d.__init__(float norm_type, ints kernel_size, ints? stride=None, bool ceil_mode=False)",
  (m, x) => F.lp_pool2d(x, m.norm_type, m.kernel_size, m.stride, m.ceil_mode),
  { repr: lpText },
) {}
/** The p-norm of every window of (N, C, D, H, W). */
export class LPPool3d extends functionLayer(
  "LPPool3d.__init__(float norm_type, ints kernel_size, ints? stride=None, bool ceil_mode=False)",
  (m, x) => F.lp_pool3d(x, m.norm_type, m.kernel_size, m.stride, m.ceil_mode),
  { repr: lpText },
) {}
