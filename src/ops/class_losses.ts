/** @file Losses whose targets are classes: negative log likelihood, cross entropy, margins. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { sizeText, TorchError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast, computeType, fullLike, requireDtype, scalarTypeName } from "./helpers.js";
import { reduced } from "./losses.js";
import { sumOf } from "./reduction.js";
import { op, type Torch } from "./registry.js";

const classDim = (rank: number): number => (rank === 1 ? 0 : 1);

function checkNll(self: Value, target: Value, weight: Value | null): void {
  if (target.dtype !== dt.int64 && target.dtype !== dt.uint8 && target.dtype !== dt.int32)
    throw new TorchError(`expected scalar type Long but found ${scalarTypeName(target.dtype)}`);
  const expected = self.shape.filter((_, i) => i !== classDim(self.rank));
  if (expected.join() !== target.shape.join())
    throw new TorchError(`size mismatch (got input: ${sizeText(self.shape)}, target: ${sizeText(target.shape)})`);
  const classes = self.shape[classDim(self.rank)];
  if (weight && (weight.rank !== 1 || weight.shape[0] !== classes))
    throw new TorchError(
      `weight tensor should be defined either for all ${classes} classes or no classes but got weight tensor of shape: ${sizeText(weight.shape)}`,
    );
}

/**
 * The losses and the sum of the weights. A target that is no class gives NaN: a program cannot throw for a value.
 */
function nllForward(
  h: Builder,
  self: Value,
  target: Value,
  weight: Value | null,
  reduction: number,
  ignoreIndex: number,
): [Value, Value] {
  requireDtype(self, self.dtype.is_floating_point, "nll_loss_out_frame");
  checkNll(self, target, weight);
  const dim = classDim(self.rank);
  const wide = computeType(self.dtype);
  const x = cast(h, self, wide);
  const index = cast(h, target, dt.int64);
  const others = self.shape.map((_, i) => i).filter((i) => i !== dim);
  const chosen = h.compare(h.iota(dt.int64, self.shape, dim), h.broadcast_in_dim(index, self.shape, others), "EQ");
  const pick = (v: Value): Value => sumOf(h, h.select(chosen, v, fullLike(h, v, 0)), [dim], false, wide);
  const classes = self.shape[dim];
  const inRange = h.and(
    h.compare(index, fullLike(h, index, 0), "GE"),
    h.compare(index, fullLike(h, index, classes), "LT"),
  );
  const ignored = h.compare(index, fullLike(h, index, ignoreIndex), "EQ");
  const zero = h.splat(0, wide, target.shape);
  const weights = h.select(
    ignored,
    zero,
    weight ? pick(h.broadcast_in_dim(cast(h, weight, wide), self.shape, [dim])) : fullLike(h, zero, 1),
  );
  const terms = h.negate(h.multiply(pick(x), weights));
  const losses = h.select(ignored, zero, h.select(inRange, terms, fullLike(h, zero, NaN)));
  const all = target.shape.map((_, i) => i);
  if (reduction === 0) return [cast(h, losses, self.dtype), h.splat(0, self.dtype, [])];
  const sum = sumOf(h, losses, all, false, wide);
  const weightSum = sumOf(h, weights, all, false, wide);
  return [cast(h, reduction === 1 ? h.divide(sum, weightSum) : sum, self.dtype), cast(h, weightSum, self.dtype)];
}

/** Which class each position has, as a mask over the classes. */
function oneHot(t: Torch, self: Tensor, target: Tensor): Tensor {
  const dim = classDim(self.ndim);
  const shape = new Array<number>(self.ndim).fill(1);
  shape[dim] = self.shape[dim];
  const classes = t.reshape(t.arange(self.shape[dim], { dtype: dt.int64, device: self.device }), shape);
  return t.eq(classes, t.unsqueeze(target, dim));
}

const alongClasses = (t: Torch, v: Tensor, like: Tensor): Tensor => {
  const shape = new Array<number>(like.ndim).fill(1);
  shape[classDim(like.ndim)] = v.numel();
  return t.reshape(v, shape);
};

for (const name of ["nll_loss_forward", "nll_loss2d_forward"] as const) {
  op(
    `${name}(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)` as "x(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
    {
      lower: (h, { self, target, weight, reduction, ignore_index }) =>
        nllForward(h, self, target, weight, reduction, ignore_index),
      grad: (t, { self, target, weight, reduction, ignore_index }, [dy], [, totalWeight]) => {
        const dim = classDim(self.ndim);
        const counted = t.logical_and(oneHot(t, self, target), t.unsqueeze(t.ne(target, ignore_index), dim));
        let g = reduction === 0 ? t.unsqueeze(dy, dim) : dy;
        if (reduction === 1) g = t.div(dy, totalWeight);
        if (weight) g = t.mul(g, alongClasses(t, weight, self));
        return { self: t.where(counted, t.neg(g), t.zeros_like(self)) };
      },
      nonDifferentiableOutputs: [1],
      doc: "Negative log likelihood of class targets, and the sum of the classes' weights.",
    },
  );
}

