/** @file Linear maps. */
import type { Tensor } from "../../tensor/index.js";
import { TorchValueError } from "../../schema/index.js";
import { t } from "../aten.js";
import * as F from "../functional/convolution.js";
import * as init from "../init.js";
import { Module } from "../module.js";
import { Parameter } from "../parameter.js";
import { pythonText } from "../printing.js";
import { signature, type Args } from "../signature.js";

/** Gives back its input. Takes any arguments. */
export class Identity extends Module {
  constructor(..._args: readonly unknown[]) {
    super();
  }
  override forward<T>(input: T): T {
    return input;
  }
}

const linear = signature(
  "Linear.__init__(int in_features, int out_features, bool bias=True, Device? device=None, ScalarType? dtype=None)",
);
/**
 * x · weightᵀ + bias.
 * @example
 * const y = new nn.Linear(3, 4, { bias: false })(torch.ones([2, 3])); // shape [2, 4]
 * @see https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html
 */
export class Linear extends Module {
  readonly in_features: number;
  readonly out_features: number;
  weight: Parameter;
  bias: Parameter | null;
  constructor(...args: Args<typeof linear.text>) {
    super();
    const { in_features, out_features, bias, device, dtype } = linear.bind(args);
    this.in_features = in_features;
    this.out_features = out_features;
    this.weight = new Parameter(t.empty([out_features, in_features], { device, dtype }));
    this.bias = null;
    if (bias) this.bias = new Parameter(t.empty([out_features], { device, dtype }));
    else this.register_parameter("bias", null);
    this.reset_parameters();
  }
  reset_parameters(): void {
    init.kaiming_uniform_(this.weight, Math.sqrt(5));
    if (this.bias) initBias(this.bias, this.weight);
  }
  override forward(input: Tensor): Tensor {
    return F.linear(input, this.weight, this.bias);
  }
  override extra_repr(): string {
    return `in_features=${this.in_features}, out_features=${this.out_features}, bias=${pythonText(this.bias !== null)}`;
  }
}

/** Uniform within one over the root of the weight's fan in. */
export function initBias(bias: Parameter, weight: Parameter): void {
  const [fanIn] = init._calculate_fan_in_and_fan_out(weight);
  const bound = fanIn > 0 ? 1 / Math.sqrt(fanIn) : 0;
  init.uniform_(bias, -bound, bound);
}

const bilinear = signature(
  "Bilinear.__init__(int in1_features, int in2_features, int out_features, bool bias=True, Device? device=None, ScalarType? dtype=None)",
);
/** x1ᵀ · weight · x2 + bias. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.Bilinear.html */
export class Bilinear extends Module {
  readonly in1_features: number;
  readonly in2_features: number;
  readonly out_features: number;
  weight: Parameter;
  bias: Parameter | null;
  constructor(...args: Args<typeof bilinear.text>) {
    super();
    const { in1_features, in2_features, out_features, bias, device, dtype } = bilinear.bind(args);
    if (in1_features <= 0) throw new TorchValueError(`in1_features must be > 0, but got ${in1_features}`);
    this.in1_features = in1_features;
    this.in2_features = in2_features;
    this.out_features = out_features;
    this.weight = new Parameter(t.empty([out_features, in1_features, in2_features], { device, dtype }));
    this.bias = null;
    if (bias) this.bias = new Parameter(t.empty([out_features], { device, dtype }));
    else this.register_parameter("bias", null);
    this.reset_parameters();
  }
  reset_parameters(): void {
    const bound = 1 / Math.sqrt(this.weight.shape[1]);
    init.uniform_(this.weight, -bound, bound);
    if (this.bias) init.uniform_(this.bias, -bound, bound);
  }
  override forward(input1: Tensor, input2: Tensor): Tensor {
    return F.bilinear(input1, input2, this.weight, this.bias);
  }
  override extra_repr(): string {
    const { in1_features, in2_features, out_features } = this;
    return `in1_features=${in1_features}, in2_features=${in2_features}, out_features=${out_features}, bias=${pythonText(this.bias !== null)}`;
  }
}
