/** @file Pooling: maxima and means of moving windows. */
import type { Builder, Value } from "../hlo/index.js";
import { int32, int64, numelOf, TorchError, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { repeated } from "./convolution.js";
import { cast, computeType, requireDtype } from "./helpers.js";
import { extremeBody, highest, lowest, nanMask } from "./order_values.js";
import { op, type Torch } from "./registry.js";

/** A window in each spatial dimension: how it moves and how many positions it has. */
export interface Windows {
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
  readonly sizes: readonly number[];
  readonly outputs: readonly number[];
}

interface PoolArguments {
  readonly kernel_size: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation?: readonly number[];
  readonly ceil_mode: boolean;
}

/** PyTorch's pooling size; with `ceil`, a last window may start inside the input or its left padding only. */
function outputSize(n: number, k: number, s: number, p: number, d: number, ceil: boolean): number {
  const reach = d * (k - 1);
  const out = Math.floor((n + 2 * p - reach - 1 + (ceil ? s - 1 : 0)) / s) + 1;
  return ceil && (out - 1) * s >= n + p ? out - 1 : out;
}

function checkShape(name: string, shape: readonly number[], n: number): void {
  const ok =
    (shape.length === n + 1 || shape.length === n + 2) &&
    shape.slice(shape.length === n + 2 ? 1 : 0).every((s) => s > 0);
  if (ok) return;
  if (n === 3)
    throw new TorchError(
      `${name}(): Expected input's non-batch dimensions to have positive length, non-empty 4D or 5D (batch mode) tensor expected for input, but got [${shape.join(", ")}]`,
    );
  throw new TorchError(
    `${name}(): Expected ${n + 1}D or ${n + 2}D (batch mode) tensor with optional 0 dim batch size for input, but got: [${shape.join(", ")}]`,
  );
}

/** The windows of a pooling call on an input of this shape; throws in PyTorch's words. */
export function windowsOf(name: string, shape: readonly number[], n: number, a: PoolArguments): Windows {
  const kernel = repeated(a.kernel_size, n);
  const stride = a.stride.length === 0 ? kernel : repeated(a.stride, n);
  const padding = repeated(a.padding, n);
  const dilation = repeated(a.dilation ?? [1], n);
  if (kernel.some((k) => k <= 0))
    throw new TorchError(`${name}(): kernel_size must be greater than zero, but got ${kernel.join(", ")}`);
  if (stride.some((s) => s <= 0))
    throw new TorchError(`${name}(): stride must be greater than zero, but got ${stride.join(", ")}`);
  if (dilation.some((d) => d <= 0))
    throw new TorchError(`${name}(): dilation must be greater than zero, but got ${dilation.join(", ")}`);
  if (padding.some((p) => p < 0)) throw new TorchError(`pad must be non-negative, but got pad: ${padding.join(", ")}`);
  if (padding.some((p, i) => p > Math.floor(((kernel[i] - 1) * dilation[i] + 1) / 2)))
    throw new TorchError(
      `pad should be at most half of effective kernel size, but got pad=${padding.join(", ")}, kernel_size=${kernel.join(", ")} and dilation=${dilation.join(", ")}`,
    );
  checkShape(name, shape, n);
  const sizes = shape.slice(-n);
  const outputs = sizes.map((s, i) => outputSize(s, kernel[i], stride[i], padding[i], dilation[i], a.ceil_mode));
  if (outputs.some((o) => o < 1))
    throw new TorchError(
      n === 1
        ? `${name}() Invalid computed output size: ${outputs[0]}`
        : `Given input size: (${shape.slice(-n - 1).join("x")}). Calculated output size: (${[shape[shape.length - n - 1], ...outputs].join("x")}). Output size is too small`,
    );
  return { kernel, stride, padding, dilation, sizes, outputs };
}

/** Options of a window operation over the spatial dimensions of a value of this rank. */
function windowOptions(
  w: Windows,
  rank: number,
): {
  windowDimensions: number[];
  windowStrides: number[];
  windowDilations: number[];
  padding: [number, number][];
} {
  const lead = new Array<number>(rank - w.kernel.length).fill(1);
  const high = w.sizes.map((n, i) => {
    const reach = (w.kernel[i] - 1) * w.dilation[i] + 1;
    return (w.outputs[i] - 1) * w.stride[i] + reach - n - w.padding[i];
  });
  return {
    windowDimensions: [...lead, ...w.kernel],
    windowStrides: [...lead, ...w.stride],
    windowDilations: [...lead, ...w.dilation],
    padding: [...lead.map((): [number, number] => [0, 0]), ...w.padding.map((p, i): [number, number] => [p, high[i]])],
  };
}

/** Flat positions in the spatial dimensions. */
export function flatPositions(h: Builder, shape: readonly number[], n: number): Value {
  let sum = h.splat(0, int32, shape);
  for (let i = 0; i < n; i++) {
    const d = shape.length - n + i;
    const step = numelOf(shape.slice(d + 1));
    sum = h.add(sum, h.multiply(h.iota(int32, shape, d), h.splat(step, int32, shape)));
  }
  return sum;
}

function maxPool(h: Builder, x: Value, w: Windows): Value {
  const [out] = h.reduce_window([x], [lowest(h, x.dtype)], windowOptions(w, x.rank), ([a], [b]) => [h.maximum(a, b)]);
  return out;
}

/** Maxima and their flat positions. The first of equal elements counts, the last of several NaNs. */
function maxPoolWithIndices(h: Builder, x: Value, w: Windows): Value[] {
  const n = w.kernel.length;
  const [out, at] = h.reduce_window(
    [x, flatPositions(h, x.shape, n)],
    [lowest(h, x.dtype), highest(h, int32)],
    windowOptions(w, x.rank),
    extremeBody(h, true, true),
  );
  return [out, h.convert(at, int64)];
}

/** Cotangents of windows' maxima, each added at its flat position in the spatial dimensions. */
export function addAtPositions(t: Torch, dy: Tensor, indices: Tensor, shape: readonly number[], n: number): Tensor {
  const lead = shape.slice(0, shape.length - n);
  const flat = (x: Tensor): Tensor => t.reshape(x, [...lead, numelOf(x.shape.slice(x.ndim - n))]);
  const zeros = t.new_zeros(dy, [...lead, numelOf(shape.slice(-n))]);
  return t.reshape(t.scatter_add(zeros, -1, flat(indices), flat(dy)), shape);
}

/** Windows of at most so many elements are taken apart in the gradient: faster than a scatter. */
const denseWindows = 16;

/** Cotangents of windows' maxima, each at the first element of its window that equals the maximum. */
function maxPoolBack(h: Builder, dy: Value, x: Value, out: Value, w: Windows): Value {
  const lead = x.rank - w.kernel.length;
  const { padding } = windowOptions(w, x.rank);
  const none = x.shape.map(() => 0);
  const low = padding.map(([a]) => a);
  const high = padding.map(([, b]) => Math.max(0, b));
  const framed = h.pad(x, lowest(h, x.dtype), low, high);
  const nanOut = nanMask(h, out);
  const zero = h.constant(0, dy.dtype);
  const stride = [...new Array<number>(lead).fill(1), ...w.stride];
  let found: Value | null = null;
  let sum: Value | null = null;
  for (let place = 0; place < numelOf(w.kernel); place++) {
    let rest = place;
    const start = [...none];
    for (let i = w.kernel.length - 1; i >= 0; i--) {
      start[lead + i] = (rest % w.kernel[i]) * w.dilation[i];
      rest = Math.floor(rest / w.kernel[i]);
    }
    const limit = start.map((s, d) => s + (out.shape[d] - 1) * stride[d] + 1);
    const part = h.slice(framed, start, limit, stride);
    let hit = h.compare(part, out, "EQ");
    if (nanOut !== null) hit = h.or(hit, h.and(nanOut, nanMask(h, part)!));
    const first: Value = found === null ? hit : h.and(hit, h.not(found));
    found = found === null ? hit : h.or(found, hit);
    const share = h.select(first, dy, h.zerosLike(dy));
    const behind = limit.map((n, d) => framed.shape[d] - n);
    const wide = h.pad(
      share,
      zero,
      start,
      behind,
      stride.map((s) => s - 1),
    );
    sum = sum === null ? wide : h.add(sum, wide);
  }
  return h.slice(
    sum!,
    low,
    low.map((n, d) => n + x.shape[d]),
  );
}

op(
  "_max_pool_backward(Tensor grad_output, Tensor self, Tensor out, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode) -> Tensor",
  {
    lower: (h, a) => {
      const w = windowsOf("max_pool", a.self.shape, a.kernel_size.length, a);
      if (a.self.numel === 0) return h.splat(0, a.grad_output.dtype, a.self.shape);
      return maxPoolBack(h, a.grad_output, a.self, a.out, w);
    },
    grad: (t, a, g) => {
      const n = a.kernel_size.length as 1 | 2 | 3;
      const [, at] = t[`max_pool${n}d_with_indices`](
        a.self,
        a.kernel_size,
        a.stride,
        a.padding,
        a.dilation,
        a.ceil_mode,
      );
      const flat = (x: Tensor): Tensor =>
        t.reshape(x, [...x.shape.slice(0, x.ndim - n), numelOf(x.shape.slice(x.ndim - n))]);
      return { grad_output: t.reshape(t.gather(flat(g), -1, flat(at)), a.out.shape) };
    },
    doc: "Cotangents of windows' maxima at the elements they came from.",
  },
);

const maxArguments = (n: number): string =>
  n === 1
    ? "Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False"
    : `Tensor self, int[${n}] kernel_size, int[${n}] stride=[], int[${n}] padding=0, int[${n}] dilation=1, bool ceil_mode=False`;

for (const n of [1, 2, 3] as const) {
  const name = `max_pool${n}d` as const;
  const pooled = `${name}_with_indices` as const;
  const poolable = (x: Value): void => requireDtype(x, !x.dtype.is_complex && x.dtype.kind !== "bool", name);
  op(
    `${name}(${maxArguments(n)}) -> Tensor` as "max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor",
    {
      lower: (h, args) => {
        poolable(args.self);
        return maxPool(h, args.self, windowsOf(name, args.self.shape, n, args));
      },
      grad: (t, a, dy, out) => {
        const kernel = repeated(a.kernel_size, n);
        if (numelOf(kernel) <= denseWindows)
          return { self: t._max_pool_backward(dy, a.self, out, kernel, a.stride, a.padding, a.dilation, a.ceil_mode) };
        const [, indices] = t[pooled](a.self, a.kernel_size, a.stride, a.padding, a.dilation, a.ceil_mode);
        return { self: addAtPositions(t, dy, indices, a.self.shape, n) };
      },
      doc: "The largest element of each window.",
    },
  );
  op(
    `${pooled}(${maxArguments(n)}) -> (Tensor, Tensor)` as "max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
    {
      lower: (h, args) => {
        poolable(args.self);
        return maxPoolWithIndices(h, args.self, windowsOf(name, args.self.shape, n, args));
      },
      grad: (t, { self }, [dy], [, indices]) => ({ self: addAtPositions(t, dy, indices, self.shape, n) }),
      doc: "The largest element of each window and its position in the flattened spatial dimensions.",
    },
  );
  if (n > 1)
    op(
      `${pooled}_backward(Tensor grad_output, Tensor self, int[${n}] kernel_size, int[${n}] stride, int[${n}] padding, int[${n}] dilation, bool ceil_mode, Tensor indices) -> Tensor` as "x(Tensor grad_output, Tensor self, Tensor indices) -> Tensor",
      {
        decompose: (t, { grad_output, self, indices }) => addAtPositions(t, grad_output, indices, self.shape, n),
        doc: "The gradient of `max_pool` with known positions.",
      },
    );
}

/** By what each window's sum is divided, as values that broadcast to the result. */
function divisor(
  h: Builder,
  w: Windows,
  rank: number,
  dtype: DType,
  includePad: boolean,
  override: number | null,
): Value {
  const shape = [...new Array<number>(rank - w.kernel.length).fill(1), ...w.outputs];
  if (override !== null) return h.splat(override, dtype, shape);
  let product = h.splat(1, dtype, shape);
  w.kernel.forEach((k, i) => {
    const counts = Array.from({ length: w.outputs[i] }, (_, o) => {
      const start = o * w.stride[i] - w.padding[i];
      const end = Math.min(start + k, w.sizes[i] + w.padding[i]);
      return includePad ? end - start : Math.min(end, w.sizes[i]) - Math.max(start, 0);
    });
    const d = rank - w.kernel.length + i;
    product = h.multiply(product, h.broadcast_in_dim(h.constant(counts, dtype), shape, [d]));
  });
  return product;
}

interface AveragePool extends PoolArguments {
  readonly count_include_pad: boolean;
  readonly divisor_override: number | null;
}

function averagePool(h: Builder, x: Value, w: Windows, a: AveragePool): Value {
  const type = computeType(x.dtype);
  const [sum] = h.reduce_window([cast(h, x, type)], [h.constant(0, type)], windowOptions(w, x.rank), ([p], [q]) => [
    h.add(p, q),
  ]);
  const by = divisor(h, w, x.rank, type, a.count_include_pad, a.divisor_override);
  return cast(h, h.divide(sum, h.broadcastTo(by, sum.shape)), x.dtype);
}

/** The transpose of averaging: each cotangent spread over its window. */
function averagePoolBack(h: Builder, dy: Value, shape: readonly number[], w: Windows, a: AveragePool): Value {
  const type = computeType(dy.dtype);
  const by = divisor(h, w, dy.rank, type, a.count_include_pad, a.divisor_override);
  const each = h.divide(cast(h, dy, type), h.broadcastTo(by, dy.shape));
  const lead = dy.rank - w.kernel.length;
  const options = windowOptions(w, dy.rank);
  const low = options.windowDimensions.map((k, i) => k - 1 - options.padding[i][0]);
  const spreadSize = dy.shape.map((n, i) => (n - 1) * options.windowStrides[i] + 1);
  const high = shape.map((n, i) => n + options.windowDimensions[i] - 1 - low[i] - spreadSize[i]);
  const gaps = dy.shape.map((_, i) => (i < lead ? 0 : options.windowStrides[i] - 1));
  const wide = h.pad(each, h.constant(0, type), low, high, gaps);
  const [out] = h.reduce_window(
    [wide],
    [h.constant(0, type)],
    { windowDimensions: options.windowDimensions },
    ([p], [q]) => [h.add(p, q)],
  );
  return cast(h, out, dy.dtype);
}

for (const n of [1, 2, 3] as const) {
  const name = `avg_pool${n}d` as const;
  const tail = n === 1 ? "" : ", int? divisor_override=None";
  const pads = n === 1 ? "[0]" : "0";
  const check = (x: { dtype: DType }, override: number | null | undefined): void => {
    if (override === 0) throw new TorchError("divisor must be not zero");
    requireDtype(x as Value, x.dtype.is_floating_point || x.dtype === int64, name);
  };
  op(
    `${name}(Tensor self, int[${n}] kernel_size, int[${n}] stride=[], int[${n}] padding=${pads}, bool ceil_mode=False, bool count_include_pad=True${tail}) -> Tensor` as "avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
    {
      lower: (h, a) => {
        check(a.self, a.divisor_override);
        return averagePool(h, a.self, windowsOf(name, a.self.shape, n, a), {
          ...a,
          divisor_override: a.divisor_override ?? null,
        });
      },
      grad: (t, a, dy) => ({
        self: t._avg_pool_backward(
          dy,
          a.self.shape,
          a.kernel_size,
          a.stride,
          a.padding,
          a.ceil_mode,
          a.count_include_pad,
          a.divisor_override ?? null,
        ),
      }),
      doc: "The mean of each window.",
    },
  );
  if (n > 1)
    op(
      `${name}_backward(Tensor grad_output, Tensor self, int[${n}] kernel_size, int[${n}] stride, int[${n}] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor` as "avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
      {
        decompose: (t, a) =>
          t._avg_pool_backward(
            a.grad_output,
            a.self.shape,
            repeated(a.kernel_size, n),
            a.stride,
            a.padding,
            a.ceil_mode,
            a.count_include_pad,
            a.divisor_override,
          ),
        doc: "The gradient of the mean of each window.",
      },
    );
}

op(
  "_avg_pool_backward(Tensor grad_output, SymInt[] input_size, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
  {
    lower: (h, a) => {
      const w = windowsOf("avg_pool", a.input_size, a.kernel_size.length, a);
      return averagePoolBack(h, a.grad_output, a.input_size, w, a);
    },
    grad: (t, a, g) => {
      const n = a.kernel_size.length;
      if (n === 1)
        return { grad_output: t.avg_pool1d(g, a.kernel_size, a.stride, a.padding, a.ceil_mode, a.count_include_pad) };
      const pool = n === 2 ? t.avg_pool2d : t.avg_pool3d;
      return {
        grad_output: pool(g, a.kernel_size, a.stride, a.padding, a.ceil_mode, a.count_include_pad, a.divisor_override),
      };
    },
    doc: "Cotangents of windows' means, spread over the windows.",
  },
);