const nllSchema = (name: string) =>
  `${name}(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor` as "x(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor";

op(nllSchema("nll_loss"), {
  decompose: (t, { self, target, weight, reduction, ignore_index }) => {
    if (self.ndim > 2 || self.ndim < 1) throw new TorchError("input tensor should be 1D or 2D");
    if (target.ndim > 1) throw new TorchError("0D or 1D target tensor expected, multi-target not supported");
    return t.nll_loss_forward(self, target, weight, reduction, ignore_index)[0];
  },
  doc: "Negative log likelihood of class targets; NaN for a target that is no class.",
});
op(nllSchema("nll_loss2d"), {
  decompose: (t, { self, target, weight, reduction, ignore_index }) => {
    if (target.ndim !== 3)
      throw new TorchError(
        `only batches of spatial targets supported (3D tensors) but got targets of dimension: ${target.ndim}`,
      );
    if (self.ndim !== 4)
      throw new TorchError(
        `only batches of spatial inputs supported (4D tensors), but got input of dimension: ${self.ndim}`,
      );
    return t.nll_loss2d_forward(self, target, weight, reduction, ignore_index)[0];
  },
  doc: "Negative log likelihood of one class for each pixel.",
});
op(nllSchema("nll_loss_nd"), {
  decompose: (t, { self, target, weight, reduction, ignore_index }) => {
    if (self.ndim < 1) throw new TorchError(`Expected 1 or more dimensions (got ${self.ndim})`);
    if (self.ndim !== 1 && self.shape[0] !== target.shape[0])
      throw new TorchError(
        `Expected input batch_size (${self.shape[0]}) to match target batch_size (${target.shape[0]}).`,
      );
    if (self.ndim <= 2) return t.nll_loss(self, target, weight, reduction, ignore_index);
    const expected = [self.shape[0], ...self.shape.slice(2)];
    if (expected.join() !== target.shape.join())
      throw new TorchError(`Expected target size ${sizeText(expected)}, got ${sizeText(target.shape)}`);
    return t.nll_loss2d_forward(self, target, weight, reduction, ignore_index)[0];
  },
  doc: "Negative log likelihood of class targets over any number of dimensions.",
});

interface CrossEntropy {
  readonly self: Tensor;
  readonly target: Tensor;
  readonly weight: Tensor | null;
  readonly reduction: number;
  readonly ignore_index: number;
  readonly label_smoothing: number;
}

function probabilityTargets(t: Torch, { self, target, weight, reduction, label_smoothing }: CrossEntropy): Tensor {
  const dim = classDim(self.ndim);
  const classes = self.shape[dim];
  if (!target.is_floating_point())
    throw new TorchError(
      `Expected floating point type for target with class probabilities, got ${scalarTypeName(target.dtype)}`,
    );
  if (weight && (weight.ndim !== 1 || weight.numel() !== classes))
    throw new TorchError(
      `cross_entropy: weight tensor should be defined either for all ${classes} classes or no classes but got weight tensor of shape: ${sizeText(weight.shape)}`,
    );
  const logs = t.log_softmax(self, dim);
  const goal = label_smoothing > 0 ? t.add(t.mul(target, 1 - label_smoothing), label_smoothing / classes) : target;
  const product = t.mul(logs, goal);
  const terms = weight ? t.mul(product, alongClasses(t, weight, self)) : product;
  if (reduction === 0) return t.neg(t.sum(terms, [dim]));
  const sum = t.neg(t.sum(terms));
  return reduction === 1 ? t.div(sum, self.numel() / Math.max(1, classes)) : sum;
}

function smoothedTargets(t: Torch, args: CrossEntropy): Tensor {
  const { self, target, weight, reduction, ignore_index, label_smoothing } = args;
  const dim = classDim(self.ndim);
  const logs = t.log_softmax(self, dim);
  const nll = t.nll_loss_nd(logs, target, weight, reduction, ignore_index);
  const summed = t.neg(t.sum(weight ? t.mul(logs, alongClasses(t, weight, self)) : logs, [dim]));
  const smooth = t.where(t.eq(target, ignore_index), t.zeros_like(summed), summed);
  let rest = smooth;
  if (reduction === 2) rest = t.sum(smooth);
  if (reduction === 1) {
    const totalWeight = t.nll_loss2d_forward(logs, target, weight, 1, ignore_index)[1];
    rest = t.div(t.sum(smooth), totalWeight);
  }
  return t.add(t.mul(nll, 1 - label_smoothing), t.mul(rest, label_smoothing / self.shape[dim]));
}

