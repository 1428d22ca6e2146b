/** @file Discrete Fourier transforms over any dimensions: what the functions of `torch.fft` are made of. */
import type { Builder, FftType, Value } from "../hlo/index.js";
import { TorchError, wrapDims } from "../schema/index.js";
import { cast, scalarTypeName } from "./helpers.js";
import { op } from "./registry.js";

/** How a transform is scaled: PyTorch's `fft_norm_mode`. */
export const enum FftNorm {
  none,
  byRootN,
  byN,
}

const product = (xs: readonly number[]): number => xs.reduce((a, b) => a * b, 1);

/** Moves `dims`, in this order, to the end; `f` of that; moves them back. */
function overLast(h: Builder, x: Value, dims: readonly number[], f: (x: Value) => Value): Value {
  const order = [...x.shape.keys()].filter((d) => !dims.includes(d)).concat(dims);
  if (order.every((d, i) => d === i)) return f(x);
  const back = order.map((_, d) => order.indexOf(d));
  return h.transpose(f(h.transpose(x, order)), back);
}

function scaled(h: Builder, x: Value, factor: number): Value {
  if (factor === 1) return x;
  const by = (part: Value): Value => h.multiply(part, h.splat(factor, part.dtype, part.shape));
  return x.dtype.is_complex ? h.complex(by(h.real(x)), by(h.imag(x))) : by(x);
}

/** What the sum over `n` points is multiplied by, `done` being what StableHLO's inverse has multiplied by already. */
function factorOf(normalization: number, n: number, inverse: boolean): number {
  const wanted = normalization === FftNorm.byN ? 1 / n : normalization === FftNorm.byRootN ? 1 / Math.sqrt(n) : 1;
  if (!inverse) return wanted;
  return normalization === FftNorm.byN ? 1 : normalization === FftNorm.byRootN ? Math.sqrt(n) : n;
}

/** A transform of complex numbers over `dims`, three of them at a time, which is what StableHLO allows. */
function complexTransform(h: Builder, x: Value, dims: readonly number[], type: "FFT" | "IFFT"): Value {
  let out = x;
  for (let i = 0; i < dims.length; i += 3) {
    const some = dims.slice(i, i + 3);
    out = overLast(h, out, some, (y) =>
      h.fft(
        y,
        type,
        some.map((d) => x.shape[d]),
      ),
    );
  }
  return out;
}

/** The last of `dims` with `type`, from real or to real numbers. */
const realTransform = (h: Builder, x: Value, dim: number, type: FftType, length: number): Value =>
  overLast(h, x, [dim], (y) => h.fft(y, type, [length]));

function checkComplex(x: Value): void {
  if (!x.dtype.is_complex) throw new TorchError(`Only supports complex dtypes, but found: ${scalarTypeName(x.dtype)}`);
}

op("_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor", {
  lower: (h, { self, dim, normalization, forward }) => {
    checkComplex(self);
    const dims = wrapDims(dim, self.rank, false);
    if (dims.length === 0 || self.numel === 0) return self;
    const y = complexTransform(h, self, dims, forward ? "FFT" : "IFFT");
    return scaled(h, y, factorOf(normalization, product(dims.map((d) => self.shape[d])), !forward));
  },
  grad: (t, { dim, normalization, forward }, dy) => ({ self: t._fft_c2c(dy, dim, normalization, !forward) }),
  doc: "Fourier transform of complex numbers.",
});

op("_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor", {
  lower: (h, { self, dim, normalization, onesided }) => {
    if (!self.dtype.is_floating_point)
      throw new TorchError(`Only supports floating-point dtypes, but found: ${scalarTypeName(self.dtype)}`);
    const dims = wrapDims(dim, self.rank, false);
    const complex = self.dtype.to_complex();
    const last = dims.at(-1);
    if (last === undefined) return cast(h, self, complex);
    const half = [...self.shape];
    if (onesided) half[last] = Math.floor(half[last] / 2) + 1;
    if (self.numel === 0) return h.splat(0, complex, half);
    const y = onesided
      ? complexTransform(h, realTransform(h, self, last, "RFFT", self.shape[last]), dims.slice(0, -1), "FFT")
      : complexTransform(h, cast(h, self, complex), dims, "FFT");
    return scaled(h, y, factorOf(normalization, product(dims.map((d) => self.shape[d])), false));
  },
  grad: (t, { self, dim, normalization, onesided }, dy) => {
    if (!onesided) return { self: t.real(t._fft_c2c(dy, dim, normalization, false)) };
    // The other half of the spectrum was not returned: it gets no cotangent.
    const last = wrapDims(dim, self.ndim, false).at(-1)!;
    const missing = self.shape[last] - dy.shape[last];
    const pad = [...Array<number>(2 * (self.ndim - last - 1)).fill(0), 0, missing];
    const whole = missing > 0 ? t.constant_pad_nd(dy, pad) : dy;
    return { self: t.real(t._fft_c2c(whole, dim, normalization, false)) };
  },
  doc: "Fourier transform of real numbers; `onesided` gives the half that determines the other.",
});

op("_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor", {
  lower: (h, { self, dim, normalization, last_dim_size }) => {
    checkComplex(self);
    const dims = wrapDims(dim, self.rank, false);
    const last = dims.at(-1);
    if (last === undefined) return h.real(self);
    const shape = [...self.shape];
    shape[last] = last_dim_size;
    if (self.numel === 0) return h.splat(0, self.dtype.to_real(), shape);
    const limit = [...self.shape];
    limit[last] = Math.floor(last_dim_size / 2) + 1;
    if (limit[last] > self.shape[last])
      throw new TorchError(
        `_fft_c2r: expected at least ${limit[last]} elements in dimension ${last} for ${last_dim_size} points, got ${self.shape[last]}`,
      );
    const half = limit[last] === self.shape[last] ? self : h.slice(self, limit.map(() => 0), limit); // prettier-ignore
    const y = realTransform(h, complexTransform(h, half, dims.slice(0, -1), "IFFT"), last, "IRFFT", last_dim_size);
    return scaled(h, y, factorOf(normalization, product(dims.map((d) => shape[d])), true));
  },
  grad: (t, { self, dim, normalization, last_dim_size }, dy) => {
    const last = wrapDims(dim, self.ndim, false).at(-1);
    if (last === undefined) return { self: t.complex(dy, t.zeros_like(dy)) };
    const half = t._fft_r2c(dy, dim, normalization, true);
    // All but the first, and of an even number the last, stand for two elements of the whole spectrum.
    const n = half.shape[last];
    const twice = last_dim_size - n;
    const index = t.arange(n, { device: dy.device });
    const weight = t.add(t._to_copy(t.logical_and(t.ge(index, 1), t.le(index, twice)), { dtype: dy.dtype }), 1);
    const along = half.shape.map((_, d) => (d === last ? n : 1));
    const dx = t.mul(half, t.reshape(weight, along));
    const more = self.shape[last] - n;
    const pad = [...Array<number>(2 * (self.ndim - last - 1)).fill(0), 0, more];
    return { self: more > 0 ? t.constant_pad_nd(dx, pad) : dx };
  },
  doc: "Inverse Fourier transform to real numbers, from the half of the spectrum that determines the other.",
});
