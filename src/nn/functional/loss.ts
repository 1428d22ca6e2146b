/** @file nn.functional: losses. `reduction` says what becomes of the losses of the elements: none, mean, sum. */
import { no_grad } from "../../autograd/index.js";
import { broadcastShapes } from "../../schema/shape.js";
import { TorchError, TorchValueError } from "../../schema/index.js";
import type { Tensor } from "../../tensor/index.js";
import { t } from "../aten.js";
import { define, type Reduction } from "../signature.js";
import { linear } from "./convolution.js";

const enums: Record<string, number> = { none: 0, mean: 1, sum: 2, elementwise_mean: 1 };

/** PyTorch's number for a reduction; size_average and reduce are its old form. */
export function reductionEnum(reduction: string, size_average?: boolean | null, reduce?: boolean | null): number {
  const name = legacyReduction(reduction, size_average, reduce);
  const found = enums[name];
  if (found === undefined) throw new TorchValueError(`${name} is not a valid value for reduction`);
  return found;
}

/** The reduction that size_average and reduce ask for, where they are given. */
export function legacyReduction(reduction: string, size_average?: boolean | null, reduce?: boolean | null): string {
  if ((size_average ?? null) === null && (reduce ?? null) === null) return reduction;
  if (reduce === false) return "none";
  return size_average === false ? "sum" : "mean";
}

const sizeOf = (x: Tensor): string => `torch.Size([${x.shape.join(", ")}])`;
const sameShape = (a: Tensor, b: Tensor): boolean => a.shape.join() === b.shape.join();

function reducedBy(loss: Tensor, reduction: string, unknown: (name: string) => string): Tensor {
  if (reduction === "none") return loss;
  if (reduction === "mean") return loss.mean();
  if (reduction === "sum") return loss.sum();
  throw new TorchValueError(unknown(reduction));
}
const invalidMode = (name: string): string => `Invalid reduction mode: ${name}. Expected one of 'none', 'mean', 'sum'.`;

/** Both tensors at the shape that they broadcast to. */
function together(a: Tensor, b: Tensor): [Tensor, Tensor] {
  if (sameShape(a, b)) return [a, b];
  const shape = broadcastShapes(a.shape, b.shape);
  return [a.expand(shape), b.expand(shape)];
}

function checkWeight(weight: Tensor, input: Tensor): void {
  if (!sameShape(weight, input)) throw new TorchValueError("Weights and input must have the same size.");
}

/** The mean of weighted errors is their sum over the sum of the weights. */
function weighted(errors: Tensor, weight: Tensor, reduction: string): Tensor {
  const loss = errors.mul(weight);
  return reduction === "mean" ? loss.sum().div(weight.sum()) : reducedBy(loss, reduction, invalidMode);
}

/** Cross entropy between logits (N, C, …) and class indices (N, …) or class probabilities (N, C, …). */
export const cross_entropy = define(
  "cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? reduce=None, Reduction reduction='mean', float label_smoothing=0.0)",
  (a): Tensor =>
    t.cross_entropy_loss(
      a.input,
      a.target,
      a.weight,
      reductionEnum(a.reduction, a.size_average, a.reduce),
      a.ignore_index,
      a.label_smoothing,
    ),
);

/** The negative log likelihood of log probabilities (N, C, …) at class indices (N, …). */
export const nll_loss = define(
  "nll_loss(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? reduce=None, Reduction reduction='mean')",
  (a): Tensor =>
    t.nll_loss_nd(a.input, a.target, a.weight, reductionEnum(a.reduction, a.size_average, a.reduce), a.ignore_index),
);

/** Squared differences. */
export const mse_loss = define(
  "mse_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, Reduction reduction='mean', Tensor? weight=None)",
  (a): Tensor => {
    const reduction = legacyReduction(a.reduction, a.size_average, a.reduce);
    const [input, target] = together(a.input, a.target);
    if (a.weight === null) return t.mse_loss(input, target, reductionEnum(reduction));
    checkWeight(a.weight, a.input);
    return weighted(input.sub(target).pow(2), a.weight, reduction);
  },
);

/** Absolute differences. */
export const l1_loss = define(
  "l1_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, Reduction reduction='mean', Tensor? weight=None)",
  (a): Tensor => {
    const reduction = legacyReduction(a.reduction, a.size_average, a.reduce);
    const [input, target] = together(a.input, a.target);
    if (a.weight === null) return t.l1_loss(input, target, reductionEnum(reduction));
    checkWeight(a.weight, a.input);
    return weighted(input.sub(target).abs(), a.weight, reduction);
  },
);

