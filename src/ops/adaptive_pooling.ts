/** @file Pooling to a given output size. */
import type { Builder, Value } from "../hlo/index.js";
import { int32, int64, TorchError } from "../schema/index.js";
import { repeated } from "./convolution.js";
import { cast, computeType, requireDtype } from "./helpers.js";
import { extremeBody, highest, lowest } from "./order_values.js";
import { addAtPositions, flatPositions } from "./pooling.js";
import { op } from "./registry.js";
import { range } from "./scan.js";

/** The range of input positions of each output position. */
function bins(size: number, outputs: number): { start: number; end: number }[] {
  return Array.from({ length: outputs }, (_, o) => ({
    start: Math.floor((o * size) / outputs),
    end: Math.ceil(((o + 1) * size) / outputs),
  }));
}

/** One dimension reduced bin by bin. */
function reduceBins(
  h: Builder,
  xs: readonly Value[],
  dim: number,
  outputs: number,
  reduce: (parts: Value[], size: number) => Value[],
): Value[] {
  const { shape } = xs[0];
  const columns = bins(shape[dim], outputs).map(({ start, end }) => {
    const out = reduce(
      xs.map((x) => range(h, x, dim, start, end)),
      end - start,
    );
    return out.map((v) =>
      h.reshape(
        v,
        shape.map((n, i) => (i === dim ? 1 : n)),
      ),
    );
  });
  return xs.map((_, k) =>
    h.concatenate(
      columns.map((c) => c[k]),
      dim,
    ),
  );
}

function checkInput(name: string, shape: readonly number[], outputs: readonly number[], n: number, what: string): void {
  if (outputs.length !== n)
    throw new TorchError(n === 1 ? "'output_size' should contain one int" : `${name}: ${what} must be ${n}`);
  if (shape.length !== n + 1 && shape.length !== n + 2)
    throw new TorchError(`${name}(): Expected ${n + 1}D or ${n + 2}D tensor, but got [${shape.join(", ")}]`);
  const empty = shape.slice(shape.length === n + 2 ? 1 : 0).findIndex((s, i) => s === 0 && i > 0);
  if (empty > 0)
    throw new TorchError(
      `${name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes [${shape.join(", ")}] with dimension ${empty} being empty`,
    );
}

/** The mean of one dimension's bins, as sums divided by their sizes. */
function averageBins(h: Builder, x: Value, dim: number, outputs: number): Value {
  const n = x.shape[dim];
  const zero = h.constant(0, x.dtype);
  if (outputs === 1 || n % outputs === 0) {
    const each = n / outputs;
    const cut = [...x.shape.slice(0, dim), outputs, each, ...x.shape.slice(dim + 1)];
    const sum = h.reduceWith(h.reshape(x, cut), zero, [dim + 1], "add");
    return h.divide(sum, h.fullLike(sum, each));
  }
  return reduceBins(h, [x], dim, outputs, ([part], size) => {
    const sum = h.reduceWith(part, zero, [dim], "add");
    return [h.divide(sum, h.fullLike(sum, size))];
  })[0];
}

/** The transpose of averaging bins: each position gets a share of every bin that holds it. */
function spreadBins(h: Builder, dy: Value, dim: number, size: number): Value {
  const outputs = dy.shape[dim];
  const zero = h.constant(0, dy.dtype);
  const none = dy.shape.map(() => 0);
  if (size % outputs === 0) {
    const each = size / outputs;
    const dims = dy.shape.map((_, i) => (i <= dim ? i : i + 1));
    const cut = [...dy.shape.slice(0, dim + 1), each, ...dy.shape.slice(dim + 1)];
    const share = h.divide(dy, h.fullLike(dy, each));
    return h.reshape(
      h.broadcast_in_dim(share, cut, dims),
      dy.shape.map((n, i) => (i === dim ? size : n)),
    );
  }
  return bins(size, outputs)
    .map(({ start, end }, o) => {
      const one = range(h, dy, dim, o, o + 1);
      const share = h.divide(one, h.fullLike(one, end - start));
      const wide = h.broadcastTo(
        share,
        share.shape.map((n, i) => (i === dim ? end - start : n)),
      );
      return h.pad(
        wide,
        zero,
        none.map((_, i) => (i === dim ? start : 0)),
        none.map((_, i) => (i === dim ? size - end : 0)),
      );
    })
    .reduce((a, b) => h.add(a, b));
}

