/** @file Counts of values in bins. */
import { float64, int64, TorchError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { notDifferentiable, op, type Torch } from "./registry.js";

op("bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor", {
  composite: (t, { self, weights, minlength }) => {
    if (minlength < 0) throw new TorchError("minlength should be >= 0");
    const isInteger = self.dtype.kind === "int" || self.dtype.kind === "uint";
    if (self.ndim !== 1 || !isInteger) throw new TorchError("bincount only supports 1-d non-negative integral inputs.");
    if (weights && (weights.ndim !== 1 || weights.numel() !== self.numel()))
      throw new TorchError("weights should be 1-d and have the same length as input");
    if (self.numel() === 0) return t.zeros([minlength], { dtype: int64, device: self.device });
    const [low, high] = t.aminmax(self).map((x) => Number(x.item()));
    if (low < 0) throw new TorchError("bincount only supports 1-d non-negative integral inputs.");
    return t._bincount(self, weights, Math.max(minlength, high + 1));
  },
  doc: "How often each number occurs, or the sum of its weights. Reads the largest number on the host.",
});
op("_bincount(Tensor self, Tensor? weights, int size) -> Tensor", {
  decompose: (t, { self, weights, size }) => {
    const device = self.device;
    const dtype = weights === null ? int64 : weights.dtype.name === "float32" ? weights.dtype : float64;
    const source = weights === null ? t.ones([self.numel()], { dtype, device }) : t._to_copy(weights, { dtype });
    return t.index_add(t.zeros([size], { dtype, device }), 0, t._to_copy(self, { dtype: int64 }), source);
  },
  grad: notDifferentiable,
  doc: "`bincount` with a known number of bins.",
});

/** `bins + 1` equally spaced edges between two 0-dim tensors, the last one exact. Equal ends move apart by one half each. */
function evenEdges(t: Torch, low: Tensor, high: Tensor, bins: number): Tensor {
  const same = t.eq(low, high);
  const a = t.where(same, t.sub(low, 0.5), low);
  const b = t.where(same, t.add(high, 0.5), high);
  const step = t.div(t.sub(b, a), bins);
  const i = t.arange(0, bins + 1, { dtype: low.dtype, device: low.device });
  const up = t.add(t.mul(step, i), a);
  const down = t.sub(b, t.mul(step, t.rsub(i, bins)));
  return t.where(t.lt(i, (bins + 1) / 2), up, down);
}

/** The outermost edges: those given, or the smallest and the largest value. */
function ends(t: Torch, x: Tensor, range: readonly number[] | null): [Tensor, Tensor] {
  const of = (v: number): Tensor => t.full([], v, { dtype: x.dtype, device: x.device });
  if (range !== null) {
    if (range[0] > range[1])
      throw new TorchError(`torch.histogramdd: min should not exceed max, but got min ${range[0]} max ${range[1]}`);
    return [of(range[0]), of(range[1])];
  }
  return x.numel() === 0 ? [of(0), of(1)] : [t.amin(x), t.amax(x)];
}

/** The bin of each value, and whether it lies in one. The last edge belongs to the last bin. */
function binOf(t: Torch, x: Tensor, edges: Tensor): { bin: Tensor; inside: Tensor } {
  const bins = edges.shape[0] - 1;
  const first = t.select(edges, 0, 0);
  const last = t.select(edges, 0, bins);
  const bin = t.clamp(t.sub(t.searchsorted(edges, x, { right: true }), 1), 0, bins - 1);
  return { bin, inside: t.logical_and(t.ge(x, first), t.le(x, last)) };
}

/** Counts, or sums of weights, in the cells of a grid; points are rows. */
function countIn(t: Torch, points: Tensor, edges: readonly Tensor[], weight: Tensor | null, density: boolean): Tensor {
  const sizes = edges.map((e) => e.shape[0] - 1);
  const total = sizes.reduce((a, b) => a * b, 1);
  const n = points.shape[0];
  let cell = t.zeros([n], { dtype: int64, device: points.device });
  let amount = weight === null ? t.ones([n], { dtype: points.dtype, device: points.device }) : t.reshape(weight, [n]);
  edges.forEach((e, d) => {
    const { bin, inside } = binOf(t, t.select(points, 1, d).contiguous(), e);
    cell = t.add(t.mul(cell, sizes[d]), bin);
    amount = t.masked_fill(amount, t.logical_not(inside), 0);
  });
  const counts = t.reshape(
    t.index_add(t.zeros([total], { dtype: points.dtype, device: points.device }), 0, cell, amount),
    sizes,
  );
  if (!density) return counts;
  const volume = edges
    .map((e, d) =>
      t.reshape(
        t.sub(t.slice(e, 0, 1, null, 1), t.slice(e, 0, 0, sizes[d], 1)),
        sizes.map((s, k) => (k === d ? s : 1)),
      ),
    )
    .reduce((a, b) => t.mul(a, b));
  return t.div(t.div(counts, t.sum(counts)), volume);
}

op("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", {
  decompose: (t, { self, bins, min, max }) => {
    if (bins <= 0) throw new TorchError("bins must be > 0");
    if (!self.is_floating_point()) throw new TorchError(`"histogram_cpu" not implemented for '${self.dtype.name}'`);
    const x = t.reshape(self, [-1]);
    const asked = [min, max].map((v) => t.scalar_tensor(v, { dtype: self.dtype, device: self.device }));
    const fromData = t.eq(asked[0], asked[1]);
    const [low, high] =
      x.numel() === 0 ? asked : [t.where(fromData, t.amin(x), asked[0]), t.where(fromData, t.amax(x), asked[1])];
    const same = t.eq(low, high);
    const a = t.where(same, t.sub(low, 1), low);
    const b = t.where(same, t.add(high, 1), high);
    const place = t.floor(t.div(t.mul(t.sub(x, a), bins), t.sub(b, a)));
    const bin = t._to_copy(t.clamp(place, 0, bins - 1), { dtype: int64 });
    const inside = t.logical_and(t.ge(x, a), t.le(x, b));
    return t.index_add(t.new_zeros(self, [bins]), 0, bin, t._to_copy(inside, { dtype: self.dtype }));
  },
  grad: notDifferentiable,
  doc: "Counts in `bins` equal bins between `min` and `max`; equal ends stand for those of the data.",
});

op("_histogram_edges(Tensor self, int bins, float[]? range) -> Tensor", {
  decompose: (t, { self, bins, range }) => {
    if (bins <= 0) throw new TorchError(`torch.histogram(): bins must be > 0, but got ${bins}`);
    const [low, high] = ends(t, self, range);
    return evenEdges(t, low, high, bins);
  },
  grad: notDifferentiable,
  doc: "The edges of equal bins over a range, or over the data.",
});
op("_histogram_counts(Tensor self, Tensor[] bins, Tensor? weight, bool density) -> Tensor", {
  decompose: (t, { self, bins, weight, density }) => countIn(t, self, bins, weight, density),
  grad: notDifferentiable,
  doc: "Counts in the cells of a grid of bins; points are rows.",
});

op(
  "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
  {
    composite: (t, { self, bins, range, weight, density }) => {
      const edges = t._histogram_edges(t.reshape(self, [-1]), bins, range);
      return [t._histogram_counts(t.reshape(self, [-1, 1]), [edges], weight, density), edges];
    },
    doc: "Counts in bins, and the bins' edges.",
  },
);
op(
  "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
  {
    composite: (t, { self, bins, weight, density }) => [
      t._histogram_counts(t.reshape(self, [-1, 1]), [bins], weight, density),
      bins,
    ],
  },
);

/** Points as rows, checked. */
function pointsOf(t: Torch, self: Tensor, bins: number): Tensor {
  if (self.ndim < 2)
    throw new TorchError(`torch.histogramdd(): input tensor should have at least 2 dimensions, but got ${self.ndim}`);
  const d = self.shape[self.ndim - 1];
  if (bins !== d)
    throw new TorchError("histogramdd: The size of bins must be equal to the innermost dimension of the input.");
  return t.reshape(self, [-1, d]);
}

function edgesOf(t: Torch, self: Tensor, bins: readonly number[], range: readonly number[] | null): Tensor[] {
  const points = pointsOf(t, self, bins.length);
  if (range !== null && range.length !== 2 * bins.length)
    throw new TorchError(
      `torch.histogramdd(): for a ${bins.length}-dimensional histogram range should have ${2 * bins.length} elements, but got ${range.length}`,
    );
  return bins.map((n, d) =>
    t._histogram_edges(t.select(points, 1, d).contiguous(), n, range === null ? null : range.slice(2 * d, 2 * d + 2)),
  );
}

op(
  "_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor[]",
  {
    composite: (t, { self, bins, range }) => edgesOf(t, self, bins, range),
    doc: "The edges of a grid of equal bins.",
  },
);
op(
  "_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor",
  {
    composite: (t, { self, bins, range, weight, density }) =>
      t._histogram_counts(pointsOf(t, self, bins.length), edgesOf(t, self, bins, range), weight, density),
    doc: "Counts in a grid of equal bins.",
  },
);
op("_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor", {
  composite: (t, { self, bins, weight, density }) =>
    t._histogram_counts(pointsOf(t, self, bins.length), bins, weight, density),
  doc: "Counts in a grid of given bins.",
});
op(
  "histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
  {
    composite: (t, { self, bins, range, weight, density }) => {
      const edges = edgesOf(t, self, bins, range);
      return [t._histogram_counts(pointsOf(t, self, bins.length), edges, weight, density), edges];
    },
    doc: "Counts in the cells of a grid of bins, and the bins' edges; points are rows.",
  },
);
op(
  "histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
  {
    composite: (t, { self, bins, range, weight, density }) => {
      const each = new Array<number>(self.shape[self.ndim - 1]).fill(bins);
      const edges = edgesOf(t, self, each, range);
      return [t._histogram_counts(pointsOf(t, self, each.length), edges, weight, density), edges];
    },
  },
);
op(
  "histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
  {
    composite: (t, { self, bins, weight, density }) => [
      t._histogram_counts(pointsOf(t, self, bins.length), bins, weight, density),
      [...bins],
    ],
  },
);
