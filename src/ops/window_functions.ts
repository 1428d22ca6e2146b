/** @file `hann_window` and its kin: weights that fade a signal out at both ends. */
import { get_default_dtype, TorchError, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { computeType, scalarTypeName } from "./helpers.js";
import { op, type Torch } from "./registry.js";

const tail = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None" as const;

interface Options {
  readonly window_length: number;
  readonly periodic?: boolean | null;
  readonly dtype: DType | null;
  readonly device: unknown;
}

/** The window as a function of 0, 1, … `last`; a periodic one has its last point where it would begin again. */
function build(
  t: Torch,
  name: string,
  { window_length: n, periodic, dtype, device }: Options,
  f: (index: Tensor, last: number) => Tensor,
): Tensor {
  const type = dtype ?? get_default_dtype();
  const on = device as string;
  if (!type.is_floating_point)
    throw new TorchError(`${name} expects floating point dtypes, got: ${scalarTypeName(type)}`);
  if (n < 0) throw new TorchError(`${name} requires non-negative window_length, got window_length=${n}`);
  if (n <= 1) return t.ones([n], { dtype: type, device: on });
  const last = periodic === false ? n - 1 : n;
  const window = f(t.arange(0, n, 1, { dtype: computeType(type), device: on }), last);
  return window.dtype === type ? window : t._to_copy(window, { dtype: type });
}

const cosine = (t: Torch, index: Tensor, factor: number): Tensor => t.cos(t.mul(index, factor));

function hamming(t: Torch, name: string, args: Options, alpha: number, beta: number): Tensor {
  return build(t, name, args, (k, last) => t.add(t.mul(cosine(t, k, (2 * Math.PI) / last), -beta), alpha));
}

op(
  [
    `hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, ${tail}) -> Tensor`,
    `hamming_window(int window_length, *, ${tail}) -> Tensor`,
    `hamming_window.periodic(int window_length, bool periodic, *, ${tail}) -> Tensor`,
    `hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, ${tail}) -> Tensor`,
  ],
  {
    composite: (t, args) =>
      hamming(t, "hamming_window", args, (args.alpha as number | null) ?? 0.54, (args.beta as number | null) ?? 0.46),
    factory: true,
    doc: "Hamming window.",
  },
);
op(
  [
    `hann_window.periodic(int window_length, bool periodic, *, ${tail}) -> Tensor`,
    `hann_window(int window_length, *, ${tail}) -> Tensor`,
  ],
  { composite: (t, args) => hamming(t, "hann_window", args, 0.5, 0.5), factory: true, doc: "Hann window." },
);
op(
  [
    `blackman_window.periodic(int window_length, bool periodic, *, ${tail}) -> Tensor`,
    `blackman_window(int window_length, *, ${tail}) -> Tensor`,
  ],
  {
    composite: (t, args) =>
      build(t, "blackman_window", args, (k, last) => {
        const once = t.mul(cosine(t, k, (2 * Math.PI) / last), -0.5);
        return t.add(t.add(once, t.mul(cosine(t, k, (4 * Math.PI) / last), 0.08)), 0.42);
      }),
    factory: true,
    doc: "Blackman window.",
  },
);
op(
  [
    `bartlett_window.periodic(int window_length, bool periodic, *, ${tail}) -> Tensor`,
    `bartlett_window(int window_length, *, ${tail}) -> Tensor`,
  ],
  {
    composite: (t, args) =>
      build(t, "bartlett_window", args, (k, last) => t.rsub(t.abs(t.sub(t.mul(k, 2 / last), 1)), 1)),
    factory: true,
    doc: "Bartlett (triangular) window.",
  },
);
op(
  [
    `kaiser_window.beta(int window_length, bool periodic, float beta, *, ${tail}) -> Tensor`,
    `kaiser_window(int window_length, *, ${tail}) -> Tensor`,
    `kaiser_window.periodic(int window_length, bool periodic, *, ${tail}) -> Tensor`,
  ],
  {
    composite: (t, args) =>
      build(t, "kaiser_window", args, (k, last) => {
        const beta = (args.beta as number | null) ?? 12;
        const at = t.sub(t.mul(k, 2 / last), 1);
        const inside = t.clamp_min(t.rsub(t.mul(at, at), 1), 0);
        const whole = t.scalar_tensor(beta, { dtype: k.dtype, device: k.device });
        return t.div(t.i0(t.mul(t.sqrt(inside), beta)), t.i0(whole));
      }),
    factory: true,
    doc: "Kaiser window.",
  },
);
