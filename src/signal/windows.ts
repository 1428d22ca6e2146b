/** @file `torch.signal.windows`: weights that fade a signal out at both ends. */
import { functional as t } from "../api/index.js";
import { define } from "../nn/signature.js";
import * as dt from "../schema/dtype.js";
import { get_default_dtype, TorchTypeError, TorchValueError, type DType } from "../schema/index.js";
import type { DeviceLike, Tensor } from "../tensor/index.js";

interface Options {
  readonly M: number;
  readonly sym: boolean;
  readonly dtype: DType | null;
  readonly layout: unknown;
  readonly device: DeviceLike | null;
  readonly requires_grad: boolean;
}

interface Factory {
  readonly dtype: DType;
  readonly device: DeviceLike | null;
  readonly requires_grad: boolean;
}

/** The options of the window's tensor; throws for what no window is made of. */
function checked(name: string, { M, dtype, layout, device, requires_grad }: Options): Factory {
  const type = dtype ?? get_default_dtype();
  if (M < 0) throw new TorchValueError(`${name} requires non-negative window length, got M=${M}`);
  const layoutName = String(layout).replace(/^torch\./, "");
  if (layoutName !== "strided")
    throw new TorchValueError(`${name} is implemented for strided tensors only, got: torch.${layoutName}`);
  if (type !== dt.float32 && type !== dt.float64)
    throw new TorchValueError(`${name} expects float32 or float64 dtypes, got: ${type.toString()}`);
  return { dtype: type, device, requires_grad };
}

/** How many points the window has to its end: a periodic one goes on where it would begin again. */
const spanOf = ({ M, sym }: Options): number => (sym ? M - 1 : M);

export const exponential = define(
  "exponential(int M, float? center=None, float tau=1.0, bool sym=True, ScalarType? dtype=None, unknown layout='strided', Device? device=None, bool requires_grad=False)",
  (a): Tensor => {
    const options = checked("exponential", a);
    if (a.tau <= 0) throw new TorchValueError(`Tau must be positive, got: ${a.tau} instead.`);
    if (a.sym && a.center !== null) throw new TorchValueError("Center must be None for symmetric windows");
    if (a.M === 0) return t.empty([0], options);
    const center = a.center ?? (!a.sym && a.M > 1 ? a.M : a.M - 1) / 2;
    const scale = 1 / a.tau;
    return t.exp(t.neg(t.abs(t.linspace(-center * scale, (a.M - 1 - center) * scale, a.M, options))));
  },
);

export const cosine = define(
  "cosine(int M, bool sym=True, ScalarType? dtype=None, unknown layout='strided', Device? device=None, bool requires_grad=False)",
  (a): Tensor => {
    const options = checked("cosine", a);
    if (a.M === 0) return t.empty([0], options);
    const scale = Math.PI / (!a.sym && a.M > 1 ? a.M + 1 : a.M);
    return t.sin(t.linspace(0.5 * scale, (a.M - 0.5) * scale, a.M, options));
  },
);

export const gaussian = define(
  "gaussian(int M, float std=1.0, bool sym=True, ScalarType? dtype=None, unknown layout='strided', Device? device=None, bool requires_grad=False)",
  (a): Tensor => {
    const options = checked("gaussian", a);
    if (a.std <= 0) throw new TorchValueError(`Standard deviation must be positive, got: ${a.std} instead.`);
    if (a.M === 0) return t.empty([0], options);
    const start = -(!a.sym && a.M > 1 ? a.M : a.M - 1) / 2;
    const scale = 1 / (a.std * Math.SQRT2);
    const k = t.linspace(start * scale, (start + a.M - 1) * scale, a.M, options);
    return t.exp(t.neg(t.mul(k, k)));
  },
);

