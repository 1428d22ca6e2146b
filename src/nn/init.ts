/**
 * @file torch.nn.init: fills tensors with first values, in place and outside of the graph.
 * @see https://docs.pytorch.org/docs/stable/nn.init.html
 */
import { no_grad } from "../autograd/index.js";
import { tensor as makeTensor } from "../api/index.js";
import { float64 } from "../schema/dtype.js";
import { TorchValueError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { t } from "./aten.js";
import { define } from "./signature.js";

/** Names of layers and activations that calculate_gain knows. */
export type Nonlinearity =
  "linear" | `conv${"" | "_transpose"}${1 | 2 | 3}d` | "sigmoid" | "tanh" | "relu" | "leaky_relu" | "selu";
/** Which side of a weight keeps its variance: forward (fan_in) or backward (fan_out). */
export type FanMode = "fan_in" | "fan_out";

const linearNames = /^(linear|conv(_transpose)?[123]d|sigmoid)$/;

/** How much a nonlinearity shrinks the standard deviation. param: the slope of leaky_relu. */
export function calculate_gain(nonlinearity: Nonlinearity, param: number | null = null): number {
  if (linearNames.test(nonlinearity)) return 1;
  if (nonlinearity === "tanh") return 5 / 3;
  if (nonlinearity === "relu") return Math.SQRT2;
  if (nonlinearity === "selu") return 3 / 4;
  if (nonlinearity !== "leaky_relu") throw new TorchValueError(`Unsupported nonlinearity ${String(nonlinearity)}`);
  if (param !== null && typeof param !== "number")
    throw new TorchValueError(`negative_slope ${String(param)} not a valid number`);
  const slope = param ?? 0.01;
  return Math.sqrt(2 / (1 + slope * slope));
}

/** Inputs and outputs of a weight's units: (out, in, …spatial). */
export function _calculate_fan_in_and_fan_out(tensor: Tensor): [number, number] {
  if (tensor.ndim < 2)
    throw new TorchValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions");
  const [outputs, inputs, ...field] = tensor.shape;
  const size = field.reduce((n, d) => n * d, 1);
  return [inputs * size, outputs * size];
}

function fanOf(tensor: Tensor, mode: string): number {
  const name = mode.toLowerCase();
  if (name !== "fan_in" && name !== "fan_out")
    throw new TorchValueError(`Mode ${name} not supported, please use one of ['fan_in', 'fan_out']`);
  return _calculate_fan_in_and_fan_out(tensor)[name === "fan_in" ? 0 : 1];
}

/** Uniform between a and b. */
export const uniform_ = define(
  "uniform_(Tensor tensor, float a=0.0, float b=1.0, Generator? generator=None)",
  ({ tensor, a, b, generator }): Tensor => no_grad(() => tensor.uniform_(a, b, { generator })),
);

/** Normal with this mean and standard deviation. */
export const normal_ = define(
  "normal_(Tensor tensor, float mean=0.0, float std=1.0, Generator? generator=None)",
  ({ tensor, mean, std, generator }): Tensor => no_grad(() => tensor.normal_(mean, std, { generator })),
);

/** erf: its series near 0, its continued fraction elsewhere. */
function erf(x: number): number {
  const z = Math.abs(x);
  if (z > 2) {
    let fraction = z;
    for (let k = 80; k > 0; k--) fraction = z + k / 2 / fraction;
    return Math.sign(x) * (1 - Math.exp(-z * z) / (Math.sqrt(Math.PI) * fraction));
  }
  let term = x;
  let sum = x;
  for (let n = 1; n < 60; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 * sum) / Math.sqrt(Math.PI);
}

const normalCdf = (x: number): number => (1 + erf(x / Math.SQRT2)) / 2;

/** Normal, drawn again outside of [a, b]: by the inverse of the distribution function, so without a loop. */
export const trunc_normal_ = define(
  "trunc_normal_(Tensor tensor, float mean=0.0, float std=1.0, float a=-2.0, float b=2.0, Generator? generator=None)",
  ({ tensor, mean, std, a, b, generator }): Tensor => {
    if (tensor.is_meta) return tensor;
    const low = normalCdf((a - mean) / std);
    const high = normalCdf((b - mean) / std);
    return no_grad(() => {
      // the distribution function is flat in the tails: there only float64 tells its values apart
      const inTail = high < 0.01 || low > 0.99;
      const draw = inTail ? t.empty(tensor.shape, { dtype: float64, device: tensor.device }) : tensor;
      draw.uniform_(2 * low - 1, 2 * high - 1, { generator });
      draw
        .erfinv_()
        .mul_(std * Math.SQRT2)
        .add_(mean)
        .clamp_(a, b);
      return inTail ? tensor.copy_(draw) : tensor;
    });
  },
);

/** One number everywhere. */
export const constant_ = define("constant_(Tensor tensor, float val)", ({ tensor, val }): Tensor =>
  no_grad(() => tensor.fill_(val)),
);
/** Ones. */
export const ones_ = define("ones_(Tensor tensor)", ({ tensor }): Tensor => no_grad(() => tensor.fill_(1)));
/** Zeros. */
export const zeros_ = define("zeros_(Tensor tensor)", ({ tensor }): Tensor => no_grad(() => tensor.zero_()));

/** The identity matrix. */
export const eye_ = define("eye_(Tensor tensor)", ({ tensor }): Tensor => {
  if (tensor.ndim !== 2) throw new TorchValueError("Only tensors with 2 dimensions are supported");
  const [rows, columns] = tensor.shape;
  return no_grad(() => tensor.copy_(t.eye(rows, columns, { dtype: tensor.dtype, device: tensor.device })));
});

/** A convolution that passes its input on: as many channels as there are, in each of the groups. */
export const dirac_ = define("dirac_(Tensor tensor, int groups=1)", ({ tensor, groups }): Tensor => {
  if (tensor.ndim < 3 || tensor.ndim > 5)
    throw new TorchValueError("Only tensors with 3, 4, or 5 dimensions are supported");
  const [outputs, inputs, ...spatial] = tensor.shape;
  if (outputs % groups !== 0) throw new TorchValueError("dim 0 must be divisible by groups");
  if (tensor.is_meta) return tensor;
  const perGroup = outputs / groups;
  const field = spatial.reduce((a, b) => a * b, 1);
  const middle = spatial.reduce((at, size) => at * size + Math.floor(size / 2), 0);
  const values = new Float32Array(tensor.numel());
  for (let g = 0; g < groups; g++)
    for (let d = 0; d < Math.min(perGroup, inputs); d++) values[((g * perGroup + d) * inputs + d) * field + middle] = 1;
  const filled = makeTensor(values, { device: tensor.device }).view(tensor.shape).to(tensor.dtype);
  return no_grad(() => tensor.copy_(filled));
});

/** Uniform, with a variance that Glorot and Bengio (2010) derive. */
export const xavier_uniform_ = define(
  "xavier_uniform_(Tensor tensor, float gain=1.0, Generator? generator=None)",
  ({ tensor, gain, generator }): Tensor => {
    const [fanIn, fanOut] = _calculate_fan_in_and_fan_out(tensor);
    const bound = Math.sqrt(3) * gain * Math.sqrt(2 / (fanIn + fanOut));
    return uniform_(tensor, -bound, bound, generator);
  },
);
/** Normal, with a variance that Glorot and Bengio (2010) derive. */
export const xavier_normal_ = define(
  "xavier_normal_(Tensor tensor, float gain=1.0, Generator? generator=None)",
  ({ tensor, gain, generator }): Tensor => {
    const [fanIn, fanOut] = _calculate_fan_in_and_fan_out(tensor);
    return normal_(tensor, 0, gain * Math.sqrt(2 / (fanIn + fanOut)), generator);
  },
);

/** Uniform, with a variance that He et al. (2015) derive. a: the slope of leaky_relu. */
export const kaiming_uniform_ = define(
  "kaiming_uniform_(Tensor tensor, float a=0, FanMode mode='fan_in', Nonlinearity nonlinearity='leaky_relu', Generator? generator=None)",
  ({ tensor, a, mode, nonlinearity, generator }): Tensor => {
    if (tensor.shape.includes(0)) return tensor;
    const bound = (Math.sqrt(3) * calculate_gain(nonlinearity, a)) / Math.sqrt(fanOf(tensor, mode));
    return uniform_(tensor, -bound, bound, generator);
  },
);
/** Normal, with a variance that He et al. (2015) derive. a: the slope of leaky_relu. */
export const kaiming_normal_ = define(
  "kaiming_normal_(Tensor tensor, float a=0, FanMode mode='fan_in', Nonlinearity nonlinearity='leaky_relu', Generator? generator=None)",
  ({ tensor, a, mode, nonlinearity, generator }): Tensor => {
    if (tensor.shape.includes(0)) return tensor;
    return normal_(tensor, 0, calculate_gain(nonlinearity, a) / Math.sqrt(fanOf(tensor, mode)), generator);
  },
);

/** A (semi-)orthogonal matrix, as Saxe et al. (2013) describe; dimensions after the first are taken together. */
export const orthogonal_ = define(
  "orthogonal_(Tensor tensor, float gain=1, Generator? generator=None)",
  ({ tensor, gain, generator }): Tensor => {
    if (tensor.ndim < 2) throw new TorchValueError("Only tensors with 2 or more dimensions are supported");
    if (tensor.numel() === 0 || tensor.is_meta) return tensor;
    const rows = tensor.shape[0];
    const columns = tensor.numel() / rows;
    return no_grad(() => {
      const random = t
        .empty([rows, columns], { dtype: tensor.dtype, device: tensor.device })
        .normal_(0, 1, { generator });
      const [q, r] = t.linalg_qr(rows < columns ? random.t() : random);
      const unique = q.mul(t.diagonal(r).sign());
      const values = rows < columns ? unique.t() : unique;
      return tensor.copy_(values.reshape(tensor.shape)).mul_(gain);
    });
  },
);

/** Normal, with this share of each column zero. */
export const sparse_ = define(
  "sparse_(Tensor tensor, float sparsity, float std=0.01, Generator? generator=None)",
  ({ tensor, sparsity, std, generator }): Tensor => {
    if (tensor.ndim !== 2) throw new TorchValueError("Only tensors with 2 dimensions are supported");
    if (tensor.is_meta) return tensor;
    const [rows, columns] = tensor.shape;
    const zeros = Math.ceil(sparsity * rows);
    return no_grad(() => {
      tensor.normal_(0, std, { generator });
      // the rank of a random number in its column says whether the element is one of the zeros
      const ranks = t.argsort(t.argsort(t.rand([rows, columns], { generator, device: tensor.device }), 0), 0);
      return tensor.copy_(t.masked_fill(tensor, ranks.lt(zeros), 0));
    });
  },
);