for (const n of [1, 2, 3] as const) {
  const average =
    n === 1 ? (["adaptive_avg_pool1d"] as const) : ([`adaptive_avg_pool${n}d`, `_adaptive_avg_pool${n}d`] as const);
  const list = n === 1 ? "int[1]" : `SymInt[${n}]`;
  for (const name of average) {
    op(
      `${name}(Tensor self, ${list} output_size) -> Tensor` as "adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
      {
        lower: (h, { self, output_size }) => {
          checkInput(name, self.shape, output_size, n, "output_size");
          if (output_size.some((s) => s < 0))
            throw new TorchError(
              `${name}(): elements of output_size must be greater than or equal to 0 but received [${output_size.join(", ")}]`,
            );
          requireDtype(self, self.dtype.is_floating_point, name);
          const shape = [...self.shape.slice(0, -n), ...output_size];
          if (shape.includes(0)) return h.splat(0, self.dtype, shape);
          const x = cast(h, self, computeType(self.dtype));
          const out = output_size.reduce((v, s, i) => averageBins(h, v, self.rank - n + i, s), x);
          return cast(h, out, self.dtype);
        },
        grad: (t, { self }, dy) => ({ self: t._adaptive_avg_pool_backward(dy, self.shape, n) }),
        doc: "Means of bins that divide each spatial dimension into `output_size` parts.",
      },
    );
  }
  if (n > 1)
    op(
      `_adaptive_avg_pool${n}d_backward(Tensor grad_output, Tensor self) -> Tensor` as "x(Tensor grad_output, Tensor self) -> Tensor",
      {
        decompose: (t, { grad_output, self }) => t._adaptive_avg_pool_backward(grad_output, self.shape, n),
        doc: "The gradient of means of bins.",
      },
    );

  const name = `adaptive_max_pool${n}d` as const;
  op(
    `${name}(Tensor self, int[${n}] output_size) -> (Tensor, Tensor)` as "adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
    {
      lower: (h, { self, output_size }) => {
        checkInput(name, self.shape, output_size, n, "internal error: output_size.size()");
        const bad = output_size.find((s) => s < 0);
        if (bad !== undefined)
          throw new TorchError(
            `Trying to create tensor with negative dimension ${bad}: [${[...self.shape.slice(0, -n), ...output_size].join(", ")}]`,
          );
        requireDtype(self, self.dtype.is_floating_point, name);
        const shape = [...self.shape.slice(0, -n), ...output_size];
        if (shape.includes(0)) return [h.splat(0, self.dtype, shape), h.splat(0, int64, shape)];
        const body = extremeBody(h, true, true);
        let pair = [self, flatPositions(h, self.shape, n)];
        // from the last dimension on, so that the first of equal elements is the first in row-major order
        for (let i = n - 1; i >= 0; i--) {
          const d = self.rank - n + i;
          pair = reduceBins(h, pair, d, output_size[i], (parts) =>
            h.reduce(parts, [lowest(h, self.dtype), highest(h, int32)], [d], body),
          );
        }
        return [pair[0], h.convert(pair[1], int64)];
      },
      grad: (t, { self }, [dy], [, indices]) => ({ self: addAtPositions(t, dy, indices, self.shape, n) }),
      doc: "The largest element of each bin of the spatial dimensions and its flat position.",
    },
  );
  if (n > 1)
    op(
      `${name}_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor` as "x(Tensor grad_output, Tensor self, Tensor indices) -> Tensor",
      {
        decompose: (t, { grad_output, self, indices }) => addAtPositions(t, grad_output, indices, self.shape, n),
        doc: "The gradient of bins' maxima with known positions.",
      },
    );
}

op("_adaptive_avg_pool_backward(Tensor grad_output, SymInt[] input_size, int dims) -> Tensor", {
  lower: (h, { grad_output, input_size, dims }) => {
    if (grad_output.numel === 0) return h.splat(0, grad_output.dtype, input_size);
    const dy = cast(h, grad_output, computeType(grad_output.dtype));
    let out = dy;
    for (let i = 0; i < dims; i++) {
      const d = input_size.length - dims + i;
      out = spreadBins(h, out, d, input_size[d]);
    }
    return cast(h, out, grad_output.dtype);
  },
  grad: (t, { grad_output, dims }, g) => {
    const size = grad_output.shape.slice(-dims);
    const pool = dims === 1 ? t.adaptive_avg_pool1d : dims === 2 ? t.adaptive_avg_pool2d : t.adaptive_avg_pool3d;
    return { grad_output: pool(g, size) };
  },
  doc: "Cotangents of bins' means, spread over the bins.",
});

/** Each pooled value back at its position; zeros elsewhere. */
for (const n of [2, 3] as const) {
  const tail = n === 2 ? "" : ", int[3] stride, int[3] padding";
  op(
    `max_unpool${n}d(Tensor self, Tensor indices, SymInt[${n}] output_size${tail}) -> Tensor` as "x(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor",
    {
      decompose: (t, { self, indices, output_size }) => {
        if (indices.dtype !== int64)
          throw new TorchError(`elements in indices should be type int64 but got: ${indices.dtype.name}`);
        if (indices.shape.join() !== self.shape.join())
          throw new TorchError(
            `Expected shape of indices to be same as that of the input tensor ([${self.shape.join(", ")}]) but got indices tensor with shape: [${indices.shape.join(", ")}]`,
          );
        const sizes = repeated(output_size, n);
        const lead = self.shape.slice(0, -n);
        const flat = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);
        const zeros = t.new_zeros(self, [...lead, flat(sizes)]);
        const rows = [...lead, flat(self.shape.slice(-n))];
        const out = t.scatter(zeros, -1, t.reshape(indices, rows), t.reshape(self, rows));
        return t.reshape(out, [...lead, ...sizes]);
      },
      doc: "Pooled values back at their positions, zeros elsewhere.",
    },
  );
}

