/** @file Image blocks as columns and back; channels as pixels and back. */
import { sizeText, TorchError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { op, type Torch } from "./registry.js";

interface Blocks {
  readonly kernel_size: readonly number[];
  readonly dilation: readonly number[];
  readonly padding: readonly number[];
  readonly stride: readonly number[];
}

/** How many blocks fit along each of the two dimensions. */
const counts = (sizes: readonly number[], b: Blocks): number[] =>
  sizes.map(
    (n, i) => Math.floor((n + 2 * b.padding[i] - b.dilation[i] * (b.kernel_size[i] - 1) - 1) / b.stride[i]) + 1,
  );

function checkBlocks(name: string, b: Blocks, sizes: readonly number[]): number[] {
  for (const key of ["kernel_size", "dilation", "stride"] as const)
    if (b[key].some((n) => n <= 0))
      throw new TorchError(
        `${name}: ${key.replace("_size", " size")} should be greater than zero, but got ${key}: ${b[key].join(" ")}`,
      );
  if (b.padding.some((n) => n < 0))
    throw new TorchError(`padding should be non-negative, but got padding: ${b.padding.join(" ")}`);
  const out = counts(sizes, b);
  if (out.some((n) => n < 1))
    throw new TorchError(
      `Given input with spatial size (${sizes.join(", ")}), kernel_size=(${b.kernel_size.join(", ")}), dilation=(${b.dilation.join(", ")}), padding=(${b.padding.join(", ")}), calculated shape of the array of sliding blocks as (${out.join(", ")}), but its components must be at least one.`,
    );
  return out;
}

/** One strided window of the padded image for each place in the kernel. */
function windows(
  b: Blocks,
  blocks: readonly number[],
  each: (i: number, j: number, ranges: [number, number][]) => void,
): void {
  for (let i = 0; i < b.kernel_size[0]; i++)
    for (let j = 0; j < b.kernel_size[1]; j++) {
      const range = (k: number, d: number): [number, number] => {
        const start = k * b.dilation[d];
        return [start, start + (blocks[d] - 1) * b.stride[d] + 1];
      };
      each(i, j, [range(i, 0), range(j, 1)]);
    }
}

const framed = (t: Torch, x: Tensor, b: Blocks): Tensor =>
  b.padding.some((p) => p > 0) ? t.constant_pad_nd(x, [b.padding[1], b.padding[1], b.padding[0], b.padding[0]], 0) : x;

function im2col(t: Torch, x: Tensor, b: Blocks): Tensor {
  const [n, c, h, w] = x.shape;
  const blocks = checkBlocks("im2col", b, [h, w]);
  const image = framed(t, x, b);
  const parts: Tensor[] = [];
  windows(b, blocks, (_i, _j, [rows, columns]) => {
    const part = t.slice(t.slice(image, 2, rows[0], rows[1], b.stride[0]), 3, columns[0], columns[1], b.stride[1]);
    parts.push(part);
  });
  return t.reshape(t.stack(parts, 2), [n, c * parts.length, blocks[0] * blocks[1]]);
}

op("im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", {
  decompose: (t, { self, ...b }) => {
    const batch = self.ndim === 4;
    if (!batch && self.ndim !== 3)
      throw new TorchError(
        `Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ${sizeText(self.shape)}`,
      );
    const out = im2col(t, batch ? self : t.unsqueeze(self, 0), b);
    return batch ? out : t.squeeze(out, 0);
  },
  grad: (t, { self, kernel_size, dilation, padding, stride }, dy) => ({
    self: t.col2im(dy, self.shape.slice(-2), kernel_size, dilation, padding, stride),
  }),
  doc: "Sliding blocks of an image as columns.",
});

function col2im(t: Torch, x: Tensor, sizes: readonly number[], b: Blocks): Tensor {
  const blocks = checkBlocks("col2im", b, sizes);
  const area = b.kernel_size[0] * b.kernel_size[1];
  const [n, ck, length] = x.shape;
  if (ck % area !== 0)
    throw new TorchError(
      `Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)=${ck} and kernel_size=(${b.kernel_size.join(", ")}).`,
    );
  if (length !== blocks[0] * blocks[1])
    throw new TorchError(
      `Given output_size=(${sizes.join(", ")}), kernel_size=(${b.kernel_size.join(", ")}), dilation=(${b.dilation.join(", ")}), padding=(${b.padding.join(", ")}), stride=(${b.stride.join(", ")}), expected size of input's dimension 2 to match the calculated number of sliding blocks ${blocks.join(" * ")} = ${blocks[0] * blocks[1]}, but got input.size(2)=${length}.`,
    );
  const c = ck / area;
  const columns = t.reshape(x, [n, c, area, blocks[0], blocks[1]]);
  const frame = sizes.map((s, d) => s + 2 * b.padding[d]);
  let sum: Tensor | null = null;
  let k = 0;
  windows(b, blocks, (_i, _j, ranges) => {
    const term = t._spread(
      t.select(columns, 2, k++),
      frame,
      ranges.map((r) => r[0]),
      b.stride,
    );
    sum = sum === null ? term : t.add(sum, term);
  });
  const image = sum! as Tensor;
  return b.padding.some((p) => p > 0)
    ? t.constant_pad_nd(image, [-b.padding[1], -b.padding[1], -b.padding[0], -b.padding[0]], 0)
    : image;
}

/** The last two dimensions set apart by strides from given starts, zeros in between and around. */
op("_spread(Tensor self, SymInt[] frame, SymInt[] starts, SymInt[] strides) -> Tensor", {
  lower: (h, { self, frame, starts, strides }) => {
    const lead = self.rank - 2;
    const at = (xs: readonly number[]): number[] => [...new Array<number>(lead).fill(0), ...xs];
    const ends = frame.map((n, d) => n - starts[d] - ((self.shape[lead + d] - 1) * strides[d] + 1));
    return h.pad(self, h.constant(0, self.dtype), at(starts), at(ends), at(strides.map((s) => s - 1)));
  },
  grad: (t, { self, starts, strides }, dy) => {
    const cut = (x: Tensor, d: number): Tensor => {
      const count = self.shape[self.ndim - 2 + d];
      return t.slice(x, self.ndim - 2 + d, starts[d], starts[d] + (count - 1) * strides[d] + 1, strides[d]);
    };
    return { self: cut(cut(dy, 0), 1) };
  },
  doc: "The last two dimensions set apart by strides from given starts, zeros elsewhere.",
});

op(
  "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
  {
    decompose: (t, { self, output_size, ...b }) => {
      const batch = self.ndim === 3;
      if (!batch && self.ndim !== 2)
        throw new TorchError(
          `Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but got: ${sizeText(self.shape)}`,
        );
      const out = col2im(t, batch ? self : t.unsqueeze(self, 0), output_size, b);
      return batch ? out : t.squeeze(out, 0);
    },
    grad: (t, { kernel_size, dilation, padding, stride }, dy) => ({
      self: t.im2col(dy, kernel_size, dilation, padding, stride),
    }),
    doc: "Columns as sliding blocks of an image; where blocks overlap they are added.",
  },
);

op("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", {
  decompose: (t, { self, upscale_factor: r }) => {
    if (self.ndim < 3)
      throw new TorchError(
        `pixel_shuffle expects input to have at least 3 dimensions, but got input with ${self.ndim} dimension(s)`,
      );
    if (r <= 0) throw new TorchError(`pixel_shuffle expects a positive upscale_factor, but got ${r}`);
    const [c, h, w] = self.shape.slice(-3);
    if (c % (r * r) !== 0)
      throw new TorchError(
        `pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but input.size(-3)=${c} is not divisible by ${r * r}`,
      );
    const lead = self.shape.slice(0, -3);
    const n = lead.length;
    const x = t.reshape(self, [...lead, c / (r * r), r, r, h, w]);
    const order = [...lead.map((_, i) => i), n, n + 3, n + 1, n + 4, n + 2];
    return t.reshape(t.permute(x, order), [...lead, c / (r * r), h * r, w * r]);
  },
  doc: "Channels as pixels: (C·r², H, W) becomes (C, H·r, W·r).",
});
op("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", {
  decompose: (t, { self, downscale_factor: r }) => {
    if (self.ndim < 3)
      throw new TorchError(
        `pixel_unshuffle expects input to have at least 3 dimensions, but got input with ${self.ndim} dimension(s)`,
      );
    if (r <= 0) throw new TorchError(`pixel_unshuffle expects a positive downscale_factor, but got ${r}`);
    const [c, h, w] = self.shape.slice(-3);
    if (h % r !== 0 || w % r !== 0)
      throw new TorchError(
        `pixel_unshuffle expects ${h % r !== 0 ? "height" : "width"} to be divisible by downscale_factor, but input.size(${h % r !== 0 ? -2 : -1})=${h % r !== 0 ? h : w} is not divisible by ${r}`,
      );
    const lead = self.shape.slice(0, -3);
    const n = lead.length;
    const x = t.reshape(self, [...lead, c, h / r, r, w / r, r]);
    const order = [...lead.map((_, i) => i), n, n + 2, n + 4, n + 1, n + 3];
    return t.reshape(t.permute(x, order), [...lead, c * r * r, h / r, w / r]);
  },
  doc: "Pixels as channels: (C, H·r, W·r) becomes (C·r², H, W).",
});

for (const name of ["channel_shuffle", "native_channel_shuffle"] as const) {
  op(`${name}(Tensor self, SymInt groups) -> Tensor` as "channel_shuffle(Tensor self, SymInt groups) -> Tensor", {
    decompose: (t, { self, groups }) => {
      if (self.ndim < 3)
        throw new TorchError(
          `channel_shuffle expects input with > 2 dims, but got input with sizes ${sizeText(self.shape)}`,
        );
      const [n, c, ...rest] = self.shape;
      if (groups <= 0)
        throw new TorchError(`Number of groups to divide channels in must be positive. Value of groups:${groups}`);
      if (c % groups !== 0)
        throw new TorchError(`Number of channels must be divisible by groups. Got ${c} channels and ${groups} groups.`);
      const x = t.transpose(t.reshape(self, [n, groups, c / groups, ...rest]), 1, 2);
      return t.reshape(x, self.shape);
    },
    doc: "Channels reordered so that groups are interleaved.",
  });
}
