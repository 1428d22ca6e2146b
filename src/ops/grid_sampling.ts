/** @file Sampling images at the places of a grid, and the grids of affine maps. */
import { int64, sizeText, TorchError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { op, type Torch } from "./registry.js";

type Padding = "zeros" | "border" | "reflection";
const paddings: readonly Padding[] = ["zeros", "border", "reflection"];

/** A coordinate from [-1, 1] to positions of elements. */
function unnormalize(t: Torch, c: Tensor, size: number, align: boolean): Tensor {
  return align ? t.mul(t.div(t.add(c, 1), 2), size - 1) : t.div(t.sub(t.mul(t.add(c, 1), size), 1), 2);
}

/** Positions mirrored at the borders until they lie inside. */
function reflect(t: Torch, c: Tensor, size: number, align: boolean): Tensor {
  const low = align ? 0 : -0.5;
  const span = align ? size - 1 : size;
  if (span <= 0) return t.zeros_like(c);
  const distance = t.abs(t.sub(c, low));
  const flips = t.floor(t.div(distance, span)).detach();
  const extra = t.sub(distance, t.mul(flips, span));
  const even = t.eq(t.remainder(flips, 2), 0);
  return t.where(even, t.add(extra, low), t.add(t.sub(span, extra), low));
}

function padded(t: Torch, c: Tensor, size: number, padding: Padding, align: boolean): Tensor {
  if (padding === "zeros") return c;
  const inside = padding === "reflection" ? reflect(t, c, size, align) : c;
  return t.clamp(inside, 0, size - 1);
}

/** The elements at integer positions, one for each spatial dimension; zero outside. [batch, channels, ...grid]. */
function read(t: Torch, input: Tensor, at: readonly Tensor[]): Tensor {
  const [batch, channels, ...sizes] = input.shape;
  const grid = at[0].shape.slice(1);
  const inside = at
    .map((a, i) => t.logical_and(t.ge(a, 0), t.le(a, sizes[i] - 1)))
    .reduce((a, b) => t.logical_and(a, b));
  const flat = at
    .map((a, i) => t._to_copy(t.clamp(t.nan_to_num(a, -1, -1, -1), 0, sizes[i] - 1), { dtype: int64 }))
    .reduce((sum, a, i) => (i === 0 ? a : t.add(t.mul(sum, sizes[i]), a)), at[0]);
  const places = t.expand(t.reshape(flat, [batch, 1, -1]), [batch, channels, grid.reduce((a, b) => a * b, 1)]);
  const values = t.gather(t.reshape(input, [batch, channels, -1]), 2, places);
  const mask = t.unsqueeze(inside, 1);
  return t.masked_fill(t.reshape(values, [batch, channels, ...grid]), t.logical_not(mask), 0);
}

/** Weighted sum over the corners of the cell around each position. */
function linear(t: Torch, input: Tensor, at: readonly Tensor[]): Tensor {
  const floors = at.map((a) => t.floor(a).detach());
  const corners = 2 ** at.length;
  let sum: Tensor | null = null;
  for (let c = 0; c < corners; c++) {
    const upper = at.map((_, i) => (c >> i) & 1);
    const place = floors.map((f, i) => (upper[i] ? t.add(f, 1) : f));
    const weight = at
      .map((a, i) => (upper[i] ? t.sub(a, floors[i]) : t.sub(t.add(floors[i], 1), a)))
      .reduce((a, b) => t.mul(a, b));
    const term = t.mul(read(t, input, place), t.unsqueeze(weight, 1));
    sum = sum === null ? term : t.add(sum, term);
  }
  return sum!;
}

/** The four cubic weights of a fraction. */
function cubicWeights(t: Torch, f: Tensor): Tensor[] {
  const a = -0.75;
  const near = (x: Tensor): Tensor => t.add(t.mul(t.mul(t.sub(t.mul(x, a + 2), a + 3), x), x), 1);
  const far = (x: Tensor): Tensor => t.sub(t.mul(t.add(t.mul(t.sub(t.mul(x, a), 5 * a), x), 8 * a), x), 4 * a);
  return [far(t.add(f, 1)), near(f), near(t.rsub(f, 1)), far(t.rsub(f, 2))];
}

function bicubic(t: Torch, input: Tensor, at: readonly Tensor[], padding: Padding, align: boolean): Tensor {
  const sizes = input.shape.slice(2);
  const floors = at.map((a) => t.floor(a).detach());
  const [wy, wx] = at.map((a, i) => cubicWeights(t, t.sub(a, floors[i])));
  let sum: Tensor | null = null;
  for (let i = 0; i < 4; i++)
    for (let j = 0; j < 4; j++) {
      const place = [t.add(floors[0], i - 1), t.add(floors[1], j - 1)].map((p, d) =>
        padded(t, p, sizes[d], padding, align),
      );
      const term = t.mul(
        read(
          t,
          input,
          place.map((p) => t.round(p)),
        ),
        t.unsqueeze(t.mul(wy[i], wx[j]), 1),
      );
      sum = sum === null ? term : t.add(sum, term);
    }
  return sum!;
}

function check(input: Tensor, grid: Tensor, dims: number): void {
  if (input.shape[0] !== grid.shape[0])
    throw new TorchError(
      `grid_sampler(): expected grid and input to have same batch size, but got input with sizes ${sizeText(input.shape)} and grid with sizes ${sizeText(grid.shape)}`,
    );
  if (grid.shape[grid.ndim - 1] !== dims)
    throw new TorchError(
      `grid_sampler(): expected grid to have size ${dims} in last dimension, but got grid with sizes ${sizeText(grid.shape)}`,
    );
  input.shape.slice(2).forEach((n, i) => {
    if (n === 0)
      throw new TorchError(
        `grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes ${sizeText(input.shape)} with dimension ${i + 2} being empty`,
      );
  });
}

for (const dims of [2, 3] as const) {
  op(
    `grid_sampler_${dims}d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor` as "grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
    {
      decompose: (t, { input, grid, interpolation_mode, padding_mode, align_corners }) => {
        check(input, grid, dims);
        const padding = paddings[padding_mode];
        const sizes = input.shape.slice(2);
        // the grid lists coordinates from the last dimension on
        const raw = sizes.map((n, i) => unnormalize(t, t.select(grid, -1, dims - 1 - i), n, align_corners));
        if (interpolation_mode === 2) {
          if (dims === 3) throw new TorchError("grid_sampler(): bicubic interpolation only supports 4D input");
          return bicubic(t, input, raw, padding, align_corners);
        }
        const at = raw.map((c, i) => padded(t, c, sizes[i], padding, align_corners));
        return interpolation_mode === 0
          ? linear(t, input, at)
          : read(
              t,
              input,
              at.map((a) => t.round(a)),
            );
      },
      doc: "The input at the places of a grid whose coordinates run from -1 to 1.",
    },
  );
}
op("grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor", {
  composite: (t, { input, grid, interpolation_mode, padding_mode, align_corners }) => {
    if (input.ndim !== 4 && input.ndim !== 5)
      throw new TorchError(
        `grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes ${sizeText(input.shape)} and grid with sizes ${sizeText(grid.shape)}`,
      );
    const sample = input.ndim === 4 ? t.grid_sampler_2d : t.grid_sampler_3d;
    return sample(input, grid, interpolation_mode, padding_mode, align_corners);
  },
  doc: "`grid_sampler_2d` or `grid_sampler_3d`, as the input's rank says.",
});

op("affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor", {
  decompose: (t, { theta, size, align_corners }) => {
    const [n, , ...sizes] = size;
    const dims = sizes.length;
    const options = { dtype: theta.dtype, device: theta.device };
    const axis = (count: number): Tensor => {
      if (count <= 1) return t.zeros([count], options);
      const line = t.linspace(-1, 1, count, options);
      return align_corners ? line : t.mul(line, (count - 1) / count);
    };
    const columns = sizes.map((count, i) =>
      t.expand(
        t.reshape(
          axis(count),
          sizes.map((_, k) => (k === i ? count : 1)),
        ),
        sizes,
      ),
    );
    const base = t.stack([...columns.reverse(), t.ones(sizes, options)], -1);
    const rows = sizes.reduce((a, b) => a * b, 1);
    const points = t.expand(t.reshape(base, [1, rows, dims + 1]), [n, rows, dims + 1]);
    return t.reshape(t.bmm(points, t.transpose(theta, 1, 2)), [n, ...sizes, dims]);
  },
  doc: "The grid that affine maps make of an output of a given size.",
});
