/** @file The ATen operators, for everything in this layer. */
import { functional, invoke, invokeInplace } from "../api/index.js";
import { operators, type Torch } from "../ops/registry.js";
import { TorchNotImplementedError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";

/** Operators whose types are not generated yet. What is generated takes precedence; then the name can go. */
type Pending<R> = (...args: readonly unknown[]) => R;
type PendingNames =
  | `${"" | "_"}upsample_${"nearest" | "nearest_exact"}${1 | 2 | 3}d`
  | `upsample_${"linear1d" | "bilinear2d" | "trilinear3d" | "bicubic2d"}`
  | `_upsample_${"bilinear2d" | "bicubic2d"}_aa`
  | `conv${1 | 2 | 3}d`
  | `conv_transpose${1 | 2 | 3}d`
  | "conv_tbc"
  | `${"max" | "avg" | "adaptive_avg"}_pool${1 | 2 | 3}d`
  | `max_unpool${2 | 3}d`
  | `${"batch" | "instance" | "layer" | "rms" | "group"}_norm`
  | `${"pixel_shuffle" | "pixel_unshuffle" | "channel_shuffle" | "native_channel_shuffle"}`
  | `${"embedding" | "embedding_renorm_" | "one_hot" | "bilinear" | "pad" | "pdist" | "norm" | "cat" | "argmax" | "any"}`
  | `${"scatter" | "masked_fill" | "scaled_dot_product_attention" | "grid_sampler" | "affine_grid_generator"}`
  | `${"im2col" | "col2im" | "ctc_loss" | "stack" | "linalg_vector_norm" | "isfinite" | "index_select"}`
  | `${"rnn_tanh_cell" | "rnn_relu_cell" | "gru_cell" | "max" | "amax" | "repeat" | "argsort"}`;
type PendingTuples =
  | `${"max" | "adaptive_max" | "fractional_max"}_pool${1 | 2 | 3}d${"" | "_with_indices"}`
  | `${"lstm" | "gru" | "rnn_tanh" | "rnn_relu" | "lstm_cell" | "embedding_bag" | "topk" | "linalg_qr"}`;
type PendingOperators = { [K in Exclude<PendingTuples, PendingNames>]: Pending<Tensor[]> } & {
  [K in PendingNames]: Pending<Tensor>;
};
export type Aten = Torch & Omit<PendingOperators, keyof Torch>;

/** The operators by their ATen names. */
export const t = functional as Aten;

/** An operator to export as it is. Where it does not exist yet, a function that says so when it is called. */
export function aten<K extends keyof Aten>(name: K): Aten[K] {
  return t[name] ?? (missing(name) as unknown as Aten[K]);
}

function missing(name: string): () => never {
  return () => {
    throw new TorchNotImplementedError(`${name}(): this operator is not implemented`);
  };
}

/** The operator, or its in-place form on the same arguments. */
export function maybeInplace(name: string, inplace: boolean, input: Tensor, ...args: readonly unknown[]): Tensor {
  const group = operators.get(inplace && operators.has(`${name}_`) ? `${name}_` : name);
  if (!group) return missing(name)();
  const all = [input, ...args];
  return inplace && group.name === name ? invokeInplace(group, all) : (invoke(group, all) as Tensor);
}
