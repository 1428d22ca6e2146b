/** @file nn.functional: activations and softmax. */
import { TorchValueError } from "../../schema/index.js";
import type { Tensor } from "../../tensor/index.js";
import { aten, maybeInplace, t } from "../aten.js";
import { define } from "../signature.js";

/** max(x, 0). */
export const relu = define("relu(Tensor input, bool inplace=False)", ({ input, inplace }): Tensor =>
  maybeInplace("relu", inplace, input),
);
/** min(max(x, 0), 6). */
export const relu6 = define("relu6(Tensor input, bool inplace=False)", ({ input, inplace }): Tensor =>
  maybeInplace("relu6", inplace, input),
);
/** x above 0, alpha · (exp(x) - 1) below. */
export const elu = define(
  "elu(Tensor input, float alpha=1.0, bool inplace=False)",
  ({ input, alpha, inplace }): Tensor => maybeInplace("elu", inplace, input, alpha),
);
/** elu with the scale and alpha that keep mean 0 and variance 1. */
export const selu = define("selu(Tensor input, bool inplace=False)", ({ input, inplace }): Tensor =>
  maybeInplace("selu", inplace, input),
);
/** max(x, 0) + min(0, alpha · (exp(x / alpha) - 1)). */
export const celu = define(
  "celu(Tensor input, float alpha=1.0, bool inplace=False)",
  ({ input, alpha, inplace }): Tensor => maybeInplace("celu", inplace, input, alpha),
);
/** x above 0, x · negative_slope below. */
export const leaky_relu = define(
  "leaky_relu(Tensor input, float negative_slope=0.01, bool inplace=False)",
  ({ input, negative_slope, inplace }): Tensor => maybeInplace("leaky_relu", inplace, input, negative_slope),
);
/** leaky_relu with a slope drawn between lower and upper while training, and their mean otherwise. */
export const rrelu = define(
  "rrelu(Tensor input, float lower=0.125, float upper=0.3333333333333333, bool training=False, bool inplace=False)",
  ({ input, lower, upper, training, inplace }): Tensor => maybeInplace("rrelu", inplace, input, lower, upper, training),
);
/** x above the threshold, value elsewhere. */
export const threshold = define(
  "threshold(Tensor input, float threshold, float value, bool inplace=False)",
  ({ input, threshold: limit, value, inplace }): Tensor => maybeInplace("threshold", inplace, input, limit, value),
);
/** x between min_val and max_val, the nearer of them elsewhere. */
export const hardtanh = define(
  "hardtanh(Tensor input, float min_val=-1.0, float max_val=1.0, bool inplace=False)",
  ({ input, min_val, max_val, inplace }): Tensor => {
    if (min_val > max_val) throw new TorchValueError("min_val cannot be greater than max_val");
    return maybeInplace("hardtanh", inplace, input, min_val, max_val);
  },
);
/** x · sigmoid(x). */
export const silu = define("silu(Tensor input, bool inplace=False)", ({ input, inplace }): Tensor =>
  maybeInplace("silu", inplace, input),
);
/** x · tanh(softplus(x)). */
export const mish = define("mish(Tensor input, bool inplace=False)", ({ input, inplace }): Tensor =>
  maybeInplace("mish", inplace, input),
);
/** relu6(x + 3) / 6. */
export const hardsigmoid = define("hardsigmoid(Tensor input, bool inplace=False)", ({ input, inplace }): Tensor =>
  maybeInplace("hardsigmoid", inplace, input),
);
/** x · relu6(x + 3) / 6. */
export const hardswish = define("hardswish(Tensor input, bool inplace=False)", ({ input, inplace }): Tensor =>
  maybeInplace("hardswish", inplace, input),
);
/** The first half of a dimension times the sigmoid of the second. */
export const glu = define("glu(Tensor input, int dim=-1)", ({ input, dim }): Tensor => {
  if (input.ndim === 0) throw new TorchValueError("glu does not support scalars because halving size must be even");
  return t.glu(input, dim);
});