/** Squared differences below beta, absolute ones above. */
export const smooth_l1_loss = define(
  "smooth_l1_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, Reduction reduction='mean', float beta=1.0)",
  (a): Tensor => {
    const reduction = reductionEnum(a.reduction, a.size_average, a.reduce);
    const [input, target] = together(a.input, a.target);
    return a.beta === 0 ? t.l1_loss(input, target, reduction) : t.smooth_l1_loss(input, target, reduction, a.beta);
  },
);

/** Squared differences below delta, delta times the absolute ones above. */
export const huber_loss = define(
  "huber_loss(Tensor input, Tensor target, Reduction reduction='mean', float delta=1.0, Tensor? weight=None)",
  ({ input, target, reduction, delta, weight }): Tensor => {
    const [a, b] = together(input, target);
    if (weight === null) return t.huber_loss(a, b, reductionEnum(reduction), delta);
    checkWeight(weight, input);
    return reducedBy(t.huber_loss(a, b, 0, delta).mul(weight), reduction, invalidMode);
  },
);

/** Cross entropy of probabilities between 0 and 1. */
export const binary_cross_entropy = define(
  "binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  ({ input, target, weight, size_average, reduce, reduction }): Tensor => {
    const number = reductionEnum(reduction, size_average, reduce);
    if (!sameShape(target, input))
      throw new TorchValueError(
        `Using a target size (${sizeOf(target)}) that is different to the input size (${sizeOf(input)}) is deprecated. Please ensure they have the same size.`,
      );
    const w = weight === null ? null : weight.expand(broadcastShapes(target.shape, weight.shape));
    return t.binary_cross_entropy(input, target, w, number);
  },
);

/** Cross entropy of the sigmoids of logits, accurate. pos_weight: the weight of positive examples, by class. */
export const binary_cross_entropy_with_logits = define(
  "binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, Reduction reduction='mean', Tensor? pos_weight=None)",
  ({ input, target, weight, size_average, reduce, reduction, pos_weight }): Tensor => {
    const number = reductionEnum(reduction, size_average, reduce);
    if (!sameShape(target, input))
      throw new TorchValueError(`Target size (${sizeOf(target)}) must be the same as input size (${sizeOf(input)})`);
    return t.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number);
  },
);

/** Kullback-Leibler divergence; `input` are log probabilities. "batchmean" divides by the batch size only. */
export const kl_div = define(
  "kl_div(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, BatchReduction reduction='mean', bool log_target=False)",
  ({ input, target, size_average, reduce, reduction, log_target }): Tensor => {
    const name = legacyReduction(reduction, size_average, reduce);
    const loss = t.kl_div(input, target, reductionEnum(name === "batchmean" ? "sum" : name), { log_target });
    return name === "batchmean" && input.ndim !== 0 ? loss.div(input.shape[0]) : loss;
  },
);

/** Negative log likelihood of a Poisson distribution with this rate, or the logarithm of it. */
export const poisson_nll_loss = define(
  "poisson_nll_loss(Tensor input, Tensor target, bool log_input=True, bool full=False, bool? size_average=None, float eps=1e-08, bool? reduce=None, Reduction reduction='mean')",
  (a): Tensor =>
    t.poisson_nll_loss(
      a.input,
      a.target,
      a.log_input,
      a.full,
      a.eps,
      reductionEnum(a.reduction, a.size_average, a.reduce),
    ),
);

/** The variance in a shape that broadcasts with the input. Reads it: negative entries are an error. */
function variance(input: Tensor, given: Tensor | number): Tensor {
  if (typeof given === "number") {
    if (given < 0) throw new TorchValueError("var has negative entry/entries");
    return t.full_like(input, given);
  }
  if (t.any(given.lt(0)).item()) throw new TorchValueError("var has negative entry/entries");
  if (sameShape(given, input)) return given;
  if (given.shape.join() === input.shape.slice(0, -1).join()) return given.unsqueeze(-1);
  const differing = given.shape.filter((n, i) => n !== input.shape[i]);
  const differingInput = input.shape.filter((n, i) => n !== given.shape[i]);
  if (given.ndim === input.ndim && differing.reduce((a, b) => a + b, 0) === 1 && differingInput.length === 1)
    return given;
  throw new TorchValueError("var is of incorrect size");
}

