/** @file Normalization without statistics of the batch. */
import type { DeviceLike, Tensor } from "../../tensor/index.js";
import { TorchValueError, type DType } from "../../schema/index.js";
import { t } from "../aten.js";
import * as F from "../functional/normalization.js";
import * as init from "../init.js";
import { Module } from "../module.js";
import { Parameter } from "../parameter.js";
import { pythonText } from "../printing.js";
import { signature, type Args } from "../signature.js";
import { functionLayer } from "./function_layer.js";

const layerNorm = signature(
  "LayerNorm.__init__(ints normalized_shape, float eps=1e-05, bool elementwise_affine=True, bool bias=True, Device? device=None, ScalarType? dtype=None)",
);
/** Normalizes over the last dimensions. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.LayerNorm.html */
export class LayerNorm extends Module {
  readonly normalized_shape: readonly number[];
  readonly eps: number;
  readonly elementwise_affine: boolean;
  weight: Parameter | null;
  bias: Parameter | null;
  constructor(...args: Args<typeof layerNorm.text>) {
    super();
    const { normalized_shape, eps, elementwise_affine, bias, device, dtype } = layerNorm.bind(args);
    this.normalized_shape = typeof normalized_shape === "number" ? [normalized_shape] : [...normalized_shape];
    this.eps = eps;
    this.elementwise_affine = elementwise_affine;
    this.weight = optionalParameter(this, "weight", elementwise_affine, this.normalized_shape, { device, dtype });
    this.bias = optionalParameter(this, "bias", elementwise_affine && bias, this.normalized_shape, { device, dtype });
    this.reset_parameters();
  }
  reset_parameters(): void {
    if (this.weight) init.ones_(this.weight);
    if (this.bias) init.zeros_(this.bias);
  }
  override forward(input: Tensor): Tensor {
    return F.layer_norm(input, this.normalized_shape, this.weight, this.bias, this.eps);
  }
  override extra_repr(): string {
    return `${pythonText(this.normalized_shape)}, eps=${pythonText(this.eps)}, elementwise_affine=${pythonText(this.elementwise_affine)}, bias=${pythonText(this.bias !== null)}`;
  }
}

/** Where and of which type parameters are made; null: the defaults. */
export interface Placement {
  readonly device: DeviceLike | null;
  readonly dtype: DType | null;
}

/** A new parameter, or null registered in its place. */
export function optionalParameter(
  module: Module,
  name: string,
  wanted: boolean,
  shape: readonly number[],
  placement: Placement,
): Parameter | null {
  if (wanted) return new Parameter(t.empty(shape, placement));
  module.register_parameter(name, null);
  return null;
}

const rmsNorm = signature(
  "RMSNorm.__init__(ints normalized_shape, float? eps=None, bool elementwise_affine=True, Device? device=None, ScalarType? dtype=None)",
);
/** Divides by the root mean square of the last dimensions. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.RMSNorm.html */
export class RMSNorm extends Module {
  readonly normalized_shape: readonly number[];
  readonly eps: number | null;
  readonly elementwise_affine: boolean;
  weight: Parameter | null;
  constructor(...args: Args<typeof rmsNorm.text>) {
    super();
    const { normalized_shape, eps, elementwise_affine, device, dtype } = rmsNorm.bind(args);
    this.normalized_shape = typeof normalized_shape === "number" ? [normalized_shape] : [...normalized_shape];
    this.eps = eps;
    this.elementwise_affine = elementwise_affine;
    this.weight = optionalParameter(this, "weight", elementwise_affine, this.normalized_shape, { device, dtype });
    this.reset_parameters();
  }
  reset_parameters(): void {
    if (this.weight) init.ones_(this.weight);
  }
  override forward(x: Tensor): Tensor {
    return F.rms_norm(x, this.normalized_shape, this.weight, this.eps);
  }
  override extra_repr(): string {
    return `${pythonText(this.normalized_shape)}, eps=${pythonText(this.eps)}, elementwise_affine=${pythonText(this.elementwise_affine)}`;
  }
}

const groupNorm = signature(
  "GroupNorm.__init__(int num_groups, int num_channels, float eps=1e-05, bool affine=True, Device? device=None, ScalarType? dtype=None, bool bias=True)",
);
/** Normalizes groups of channels. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.GroupNorm.html */
export class GroupNorm extends Module {
  readonly num_groups: number;
  readonly num_channels: number;
  readonly eps: number;
  readonly affine: boolean;
  weight: Parameter | null;
  bias: Parameter | null;
  constructor(...args: Args<typeof groupNorm.text>) {
    super();
    const { num_groups, num_channels, eps, affine, bias, device, dtype } = groupNorm.bind(args);
    if (num_channels % num_groups !== 0)
      throw new TorchValueError(`num_channels (${num_channels}) must be divisible by num_groups (${num_groups})`);
    this.num_groups = num_groups;
    this.num_channels = num_channels;
    this.eps = eps;
    this.affine = affine;
    this.weight = optionalParameter(this, "weight", affine, [num_channels], { device, dtype });
    this.bias = optionalParameter(this, "bias", affine && bias, [num_channels], { device, dtype });
    this.reset_parameters();
  }
  reset_parameters(): void {
    if (this.weight) init.ones_(this.weight);
    if (this.bias) init.zeros_(this.bias);
  }
  override forward(input: Tensor): Tensor {
    return F.group_norm(input, this.num_groups, this.weight, this.bias, this.eps);
  }
  override extra_repr(): string {
    const { num_groups, num_channels, eps, affine, bias } = this;
    return `${num_groups}, ${num_channels}, eps=${pythonText(eps)}, affine=${pythonText(affine)}, bias=${pythonText(bias !== null)}`;
  }
}

/** Divides by a power of the sum of squares over neighbouring channels. */
export class LocalResponseNorm extends functionLayer(
  "LocalResponseNorm.__init__(int size, float alpha=0.0001, float beta=0.75, float k=1.0)",
  (m, x) => F.local_response_norm(x, m.size, m.alpha, m.beta, m.k),
  {
    repr: (m) =>
      `${m.size}, alpha=${pythonText(m.alpha)}, beta=${pythonText(m.beta)}, k=${Number.isInteger(m.k) ? `${m.k}.0` : m.k}`,
  },
) {}
