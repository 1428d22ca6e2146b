/** @file Normalization with statistics of the batch or of the instance, and their running averages. */
import type { Tensor } from "../../tensor/index.js";
import { TorchValueError } from "../../schema/index.js";
import { hostNumber } from "../../dispatch/index.js";
import { int64 } from "../../schema/dtype.js";
import { t } from "../aten.js";
import * as F from "../functional/normalization.js";
import * as init from "../init.js";
import { Module } from "../module.js";
import type { Parameter } from "../parameter.js";
import { pythonText } from "../printing.js";
import { signature, type Args, type Bound } from "../signature.js";
import type { LocalMetadata, StateDict } from "../state_dict.js";
import { optionalParameter } from "./normalization.js";

const batchNorm = signature(
  "BatchNorm.__init__(int num_features, float eps=1e-05, float? momentum=0.1, bool affine=True, bool track_running_stats=True, Device? device=None, ScalarType? dtype=None, bool bias=True)",
);
const instanceNorm = signature(
  "InstanceNorm.__init__(int num_features, float eps=1e-05, float? momentum=0.1, bool affine=False, bool track_running_stats=False, Device? device=None, ScalarType? dtype=None, bool bias=True)",
);

/** Affine parameters and running statistics of channels. */
abstract class NormBase extends Module {
  readonly num_features: number;
  readonly eps: number;
  momentum: number | null;
  readonly affine: boolean;
  readonly track_running_stats: boolean;
  weight: Parameter | null;
  bias: Parameter | null;
  running_mean!: Tensor | null;
  running_var!: Tensor | null;
  num_batches_tracked!: Tensor | null;

  constructor(args: Bound<typeof batchNorm.text>) {
    super();
    const { num_features, eps, momentum, affine, track_running_stats, bias, device, dtype } = args;
    this.num_features = num_features;
    this.eps = eps;
    this.momentum = momentum;
    this.affine = affine;
    this.track_running_stats = track_running_stats;
    this.weight = optionalParameter(this, "weight", affine, [num_features], { device, dtype });
    this.bias = optionalParameter(this, "bias", affine && bias, [num_features], { device, dtype });
    const tracks = track_running_stats;
    this.register_buffer("running_mean", tracks ? t.zeros([num_features], { device, dtype }) : null);
    this.register_buffer("running_var", tracks ? t.ones([num_features], { device, dtype }) : null);
    this.register_buffer("num_batches_tracked", tracks ? t.zeros([], { device, dtype: int64 }) : null);
    this.reset_parameters();
  }

  override get _version(): number {
    return 2;
  }
  /** Mean 0, variance 1, no batch seen. */
  reset_running_stats(): void {
    this.running_mean?.zero_();
    this.running_var?.fill_(1);
    this.num_batches_tracked?.zero_();
  }
  reset_parameters(): void {
    this.reset_running_stats();
    if (this.weight) init.ones_(this.weight);
    if (this.bias) init.zeros_(this.bias);
  }
  override extra_repr(): string {
    const { num_features, eps, momentum, affine, bias, track_running_stats } = this;
    return `${num_features}, eps=${pythonText(eps)}, momentum=${pythonText(momentum)}, affine=${pythonText(affine)}, bias=${pythonText(bias !== null)}, track_running_stats=${pythonText(track_running_stats)}`;
  }
  /** Formats before version 2 had no count of batches. */
  override _load_from_state_dict(
    state_dict: StateDict,
    prefix: string,
    local_metadata: LocalMetadata,
    strict: boolean,
    missing_keys: string[],
    unexpected_keys: string[],
    error_msgs: string[],
  ): void {
    const key = `${prefix}num_batches_tracked`;
    if ((local_metadata.version ?? 1) < 2 && this.track_running_stats && !Object.hasOwn(state_dict, key)) {
      const own = this.num_batches_tracked;
      state_dict[key] = own !== null && !own.is_meta ? own : t.zeros([], { dtype: int64 });
    }
    super._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs);
  }
  /** Throws unless inputs of this rank can be normalized. */
  protected abstract checkInput(input: Tensor): void;
}

/** Throws unless the rank is one of these. */
function checkRank(input: Tensor, ...ranks: number[]): void {
  if (!ranks.includes(input.ndim))
    throw new TorchValueError(`expected ${ranks.map((r) => `${r}D`).join(" or ")} input (got ${input.ndim}D input)`);
}

