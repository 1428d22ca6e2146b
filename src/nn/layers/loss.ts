/** @file Losses as modules. @see https://docs.pytorch.org/docs/stable/nn.html#loss-functions */
import type { Tensor } from "../../tensor/index.js";
import { TorchValueError } from "../../schema/index.js";
import { t } from "../aten.js";
import * as F from "../functional/loss.js";
import { legacyReduction } from "../functional/loss.js";
import { functionLayer } from "./function_layer.js";

/** Takes in size_average and reduce, the old form of reduction. */
const legacy = (m: { reduction: string; size_average: boolean | null; reduce: boolean | null }): void => {
  m.reduction = legacyReduction(m.reduction, m.size_average, m.reduce);
  m.size_average = m.reduce = null;
};
const plain = { check: legacy };
const weighted = { check: legacy, buffers: ["weight"] };

/** Cross entropy of logits and classes. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html */
export class CrossEntropyLoss extends functionLayer(
  "CrossEntropyLoss.__init__(Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? reduce=None, Reduction reduction='mean', float label_smoothing=0.0)",
  ({ weight, ignore_index, reduction, label_smoothing }, input: Tensor, target: Tensor) =>
    F.cross_entropy(input, target, { weight, ignore_index, reduction, label_smoothing }),
  weighted,
) {}
/** Negative log likelihood of log probabilities and classes. */
export class NLLLoss extends functionLayer(
  "NLLLoss.__init__(Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? reduce=None, Reduction reduction='mean')",
  ({ weight, ignore_index, reduction }, input: Tensor, target: Tensor) =>
    F.nll_loss(input, target, { weight, ignore_index, reduction }),
  weighted,
) {}
/** Squared differences. */
export class MSELoss extends functionLayer(
  "MSELoss.__init__(bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  ({ reduction }, input: Tensor, target: Tensor) => F.mse_loss(input, target, { reduction }),
  plain,
) {}
/** Absolute differences. */
export class L1Loss extends functionLayer(
  "L1Loss.__init__(bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  ({ reduction }, input: Tensor, target: Tensor) => F.l1_loss(input, target, { reduction }),
  plain,
) {}
/** Squared differences below beta, absolute ones above. */
export class SmoothL1Loss extends functionLayer(
  "SmoothL1Loss.__init__(bool? size_average=None, bool? reduce=None, Reduction reduction='mean', float beta=1.0)",
  ({ reduction, beta }, input: Tensor, target: Tensor) => F.smooth_l1_loss(input, target, { reduction, beta }),
  plain,
) {}
/** Squared differences below delta, delta times the absolute ones above. */
export class HuberLoss extends functionLayer(
  "HuberLoss.__init__(Reduction reduction='mean', float delta=1.0)",
  ({ reduction, delta }, input: Tensor, target: Tensor) => F.huber_loss(input, target, { reduction, delta }),
) {}
/** Cross entropy of probabilities between 0 and 1. */
export class BCELoss extends functionLayer(
  "BCELoss.__init__(Tensor? weight=None, bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  ({ weight, reduction }, input: Tensor, target: Tensor) =>
    F.binary_cross_entropy(input, target, { weight, reduction }),
  weighted,
) {}
/** Cross entropy of the sigmoids of logits. */
export class BCEWithLogitsLoss extends functionLayer(
  "BCEWithLogitsLoss.__init__(Tensor? weight=None, bool? size_average=None, bool? reduce=None, Reduction reduction='mean', Tensor? pos_weight=None)",
  ({ weight, reduction, pos_weight }, input: Tensor, target: Tensor) =>
    F.binary_cross_entropy_with_logits(input, target, { weight, reduction, pos_weight }),
  { check: legacy, buffers: ["weight", "pos_weight"] },
) {}
/** Kullback-Leibler divergence of log probabilities. */
export class KLDivLoss extends functionLayer(
  "KLDivLoss.__init__(bool? size_average=None, bool? reduce=None, BatchReduction reduction='mean', bool log_target=False)",
  ({ reduction, log_target }, input: Tensor, target: Tensor) => F.kl_div(input, target, { reduction, log_target }),
  plain,
) {}
/** Negative log likelihood of a Poisson distribution. */
export class PoissonNLLLoss extends functionLayer(
  "PoissonNLLLoss.__init__(bool log_input=True, bool full=False, bool? size_average=None, float eps=1e-08, bool? reduce=None, Reduction reduction='mean')",
  ({ log_input, full, eps, reduction }, log_or_rate: Tensor, target: Tensor) =>
    F.poisson_nll_loss(log_or_rate, target, { log_input, full, eps, reduction }),
  plain,
) {}
/** Negative log likelihood of a normal distribution. */
export class GaussianNLLLoss extends functionLayer(
  "GaussianNLLLoss.__init__(bool full=False, float eps=1e-06, Reduction reduction='mean')",
  ({ full, eps, reduction }, input: Tensor, target: Tensor, variance: Tensor | number) =>
    F.gaussian_nll_loss(input, target, variance, { full, eps, reduction }),
) {}
/** Which of two should rank higher. */
export class MarginRankingLoss extends functionLayer(
  "MarginRankingLoss.__init__(float margin=0.0, bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  ({ margin, reduction }, input1: Tensor, input2: Tensor, target: Tensor) =>
    F.margin_ranking_loss(input1, input2, target, { margin, reduction }),
  plain,
) {}
/** x where the target is 1, max(0, margin - x) where it is -1. */
export class HingeEmbeddingLoss extends functionLayer(
  "HingeEmbeddingLoss.__init__(float margin=1.0, bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  ({ margin, reduction }, input: Tensor, target: Tensor) =>
    F.hinge_embedding_loss(input, target, { margin, reduction }),
  plain,
) {}
/** Hinge loss of several classes, several of which may be right. */
export class MultiLabelMarginLoss extends functionLayer(
  "MultiLabelMarginLoss.__init__(bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  ({ reduction }, input: Tensor, target: Tensor) => F.multilabel_margin_loss(input, target, { reduction }),
  plain,
) {}
/** log(1 + exp(-target · x)). */
export class SoftMarginLoss extends functionLayer(
  "SoftMarginLoss.__init__(bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  ({ reduction }, input: Tensor, target: Tensor) => F.soft_margin_loss(input, target, { reduction }),
  plain,
) {}
/** Binary cross entropy of every class, averaged over the classes. */
export class MultiLabelSoftMarginLoss extends functionLayer(
  "MultiLabelSoftMarginLoss.__init__(Tensor? weight=None, bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  ({ weight, reduction }, input: Tensor, target: Tensor) =>
    F.multilabel_soft_margin_loss(input, target, { weight, reduction }),
  weighted,
) {}
/** 1 - cos where the target is 1, max(0, cos - margin) where it is -1. */
export class CosineEmbeddingLoss extends functionLayer(
  "CosineEmbeddingLoss.__init__(float margin=0.0, bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  ({ margin, reduction }, input1: Tensor, input2: Tensor, target: Tensor) =>
    F.cosine_embedding_loss(input1, input2, target, { margin, reduction }),
  plain,
) {}
/** Hinge loss of several classes, one of which is right. */
export class MultiMarginLoss extends functionLayer(
  "MultiMarginLoss.__init__(int p=1, float margin=1.0, Tensor? weight=None, bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  ({ p, margin, weight, reduction }, input: Tensor, target: Tensor) =>
    F.multi_margin_loss(input, target, { p, margin, weight, reduction }),
  {
    check: (m) => {
      legacy(m);
      if (m.p !== 1 && m.p !== 2) throw new TorchValueError("only p == 1 and p == 2 supported");
      if (m.weight !== null && m.weight.ndim !== 1)
        throw new TorchValueError(
          `MultiMarginLoss: expected weight to be None or 1D tensor, got ${m.weight.ndim}D instead`,
        );
    },
    buffers: ["weight"],
  },
) {}

