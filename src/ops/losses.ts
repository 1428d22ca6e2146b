/** @file Losses between a prediction and a target of the same shape, and distances. */
import type { Builder, Value } from "../hlo/index.js";
import { FloatScalar, sizeText, TorchError, wrapDim, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { promotedPair } from "./families.js";
import { cast, computeType, fullLike, inComputeType, requireDtype, scalarTypeName } from "./helpers.js";
import { sumOf } from "./reduction.js";
import { op, type Torch } from "./registry.js";

/** PyTorch's numbers for `reduction`: 0 none, 1 mean, 2 sum. */
const reductionNames = ["none", "mean", "sum"];
export function reduced(t: Torch, loss: Tensor, reduction: number): Tensor {
  if (reductionNames[reduction] === undefined) throw new TorchError(`${reduction} is not a valid value for reduction`);
  return reduction === 0 ? loss : reduction === 1 ? t.mean(loss) : t.sum(loss);
}

/** The cotangent at every element of a loss that was reduced. */
const perElement = (t: Torch, dy: Tensor, reduction: number, count: number): Tensor =>
  reduction === 1 ? t.div(dy, count) : dy;

const numelOfPair = (self: Tensor, target: Tensor): number => {
  const rank = Math.max(self.ndim, target.ndim);
  let n = 1;
  for (let i = 1; i <= rank; i++) n *= Math.max(self.shape[self.ndim - i] ?? 1, target.shape[target.ndim - i] ?? 1);
  return [...self.shape, ...target.shape].includes(0) ? 0 : n;
};

/** A loss of one formula for each pair of elements, then reduced. */
function pairLoss(
  name: string,
  parameter: string | null,
  element: (h: Builder, difference: Value, p: number) => Value,
  slope: (t: Torch, difference: Tensor, p: number) => Tensor,
  doc: string,
): void {
  const extra = parameter === null ? "" : `, float ${parameter}=1.`;
  op(
    `${name}(Tensor self, Tensor target, int reduction=1${extra}) -> Tensor` as "x(Tensor self, Tensor target, int reduction=1, float p=1.) -> Tensor",
    {
      lower: (h, args) => {
        const { self, target, reduction } = args;
        const p = parameter === null ? 0 : (args as unknown as Record<string, number>)[parameter];
        const [a, b] = promotedPair(h, self, target);
        requireDtype(a, a.dtype.is_floating_point, `${name}_cpu`);
        const loss = inComputeType(h, [a, b], (x, y) => element(h, h.subtract(x, y), p));
        if (reduction === 0) return loss;
        return total(h, loss, reduction === 1, a.dtype);
      },
      grad: (t, args, dy) => {
        const { self, target, reduction } = args;
        const p = parameter === null ? 0 : (args as unknown as Record<string, number>)[parameter];
        const g = t.mul(perElement(t, dy, reduction, numelOfPair(self, target)), slope(t, t.sub(self, target), p));
        return { self: g, target: t.neg(g) };
      },
      doc,
    },
  );
}

/** Sum or mean of every element. */
function total(h: Builder, loss: Value, mean: boolean, out: DType): Value {
  const wide = computeType(out);
  const sum = sumOf(
    h,
    cast(h, loss, wide),
    loss.shape.map((_, i) => i),
    false,
    wide,
  );
  return cast(h, mean ? h.divide(sum, fullLike(h, sum, loss.numel)) : sum, out);
}

pairLoss(
  "mse_loss",
  null,
  (h, d) => h.multiply(d, d),
  (t, d) => t.mul(d, 2),
  "Squared difference.",
);

function checkPositive(value: number, message: string): void {
  if (value < 0 || Number.isNaN(value)) throw new TorchError(message);
}

pairLoss(
  "smooth_l1_loss",
  "beta",
  (h, d, beta) => {
    checkPositive(beta, "smooth_l1_loss does not support negative values for beta.");
    const size = h.abs(d);
    if (beta === 0) return size;
    const square = h.divide(h.multiply(h.multiply(d, d), fullLike(h, d, 0.5)), fullLike(h, d, beta));
    return h.select(h.compare(size, fullLike(h, d, beta), "LT"), square, h.subtract(size, fullLike(h, d, 0.5 * beta)));
  },
  (t, d, beta) => (beta === 0 ? t.sign(d) : t.where(t.lt(t.abs(d), beta), t.div(d, beta), t.sign(d))),
  "Squared difference below beta, absolute difference above.",
);
pairLoss(
  "huber_loss",
  "delta",
  (h, d, delta) => {
    if (!(delta > 0)) throw new TorchError("huber_loss does not support non-positive values for delta.");
    const size = h.abs(d);
    const square = h.multiply(h.multiply(d, d), fullLike(h, d, 0.5));
    const line = h.multiply(h.subtract(size, fullLike(h, d, 0.5 * delta)), fullLike(h, d, delta));
    return h.select(h.compare(size, fullLike(h, d, delta), "LE"), square, line);
  },
  (t, d, delta) => t.clamp(d, -delta, delta),
  "Half the squared difference up to delta, a line beyond.",
);

op("l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", {
  decompose: (t, { self, target, reduction }) => reduced(t, t.abs(t.sub(self, target)), reduction),
  doc: "Absolute difference.",
});

op("binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor", {
  lower: (h, { self, target, weight, reduction }) => {
    requireDtype(self, self.dtype.is_floating_point, "binary_cross_entropy");
    if (target.dtype !== self.dtype)
      throw new TorchError(`Found dtype ${scalarTypeName(target.dtype)} but expected ${scalarTypeName(self.dtype)}`);
    if (self.shape.join() !== target.shape.join())
      throw new TorchError(
        `Using a target size (${sizeText(target.shape)}) that is different to the input size (${sizeText(self.shape)}) is deprecated. Please ensure they have the same size.`,
      );
    const [x, y] = [self, target].map((v) => cast(h, v, computeType(self.dtype)));
    const floorLog = (v: Value): Value => h.maximum(v, fullLike(h, v, -100));
    const one = fullLike(h, x, 1);
    const miss = h.multiply(h.subtract(y, one), floorLog(h.log_plus_one(h.negate(x))));
    let loss = h.subtract(miss, h.multiply(y, floorLog(h.log(x))));
    if (weight) loss = h.multiply(loss, h.broadcastTo(cast(h, weight, loss.dtype), loss.shape));
    loss = cast(h, loss, self.dtype);
    return reduction === 0 ? loss : total(h, loss, reduction === 1, self.dtype);
  },
  grad: (t, { self, target, weight, reduction }, dy) => {
    let g = perElement(t, dy, reduction, self.numel());
    if (weight) g = t.mul(g, weight);
    const spread = t.clamp_min(t.mul(t.rsub(self, 1), self), 1e-12);
    return {
      self: t.div(t.mul(g, t.sub(self, target)), spread),
      target: t.mul(g, t.sub(t.log1p(t.neg(self)), t.log(self))),
    };
  },
  doc: "-(target · log(x) + (1 - target) · log(1 - x)), logarithms not below -100.",
});
op(
  "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor",
  {
    decompose: (t, { self, target, weight, pos_weight, reduction }) => {
      const logs = t.log_sigmoid(self);
      const base = t.mul(t.rsub(target, 1), self);
      const scaled = pos_weight ? t.mul(t.add(t.mul(t.sub(pos_weight, 1), target), 1), logs) : logs;
      const loss = t.sub(base, scaled);
      return reduced(t, weight ? t.mul(loss, weight) : loss, reduction);
    },
    doc: "Binary cross entropy of sigmoid(x), without overflow.",
  },
);

op("kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor", {
  decompose: (t, { self, target, reduction, log_target }) => {
    if (self.is_complex() || target.is_complex()) throw new TorchError("kl_div: Complex inputs are not supported.");
    if (!self.is_floating_point())
      throw new TorchError(`kl_div: expected self to be a floating point tensor, got ${self.dtype.toString()}`);
    const loss = log_target
      ? t.mul(t.exp(target), t.sub(target, self))
      : t.sub(t.xlogy(target, target), t.mul(target, self));
    return reduced(t, loss, reduction);
  },
  doc: "target · (log(target) - x), x being log-probabilities.",
});
op("poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor", {
  decompose: (t, { input, target, log_input, full, eps, reduction }) => {
    let loss = log_input
      ? t.sub(t.exp(input), t.mul(target, input))
      : t.sub(input, t.mul(target, t.log(t.add(input, eps))));
    if (full) {
      const stirling = t.add(
        t.sub(t.mul(target, t.log(target)), target),
        t.mul(t.log(t.mul(target, 2 * Math.PI)), 0.5),
      );
      loss = t.add(loss, t.where(t.le(target, 1), t.zeros_like(stirling), stirling));
    }
    return reduced(t, loss, reduction);
  },
  doc: "Negative log likelihood of Poisson counts.",
});
op("hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor", {
  decompose: (t, { self, target, margin, reduction }) => {
    const zero = t.zeros_like(self);
    const below = t.where(t.ne(target, 1), t.clamp_min(t.rsub(self, new FloatScalar(margin)), 0), zero);
    return reduced(t, t.add(below, t.where(t.ne(target, -1), self, zero)), reduction);
  },
  doc: "x where the target is 1, max(0, margin - x) where it is -1.",
});
op("margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor", {
  decompose: (t, { input1, input2, target, margin, reduction }) => {
    if (input1.ndim !== input2.ndim || input1.ndim !== target.ndim)
      throw new TorchError(
        `margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: ${sizeText(input1.shape)}, input2: ${sizeText(input2.shape)}, target: ${sizeText(target.shape)} `,
      );
    const loss = t.add(t.mul(t.neg(target), t.sub(input1, input2)), new FloatScalar(margin));
    return reduced(t, t.clamp_min(loss, 0), reduction);
  },
  doc: "max(0, -target · (input1 - input2) + margin).",
});
op("cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor", {
  decompose: (t, { input1, input2, target, margin, reduction }) => {
    const rank = target.ndim;
    if (rank > 1) throw new TorchError("0D or 1D target tensor expected, multi-target not supported");
    if (input1.ndim !== rank + 1 || input2.ndim !== rank + 1)
      throw new TorchError(
        `${rank}D target tensor expects ${rank + 1}D input tensors, but found inputs with sizes ${sizeText(input1.shape)} and ${sizeText(input2.shape)}.`,
      );
    const eps = 1e-12;
    const dot = (a: Tensor, b: Tensor): Tensor => t.sum(t.mul(a, b), [rank]);
    const size = t.mul(t.add(dot(input1, input1), eps), t.add(dot(input2, input2), eps));
    const cosine = t.div(dot(input1, input2), t.sqrt(size));
    const zero = t.zeros_like(cosine);
    const positive = t.where(t.eq(target, 1), t.rsub(cosine, 1), zero);
    const negative = t.where(t.eq(target, -1), t.clamp_min(t.sub(cosine, margin), 0), zero);
    return reduced(t, t.add(positive, negative), reduction);
  },
  doc: "1 - cos where the target is 1, max(0, cos - margin) where it is -1.",
});
op("soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", {
  decompose: (t, { self, target, reduction }) => reduced(t, t.log1p(t.exp(t.mul(t.neg(target), self))), reduction),
  doc: "log(1 + exp(-target · x)).",
});

/** The p-norm along a dimension. */
function normAlong(t: Torch, x: Tensor, p: number, dim: number, keepdim: boolean): Tensor {
  const size = t.abs(x);
  if (p === 2) return t.sqrt(t.sum(t.mul(size, size), [dim], keepdim));
  if (p === 1) return t.sum(size, [dim], keepdim);
  if (p === 0) return t.sum(t._to_copy(t.ne(x, 0), { dtype: size.dtype }), [dim], keepdim);
  if (p === Infinity) return t.amax(size, [dim], keepdim);
  if (p === -Infinity) return t.amin(size, [dim], keepdim);
  return t.pow(t.sum(t.pow(size, p), [dim], keepdim), 1 / p);
}

op(
  "pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor",
  {
    decompose: (t, { x1, x2, p, eps, keepdim }) => {
      const difference = t.add(t.sub(x1, x2), eps);
      return normAlong(t, difference, p, difference.ndim - 1, keepdim);
    },
    doc: "The p-norm of x1 - x2 + eps along the last dimension.",
  },
);
op(
  "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor",
  {
    decompose: (t, { anchor, positive, negative, margin, p, eps, swap, reduction }) => {
      if (anchor.ndim !== positive.ndim || positive.ndim !== negative.ndim)
        throw new TorchError(
          `The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor ${anchor.ndim}D, positive ${positive.ndim}D, and negative ${negative.ndim}D inputs`,
        );
      if (margin <= 0)
        throw new TorchError(`triplet_margin_loss: expected margin to be greater than 0, got ${margin} instead`);
      const near = t.pairwise_distance(anchor, positive, p, eps);
      let far = t.pairwise_distance(anchor, negative, p, eps);
      if (swap) far = t.minimum(far, t.pairwise_distance(positive, negative, p, eps));
      return reduced(t, t.clamp_min(t.add(t.sub(near, far), margin), 0), reduction);
    },
    doc: "max(0, d(anchor, positive) - d(anchor, negative) + margin).",
  },
);
op("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor", {
  decompose: (t, { x1, x2, dim, eps }) => {
    const dtype = t.mul(x1, x2).dtype;
    if (!dtype.is_floating_point)
      throw new TorchError(`expected common dtype to be floating point, yet common dtype is ${scalarTypeName(dtype)}`);
    const unit = (x: Tensor): Tensor => {
      const d = wrapDim(dim, Math.max(x1.ndim, x2.ndim));
      const wide = t.expand(x, t.mul(x1, x2).shape);
      const precise = t._to_copy(wide, { dtype: computeType(x.dtype) });
      const squares = t.sum(t.mul(precise, precise), [d], true);
      const zero = t.eq(squares, 0);
      const size = t.where(zero, 0, t.sqrt(t.where(zero, 1, squares)));
      return t.div(wide, t._to_copy(t.clamp_min(size, eps), { dtype: x.dtype }));
    };
    const product = t.mul(unit(x1), unit(x2));
    return t.sum(product, [wrapDim(dim, product.ndim)]);
  },
  doc: "Cosine of the angle between vectors along a dimension.",
});
