/** @file Layers that rearrange or resize: Flatten, Unflatten, Fold, Unfold, PixelShuffle, Upsample. */
import * as F from "../functional/vision.js";
import { pythonText } from "../printing.js";
import { functionLayer } from "./function_layer.js";

type Ints = number | readonly number[];

/** Joins the dimensions from start_dim to end_dim; all but the batch unless given. */
export class Flatten extends functionLayer(
  "Flatten.__init__(int start_dim=1, int end_dim=-1)",
  (m, x) => x.flatten(m.start_dim, m.end_dim),
  { repr: (m) => `start_dim=${m.start_dim}, end_dim=${m.end_dim}` },
) {}
/** Splits a dimension into several. */
export class Unflatten extends functionLayer(
  "Unflatten.__init__(int dim, ints unflattened_size)",
  (m, x) => x.unflatten(m.dim, typeof m.unflattened_size === "number" ? [m.unflattened_size] : m.unflattened_size),
  { repr: (m) => `dim=${m.dim}, unflattened_size=${pythonText(m.unflattened_size)}` },
) {}
/** Sums columns of windows into an image. */
export class Fold extends functionLayer(
  "Fold.__init__(ints output_size, ints kernel_size, ints dilation=1, ints padding=0, ints stride=1)",
  (m, x) => F.fold(x, m.output_size, m.kernel_size, m.dilation, m.padding, m.stride),
  {
    repr: (m) =>
      `output_size=${pythonText(m.output_size)}, kernel_size=${pythonText(m.kernel_size)}, dilation=${pythonText(m.dilation)}, padding=${pythonText(m.padding)}, stride=${pythonText(m.stride)}`,
  },
) {}
/** Every window of an image as a column. */
export class Unfold extends functionLayer(
  "Unfold.__init__(ints kernel_size, ints dilation=1, ints padding=0, ints stride=1)",
  (m, x) => F.unfold(x, m.kernel_size, m.dilation, m.padding, m.stride),
  {
    repr: (m) =>
      `kernel_size=${pythonText(m.kernel_size)}, dilation=${pythonText(m.dilation)}, padding=${pythonText(m.padding)}, stride=${pythonText(m.stride)}`,
  },
) {}
/** (N, C · r², H, W) as (N, C, H · r, W · r). */
export class PixelShuffle extends functionLayer(
  "PixelShuffle.__init__(int upscale_factor)",
  (m, x) => F.pixel_shuffle(x, m.upscale_factor),
  { repr: (m) => `upscale_factor=${m.upscale_factor}` },
) {}
/** (N, C, H · r, W · r) as (N, C · r², H, W). */
export class PixelUnshuffle extends functionLayer(
  "PixelUnshuffle.__init__(int downscale_factor)",
  (m, x) => F.pixel_unshuffle(x, m.downscale_factor),
  { repr: (m) => `downscale_factor=${m.downscale_factor}` },
) {}
/** Mixes the channels of groups. */
export class ChannelShuffle extends functionLayer(
  "ChannelShuffle.__init__(int groups)",
  (m, x) => F.channel_shuffle(x, m.groups),
  { repr: (m) => `groups=${m.groups}` },
) {}

const upsampleText = (m: { size: Ints | null; scale_factor: Ints | null; mode: string }): string => {
  // scale factors are floats in PyTorch
  const scale = (x: Ints): string => {
    const one = (n: number): string => (Number.isInteger(n) ? `${n}.0` : pythonText(n));
    return typeof x === "number" ? one(x) : `(${x.map(one).join(", ")})`;
  };
  const first = m.scale_factor === null ? `size=${pythonText(m.size)}` : `scale_factor=${scale(m.scale_factor)}`;
  return `${first}, mode='${m.mode}'`;
};

/** Resizes an image. mode: nearest, linear, bilinear, bicubic or trilinear. */
export class Upsample extends functionLayer(
  "Upsample.__init__(ints? size=None, floats? scale_factor=None, str mode='nearest', bool? align_corners=None, bool? recompute_scale_factor=None)",
  ({ size, scale_factor, mode, align_corners, recompute_scale_factor }, input) =>
    F.interpolate(input, { size, scale_factor, mode, align_corners, recompute_scale_factor }),
  { repr: upsampleText },
) {}
/** Resizes an image to the nearest pixels. */
export class UpsamplingNearest2d extends functionLayer(
  "UpsamplingNearest2d.__init__(ints? size=None, floats? scale_factor=None)",
  ({ size, scale_factor }, input) => F.interpolate(input, { size, scale_factor, mode: "nearest" }),
  { repr: (m) => upsampleText({ size: m.size, scale_factor: m.scale_factor, mode: "nearest" }) },
) {}
/** Resizes an image bilinearly, corners aligned. */
export class UpsamplingBilinear2d extends functionLayer(
  "UpsamplingBilinear2d.__init__(ints? size=None, floats? scale_factor=None)",
  ({ size, scale_factor }, input) =>
    F.interpolate(input, { size, scale_factor, mode: "bilinear", align_corners: true }),
  { repr: (m) => upsampleText({ size: m.size, scale_factor: m.scale_factor, mode: "bilinear" }) },
) {}
