/** @file nn.functional: normalization. */
import { TorchError, TorchValueError } from "../../schema/index.js";
import type { Tensor } from "../../tensor/index.js";
import { t } from "../aten.js";
import { define } from "../signature.js";
import { avg_pool2d, avg_pool3d } from "./pooling.js";
import { pad } from "./vision.js";

const sizeOf = (shape: readonly number[]): string => `torch.Size([${shape.join(", ")}])`;

function verifyBatchSize(shape: readonly number[], text = sizeOf(shape)): void {
  const values = shape.reduce((n, d, i) => (i === 1 ? n : n * d), 1);
  if (values === 1)
    throw new TorchValueError(`Expected more than 1 value per channel when training, got input size ${text}`);
}

/** Normalizes every channel (dimension 1) over the batch; in training also moves the running statistics, in place. */
export const batch_norm = define(
  "batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, bool training=False, float momentum=0.1, float eps=1e-05)",
  ({ input, running_mean, running_var, weight, bias, training, momentum, eps }): Tensor => {
    if (training) verifyBatchSize(input.shape);
    if (training && eps <= 0)
      throw new TorchValueError(`batch_norm eps must be positive during training, but got ${eps}`);
    if (eps < 0) throw new TorchValueError(`batch_norm eps must be non-negative, but got ${eps}`);
    return t.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, true);
  },
);

/** Normalizes every channel of every example. */
export const instance_norm = define(
  "instance_norm(Tensor input, Tensor? running_mean=None, Tensor? running_var=None, Tensor? weight=None, Tensor? bias=None, bool use_input_stats=True, float momentum=0.1, float eps=1e-05)",
  ({ input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps }): Tensor => {
    const spatial = input.shape.slice(2).reduce((n, d) => n * d, 1);
    if (use_input_stats && spatial === 1)
      throw new TorchValueError(
        `Expected more than 1 spatial element when training, got input size ${sizeOf(input.shape)}`,
      );
    return t.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, true);
  },
);

/** Normalizes over the last dimensions, whose sizes are normalized_shape. */
export const layer_norm = define(
  "layer_norm(Tensor input, ints normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05)",
  ({ input, normalized_shape, weight, bias, eps }): Tensor =>
    t.layer_norm(input, listOf(normalized_shape), weight, bias, eps),
);

/** Divides by the root of the mean square over the last dimensions. eps: that of the dtype unless given. */
export const rms_norm = define(
  "rms_norm(Tensor input, ints normalized_shape, Tensor? weight=None, float? eps=None)",
  ({ input, normalized_shape, weight, eps }): Tensor => t.rms_norm(input, listOf(normalized_shape), weight, eps),
);

const listOf = (x: number | readonly number[]): readonly number[] => (typeof x === "number" ? [x] : x);

/** Normalizes groups of channels of every example. */
export const group_norm = define(
  "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05)",
  ({ input, num_groups, weight, bias, eps }): Tensor => {
    if (input.ndim < 2)
      throw new TorchError(`Expected at least 2 dimensions for input tensor but received ${input.ndim}`);
    const rows = Math.floor((input.shape[0] * input.shape[1]) / num_groups);
    const shape = [rows, num_groups, ...input.shape.slice(2)];
    verifyBatchSize(shape, `[${shape.join(", ")}]`);
    return t.group_norm(input, num_groups, weight, bias, eps);
  },
);

/** Divides by a power of the sum of squares over neighbouring channels. */
export const local_response_norm = define(
  "local_response_norm(Tensor input, int size, float alpha=0.0001, float beta=0.75, float k=1.0)",
  ({ input, size, alpha, beta, k }): Tensor => {
    if (input.ndim < 3)
      throw new TorchValueError(
        `Expected 3D or higher dimensionality                          input (got ${input.ndim} dimensions)`,
      );
    if (input.numel() === 0) return input;
    const before = Math.floor(size / 2);
    const after = Math.floor((size - 1) / 2);
    const squares = input.mul(input);
    let sums: Tensor;
    if (input.ndim === 3) {
      sums = avg_pool2d(pad(squares.unsqueeze(1), [0, 0, before, after]), [size, 1], { stride: 1 }).squeeze(1);
    } else {
      const [n, c, d] = input.shape;
      const rest = input.shape.slice(3).reduce((a, b) => a * b, 1);
      const padded = pad(squares.view(n, 1, c, d, rest), [0, 0, 0, 0, before, after]);
      sums = avg_pool3d(padded, [size, 1, 1], { stride: 1 }).squeeze(1).view(input.shape);
    }
    return input.div(sums.mul(alpha).add(k).pow(beta));
  },
);

/** Divides by the p-norm along dim, at least eps. */
export const normalize = define(
  "normalize(Tensor input, float p=2.0, int dim=1, float eps=1e-12, Tensor? out=None)",
  ({ input, p, dim, eps, out }): Tensor => {
    const norms = t.norm(input, p, dim, true).clamp_min(eps).expand_as(input);
    return out === null ? input.div(norms) : t.div(input, norms, { out });
  },
);
