/** @file Samples from distributions that tensors describe: multinomial, Poisson, binomial. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { broadcastShapes, TorchError } from "../schema/index.js";
import type { Generator } from "../tensor/index.js";
import { binomialCounts, Draws, poissonCounts } from "./draws.js";
import { cast, computeType, fullLike, requireDtype, scalarTypeName } from "./helpers.js";
import { notDifferentiable, op } from "./registry.js";

op("_multinomial(Tensor self, SymInt num_samples, bool replacement, *, Generator? generator=None) -> Tensor", {
  lower: (h, { self, num_samples, replacement }, context) => {
    const p = cast(h, self, computeType(self.dtype));
    const draws = new Draws(h, context);
    const chosen =
      replacement && num_samples > 1 ? byInversion(h, draws, p, num_samples) : byRace(h, draws, p, num_samples);
    const badRow = h.compare(multinomialFaults(h, p), h.splat(0, dt.int32, p.shape.slice(0, -1)), "NE");
    const mask = h.broadcast_in_dim(
      badRow,
      chosen.shape,
      badRow.shape.map((_, i) => i),
    );
    return h.select(mask, fullLike(h, chosen, -1), chosen);
  },
  grad: notDifferentiable,
  random: true,
  doc: "multinomial without a look at the values: rows that are no distribution give -1.",
});

/** For each row: 1 if it holds NaN, an infinite or a negative number, 2 if it sums to zero, else 0. */
function multinomialFaults(h: Builder, p: Value): Value {
  const last = p.rank - 1;
  const bad = h.or(h.not(h.is_finite(p)), h.compare(p, fullLike(h, p, 0), "LT"));
  const badRow = h.reduceWith(bad, h.constant(false, dt.bool), [last], "or");
  const sum = h.reduceWith(p, h.constant(0, p.dtype), [last], "add");
  const code = (n: number): Value => h.splat(n, dt.int32, sum.shape);
  return h.select(badRow, code(1), h.select(h.compare(sum, fullLike(h, sum, 0), "EQ"), code(2), code(0)));
}
op("_multinomial_fault(Tensor self) -> Tensor", {
  lower: (h, { self }) => {
    const faults = multinomialFaults(h, cast(h, self, computeType(self.dtype)));
    const dims = faults.shape.map((_, i) => i);
    return h.reduceWith(faults, h.constant(0, dt.int32), dims, "maximum");
  },
  grad: notDifferentiable,
  doc: "Why rows are no distributions: 1 NaN, infinite or negative numbers, 2 a sum of zero; 0 when all are.",
});

op("multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor", {
  composite: (t, { self, num_samples, replacement, generator }) => {
    if (self.ndim < 1 || self.ndim > 2) throw new TorchError("prob_dist must be 1 or 2 dim");
    if (!self.dtype.is_floating_point)
      throw new TorchError(
        `multinomial only supports floating-point dtypes for input, got: ${scalarTypeName(self.dtype)}`,
      );
    if (num_samples <= 0) throw new TorchError("cannot sample n_sample <= 0 samples");
    if (!replacement && num_samples > self.shape[self.ndim - 1])
      throw new TorchError("cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    // Waits for the values, as PyTorch does on every device; while a function is traced there are none.
    if (self.storageRef.traced === null && self.device.type !== "meta") {
      const fault = t._multinomial_fault(self).item();
      if (fault === 1) throw new TorchError("probability tensor contains either `inf`, `nan` or element < 0");
      if (fault === 2) throw new TorchError("invalid multinomial distribution (sum of probabilities <= 0)");
    }
    return t._multinomial(self, num_samples, replacement, { generator: generator as Generator | null });
  },
  exactOut: true,
  doc: "Indices drawn with the probabilities, up to a factor, that each row says.",
});

/** Each class finishes after an exponential time over its probability; the first ones are the sample. */
function byRace(h: Builder, draws: Draws, p: Value, count: number): Value {
  const speed = h.divide(p, draws.exponential(p.shape, p.dtype));
  return h.convert(h.chlo_top_k(speed, count)[1], dt.int64);
}

/** Where uniform numbers fall in the distribution function of each row. */
function byInversion(h: Builder, draws: Draws, p: Value, count: number): Value {
  const last = p.rank - 1;
  const classes = p.shape[last];
  const window = p.shape.map((_, i) => (i === last ? classes : 1));
  const padding = p.shape.map((_, i): [number, number] => (i === last ? [classes - 1, 0] : [0, 0]));
  const zero = h.constant(0, p.dtype);
  const [sums] = h.reduce_window([p], [zero], { windowDimensions: window, padding }, ([a], [b]) => [h.add(a, b)]);
  const rows = p.shape.slice(0, last);
  const shape = [...rows, count, classes];
  const rowDims = rows.map((_, i) => i);
  const total = h.reduceWith(p, zero, [last], "add");
  const u = h.multiply(draws.uniform([...rows, count], p.dtype), h.broadcast_in_dim(total, [...rows, count], rowDims));
  const passed = h.compare(
    h.broadcast_in_dim(sums, shape, [...rowDims, last + 1]),
    h.broadcast_in_dim(u, shape, [...rowDims, last]),
    "LE",
  );
  const index = h.reduceWith(h.convert(passed, dt.int64), h.constant(0, dt.int64), [last + 1], "add");
  return h.minimum(index, fullLike(h, index, classes - 1));
}

op("poisson(Tensor self, Generator? generator=None) -> Tensor", {
  lower: (h, { self }, context) => {
    requireDtype(self, self.dtype.is_floating_point, "poisson_cpu");
    const counts = poissonCounts(h, new Draws(h, context), cast(h, self, dt.float64));
    return cast(h, counts, self.dtype);
  },
  grad: (t, { self }) => ({ self: t.zeros_like(self) }),
  random: true,
  doc: "Poisson counts with the means that the elements say.",
});
op("binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor", {
  lower: (h, { count, prob }, context) => {
    if (count.dtype !== prob.dtype)
      throw new TorchError(`Found dtype ${scalarTypeName(prob.dtype)} but expected ${scalarTypeName(count.dtype)}`);
    requireDtype(count, count.dtype.is_floating_point, "binomial_cpu");
    const shape = broadcastShapes(count.shape, prob.shape);
    const [n, p] = [count, prob].map((x) => h.broadcastTo(cast(h, x, dt.float64), shape));
    return cast(h, binomialCounts(h, new Draws(h, context), n, p), count.dtype);
  },
  grad: (t, { count, prob }) => ({ count: t.zeros_like(count), prob: t.zeros_like(prob) }),
  random: true,
  doc: "How many of `count` trials succeed with probability `prob`.",
});