/** Negative log likelihood of a normal distribution with this mean and variance. */
export const gaussian_nll_loss = define(
  "gaussian_nll_loss(Tensor input, Tensor target, TensorOrNumber var, bool full=False, float eps=1e-06, Reduction reduction='mean')",
  ({ input, target, var: given, full, eps, reduction }): Tensor => {
    const spread = variance(input, given);
    if (!(reduction in enums)) throw new TorchValueError(`${reduction} is not valid`);
    const v = spread.clone();
    no_grad(() => v.clamp_min_(eps));
    const loss = t.log(v).add(input.sub(target).pow(2).div(v)).mul(0.5);
    return reducedBy(full ? loss.add(0.5 * Math.log(2 * Math.PI)) : loss, reduction, (n) => `${n} is not valid`);
  },
);

/** max(0, -target · (input1 - input2) + margin): which of two should rank higher. */
export const margin_ranking_loss = define(
  "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  ({ input1, input2, target, margin, size_average, reduce, reduction }): Tensor => {
    const number = reductionEnum(reduction, size_average, reduce);
    if (input1.ndim !== input2.ndim || input1.ndim !== target.ndim)
      throw new TorchError(
        `margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: ${sizeOf(input1)}, input2: ${sizeOf(input2)}, target: ${sizeOf(target)} `,
      );
    return t.margin_ranking_loss(input1, input2, target, margin, number);
  },
);

/** x where the target is 1, max(0, margin - x) where it is -1. */
export const hinge_embedding_loss = define(
  "hinge_embedding_loss(Tensor input, Tensor target, float margin=1.0, bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  (a): Tensor =>
    t.hinge_embedding_loss(a.input, a.target, a.margin, reductionEnum(a.reduction, a.size_average, a.reduce)),
);

/** Hinge loss of several classes, several of which may be right. */
export const multilabel_margin_loss = define(
  "multilabel_margin_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  (a): Tensor => t.multilabel_margin_loss(a.input, a.target, reductionEnum(a.reduction, a.size_average, a.reduce)),
);

/** log(1 + exp(-target · x)). */
export const soft_margin_loss = define(
  "soft_margin_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  (a): Tensor => t.soft_margin_loss(a.input, a.target, reductionEnum(a.reduction, a.size_average, a.reduce)),
);

/** Binary cross entropy of every class, averaged over the classes. */
export const multilabel_soft_margin_loss = define(
  "multilabel_soft_margin_loss(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  ({ input, target, weight, size_average, reduce, reduction }): Tensor => {
    const name = legacyReduction(reduction, size_average, reduce);
    const positive = target.mul(t.log_sigmoid(input));
    const negative = t.rsub(target, 1).mul(t.log_sigmoid(input.neg()));
    const losses = positive.add(negative).neg();
    const each = weight === null ? losses : losses.mul(weight);
    const loss = each.sum(-1).div(input.shape[input.ndim - 1] ?? 1);
    return reducedBy(loss, name, (n) => `${n} is not valid`);
  },
);

/** 1 - cos where the target is 1, max(0, cos - margin) where it is -1. */
export const cosine_embedding_loss = define(
  "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  (a): Tensor =>
    t.cosine_embedding_loss(
      a.input1,
      a.input2,
      a.target,
      a.margin,
      reductionEnum(a.reduction, a.size_average, a.reduce),
    ),
);

/** Hinge loss of several classes, one of which is right. */
export const multi_margin_loss = define(
  "multi_margin_loss(Tensor input, Tensor target, int p=1, float margin=1.0, Tensor? weight=None, bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  ({ input, target, p, margin, weight, size_average, reduce, reduction }): Tensor => {
    const number = reductionEnum(reduction, size_average, reduce);
    if (p !== 1 && p !== 2) throw new TorchValueError("only p == 1 and p == 2 supported");
    if (weight !== null && weight.ndim !== 1) throw new TorchValueError("weight must be one-dimensional");
    return t.multi_margin_loss(input, target, p, margin, weight, number);
  },
);

const positiveMargin = (margin: number): void => {
  if (!(margin > 0))
    throw new TorchValueError(
      `margin must be greater than 0, got ${Number.isInteger(margin) ? `${margin}.0` : margin}`,
    );
};

