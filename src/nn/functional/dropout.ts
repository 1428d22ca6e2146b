/** @file nn.functional: dropout. */
import { TorchError, TorchValueError } from "../../schema/index.js";
import type { Tensor } from "../../tensor/index.js";
import { maybeInplace } from "../aten.js";
import { define } from "../signature.js";

function checkProbability(p: number): void {
  if (p < 0 || p > 1) throw new TorchValueError(`dropout probability has to be between 0 and 1, but got ${p}`);
}

/** While training, zeros with probability p; the rest is scaled by 1 / (1 - p). */
export const dropout = define(
  "dropout(Tensor input, float p=0.5, bool training=True, bool inplace=False)",
  ({ input, p, training, inplace }): Tensor => {
    checkProbability(p);
    return maybeInplace("dropout", inplace, input, p, training);
  },
);

/** Dropout that keeps mean and variance, for networks with selu. */
export const alpha_dropout = define(
  "alpha_dropout(Tensor input, float p=0.5, bool training=False, bool inplace=False)",
  ({ input, p, training, inplace }): Tensor => {
    checkProbability(p);
    return maybeInplace("alpha_dropout", inplace, input, p, training);
  },
);

/** Alpha dropout of whole feature maps. */
export const feature_alpha_dropout = define(
  "feature_alpha_dropout(Tensor input, float p=0.5, bool training=False, bool inplace=False)",
  ({ input, p, training, inplace }): Tensor => {
    checkProbability(p);
    return maybeInplace("feature_alpha_dropout", inplace, input, p, training);
  },
);

/** Feature dropout of an input that may lack its batch dimension. */
function channels(input: Tensor, p: number, training: boolean, inplace: boolean, batched: boolean): Tensor {
  if (batched) return maybeInplace("feature_dropout", inplace, input, p, training);
  // unsqueeze is a view: what is written through it is written to the input
  const out = maybeInplace("feature_dropout", inplace, input.unsqueeze(0), p, training);
  return inplace ? input : out.squeeze(0);
}

/** Dropout of whole channels of (N, C, L) or (C, L). */
export const dropout1d = define(
  "dropout1d(Tensor input, float p=0.5, bool training=True, bool inplace=False)",
  ({ input, p, training, inplace }): Tensor => {
    checkProbability(p);
    if (input.ndim !== 2 && input.ndim !== 3)
      throw new TorchError(
        `dropout1d: Expected 2D or 3D input, but received a ${input.ndim}D input. Note that dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs).`,
      );
    return channels(input, p, training, inplace, input.ndim === 3);
  },
);

/** Dropout of whole channels of (N, C, H, W). */
export const dropout2d = define(
  "dropout2d(Tensor input, float p=0.5, bool training=True, bool inplace=False)",
  ({ input, p, training, inplace }): Tensor => {
    checkProbability(p);
    return channels(input, p, training, inplace, true);
  },
);

/** Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W). */
export const dropout3d = define(
  "dropout3d(Tensor input, float p=0.5, bool training=True, bool inplace=False)",
  ({ input, p, training, inplace }): Tensor => {
    checkProbability(p);
    return channels(input, p, training, inplace, input.ndim === 5);
  },
);