/** Batch normalization of any rank. */
abstract class BatchNorm extends NormBase {
  constructor(...args: Args<typeof batchNorm.text>) {
    super(batchNorm.bind(args, `${new.target.name}.__init__`));
  }
  override forward(input: Tensor): Tensor {
    this.checkInput(input);
    const { training, track_running_stats, num_batches_tracked } = this;
    let factor = this.momentum === null ? 0 : (hostNumber(() => this.momentum!, this, "momentum") as unknown as number);
    if (training && track_running_stats && num_batches_tracked !== null) {
      num_batches_tracked.add_(1);
      // no momentum: the running statistics are the average of all batches
      if (this.momentum === null) factor = 1 / Number(num_batches_tracked.item());
    }
    const usesBatch = training || (this.running_mean === null && this.running_var === null);
    const usesRunning = !training || track_running_stats;
    return F.batch_norm(
      input,
      usesRunning ? this.running_mean : null,
      usesRunning ? this.running_var : null,
      this.weight,
      this.bias,
      usesBatch,
      factor,
      this.eps,
    );
  }
}

/** Batch normalization of (N, C) or (N, C, L). @see https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html */
export class BatchNorm1d extends BatchNorm {
  protected override checkInput(input: Tensor): void {
    checkRank(input, 2, 3);
  }
}
/** Batch normalization of (N, C, H, W). @see https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html */
export class BatchNorm2d extends BatchNorm {
  protected override checkInput(input: Tensor): void {
    checkRank(input, 4);
  }
}
/** Batch normalization of (N, C, D, H, W). @see https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm3d.html */
export class BatchNorm3d extends BatchNorm {
  protected override checkInput(input: Tensor): void {
    checkRank(input, 5);
  }
}

/** Instance normalization of any rank. */
abstract class InstanceNorm extends NormBase {
  /** The rank of an input without batch dimension. */
  protected abstract readonly unbatchedRank: number;
  constructor(...args: Args<typeof instanceNorm.text>) {
    super(instanceNorm.bind(args, `${new.target.name}.__init__`));
  }
  protected override checkInput(input: Tensor): void {
    checkRank(input, this.unbatchedRank, this.unbatchedRank + 1);
  }
  override forward(input: Tensor): Tensor {
    this.checkInput(input);
    const channel = input.ndim - this.unbatchedRank;
    if (this.affine && input.shape[channel] !== this.num_features)
      throw new TorchValueError(
        `expected input's size at dim=${channel} to match num_features (${this.num_features}), but got: ${input.shape[channel]}.`,
      );
    return channel === 0 ? this.normalized(input.unsqueeze(0)).squeeze(0) : this.normalized(input);
  }
  private normalized(input: Tensor): Tensor {
    return F.instance_norm(
      input,
      this.running_mean,
      this.running_var,
      this.weight,
      this.bias,
      this.training || !this.track_running_stats,
      this.momentum ?? 0,
      this.eps,
    );
  }
  override _load_from_state_dict(
    state_dict: StateDict,
    prefix: string,
    local_metadata: LocalMetadata,
    strict: boolean,
    missing_keys: string[],
    unexpected_keys: string[],
    error_msgs: string[],
  ): void {
    if (local_metadata.version === undefined && !this.track_running_stats) {
      const found = ["running_mean", "running_var"].map((n) => prefix + n).filter((k) => Object.hasOwn(state_dict, k));
      const name = this._get_name();
      if (found.length > 0)
        error_msgs.push(
          `Unexpected running stats buffer(s) ${found.map((k) => `"${k}"`).join(" and ")} for ${name} with track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, this may be expected because ${name} does not track running stats by default since 0.4.0. Please remove these keys from state_dict. If the running stats are actually needed, instead set track_running_stats=True in ${name} to enable them. See the documentation of ${name} for details.`,
        );
      for (const key of found) delete state_dict[key];
    }
    super._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs);
  }
}

/** Instance normalization of (N, C, L) or (C, L). @see https://docs.pytorch.org/docs/stable/generated/torch.nn.InstanceNorm1d.html */
export class InstanceNorm1d extends InstanceNorm {
  protected override get unbatchedRank(): number {
    return 2;
  }
}
/** Instance normalization of (N, C, H, W) or (C, H, W). */
export class InstanceNorm2d extends InstanceNorm {
  protected override get unbatchedRank(): number {
    return 3;
  }
}
/** Instance normalization of (N, C, D, H, W) or (C, D, H, W). */
export class InstanceNorm3d extends InstanceNorm {
  protected override get unbatchedRank(): number {
    return 4;
  }
}
