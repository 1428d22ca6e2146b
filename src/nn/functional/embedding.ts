/** @file nn.functional: embeddings. */
import { no_grad } from "../../autograd/index.js";
import { TorchError, TorchNotImplementedError, TorchValueError } from "../../schema/index.js";
import type { Tensor } from "../../tensor/index.js";
import { aten, t } from "../aten.js";
import { define } from "../signature.js";

export const one_hot = aten("one_hot");

function renormalize(weight: Tensor, indices: Tensor, max_norm: number, norm_type: number): void {
  no_grad(() => void t.embedding_renorm_(weight, indices, max_norm, norm_type));
}

/** Rows of `weight` at these indices. The row padding_idx gets no gradient; max_norm renormalizes rows in place. */
export const embedding = define(
  "embedding(Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, bool sparse=False)",
  ({ input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse }): Tensor => {
    let padding = padding_idx ?? -1;
    if (padding_idx !== null) {
      const rows = weight.shape[0];
      if (padding_idx >= rows || padding_idx < -rows) throw new TorchError("Padding_idx must be within num_embeddings");
      if (padding_idx < 0) padding = rows + padding_idx;
    }
    if (max_norm !== null) renormalize(weight, input, max_norm, norm_type);
    return t.embedding(weight, input, padding, scale_grad_by_freq, sparse);
  },
);

const modes: Record<string, number | undefined> = { sum: 0, mean: 1, max: 2 };
const sizeOf = (x: Tensor): string => `torch.Size([${x.shape.join(", ")}])`;

/** Indices in one dimension and where each bag starts. */
function bags(input: Tensor, offsets: Tensor | null): { input: Tensor; offsets: Tensor } {
  if (input.ndim === 2) {
    if (offsets !== null)
      throw new TorchValueError(
        "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. However, found offsets of type <class 'torch.Tensor'>",
      );
    const [rows, columns] = input.shape;
    const starts = t.arange(0, rows * columns, columns, { dtype: input.dtype, device: input.device });
    return { input: input.reshape(-1), offsets: starts };
  }
  if (input.ndim !== 1)
    throw new TorchValueError(`input has to be 1D or 2D Tensor, but got Tensor of dimension ${input.ndim}`);
  if (offsets === null) throw new TorchValueError("offsets has to be a 1D Tensor but got None");
  if (offsets.ndim !== 1) throw new TorchValueError("offsets has to be a 1D Tensor");
  return { input, offsets };
}

/** Sums, means or maxima of bags of rows of `weight`. */
export const embedding_bag = define(
  "embedding_bag(Tensor input, Tensor weight, Tensor? offsets=None, float? max_norm=None, float norm_type=2, bool scale_grad_by_freq=False, str mode='mean', bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int? padding_idx=None)",
  (a): Tensor => {
    const weights = a.per_sample_weights;
    if (weights !== null && weights.shape.join() !== a.input.shape.join())
      throw new TorchValueError(
        `embedding_bag: If per_sample_weights (${sizeOf(weights)}) is not None, then it must have the same shape as the input (${sizeOf(a.input)})`,
      );
    if (a.weight.ndim !== 2)
      throw new TorchValueError(`weight has to be a 2D Tensor, but got Tensor of dimension ${a.weight.ndim}`);
    const { input, offsets } = bags(a.input, a.offsets);
    const mode = modes[a.mode];
    if (mode === undefined) throw new TorchValueError("mode has to be one of sum, mean or max");
    if (mode === 2 && a.scale_grad_by_freq)
      throw new TorchValueError("max mode does not support scaling the gradient by the frequency");
    if (mode === 2 && a.sparse) throw new TorchValueError("max mode does not support sparse weights");
    if (a.max_norm !== null) renormalize(a.weight, input, a.max_norm, a.norm_type);
    if (weights !== null && mode !== 0)
      throw new TorchNotImplementedError(
        `embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got mode='${a.mode}'). Please open a feature request on GitHub.`,
      );
    return t.embedding_bag(
      a.weight,
      input,
      offsets,
      a.scale_grad_by_freq,
      mode,
      a.sparse,
      weights?.reshape(-1) ?? null,
      a.input.ndim === 2 ? false : a.include_last_offset,
      a.padding_idx,
    )[0];
  },
);