/** relu in place. */
export const relu_ = define("relu_(Tensor input)", ({ input }): Tensor => maybeInplace("relu", true, input));
/** elu in place. */
export const elu_ = define("elu_(Tensor input, float alpha=1.0)", ({ input, alpha }): Tensor =>
  maybeInplace("elu", true, input, alpha),
);
/** selu in place. */
export const selu_ = define("selu_(Tensor input)", ({ input }): Tensor => maybeInplace("selu", true, input));
/** celu in place. */
export const celu_ = define("celu_(Tensor input, float alpha=1.0)", ({ input, alpha }): Tensor =>
  maybeInplace("celu", true, input, alpha),
);
/** leaky_relu in place. */
export const leaky_relu_ = define(
  "leaky_relu_(Tensor input, float negative_slope=0.01)",
  ({ input, negative_slope }): Tensor => maybeInplace("leaky_relu", true, input, negative_slope),
);
/** rrelu in place. */
export const rrelu_ = define(
  "rrelu_(Tensor input, float lower=0.125, float upper=0.3333333333333333, bool training=False)",
  ({ input, lower, upper, training }): Tensor => maybeInplace("rrelu", true, input, lower, upper, training),
);
/** threshold in place. */
export const threshold_ = define(
  "threshold_(Tensor input, float threshold, float value)",
  ({ input, threshold: limit, value }): Tensor => maybeInplace("threshold", true, input, limit, value),
);
/** hardtanh in place. */
export const hardtanh_ = define(
  "hardtanh_(Tensor input, float min_val=-1.0, float max_val=1.0)",
  ({ input, min_val, max_val }): Tensor => maybeInplace("hardtanh", true, input, min_val, max_val),
);

export const gelu = aten("gelu");
export const hardshrink = aten("hardshrink");
export const logsigmoid = aten("log_sigmoid");
export const prelu = aten("prelu");
export const softplus = aten("softplus");
export const softshrink = aten("softshrink");
export const sigmoid = aten("sigmoid");
export const tanh = aten("tanh");

/** x - tanh(x). */
export const tanhshrink = define("tanhshrink(Tensor input)", ({ input }): Tensor => input.sub(input.tanh()));
/** x / (1 + |x|). */
export const softsign = define("softsign(Tensor input)", ({ input }): Tensor => input.div(input.abs().add(1)));

/** The dimension that PyTorch takes when none is given. */
const softmaxDim = (dim: number | null, ndim: number): number =>
  dim ?? (ndim === 0 || ndim === 1 || ndim === 3 ? 0 : 1);

/** exp(x) over the sum of exp(x) along `dim`. */
export const softmax = define(
  "softmax(Tensor input, int? dim=None, int _stacklevel=3, ScalarType? dtype=None)",
  ({ input, dim, dtype }): Tensor => t.softmax(input, softmaxDim(dim, input.ndim), dtype),
);
/** softmax of -x. */
export const softmin = define(
  "softmin(Tensor input, int? dim=None, int _stacklevel=3, ScalarType? dtype=None)",
  ({ input, dim, dtype }): Tensor => t.softmax(input.neg(), softmaxDim(dim, input.ndim), dtype),
);
/** The logarithm of softmax, accurate. */
export const log_softmax = define(
  "log_softmax(Tensor input, int? dim=None, int _stacklevel=3, ScalarType? dtype=None)",
  ({ input, dim, dtype }): Tensor => t.log_softmax(input, softmaxDim(dim, input.ndim), dtype),
);
/** A differentiable draw from the distribution with these logits; with `hard`, one-hot. */
export const gumbel_softmax = define(
  "gumbel_softmax(Tensor logits, float tau=1, bool hard=False, float eps=1e-10, int dim=-1)",
  ({ logits, tau, hard, dim }): Tensor => {
    const gumbels = t.empty_like(logits).exponential_().log().neg();
    const soft = t.softmax(logits.add(gumbels).div(tau), dim);
    if (!hard) return soft;
    const index = t.argmax(soft, dim, true);
    const oneHot = t.scatter(t.zeros_like(soft), dim, index, 1);
    return oneHot.sub(soft.detach()).add(soft);
  },
);
