/** @file nn.functional: padding, resizing, sampling and rearranging images. */
import { TorchNotImplementedError, TorchValueError } from "../../schema/index.js";
import type { Tensor } from "../../tensor/index.js";
import { aten, t } from "../aten.js";
import { define } from "../signature.js";

export const pad = aten("pad");
export const pixel_shuffle = aten("pixel_shuffle");
export const pixel_unshuffle = aten("pixel_unshuffle");
export const channel_shuffle = aten("channel_shuffle");
export const native_channel_shuffle = aten("native_channel_shuffle");

type Sizes = readonly number[] | null;
type Resize = (input: Tensor, size: Sizes, scales: Sizes, align_corners: boolean) => Tensor;

/** Modes of interpolate by the rank of the input. */
const resizers: Record<string, Resize | undefined> = {
  "nearest/3": (x, size, scales) => t.upsample_nearest1d(x, size, scales),
  "nearest/4": (x, size, scales) => t.upsample_nearest2d(x, size, scales),
  "nearest/5": (x, size, scales) => t.upsample_nearest3d(x, size, scales),
  "nearest-exact/3": (x, size, scales) => t._upsample_nearest_exact1d(x, size, scales),
  "nearest-exact/4": (x, size, scales) => t._upsample_nearest_exact2d(x, size, scales),
  "nearest-exact/5": (x, size, scales) => t._upsample_nearest_exact3d(x, size, scales),
  "area/3": (x, size) => t.adaptive_avg_pool1d(x, size!),
  "area/4": (x, size) => t.adaptive_avg_pool2d(x, size!),
  "area/5": (x, size) => t.adaptive_avg_pool3d(x, size!),
  "linear/3": (x, size, scales, align) => t.upsample_linear1d(x, size, align, scales),
  "bilinear/4": (x, size, scales, align) => t.upsample_bilinear2d(x, size, align, scales),
  "trilinear/5": (x, size, scales, align) => t.upsample_trilinear3d(x, size, align, scales),
  "bicubic/4": (x, size, scales, align) => t.upsample_bicubic2d(x, size, align, scales),
};
const antialiased: Record<string, Resize | undefined> = {
  "bilinear/4": (x, size, scales, align) => t._upsample_bilinear2d_aa(x, size, align, scales),
  "bicubic/4": (x, size, scales, align) => t._upsample_bicubic2d_aa(x, size, align, scales),
};

/** The rank that a mode needs, for its error. */
const ranks: Record<string, number | undefined> = { linear: 3, bilinear: 4, trilinear: 5 };

function unsupported(rank: number, mode: string): TorchNotImplementedError {
  if (rank >= 3 && rank <= 5 && ranks[mode] !== undefined)
    return new TorchNotImplementedError(`Got ${rank}D input, but ${mode} mode needs ${ranks[mode]}D input`);
  return new TorchNotImplementedError(
    `Input Error: Only 3D, 4D and 5D input Tensors supported (got ${rank}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got ${mode})`,
  );
}

const list = (x: readonly number[]): string => `[${x.join(", ")}]`;

/** One number for every spatial dimension. */
function perDimension(x: number | readonly number[], input: Tensor, what: "size" | "scale_factor"): readonly number[] {
  const dims = input.ndim - 2;
  if (typeof x === "number") return new Array<number>(Math.max(0, dims)).fill(x);
  if (x.length === dims) return x;
  const spatial = list(input.shape.slice(2));
  throw new TorchValueError(
    what === "size"
      ? `Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of ${spatial} and output size of ${list(x)}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format.`
      : `Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of ${spatial} and scale_factor of shape ${list(x)}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format.`,
  );
}

/**
 * Resizes the spatial dimensions of (N, C, L), (N, C, H, W) or (N, C, D, H, W).
 * mode: nearest, nearest-exact, linear, bilinear, bicubic, trilinear or area.
 */
