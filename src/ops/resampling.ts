/** @file Resizing images: nearest, linear and cubic interpolation, with and without antialiasing. */
import type { Builder, Value } from "../hlo/index.js";
import { float64, int64, sizeText, TorchError } from "../schema/index.js";
import { repeated } from "./convolution.js";
import { cast, computeType } from "./helpers.js";
import { takeRows } from "./index_values.js";
import { op } from "./registry.js";

type Kind = "nearest" | "nearest_exact" | "linear" | "cubic" | "linear_aa" | "cubic_aa";

/** How one dimension is resized: for every output the inputs that it reads and their weights. */
interface Taps {
  readonly at: readonly (readonly number[])[];
  readonly weights: readonly (readonly number[])[];
}

const f32 = Math.fround;

/** Inputs per output, computed in float32 as PyTorch does: from the given factor, or from the sizes. */
function ratio(inputs: number, outputs: number, align: boolean, scale: number | null): number {
  if (align) return outputs > 1 ? f32((inputs - 1) / (outputs - 1)) : 0;
  return scale !== null && scale > 0 ? f32(1 / scale) : f32(inputs / outputs);
}

/** Keys' cubic kernel with PyTorch's a. */
function cubic(x: number, a: number): number {
  const d = Math.abs(x);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

function nearestTaps(inputs: number, outputs: number, scale: number | null, exact: boolean): Taps {
  const r = ratio(inputs, outputs, false, scale);
  const at = Array.from({ length: outputs }, (_, o) => [
    Math.min(inputs - 1, Math.floor(exact ? f32(f32(o + 0.5) * r) : f32(o * r))),
  ]);
  return { at, weights: at.map(() => [1]) };
}

function source(o: number, r: number, align: boolean, isCubic: boolean): number {
  if (align) return f32(r * o);
  const s = f32(f32(r * f32(o + 0.5)) - 0.5);
  return isCubic || s > 0 ? s : 0;
}

function smoothTaps(
  kind: "linear" | "cubic",
  inputs: number,
  outputs: number,
  align: boolean,
  scale: number | null,
): Taps {
  const r = ratio(inputs, outputs, align, scale);
  const clamp = (i: number): number => Math.max(0, Math.min(inputs - 1, i));
  const at: number[][] = [];
  const weights: number[][] = [];
  for (let o = 0; o < outputs; o++) {
    const s = source(o, r, align, kind === "cubic");
    const i = Math.floor(s);
    if (kind === "linear") {
      const first = clamp(i);
      const l = Math.min(1, Math.max(0, f32(s - first)));
      at.push([first, clamp(first + 1)]);
      weights.push([1 - l, l]);
    } else {
      const d = f32(s - i);
      at.push([i - 1, i, i + 1, i + 2].map(clamp));
      weights.push([d + 1, d, 1 - d, 2 - d].map((x) => cubic(x, -0.75)));
    }
  }
  return { at, weights };
}

/** Antialiased: the kernel grows with the ratio, and its weights sum to one. */
function wideTaps(
  kind: "linear_aa" | "cubic_aa",
  inputs: number,
  outputs: number,
  align: boolean,
  scale: number | null,
): Taps {
  const r = ratio(inputs, outputs, align, scale);
  const reach = kind === "linear_aa" ? 1 : 2;
  const support = r >= 1 ? reach * r : reach;
  const invscale = r >= 1 ? 1 / r : 1;
  const filter = (x: number): number => (kind === "cubic_aa" ? cubic(x, -0.5) : Math.max(0, 1 - Math.abs(x)));
  const found = Array.from({ length: outputs }, (_, o) => {
    const center = r * (o + 0.5);
    const low = Math.max(0, Math.trunc(center - support + 0.5));
    const high = Math.min(inputs, Math.trunc(center + support + 0.5));
    const raw = Array.from({ length: high - low }, (_v, j) => filter((j + low - center + 0.5) * invscale));
    const total = raw.reduce((a, b) => a + b, 0);
    return { low, weights: raw.map((w) => w / (total || 1)) };
  });
  const width = Math.max(...found.map((f) => f.weights.length));
  return {
    at: found.map((f) => Array.from({ length: width }, (_, j) => Math.min(inputs - 1, f.low + j))),
    weights: found.map((f) => Array.from({ length: width }, (_, j) => f.weights[j] ?? 0)),
  };
}

function tapsOf(kind: Kind, inputs: number, outputs: number, align: boolean, scale: number | null): Taps {
  if (kind === "nearest" || kind === "nearest_exact")
    return nearestTaps(inputs, outputs, scale, kind === "nearest_exact");
  if (kind === "linear" || kind === "cubic") return smoothTaps(kind, inputs, outputs, align, scale);
  return wideTaps(kind, inputs, outputs, align, scale);
}

/** Reads a dimension through its taps: as many gathers as an output has taps. */
function resizeDim(h: Builder, x: Value, dim: number, taps: Taps): Value {
  const count = taps.at[0].length;
  let sum: Value | null = null;
  for (let k = 0; k < count; k++) {
    const rows = h.constant(BigInt64Array.from(taps.at.map((a) => BigInt(a[k]))), int64, [taps.at.length]);
    const part = takeRows(h, x, dim, rows);
    if (taps.weights.every((w) => w[k] === 1)) {
      sum = sum === null ? part : h.add(sum, part);
      continue;
    }
    const w = h.constant(
      taps.weights.map((v) => v[k]),
      x.dtype,
      [taps.at.length],
    );
    const term = h.multiply(part, h.broadcast_in_dim(w, part.shape, [dim]));
    sum = sum === null ? term : h.add(sum, term);
  }
  return sum!;
}

/** The transpose of `resizeDim`, as a product with the matrix of weights. */
function resizeDimBack(h: Builder, dy: Value, dim: number, inputs: number, taps: Taps): Value {
  const outputs = taps.at.length;
  const matrix = new Float64Array(inputs * outputs);
  taps.at.forEach((at, o) => at.forEach((i, k) => (matrix[i * outputs + o] += taps.weights[o][k])));
  const m = cast(h, h.constant(matrix, float64, [inputs, outputs]), dy.dtype);
  const out = h.dot_general(dy, m, { lhsContract: [dim], rhsContract: [1], precision: "HIGHEST" });
  const order = dy.shape.map((_, i) => (i < dim ? i : i === dim ? dy.rank - 1 : i - 1));
  return h.transpose(out, order);
}

interface Resize {
  readonly kind: Kind;
  readonly align: boolean;
  readonly sizes: readonly number[];
  readonly scales: readonly (number | null)[];
}

function resize(h: Builder, self: Value, r: Resize): Value {
  const n = r.sizes.length;
  const exact = r.kind === "nearest" || r.kind === "nearest_exact";
  let x = exact ? self : cast(h, self, computeType(self.dtype));
  // the last dimension first: PyTorch interpolates within rows, then between them
  for (let i = n - 1; i >= 0; i--) {
    const d = self.rank - n + i;
    const taps = tapsOf(r.kind, self.shape[d], r.sizes[i], r.align, r.scales[i]);
    if (!isIdentity(taps, self.shape[d])) x = resizeDim(h, x, d, taps);
  }
  return cast(h, x, self.dtype);
}

const isIdentity = (taps: Taps, inputs: number): boolean =>
  taps.at.length === inputs &&
  taps.at.every((at, o) => at.every((i, k) => (i === o ? true : taps.weights[o][k] === 0)));

function resizeBack(h: Builder, dy: Value, input: readonly number[], r: Resize): Value {
  const n = r.sizes.length;
  let g = cast(h, dy, computeType(dy.dtype));
  for (let i = 0; i < n; i++) {
    const d = input.length - n + i;
    const taps = tapsOf(r.kind, input[d], r.sizes[i], r.align, r.scales[i]);
    if (!isIdentity(taps, input[d])) g = resizeDimBack(h, g, d, input[d], taps);
  }
  return cast(h, g, dy.dtype);
}

op("_resize(Tensor self, str kind, SymInt[] output_size, bool align_corners, float[] scales) -> Tensor", {
  lower: (h, { self, kind, output_size, align_corners, scales }) =>
    resize(h, self, { kind: kind as Kind, align: align_corners, sizes: output_size, scales: given(scales) }),
  grad: (t, { self, kind, output_size, align_corners, scales }, dy) => ({
    self: t._resize_backward(dy, kind, self.shape, output_size, align_corners, scales),
  }),
  doc: "Resizes the last dimensions by an interpolation. A scale of zero stands for none.",
});
op(
  "_resize_backward(Tensor grad_output, str kind, SymInt[] input_size, SymInt[] output_size, bool align_corners, float[] scales) -> Tensor",
  {
    lower: (h, { grad_output, kind, input_size, output_size, align_corners, scales }) =>
      resizeBack(h, grad_output, input_size, {
        kind: kind as Kind,
        align: align_corners,
        sizes: output_size,
        scales: given(scales),
      }),
    grad: (t, { kind, output_size, align_corners, scales }, g) => ({
      grad_output: t._resize(g, kind, output_size, align_corners, scales),
    }),
    doc: "The gradient of resizing.",
  },
);

const given = (scales: readonly number[]): (number | null)[] => scales.map((s) => (s === 0 ? null : s));

interface Operator {
  readonly name: string;
  readonly kind: Kind;
  readonly dims: 1 | 2 | 3;
  readonly doc: string;
}

const letters = { 1: [""], 2: ["_h", "_w"], 3: ["_d", "_h", "_w"] } as const;

function checkResize({ name, dims }: Operator, shape: readonly number[], sizes: readonly number[]): void {
  if (sizes.length !== dims)
    throw new TorchError(`It is expected output_size equals to ${dims}, but got size ${sizes.length}`);
  if (shape.length !== dims + 2)
    throw new TorchError(`It is expected input_size equals to ${dims + 2}, but got size ${shape.length}`);
  if (sizes.some((s) => s <= 0) || shape.slice(2).some((s) => s <= 0))
    throw new TorchError(
      `Input and output sizes should be greater than 0, but got input (${name}: ${sizeText(shape.slice(2))}) and output (${sizeText(sizes)})`,
    );
}

/** An upsampling operator in its forms: with sizes and scales, with either of them, and its gradient. */
function define(o: Operator): void {
  const { name, kind, dims, doc } = o;
  const smooth = kind !== "nearest" && kind !== "nearest_exact";
  const align = smooth ? "bool align_corners, " : "";
  const scaleNames = letters[dims].map((l) => `scales${l}`);
  const scaleArguments = scaleNames.map((s) => `float? ${s}=None`).join(", ");
  const scalesOf = (args: object): number[] => scaleNames.map((s) => (args as Record<string, number | null>)[s] ?? 0);
  op(
    `${name}(Tensor self, SymInt[${dims}] output_size, ${align}${scaleArguments}) -> Tensor` as "upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
    {
      composite: (t, args) => {
        const sizes = repeated(args.output_size, dims);
        checkResize(o, args.self.shape, sizes);
        return t._resize(args.self, kind, sizes, smooth && args.align_corners, scalesOf(args));
      },
      doc,
    },
  );
  op(
    `${name}.vec(Tensor input, SymInt[]? output_size, ${align}float[]? scale_factors) -> Tensor` as "upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor",
    {
      composite: (t, { input, output_size, align_corners, scale_factors }) => {
        if ((output_size === null) === (scale_factors === null))
          throw new TorchError("Must specify exactly one of output_size and scale_factors");
        const sizes = output_size ?? scale_factors!.map((s, i) => Math.floor(f32(input.shape[i + 2] * s)));
        checkResize(o, input.shape, sizes);
        const scales = scale_factors ?? new Array<number>(dims).fill(0);
        return t._resize(input, kind, sizes, smooth && align_corners, scales);
      },
    },
  );
  op(
    `${name}_backward(Tensor grad_output, SymInt[${dims}] output_size, SymInt[${dims + 2}] input_size, ${align}${scaleArguments}) -> Tensor` as "x(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners) -> Tensor",
    {
      composite: (t, args) =>
        t._resize_backward(
          args.grad_output,
          kind,
          args.input_size,
          repeated(args.output_size, dims),
          smooth && args.align_corners,
          scalesOf(args),
        ),
      doc: "The gradient of resizing.",
    },
  );
}

for (const dims of [1, 2, 3] as const) {
  define({
    name: `upsample_nearest${dims}d`,
    kind: "nearest",
    dims,
    doc: "Resizes with the nearest element, as it always was.",
  });
  define({
    name: `_upsample_nearest_exact${dims}d`,
    kind: "nearest_exact",
    dims,
    doc: "Resizes with the nearest element.",
  });
}
define({ name: "upsample_linear1d", kind: "linear", dims: 1, doc: "Resizes by linear interpolation." });
define({ name: "upsample_bilinear2d", kind: "linear", dims: 2, doc: "Resizes by bilinear interpolation." });
define({ name: "upsample_trilinear3d", kind: "linear", dims: 3, doc: "Resizes by trilinear interpolation." });
define({ name: "upsample_bicubic2d", kind: "cubic", dims: 2, doc: "Resizes by bicubic interpolation." });
define({
  name: "_upsample_bilinear2d_aa",
  kind: "linear_aa",
  dims: 2,
  doc: "Resizes by bilinear interpolation with antialiasing.",
});
define({
  name: "_upsample_bicubic2d_aa",
  kind: "cubic_aa",
  dims: 2,
  doc: "Resizes by bicubic interpolation with antialiasing.",
});