/** Where each window of a fractional pooling starts, from one random number for each row. */
function fractionalStarts(h: Builder, sample: Value, size: number, outputs: number, kernel: number): Value {
  const shape = [...sample.shape, outputs];
  const dims = sample.shape.map((_, i) => i);
  const type = sample.dtype;
  if (outputs === 1) return h.splat(size - kernel, int64, shape);
  const alpha = (size - kernel) / (outputs - 1);
  const u = h.broadcast_in_dim(sample, shape, dims);
  const place = h.iota(type, shape, shape.length - 1);
  const a = h.fullLike(place, alpha);
  const start = h.subtract(h.convert(h.multiply(h.add(place, u), a), int64), h.convert(h.multiply(u, a), int64));
  const last = h.compare(place, h.fullLike(place, outputs - 1), "EQ");
  return h.select(last, h.splat(size - kernel, int64, shape), start);
}

for (const n of [2, 3] as const) {
  const name = `fractional_max_pool${n}d` as const;
  op(
    `${name}(Tensor self, int[${n}] kernel_size, int[${n}] output_size, Tensor random_samples) -> (Tensor, Tensor)` as "fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor, Tensor)",
    {
      lower: (h, { self, kernel_size, output_size, random_samples }) => {
        if (self.rank !== n + 1 && self.rank !== n + 2)
          throw new TorchError(
            `${name}(): Expected ${n + 1}D or ${n + 2}D tensor, but got: [${self.shape.join(", ")}]`,
          );
        const batch = self.rank === n + 2 ? self.shape[0] : 1;
        const x = h.reshape(self, [batch, ...self.shape.slice(self.rank - n - 1)]);
        const sizes = x.shape.slice(2);
        sizes.forEach((s, i) => {
          if (output_size[i] + kernel_size[i] - 1 > s)
            throw new TorchError(`${name}(): pool size (${kernel_size[i]}) too large relative to input size (${s})`);
        });
        const samples = h.reshape(random_samples, [batch, x.shape[1], n]);
        let pair = [x, flatPositions(h, x.shape, n)];
        for (let i = n - 1; i >= 0; i--) pair = fractionalAlong(h, pair, i, samples, kernel_size[i], output_size[i], n);
        const shape = [...self.shape.slice(0, -n), ...output_size];
        return [h.reshape(pair[0], shape), h.convert(h.reshape(pair[1], shape), int64)];
      },
      grad: (t, { self }, [dy], [, indices]) => ({ self: addAtPositions(t, dy, indices, self.shape, n) }),
      doc: "The largest element of windows whose places are drawn at random, and its flat position.",
    },
  );
  op(
    `${name}_backward(Tensor grad_output, Tensor self, int[${n}] kernel_size, int[${n}] output_size, Tensor indices) -> Tensor` as "x(Tensor grad_output, Tensor self, Tensor indices) -> Tensor",
    {
      decompose: (t, { grad_output, self, indices }) => addAtPositions(t, grad_output, indices, self.shape, n),
      doc: "The gradient of fractional pooling with known positions.",
    },
  );
}

/** One spatial dimension pooled over windows that start at positions of their own for each channel. */
function fractionalAlong(
  h: Builder,
  pair: readonly Value[],
  i: number,
  samples: Value,
  kernel: number,
  outputs: number,
  n: number,
): Value[] {
  const [x] = pair;
  const d = 2 + i;
  // PyTorch's samples are in the order width, height, (time first in three dimensions)
  const which = n === 2 ? 1 - i : i;
  const sample = h.reshape(range(h, samples, 2, which, which + 1), samples.shape.slice(0, 2));
  const starts = fractionalStarts(h, sample, x.shape[d], outputs, kernel);
  const shape = x.shape.map((s, k) => (k === d ? outputs : s));
  const wide = (offset: number): Value =>
    h.broadcast_in_dim(h.add(starts, h.splat(offset, int64, starts.shape)), shape, [0, 1, d]);
  const batch = shape.map((_, k) => k).filter((k) => k !== d);
  const at = (v: Value, offset: number): Value =>
    h.gather(v, h.reshape(wide(offset), [...shape, 1]), {
      offsetDims: [],
      collapsedSliceDims: [d],
      operandBatchingDims: batch,
      startIndicesBatchingDims: batch,
      startIndexMap: [d],
      indexVectorDim: shape.length,
      sliceSizes: shape.map(() => 1),
    });
  const body = extremeBody(h, true, true);
  let best = pair.map((v) => at(v, 0));
  for (let k = 1; k < kernel; k++)
    best = body(
      best,
      pair.map((v) => at(v, k)),
    );
  return best;
}