export const kaiser = define(
  "kaiser(int M, float beta=12.0, bool sym=True, ScalarType? dtype=None, unknown layout='strided', Device? device=None, bool requires_grad=False)",
  (a): Tensor => {
    const options = checked("kaiser", a);
    if (a.beta < 0) throw new TorchValueError(`beta must be non-negative, got: ${a.beta} instead.`);
    if (a.M === 0) return t.empty([0], options);
    if (a.M === 1) return t.ones([1], options);
    // In the window's own precision: a bit more and the root below is of a negative number.
    const round = options.dtype === dt.float32 ? Math.fround : (x: number): number => x;
    const beta = round(a.beta);
    const step = round((2 * beta) / spanOf(a));
    const end = Math.min(beta, round(round((a.M - 1) * step) - beta));
    const k = t.linspace(-beta, end, a.M, options);
    const scale = t.scalar_tensor(beta, { dtype: options.dtype, device: options.device });
    return t.div(t.i0(t.sqrt(t.sub(t.mul(scale, scale), t.mul(k, k)))), t.i0(scale));
  },
);

export const bartlett = define(
  "bartlett(int M, bool sym=True, ScalarType? dtype=None, unknown layout='strided', Device? device=None, bool requires_grad=False)",
  (a): Tensor => {
    const options = checked("bartlett", a);
    if (a.M === 0) return t.empty([0], options);
    if (a.M === 1) return t.ones([1], options);
    const k = t.linspace(-1, -1 + (a.M - 1) * (2 / spanOf(a)), a.M, options);
    return t.rsub(t.abs(k), 1);
  },
);

/** Σ (-1)^i a[i] cos(i k). */
function sumOfCosines(args: Options, weights: unknown, name = "general_cosine"): Tensor {
  checked(name, args);
  const options = checked("general_cosine", args);
  const { M } = args;
  if (M === 0) return t.empty([0], options);
  if (M === 1) return t.ones([1], options);
  if (!Array.isArray(weights)) throw new TorchTypeError("Coefficients must be a list/tuple");
  if (weights.length === 0) throw new TorchValueError("Coefficients cannot be empty");
  const k = t.linspace(0, (M - 1) * ((2 * Math.PI) / spanOf(args)), M, options);
  return (weights as number[])
    .map((w, i) => t.mul(t.cos(t.mul(k, i)), (-1) ** i * w))
    .reduce((sum, x) => t.add(sum, x));
}

export const general_cosine = define(
  "general_cosine(int M, floats a, bool sym=True, ScalarType? dtype=None, unknown layout='strided', Device? device=None, bool requires_grad=False)",
  (args): Tensor => sumOfCosines(args, args.a),
);

export const general_hamming = define(
  "general_hamming(int M, float alpha=0.54, bool sym=True, ScalarType? dtype=None, unknown layout='strided', Device? device=None, bool requires_grad=False)",
  (a): Tensor => sumOfCosines(a, [a.alpha, 1 - a.alpha]),
);

export const hamming = define(
  "hamming(int M, bool sym=True, ScalarType? dtype=None, unknown layout='strided', Device? device=None, bool requires_grad=False)",
  (a): Tensor => sumOfCosines(a, [0.54, 1 - 0.54]),
);

export const hann = define(
  "hann(int M, bool sym=True, ScalarType? dtype=None, unknown layout='strided', Device? device=None, bool requires_grad=False)",
  (a): Tensor => sumOfCosines(a, [0.5, 0.5]),
);

export const blackman = define(
  "blackman(int M, bool sym=True, ScalarType? dtype=None, unknown layout='strided', Device? device=None, bool requires_grad=False)",
  (a): Tensor => sumOfCosines(a, [0.42, 0.5, 0.08], "blackman"),
);

export const nuttall = define(
  "nuttall(int M, bool sym=True, ScalarType? dtype=None, unknown layout='strided', Device? device=None, bool requires_grad=False)",
  (a): Tensor => sumOfCosines(a, [0.3635819, 0.4891775, 0.1365995, 0.0106411]),
);
