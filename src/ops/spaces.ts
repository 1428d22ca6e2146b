/** @file Numbers between two ends: `linspace` by tensors, `logspace`. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { get_default_dtype, TorchError, type DType, type Scalar } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast, isTensorArgument } from "./helpers.js";
import { notDifferentiable, op } from "./registry.js";

const tail = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None" as const;

/** An end given as a number, or read from a tensor, as PyTorch does. */
const numberOf = (x: Tensor): Scalar => (isTensorArgument(x) ? (x.item() as Scalar) : (x as unknown as Scalar));

function checkEnds(name: string, start: Tensor, end: Tensor): void {
  const of = (what: string, x: Tensor): string[] =>
    isTensorArgument(x) && x.ndim > 0 ? [`${what} with ${x.ndim} dimension(s)`] : [];
  const wrong = [...of("start", start), ...of("end", end)];
  if (wrong.length > 0)
    throw new TorchError(`${name} only supports 0-dimensional start and end tensors, but got ${wrong.join(" and ")}.`);
}

op(
  [
    `linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ${tail}) -> Tensor`,
    `linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ${tail}) -> Tensor`,
    `linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ${tail}) -> Tensor`,
  ],
  {
    composite: (t, { start, end, steps, dtype, device }) => {
      checkEnds("linspace", start, end);
      return t.linspace(numberOf(start), numberOf(end), steps, { dtype, device: device as string });
    },
    numbers: ["start", "end"],
    factory: true,
  },
);

/** Powers that are integers as such: an exponential that is a little short of one would lose 1. */
function toInteger(h: Builder, x: Value, dtype: DType): Value {
  const near = h.round_nearest_even(x);
  const gap = h.abs(h.subtract(x, near));
  const close = h.compare(gap, h.multiply(h.abs(near), h.splat(1e-13, x.dtype, x.shape)), "LE");
  return cast(h, h.select(close, near, x), dtype);
}

op(`logspace(Scalar start, Scalar end, int steps, float base=10., *, ${tail}) -> Tensor`, {
  lower: (h, { start, end, steps, base, dtype }) => {
    if (steps < 0) throw new TorchError("number of steps must be non-negative");
    const real = get_default_dtype();
    const out = dtype ?? (start.kind === "complex" || end.kind === "complex" ? real.to_complex() : real);
    const wide = out.is_complex ? dt.complex128 : dt.float64;
    const shape = [steps];
    const splat = (x: number): Value => h.splat(x, wide, shape);
    // the ends are numbers of the result's type
    const [a, b] = [start, end].map((x) => cast(h, x.fill(out, shape), wide));
    const index = h.iota(dt.float64, shape, 0);
    const step = h.divide(h.subtract(b, a), splat(Math.max(1, steps - 1)));
    const i = cast(h, index, wide);
    const fromStart = h.add(a, h.multiply(step, i));
    const fromEnd = h.subtract(b, h.multiply(step, h.subtract(splat(steps - 1), i)));
    const first = h.compare(index, h.splat(steps === 1 ? 1 : Math.floor(steps / 2), dt.float64, shape), "LT");
    const power = h.power(splat(base), h.select(first, fromStart, fromEnd));
    return out.is_floating_point || out.is_complex ? cast(h, power, out) : toInteger(h, power, out);
  },
  grad: notDifferentiable,
  factory: true,
  doc: "`steps` powers of `base`, with exponents from `start` to `end`, both included.",
});
op(
  [
    `logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10., *, ${tail}) -> Tensor`,
    `logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10., *, ${tail}) -> Tensor`,
    `logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10., *, ${tail}) -> Tensor`,
  ],
  {
    composite: (t, { start, end, steps, base, dtype, device }) => {
      checkEnds("logspace", start, end);
      return t.logspace(numberOf(start), numberOf(end), steps, base, { dtype, device: device as string });
    },
    numbers: ["start", "end"],
    factory: true,
  },
);