const positiveMargin = ({ margin }: { margin: number }): void => {
  if (!(margin > 0))
    throw new TorchValueError(`TripletMarginLoss: expected margin to be greater than 0, got ${margin} instead`);
};
/** Keeps an anchor nearer to a positive example than to a negative one. */
export class TripletMarginLoss extends functionLayer(
  "TripletMarginLoss.__init__(float margin=1.0, float p=2.0, float eps=1e-06, bool swap=False, bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  ({ margin, p, eps, swap, reduction }, anchor: Tensor, positive: Tensor, negative: Tensor) =>
    F.triplet_margin_loss(anchor, positive, negative, { margin, p, eps, swap, reduction }),
  {
    check: (m) => {
      legacy(m);
      positiveMargin(m);
    },
  },
) {}
/** TripletMarginLoss with any distance. */
export class TripletMarginWithDistanceLoss extends functionLayer(
  "TripletMarginWithDistanceLoss.__init__(Distance? distance_function=None, float margin=1.0, bool swap=False, Reduction reduction='mean')",
  ({ distance_function, margin, swap, reduction }, anchor: Tensor, positive: Tensor, negative: Tensor) =>
    F.triplet_margin_with_distance_loss(anchor, positive, negative, { distance_function, margin, swap, reduction }),
  {
    check: ({ margin }) => {
      if (!(margin > 0))
        throw new TorchValueError(
          `TripletMarginWithDistanceLoss: expected margin to be greater than 0, got ${margin} instead`,
        );
    },
  },
) {}
/** Connectionist temporal classification. */
export class CTCLoss extends functionLayer(
  "CTCLoss.__init__(int blank=0, Reduction reduction='mean', bool zero_infinity=False)",
  (
    { blank, reduction, zero_infinity },
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | readonly number[],
    target_lengths: Tensor | readonly number[],
  ) => F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity),
) {}

/** Cosine of the angle between vectors along a dimension. */
export class CosineSimilarity extends functionLayer(
  "CosineSimilarity.__init__(int dim=1, float eps=1e-08)",
  ({ dim, eps }, x1: Tensor, x2: Tensor) => t.cosine_similarity(x1, x2, dim, eps),
) {}
/** The p-norm of the difference of vectors. */
export class PairwiseDistance extends functionLayer(
  "PairwiseDistance.__init__(float p=2.0, float eps=1e-06, bool keepdim=False)",
  ({ p, eps, keepdim }, x1: Tensor, x2: Tensor) => t.pairwise_distance(x1, x2, p, eps, keepdim),
) {}