/** max(0, d(anchor, positive) - d(anchor, negative) + margin), with the p-norm distance. */
export const triplet_margin_loss = define(
  "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, bool swap=False, bool? size_average=None, bool? reduce=None, Reduction reduction='mean')",
  (a): Tensor => {
    const number = reductionEnum(a.reduction, a.size_average, a.reduce);
    positiveMargin(a.margin);
    return t.triplet_margin_loss(a.anchor, a.positive, a.negative, a.margin, a.p, a.eps, a.swap, number);
  },
);

/** triplet_margin_loss with any distance; the euclidean one unless given. */
export const triplet_margin_with_distance_loss = define(
  "triplet_margin_with_distance_loss(Tensor anchor, Tensor positive, Tensor negative, Distance? distance_function=None, float margin=1.0, bool swap=False, Reduction reduction='mean')",
  ({ anchor, positive, negative, distance_function, margin, swap, reduction }): Tensor => {
    if (!["mean", "sum", "none"].includes(reduction))
      throw new TorchValueError(`${reduction} is not a valid value for reduction`);
    positiveMargin(margin);
    const [a, p, n] = [anchor.ndim, positive.ndim, negative.ndim];
    if (a !== p || p !== n)
      throw new TorchError(
        `The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor ${a}D, positive ${p}D, and negative ${n}D inputs`,
      );
    const distance = distance_function ?? ((x: Tensor, y: Tensor): Tensor => t.pairwise_distance(x, y));
    const near = distance(anchor, positive);
    let far = distance(anchor, negative);
    if (swap) far = t.minimum(far, distance(positive, negative));
    return reducedBy(near.add(margin).sub(far).clamp_min(0), reduction, invalidMode);
  },
);

/** Connectionist temporal classification between log probabilities (T, N, C) and unaligned targets. */
export const ctc_loss = define(
  "ctc_loss(Tensor log_probs, Tensor targets, TensorOrInts input_lengths, TensorOrInts target_lengths, int blank=0, Reduction reduction='mean', bool zero_infinity=False)",
  (a): Tensor =>
    t.ctc_loss(
      a.log_probs,
      a.targets,
      a.input_lengths as Tensor,
      a.target_lengths as Tensor,
      a.blank,
      reductionEnum(a.reduction),
      a.zero_infinity,
    ),
);

/** cross_entropy of `linear(input, linear_weight, linear_bias)`, without the user holding the logits. */
export const linear_cross_entropy = define(
  "linear_cross_entropy(Tensor input, Tensor linear_weight, Tensor target, Tensor? linear_bias=None, Tensor? weight=None, Reduction reduction='mean', int? ignore_index=None, float label_smoothing=0.0, unknown options=None)",
  ({ input, linear_weight, target, linear_bias, weight, reduction, ignore_index, label_smoothing }): Tensor => {
    if (input.ndim < 1 || input.ndim > 2)
      throw new TorchError(`expected input with dimensionality 1 or 2, got ${input.ndim}`);
    if (linear_weight.ndim < 2)
      throw new TorchError(`expected linear_weight with dimensionality at least 2, got ${linear_weight.ndim}`);
    const features = input.shape[input.ndim - 1];
    const weightFeatures = linear_weight.shape[linear_weight.ndim - 1];
    if (features !== weightFeatures)
      throw new TorchError(
        `expected equal input and linear_weight last dimensions (in_features), got ${features} and ${weightFeatures}, respectively`,
      );
    const outShape = linear_weight.shape.slice(0, -1);
    if (linear_bias !== null && linear_bias.shape.join() !== outShape.join())
      throw new TorchError(`expected linear_bias shape (${tuple(outShape)}), got (${tuple(linear_bias.shape)})`);
    const batch = input.shape.slice(0, -1);
    if (outShape.length > 1 && batch.length === 0)
      throw new TorchError(
        `K-dimensional loss defined by linear_weight shape (${tuple(linear_weight.shape)}) requires batched input, (N, ${features}), got unbatched input with shape (${tuple(input.shape)})`,
      );
    const logitsShape = [...batch, ...outShape];
    if (target.shape.join() === logitsShape.join() && ignore_index !== null)
      throw new TorchError("ignore_index cannot be specified when target contains probabilities");
    const logits = linear(input, linear_weight.reshape(-1, features), linear_bias?.reshape(-1) ?? null).reshape(
      logitsShape,
    );
    return cross_entropy(logits, target, { weight, reduction, ignore_index: ignore_index ?? -100, label_smoothing });
  },
);

const tuple = (shape: readonly number[]): string => (shape.length === 1 ? `${shape[0]},` : shape.join(", "));

export type { Reduction };
