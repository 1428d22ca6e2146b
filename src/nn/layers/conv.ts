/** @file Convolutions and transposed convolutions. */
import type { Tensor } from "../../tensor/index.js";
import { TorchValueError } from "../../schema/index.js";
import { t } from "../aten.js";
import * as F from "../functional/convolution.js";
import { pad } from "../functional/vision.js";
import * as init from "../init.js";
import { Module } from "../module.js";
import { Parameter } from "../parameter.js";
import { pythonText } from "../printing.js";
import { signature, type Args, type Bound, type PaddingMode } from "../signature.js";
import { initBias } from "./linear.js";

const conv = signature(
  "Conv.__init__(int in_channels, int out_channels, ints kernel_size, ints stride=1, Padding padding=0, ints dilation=1, int groups=1, bool bias=True, PaddingMode padding_mode='zeros', Device? device=None, ScalarType? dtype=None)",
);
const convTranspose = signature(
  "ConvTranspose.__init__(int in_channels, int out_channels, ints kernel_size, ints stride=1, ints padding=0, ints output_padding=0, int groups=1, bool bias=True, ints dilation=1, PaddingMode padding_mode='zeros', Device? device=None, ScalarType? dtype=None)",
);

type Ints = number | readonly number[];
const repeated = (x: Ints, n: number): readonly number[] =>
  typeof x === "number" ? new Array<number>(n).fill(x) : [...x];

interface ConvArgs extends Bound<typeof conv.text> {
  readonly output_padding: Ints;
}

const paddingModes: readonly string[] = ["zeros", "reflect", "replicate", "circular"];

function check(
  { in_channels, out_channels, groups, padding, padding_mode }: ConvArgs,
  stride: readonly number[],
): void {
  if (groups <= 0) throw new TorchValueError("groups must be a positive integer");
  if (in_channels % groups !== 0) throw new TorchValueError("in_channels must be divisible by groups");
  if (out_channels % groups !== 0) throw new TorchValueError("out_channels must be divisible by groups");
  if (typeof padding === "string" && padding !== "same" && padding !== "valid")
    throw new TorchValueError(`Invalid padding string '${String(padding)}', should be one of {'same', 'valid'}`);
  if (padding === "same" && stride.some((s) => s !== 1))
    throw new TorchValueError("padding='same' is not supported for strided convolutions");
  if (!paddingModes.includes(padding_mode))
    throw new TorchValueError(
      `padding_mode must be one of {'zeros', 'reflect', 'replicate', 'circular'}, but got padding_mode='${padding_mode}'`,
    );
}

const isAll = (x: readonly number[] | string, value: number): boolean =>
  typeof x !== "string" && x.every((n) => n === value);

/** What convolutions of all ranks share. */
abstract class ConvNd extends Module {
  readonly in_channels: number;
  readonly out_channels: number;
  readonly kernel_size: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[] | "valid" | "same";
  readonly dilation: readonly number[];
  readonly transposed: boolean;
  readonly output_padding: readonly number[];
  readonly groups: number;
  readonly padding_mode: PaddingMode;
  weight: Parameter;
  bias: Parameter | null;

  constructor(
    readonly dims: 1 | 2 | 3,
    transposed: boolean,
    args: ConvArgs,
  ) {
    super();
    this.in_channels = args.in_channels;
    this.out_channels = args.out_channels;
    this.kernel_size = repeated(args.kernel_size, dims);
    this.stride = repeated(args.stride, dims);
    check(args, this.stride);
    this.padding = typeof args.padding === "string" ? args.padding : repeated(args.padding, dims);
    this.dilation = repeated(args.dilation, dims);
    this.transposed = transposed;
    this.output_padding = repeated(args.output_padding, dims);
    this.groups = args.groups;
    this.padding_mode = args.padding_mode;
    const { device, dtype } = args;
    const [rows, columns] = transposed
      ? [args.in_channels, args.out_channels / args.groups]
      : [args.out_channels, args.in_channels / args.groups];
    this.weight = new Parameter(t.empty([rows, columns, ...this.kernel_size], { device, dtype }));
    this.bias = null;
    if (args.bias) this.bias = new Parameter(t.empty([args.out_channels], { device, dtype }));
    else this.register_parameter("bias", null);
    this.reset_parameters();
  }
  reset_parameters(): void {
    init.kaiming_uniform_(this.weight, Math.sqrt(5));
    if (this.bias) initBias(this.bias, this.weight);
  }
  override extra_repr(): string {
    const { in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups } = this;
    const parts = [
      String(in_channels),
      String(out_channels),
      `kernel_size=${pythonText(kernel_size)}`,
      `stride=${pythonText(stride)}`,
    ];
    if (!isAll(padding, 0)) parts.push(`padding=${typeof padding === "string" ? padding : pythonText(padding)}`);
    if (!isAll(dilation, 1)) parts.push(`dilation=${pythonText(dilation)}`);
    if (!isAll(output_padding, 0)) parts.push(`output_padding=${pythonText(output_padding)}`);
    if (groups !== 1) parts.push(`groups=${groups}`);
    if (this.bias === null) parts.push("bias=False");
    if (this.padding_mode !== "zeros") parts.push(`padding_mode=${this.padding_mode}`);
    return parts.join(", ");
  }
}