op(
  "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor",
  {
    decompose: (t, args) => {
      const { self, target, weight, reduction, ignore_index, label_smoothing } = args;
      if (self.shape.join() === target.shape.join() && (self.ndim > 0 || target.is_floating_point())) {
        if (ignore_index >= 0) throw new TorchError("ignore_index is not supported for floating point target");
        return probabilityTargets(t, args);
      }
      if (label_smoothing > 0) {
        if (label_smoothing > 1)
          throw new TorchError(`label_smoothing must be between 0.0 and 1.0. Got: ${label_smoothing}`);
        return smoothedTargets(t, args);
      }
      return t.nll_loss_nd(t.log_softmax(self, classDim(self.ndim)), target, weight, reduction, ignore_index);
    },
    doc: "Cross entropy of softmax(x) with classes or class probabilities; NaN for a target that is no class.",
  },
);

/** x and target with a batch dimension, and whether it had one. */
function batched(t: Torch, self: Tensor, target: Tensor): [Tensor, Tensor] {
  const ok = (self.ndim === 2 && self.shape[1] !== 0) || (self.ndim <= 1 && self.numel() !== 0);
  if (!ok)
    throw new TorchError(
      `Expected non-empty vector or matrix with optional 0-dim batch size, but got: ${sizeText(self.shape)}`,
    );
  const x = self.ndim === 2 ? self : t.reshape(self, [1, -1]);
  return [x, target];
}

op(
  "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor",
  {
    decompose: (t, { self, target, p, margin, weight, reduction }) => {
      if (Number(p) !== 1 && Number(p) !== 2) throw new TorchError("only p == 1 and p == 2 supported");
      const [x, given] = batched(t, self, target);
      const [n, classes] = x.shape;
      if (given.ndim > 1 || given.numel() !== n)
        throw new TorchError(`inconsistent target size, expected ${n} but got ${sizeText(given.shape)}`);
      if (weight && (weight.ndim !== 1 || weight.numel() !== classes))
        throw new TorchError(`inconsistent weight size, expected ${classes} but got ${sizeText(weight.shape)}`);
      if (given.dtype !== dt.int64)
        throw new TorchError(`expected scalar type Long but found ${scalarTypeName(given.dtype)}`);
      const chosen = oneHot(t, x, t.reshape(given, [n]));
      const own = t.sum(t.where(chosen, x, t.zeros_like(x)), [1], true);
      let gap = t.clamp_min(t.add(t.sub(x, own), margin), 0);
      if (Number(p) === 2) gap = t.mul(gap, gap);
      if (weight) gap = t.mul(gap, t.sum(t.where(chosen, t.unsqueeze(weight, 0), 0), [1], true));
      const loss = t.div(t.sum(t.where(chosen, t.zeros_like(gap), gap), [1]), classes);
      return reduced(t, reduction === 0 && self.ndim < 2 ? t.reshape(loss, given.shape) : loss, reduction);
    },
    statics: ["p"],
    doc: "How far other classes come within the margin of the target's score, to the power p.",
  },
);

function multilabel(t: Torch, self: Tensor, target: Tensor, reduction: number): [Tensor, Tensor] {
  const [x] = batched(t, self, target);
  if (target.numel() !== x.numel() || target.ndim !== self.ndim)
    throw new TorchError(
      `inconsistent target size: ${sizeText(target.shape)} for input of size: ${sizeText(self.shape)}`,
    );
  const [n, classes] = x.shape;
  const goal = t.reshape(target, [n, classes]);
  const position = t.arange(classes, { dtype: dt.int64, device: self.device });
  const ended = t.logical_and(t.lt(t.unsqueeze(goal, 1), 0), t.le(t.unsqueeze(position, 0), t.unsqueeze(position, 1)));
  const valid = t.eq(t.sum(ended, [2]), 0); // [n, k]: no end mark up to k
  const hit = t.logical_and(t.unsqueeze(valid, 2), t.eq(t.unsqueeze(goal, 2), position)); // [n, k, class]
  const isTarget = t.gt(t.sum(hit, [1]), 0);
  const own = t.sum(t.where(hit, t.unsqueeze(x, 1), t.zeros([], { dtype: x.dtype, device: x.device })), [2]);
  const gap = t.clamp_min(t.rsub(t.sub(t.unsqueeze(own, 2), t.unsqueeze(x, 1)), 1), 0);
  const counted = t.logical_and(t.unsqueeze(valid, 2), t.logical_not(t.unsqueeze(isTarget, 1)));
  const loss = t.div(t.sum(t.where(counted, gap, t.zeros_like(gap)), [1, 2]), classes);
  const shaped = reduction === 0 && self.ndim < 2 ? t.reshape(loss, []) : loss;
  return [reduced(t, shaped, reduction), t.reshape(t._to_copy(isTarget, { dtype: self.dtype }), target.shape)];
}

op("multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", {
  decompose: (t, { self, target, reduction }) => multilabel(t, self, target, reduction)[0],
  doc: "How far other classes come within 1 of the target classes' scores; targets end at -1.",
});
op("multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)", {
  decompose: (t, { self, target, reduction }) => multilabel(t, self, target, reduction),
  nonDifferentiableOutputs: [1],
  doc: "multilabel_margin_loss, and which classes are targets.",
});
