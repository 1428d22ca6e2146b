/** @file Dropout and its kin: random zeros, and random slopes. */
import type { Tensor } from "../tensor/index.js";
import { FloatScalar, TorchError } from "../schema/index.js";
import * as dt from "../schema/dtype.js";
import { Draws } from "./draws.js";
import { checkAccepts } from "./families.js";
import { computeType, fullLike, inComputeType } from "./helpers.js";
import { isFloat } from "./pointwise.js";
import { op, type Torch } from "./registry.js";

function checkProbability(p: number): void {
  if (!(p >= 0 && p <= 1)) throw new TorchError(`dropout probability has to be between 0 and 1, but got ${p}`);
}

op("native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", {
  lower: (h, { input, p, train }, context) => {
    checkProbability(p);
    if (train === false) return [input, h.splat(true, dt.bool, input.shape)];
    if (p === 1) return [fullLike(h, input, 0), h.splat(false, dt.bool, input.shape)];
    const mask = new Draws(h, context).bernoulli(input.shape, 1 - p);
    const out = inComputeType(h, [input], (x) =>
      h.select(mask, h.multiply(x, fullLike(h, x, 1 / (1 - p))), fullLike(h, x, 0)),
    );
    return [out, mask];
  },
  grad: (t, { p, train }, [dy], [, mask]) => ({
    input: train === false ? dy : t.native_dropout_backward(dy, mask, p === 1 ? 0 : 1 / (1 - p)),
  }),
  nonDifferentiableOutputs: [1],
  random: true,
  doc: "Zeros with probability p, the rest scaled by 1 / (1 - p); and the mask of what was kept.",
});
op("native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor", {
  decompose: (t, { grad_output, mask, scale }) => t.mul(t.mul(grad_output, mask), new FloatScalar(scale)),
  doc: "The gradient of dropout from its mask.",
});

type Kind = (t: Torch, input: Tensor, p: number) => Tensor;

/** One factor for each feature map: [batch, channels, 1, …]. */
function features(t: Torch, input: Tensor): Tensor {
  if (input.ndim < 2) throw new TorchError("Feature dropout requires at least 2 dimensions in the input");
  const shape = input.shape.map((n, i) => (i < 2 ? n : 1));
  return t.ones(shape, { dtype: input.dtype, device: input.device });
}

const alpha = 1.7580993408473766;
/** Dropout that keeps mean and variance of selu's outputs: dropped elements take selu's lowest value. */
function alphaDropout(t: Torch, input: Tensor, ones: Tensor, p: number): Tensor {
  if (p === 1) return t.mul(input, 0);
  const [, mask] = t.native_dropout(ones, p, true);
  const a = 1 / Math.sqrt((alpha * alpha * p + 1) * (1 - p));
  const kept = t._to_copy(mask, { dtype: computeType(input.dtype) });
  const shift = t.add(t.mul(t.sub(kept, 1), alpha * a), alpha * a * p);
  const out = t.add(t.mul(input, t.mul(kept, a)), shift);
  return out.dtype === input.dtype ? out : t._to_copy(out, { dtype: input.dtype });
}

const kinds: Record<string, { readonly run: Kind; readonly doc: string }> = {
  dropout: {
    run: (t, input, p) => t.native_dropout(input, p, true)[0],
    doc: "While training, zeros with probability p and the rest scaled by 1 / (1 - p).",
  },
  feature_dropout: {
    run: (t, input, p) => t.mul(input, t.native_dropout(features(t, input), p, true)[0]),
    doc: "Dropout of whole feature maps.",
  },
  alpha_dropout: {
    run: (t, input, p) => alphaDropout(t, input, t.ones_like(input), p),
    doc: "Dropout that keeps mean and variance, for networks with selu.",
  },
  feature_alpha_dropout: {
    run: (t, input, p) => alphaDropout(t, input, features(t, input), p),
    doc: "Alpha dropout of whole feature maps.",
  },
};
for (const [name, { run, doc }] of Object.entries(kinds)) {
  const active = (input: Tensor, p: number, train: boolean): boolean => {
    checkProbability(p);
    return train && p > 0 && input.numel() > 0;
  };
  op(`${name}(Tensor input, float p, bool train) -> Tensor` as "x(Tensor input, float p, bool train) -> Tensor", {
    composite: (t, { input, p, train }) => (active(input, p, train) ? run(t, input, p) : input),
    doc,
  });
  op(
    `${name}_(Tensor(a!) self, float p, bool train) -> Tensor(a!)` as "x(Tensor self, float p, bool train) -> Tensor",
    {
      composite: (t, { self, p, train }) => (active(self, p, train) ? self.copy_(run(t, self, p)) : self),
      doc: `${doc} In place.`,
    },
  );
}

op(
  "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor",
  {
    lower: (h, { self, lower, upper, training }, context) => {
      checkAccepts(self, isFloat, "leaky_relu_cpu");
      return inComputeType(h, [self], (x) => {
        const [lo, hi] = [lower.fill(x.dtype, x.shape), upper.fill(x.dtype, x.shape)];
        const u = training ? new Draws(h, context).uniform(x.shape, x.dtype) : fullLike(h, x, 0.5);
        const slope = h.add(lo, h.multiply(u, h.subtract(hi, lo)));
        return h.select(h.compare(x, fullLike(h, x, 0), "GT"), x, h.multiply(x, slope));
      });
    },
    grad: (t, { self, lower, upper, training }, dy, y) => {
      const slope = training
        ? t.where(t.lt(self, 0), t.div(y, self), 1)
        : t.where(t.gt(self, 0), 1, t.mul(t.add(t.mul(t.ones_like(self), lower), upper), 0.5));
      return { self: t.mul(dy, slope) };
    },
    random: true,
    check: ({ lower, upper }) => {
      if (Number(lower) > Number(upper))
        throw new TorchError("Lower bound should be less than or equal to the upper bound");
    },
    doc: "x for positive elements; the others times a slope, random between lower and upper while training.",
  },
);