/** The amounts for F.pad: of the last dimension first, before and after. */
function padAmounts(c: Convolution): number[] {
  const out: number[] = [];
  for (let d = c.dims - 1; d >= 0; d--) {
    if (c.padding === "valid") out.push(0, 0);
    else if (c.padding === "same") {
      const total = c.dilation[d] * (c.kernel_size[d] - 1);
      out.push(Math.floor(total / 2), total - Math.floor(total / 2));
    } else out.push(c.padding[d], c.padding[d]);
  }
  return out;
}

const convolutions = { 1: F.conv1d, 2: F.conv2d, 3: F.conv3d } as const;
const transposedConvolutions = { 1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d } as const;

abstract class Convolution extends ConvNd {
  constructor(dims: 1 | 2 | 3, args: Args<typeof conv.text>) {
    super(dims, false, { ...conv.bind(args, `${new.target.name}.__init__`), output_padding: 0 });
  }
  override forward(input: Tensor): Tensor {
    const apply = convolutions[this.dims];
    const { weight, bias, stride, padding, dilation, groups, padding_mode } = this;
    if (padding_mode === "zeros")
      return apply(input, weight, bias, stride, padding as readonly number[], dilation, groups);
    return apply(pad(input, padAmounts(this), padding_mode), weight, bias, stride, 0, dilation, groups);
  }
}

/** Convolution of (N, C, L). @see https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv1d.html */
export class Conv1d extends Convolution {
  constructor(...args: Args<typeof conv.text>) {
    super(1, args);
  }
}
/** Convolution of (N, C, H, W). @see https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv2d.html */
export class Conv2d extends Convolution {
  constructor(...args: Args<typeof conv.text>) {
    super(2, args);
  }
}
/** Convolution of (N, C, D, H, W). @see https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv3d.html */
export class Conv3d extends Convolution {
  constructor(...args: Args<typeof conv.text>) {
    super(3, args);
  }
}

abstract class ConvolutionTranspose extends ConvNd {
  declare readonly padding: readonly number[];
  constructor(dims: 1 | 2 | 3, args: Args<typeof convTranspose.text>) {
    const bound = convTranspose.bind(args, `${new.target.name}.__init__`);
    if (bound.padding_mode !== "zeros")
      throw new TorchValueError(`Only "zeros" padding mode is supported for ConvTranspose${dims}d`);
    super(dims, true, bound);
  }
  /** output_size: the size of the result, where several are possible. */
  override forward(input: Tensor, output_size: readonly number[] | null = null): Tensor {
    const apply = transposedConvolutions[this.dims];
    const { weight, bias, stride, padding, groups, dilation } = this;
    return apply(input, weight, bias, stride, padding, this.outputPadding(input, output_size), groups, dilation);
  }
  private outputPadding(input: Tensor, output_size: readonly number[] | null): readonly number[] {
    const { dims, stride, padding, dilation, kernel_size } = this;
    if (output_size === null) return this.output_padding;
    const leading = input.ndim === dims + 2 ? 2 : 1;
    const wanted = output_size.length === leading + dims ? output_size.slice(leading) : output_size;
    if (wanted.length !== dims)
      throw new TorchValueError(
        `ConvTranspose${dims}D: for ${input.ndim}D input, output_size must have ${dims} or ${leading + dims} elements (got ${wanted.length})`,
      );
    const least = stride.map(
      (s, d) => (input.shape[d + leading] - 1) * s - 2 * padding[d] + dilation[d] * (kernel_size[d] - 1) + 1,
    );
    const most = least.map((n, d) => n + stride[d] - 1);
    const list = (x: readonly number[]): string => `[${x.join(", ")}]`;
    if (wanted.some((n, d) => n < least[d] || n > most[d]))
      throw new TorchValueError(
        `requested an output size of ${list(wanted)}, but valid sizes range from ${list(least)} to ${list(most)} (for an input of torch.Size(${list(input.shape.slice(2))}))`,
      );
    return wanted.map((n, d) => n - least[d]);
  }
}

/** Transposed convolution of (N, C, L). @see https://docs.pytorch.org/docs/stable/generated/torch.nn.ConvTranspose1d.html */
export class ConvTranspose1d extends ConvolutionTranspose {
  constructor(...args: Args<typeof convTranspose.text>) {
    super(1, args);
  }
}
/** Transposed convolution of (N, C, H, W). @see https://docs.pytorch.org/docs/stable/generated/torch.nn.ConvTranspose2d.html */
export class ConvTranspose2d extends ConvolutionTranspose {
  constructor(...args: Args<typeof convTranspose.text>) {
    super(2, args);
  }
}
/** Transposed convolution of (N, C, D, H, W). */
export class ConvTranspose3d extends ConvolutionTranspose {
  constructor(...args: Args<typeof convTranspose.text>) {
    super(3, args);
  }
}
