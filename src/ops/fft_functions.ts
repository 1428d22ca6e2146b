/** @file `torch.fft`: transforms of one and of several dimensions, sample frequencies, shifts. */
import * as dt from "../schema/dtype.js";
import {
  get_default_dtype,
  TorchError,
  TorchIndexError,
  TorchNotImplementedError,
  wrapDim,
  wrapDims,
} from "../schema/index.js";
import type { DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { FftNorm } from "./fft.js";
import { scalarTypeName } from "./helpers.js";
import { notDifferentiable, op, type Torch } from "./registry.js";

/** The scale that a name stands for; without a name, inverses divide by the number of points. */
function normOf(norm: string | null, forward: boolean): FftNorm {
  if (norm === null || norm === "backward") return forward ? FftNorm.none : FftNorm.byN;
  if (norm === "forward") return forward ? FftNorm.byN : FftNorm.none;
  if (norm === "ortho") return FftNorm.byRootN;
  throw new TorchError(`Invalid normalization mode: "${norm}"`);
}

/** `x` in a type that can be transformed: integers as the default float type. */
function promoted(t: Torch, x: Tensor, complex: boolean): Tensor {
  const from = x.dtype;
  if (from.is_complex) return x;
  const real = from.is_floating_point ? from : get_default_dtype();
  if (real !== dt.float32 && real !== dt.float64) throw new TorchError(`Unsupported dtype ${scalarTypeName(real)}`);
  const to = complex ? real.to_complex() : real;
  return to === from ? x : t._to_copy(x, { dtype: to });
}

function checkPoints(n: number): void {
  if (n < 1) throw new TorchError(`Invalid number of data points (${n}) specified`);
}

/** `x` cut or filled up with zeros to `sizes` in `dims`. */
function resized(t: Torch, x: Tensor, dims: readonly number[], sizes: readonly number[]): Tensor {
  const pad = Array<number>(2 * x.ndim).fill(0);
  let out = x;
  dims.forEach((d, i) => {
    const have = x.shape[d];
    if (have < sizes[i]) pad[2 * (x.ndim - d) - 1] = sizes[i] - have;
    if (have > sizes[i]) out = t.slice(out, d, 0, sizes[i], 1);
  });
  return pad.some((n) => n > 0) ? t.constant_pad_nd(out, pad) : out;
}

interface One {
  readonly self: Tensor;
  readonly n: number | null;
  readonly dim: number;
  readonly norm: string | null;
}

function fromReal(t: Torch, name: string, { self, n, dim, norm }: One, forward: boolean, onesided: boolean): Tensor {
  if (self.is_complex())
    throw new TorchError(`${name} expects a real input tensor, but got ${scalarTypeName(self.dtype)}`);
  const input = promoted(t, self, false);
  const d = wrapDim1(dim, self);
  const points = n ?? input.shape[d];
  checkPoints(points);
  const y = t._fft_r2c(resized(t, input, [d], [points]), [d], normOf(norm, forward), onesided);
  return forward ? y : t.conj(y);
}

function toReal(t: Torch, { self, n, dim, norm }: One, forward: boolean): Tensor {
  const input = promoted(t, self, true);
  const d = wrapDim1(dim, self);
  const points = n ?? 2 * (input.shape[d] - 1);
  checkPoints(points);
  const x = n === null ? input : resized(t, input, [d], [Math.floor(n / 2) + 1]);
  return t._fft_c2r(forward ? t.conj(x) : x, [d], normOf(norm, forward), points);
}

function complexToComplex(t: Torch, { self, n, dim, norm }: One, forward: boolean): Tensor {
  const d = wrapDim1(dim, self);
  const points = n ?? self.shape[d];
  checkPoints(points);
  return t._fft_c2c(resized(t, self, [d], [points]), [d], normOf(norm, forward), forward);
}

function wrapDim1(dim: number, x: Tensor): number {
  checkRank(x, dim);
  return wrapDim(dim, x.ndim);
}

function checkRank(x: Tensor, dim: number): void {
  if (x.ndim === 0) throw new TorchIndexError(`Dimension specified as ${dim} but tensor has no dimensions`);
}

const one = "Tensor self, SymInt? n=None, int dim=-1, str? norm=None" as const;

for (const [name, forward, doc] of [
  ["fft", true, "Fourier transform."],
  ["ifft", false, "Inverse Fourier transform."],
] as const) {
  op(`fft_${name}(${one}) -> Tensor`, {
    decompose: (t, args) =>
      args.self.is_complex() ? complexToComplex(t, args, forward) : fromReal(t, name, args, forward, false),
    doc,
  });
}
op(`fft_rfft(${one}) -> Tensor`, {
  decompose: (t, args) => fromReal(t, "rfft", args, true, true),
  doc: "Fourier transform of real numbers, without the half that follows from the other.",
});
op(`fft_ihfft(${one}) -> Tensor`, {
  decompose: (t, args) => fromReal(t, "ihfft", args, false, true),
  doc: "The inverse of `hfft`.",
});
op(`fft_irfft(${one}) -> Tensor`, {
  decompose: (t, args) => toReal(t, args, false),
  doc: "The inverse of `rfft`.",
});
op(`fft_hfft(${one}) -> Tensor`, {
  decompose: (t, args) => toReal(t, args, true),
  doc: "Fourier transform of a signal of which half is given, the other being its conjugate.",
});

interface Several {
  readonly self: Tensor;
  readonly s: readonly number[] | number | null;
  readonly dim: readonly number[] | number | null;
  readonly norm: string | null;
}

const listOf = (x: readonly number[] | number | null): readonly number[] | null => (typeof x === "number" ? [x] : x);

/** The dimensions to transform and the number of points of each. */
function plan({ self, s, dim }: Several): { dims: number[]; sizes: number[] } {
  const sizes = listOf(s);
  const given = listOf(dim);
  if (given) {
    given.forEach((d) => checkRank(self, d));
    const wrapped = given.map((d) => wrapDim(d, self.ndim));
    if (new Set(wrapped).size < wrapped.length) throw new TorchError("FFT dims must be unique");
  }
  const wrapped = given?.map((d) => wrapDim(d, self.ndim));
  if (sizes && wrapped && sizes.length !== wrapped.length)
    throw new TorchError("When given, dim and shape arguments must have the same length");
  if (sizes && sizes.length > self.ndim)
    throw new TorchError(`Got shape with ${sizes.length} values but input tensor only has ${self.ndim} dimensions.`);
  const skipped = sizes ? self.ndim - sizes.length : 0;
  const dims = wrapped ?? [...self.shape.keys()].slice(skipped);
  const points = dims.map((d, i) => (!sizes || sizes[i] === -1 ? self.shape[d] : sizes[i]));
  points.forEach(checkPoints);
  return { dims, sizes: points };
}

/** The plan for half a spectrum: sizes of the input, and the number of real points of the last dimension. */
function halfPlan(name: string, args: Several): { dims: number[]; sizes: number[]; last: number } {
  const { dims, sizes } = plan(args);
  if (dims.length === 0) throw new TorchError(`${name} must transform at least one axis`);
  const s = listOf(args.s);
  const open = !s || s.at(-1) === -1;
  const last = open ? 2 * (args.self.shape[dims.at(-1)!] - 1) : sizes.at(-1)!;
  checkPoints(last);
  return { dims, sizes: [...sizes.slice(0, -1), Math.floor(last / 2) + 1], last };
}

function fftn(t: Torch, args: Several, forward: boolean): Tensor {
  const { dims, sizes } = plan(args);
  const x = resized(t, promoted(t, args.self, true), dims, sizes);
  return t._fft_c2c(x, dims, normOf(args.norm, forward), forward);
}

function checkRealInput(name: string, x: Tensor): void {
  if (x.is_complex())
    throw new TorchError(`${name} expects a real-valued input tensor, but got ${scalarTypeName(x.dtype)}`);
}

function rfftn(t: Torch, args: Several): Tensor {
  checkRealInput("rfftn", args.self);
  const { dims, sizes } = plan(args);
  if (dims.length === 0) throw new TorchError("rfftn must transform at least one axis");
  const x = resized(t, promoted(t, args.self, false), dims, sizes);
  return t._fft_r2c(x, dims, normOf(args.norm, true), true);
}

function ihfftn(t: Torch, args: Several): Tensor {
  checkRealInput("ihfftn", args.self);
  const { dims, sizes } = plan(args);
  if (dims.length === 0) throw new TorchError("ihfftn must transform at least one axis");
  const x = resized(t, promoted(t, args.self, false), dims, sizes);
  const norm = normOf(args.norm, false);
  const y = t.conj(t._fft_r2c(x, dims.slice(-1), norm, true));
  return dims.length === 1 ? y : t._fft_c2c(y, dims.slice(0, -1), norm, false);
}

function irfftn(t: Torch, args: Several): Tensor {
  const { dims, sizes, last } = halfPlan("irfftn", args);
  const x = resized(t, promoted(t, args.self, true), dims, sizes);
  return t._fft_c2r(x, dims, normOf(args.norm, false), last);
}

function hfftn(t: Torch, args: Several): Tensor {
  const { dims, sizes, last } = halfPlan("hfftn", args);
  const x = resized(t, promoted(t, args.self, true), dims, sizes);
  const norm = normOf(args.norm, true);
  const y = dims.length === 1 ? x : t._fft_c2c(x, dims.slice(0, -1), norm, true);
  return t._fft_c2r(t.conj(y), dims.slice(-1), norm, last);
}

for (const [name, transform, doc] of [
  ["fft", (t: Torch, a: Several) => fftn(t, a, true), "Fourier transform"],
  ["ifft", (t: Torch, a: Several) => fftn(t, a, false), "Inverse Fourier transform"],
  ["rfft", rfftn, "Fourier transform of real numbers, half of the last dimension,"],
  ["irfft", irfftn, "Inverse of `rfft`"],
  ["hfft", hfftn, "Fourier transform of a signal given by half"],
  ["ihfft", ihfftn, "Inverse of `hfft`"],
] as const) {
  op(`fft_${name}n(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor`, {
    decompose: (t, args) => transform(t, args),
    doc: `${doc} over several dimensions.`,
  });
  op(`fft_${name}2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor`, {
    decompose: (t, args) => transform(t, args),
    doc: `${doc} over two dimensions.`,
  });
}

const tail = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None" as const;

/** The type of frequencies. */
function frequencyType(name: string, dtype: DType | null): DType {
  const out = dtype ?? get_default_dtype();
  if (!out.is_differentiable) throw new TorchError(`${name} requires a floating point or complex dtype`);
  if (out.is_complex) throw new TorchNotImplementedError(`"arange_cpu" not implemented for '${scalarTypeName(out)}'`);
  return out;
}

op(`fft_fftfreq(int n, float d=1., *, ${tail}) -> Tensor`, {
  lower: (h, { n, d, dtype }) => {
    const out = frequencyType("fftfreq", dtype);
    const index = h.iota(dt.int64, [n], 0);
    const at = (x: number) => h.splat(x, dt.int64, [n]);
    const whole = h.select(h.compare(index, at(Math.ceil(n / 2)), "LT"), index, h.subtract(index, at(n)));
    return h.multiply(h.convert(whole, out), h.splat(1 / (n * d), out, [n]));
  },
  grad: notDifferentiable,
  factory: true,
  doc: "Frequencies of the elements of a transform of `n` samples `d` apart.",
});
op(`fft_rfftfreq(int n, float d=1., *, ${tail}) -> Tensor`, {
  lower: (h, { n, d, dtype }) => {
    const out = frequencyType("rfftfreq", dtype);
    const shape = [Math.floor(n / 2) + 1];
    return h.multiply(h.convert(h.iota(dt.int64, shape, 0), out), h.splat(1 / (n * d), out, shape));
  },
  grad: notDifferentiable,
  factory: true,
  doc: "Frequencies of the elements of `rfft` of `n` samples `d` apart.",
});

for (const [name, up, doc] of [
  ["fftshift", 0, "Moves the frequency zero to the middle."],
  ["ifftshift", 1, "The inverse of `fftshift`."],
] as const) {
  op(`fft_${name}(Tensor self, int[1]? dim=None) -> Tensor`, {
    decompose: (t, { self, dim }) => {
      const given = listOf(dim as readonly number[] | number | null);
      given?.forEach((d) => checkRank(self, d));
      const dims = given ? wrapDims(given, self.ndim, false) : [...self.shape.keys()];
      const shifts = dims.map((d) => Math.floor((self.shape[d] + up) / 2));
      return t.roll(self, shifts, dims);
    },
    doc,
  });
}