export const interpolate = define(
  "interpolate(Tensor input, ints? size=None, floats? scale_factor=None, str mode='nearest', bool? align_corners=None, bool? recompute_scale_factor=None, bool antialias=False)",
  ({ input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias }): Tensor => {
    if (["nearest", "area", "nearest-exact"].includes(mode) && align_corners !== null)
      throw new TorchValueError(
        "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear",
      );
    if (size !== null && scale_factor !== null)
      throw new TorchValueError("only one of size or scale_factor should be defined");
    if (size === null && scale_factor === null)
      throw new TorchValueError("either size or scale_factor should be defined");
    let sizes: Sizes = size === null ? null : perDimension(size, input, "size");
    let scales: Sizes = scale_factor === null ? null : perDimension(scale_factor, input, "scale_factor");
    if (recompute_scale_factor && size !== null)
      throw new TorchValueError("recompute_scale_factor is not meaningful with an explicit size.");
    if (scales !== null && (recompute_scale_factor || mode === "area")) {
      sizes = scales.map((s, i) => Math.floor(input.shape[i + 2] * s));
      scales = null;
    }
    if (antialias && !(["bilinear", "bicubic", "lanczos"].includes(mode) && input.ndim === 4))
      throw new TorchValueError(
        "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input",
      );
    const resize = (antialias ? antialiased : resizers)[`${mode}/${input.ndim}`];
    if (!resize) throw unsupported(input.ndim, mode);
    return resize(input, sizes, scales, align_corners ?? false);
  },
);

/** interpolate, by its old name. */
export const upsample = define(
  "upsample(Tensor input, ints? size=None, floats? scale_factor=None, str mode='nearest', bool? align_corners=None)",
  (a): Tensor => interpolate(a),
);
/** interpolate to the nearest pixel. */
export const upsample_nearest = define(
  "upsample_nearest(Tensor input, ints? size=None, floats? scale_factor=None)",
  (a): Tensor => interpolate({ ...a, mode: "nearest" }),
);
/** bilinear interpolate with aligned corners. */
export const upsample_bilinear = define(
  "upsample_bilinear(Tensor input, ints? size=None, floats? scale_factor=None)",
  (a): Tensor => interpolate({ ...a, mode: "bilinear", align_corners: true }),
);

const gridModes = ["bilinear", "nearest", "bicubic"];
const gridPadding = ["zeros", "border", "reflection"];

/** The input (N, C, H, W) at the places of a grid (N, H', W', 2) whose coordinates run from -1 to 1. */
export const grid_sample = define(
  "grid_sample(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', bool? align_corners=None)",
  ({ input, grid, mode, padding_mode, align_corners }): Tensor => {
    if (!gridModes.includes(mode))
      throw new TorchValueError(
        `nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '${mode}'`,
      );
    if (!gridPadding.includes(padding_mode))
      throw new TorchValueError(
        `nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '${padding_mode}'`,
      );
    return t.grid_sampler(
      input,
      grid,
      gridModes.indexOf(mode),
      gridPadding.indexOf(padding_mode),
      align_corners ?? false,
    );
  },
);

/** The grid for grid_sample that an affine map (N, 2, 3) or (N, 3, 4) makes of an output of this size. */
export const affine_grid = define(
  "affine_grid(Tensor theta, ints size, bool? align_corners=None)",
  ({ theta, size, align_corners }): Tensor => {
    const sizes = typeof size === "number" ? [size] : size;
    if (!theta.is_floating_point())
      throw new TorchValueError(`Expected theta to have floating point type, but got ${theta.dtype.toString()}`);
    const dims = sizes.length - 2;
    if (dims !== 2 && dims !== 3)
      throw new TorchNotImplementedError(
        `affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size ${list(sizes)}.`,
      );
    if (theta.ndim !== 3 || theta.shape[1] !== dims || theta.shape[2] !== dims + 1)
      throw new TorchValueError(
        `Expected a batch of ${dims}D affine matrices of shape Nx${dims}x${dims + 1} for size ${list(sizes)}. Got torch.Size(${list(theta.shape)}).`,
      );
    if (Math.min(...sizes) <= 0)
      throw new TorchValueError(`Expected non-zero, positive output size. Got ${list(sizes)}`);
    return t.affine_grid_generator(theta, sizes, align_corners ?? false);
  },
);

/** Every window of (N, C, H, W) as a column: (N, C · window, windows). */
export const unfold = define(
  "unfold(Tensor input, ints kernel_size, ints dilation=1, ints padding=0, ints stride=1)",
  (a): Tensor => t.im2col(a.input, a.kernel_size, a.dilation, a.padding, a.stride),
);
/** The inverse of unfold, where windows overlap summed. */
export const fold = define(
  "fold(Tensor input, ints output_size, ints kernel_size, ints dilation=1, ints padding=0, ints stride=1)",
  (a): Tensor => t.col2im(a.input, a.output_size, a.kernel_size, a.dilation, a.padding, a.stride),
);
