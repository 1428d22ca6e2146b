/** @file Short-time Fourier transforms: of overlapping windows of a signal, and back to the signal. */
import { TorchError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { FftNorm } from "./fft.js";
import { scalarTypeName } from "./helpers.js";
import { op, type Torch } from "./registry.js";

interface Common {
  readonly self: Tensor;
  readonly n_fft: number;
  readonly hop_length: number | null;
  readonly win_length: number | null;
  readonly window: Tensor | null;
  readonly normalized: boolean;
  readonly onesided: boolean | null;
  readonly return_complex: boolean | null;
}

interface Forward extends Common {
  readonly center: boolean;
  readonly pad_mode: string;
  readonly align_to_window: boolean | null;
}

interface Backward extends Common {
  readonly center: boolean;
  readonly length: number | null;
}

const flag = (x: boolean | null): string => (x === null ? "None" : x ? "1" : "0");
const typeText = (x: Tensor): string => `torch.${scalarTypeName(x.dtype)}Tensor`;
const windowText = (x: Tensor | null): string => (x === null ? "None" : `${typeText(x)}{[${x.shape.join(", ")}]}`);

/** The window with zeros on both sides up to `n_fft` elements; without one, ones. Null: all ones. */
function fullWindow(t: Torch, window: Tensor | null, length: number, n_fft: number, like: Tensor): Tensor | null {
  if (window === null && length === n_fft) return null;
  const real = like.dtype.to_real();
  const own = window ?? t.ones([length], { dtype: real, device: like.device });
  const left = Math.floor((n_fft - length) / 2);
  return length === n_fft ? own : t.constant_pad_nd(own, [left, n_fft - length - left]);
}

/** Pads the ends of a signal of one or two dimensions. */
function padEnds(t: Torch, x: Tensor, amount: readonly [number, number], mode: string): Tensor {
  const extended = t.reshape(x, [...Array<number>(Math.max(0, 3 - x.ndim)).fill(1), ...x.shape]);
  const padded = t.pad(extended, amount, mode);
  return t.reshape(padded, [...x.shape.slice(0, -1), padded.shape[padded.ndim - 1]]);
}

/** Throws unless the signal, as padded, can be cut into frames. */
function checkForward(x: Tensor, args: Forward, hop: number, size: number): void {
  const { n_fft, window, normalized, onesided, return_complex, align_to_window } = args;
  const fail = (message: string): never => {
    throw new TorchError(
      `stft(${typeText(x)}[${x.shape.join(", ")}], n_fft=${n_fft}, hop_length=${hop}, win_length=${size}, ` +
        `window=${windowText(window)}, normalized=${flag(normalized)}, onesided=${flag(onesided)}, ` +
        `return_complex=${flag(return_complex)}, align_to_window=${flag(align_to_window)}) : ${message}`,
    );
  };
  if (!x.dtype.is_differentiable) fail("expected a tensor of floating point or complex values");
  if (x.ndim < 1 || x.ndim > 2) fail("expected a 1D or 2D tensor");
  const len = x.shape[x.ndim - 1];
  if (n_fft <= 0 || n_fft > len) fail(`expected 0 < n_fft < ${len}, but got n_fft=${n_fft}`);
  if (hop <= 0) fail(`expected hop_length > 0, but got hop_length=${hop}`);
  if (size <= 0 || size > n_fft) fail(`expected 0 < win_length <= n_fft, but got win_length=${size}`);
  if (window !== null && (window.ndim !== 1 || window.shape[0] !== size))
    fail(
      `expected a 1D window tensor of size equal to win_length=${size}, but got window with size [${window.shape.join(", ")}]`,
    );
}

const onesidedMessage = "Cannot have onesided output if window or input is complex";

function stft(t: Torch, args: Forward): Tensor {
  const { self, n_fft, window, center, normalized } = args;
  if (center && args.align_to_window !== null)
    throw new TorchError("stft align_to_window should only be set when center = false");
  const hop = args.hop_length ?? Math.floor(n_fft / 4);
  const size = args.win_length ?? n_fft;
  const isComplex = self.is_complex() || (window?.is_complex() ?? false);
  const half = Math.floor(n_fft / 2);
  let x = center ? padEnds(t, self, [half, half], args.pad_mode) : self;
  if (args.return_complex === null && !isComplex)
    throw new TorchError(
      "stft requires the return_complex parameter be given for real inputs, and will further require that return_complex=True in a future PyTorch release.",
    );
  checkForward(x, args, hop, size);
  if (args.align_to_window) {
    const left = Math.floor((n_fft - size) / 2);
    x = t.constant_pad_nd(x, [left, n_fft - size - left]);
  }
  const frames = t.unfold(x, -1, n_fft, hop);
  const weights = fullWindow(t, window, size, n_fft, x);
  const windowed = weights === null ? frames : t.mul(frames, weights);
  const norm = normalized ? FftNorm.byRootN : FftNorm.none;
  const onesided = args.onesided ?? !isComplex;
  if (isComplex && onesided) throw new TorchError(onesidedMessage);
  const spectra = isComplex ? t._fft_c2c(windowed, [-1], norm, true) : t._fft_r2c(windowed, [-1], norm, onesided);
  const y = t.transpose(spectra, -1, -2);
  return (args.return_complex ?? isComplex) ? y : t.view_as_real(y);
}

const shared = "Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None" as const;
const results = "bool normalized=False, bool? onesided=None, bool? return_complex=None" as const;

op(
  `stft.center(${shared}, bool center=True, str pad_mode="reflect", ${results}, bool? align_to_window=None) -> Tensor`,
  {
    composite: (t, args) => stft(t, args),
    doc: "Fourier transforms of overlapping windows of a signal.",
  },
);
op(`stft(${shared}, ${results}, bool? align_to_window=None) -> Tensor`, {
  composite: (t, args) => stft(t, { ...args, center: false, pad_mode: "constant" }),
});

/** The call of `istft` as PyTorch's messages write it. */
function istftText(args: Backward, hop: number, size: number): string {
  const { self, n_fft, window, center, normalized, onesided, length, return_complex } = args;
  return (
    `istft(CPU${scalarTypeName(self.dtype)}Type[${self.shape.join(", ")}], n_fft=${n_fft}, hop_length=${hop}, ` +
    `win_length=${size}, window=${windowText(window)}, center=${flag(center)}, normalized=${flag(normalized)}, ` +
    `onesided=${flag(onesided)}, length=${length ?? "None"}, return_complex=${flag(return_complex)})`
  );
}

/** Throws unless `x` can be what `stft` gave. */
function checkBackward(x: Tensor, args: Backward, hop: number, size: number): void {
  const { n_fft, window, onesided } = args;
  const fail = (message: string): never => {
    throw new TorchError(`${istftText(args, hop, size)} ${message}`);
  };
  const bins = x.shape[x.ndim - 2];
  if (x.numel() === 0) fail(": input tensor cannot be empty.");
  if (x.ndim < 2 || x.ndim > 3) fail(`: expected a tensor with 3 or 4 dimensions, but got ${x.ndim + 1}`);
  const expected = (which: string, sided: string): never =>
    fail(
      `: expected the frequency dimension (3rd to the last) of the input tensor to match ${which} when onesided=${sided}, but got ${bins}`,
    );
  if (onesided ?? bins !== n_fft) {
    if (Math.floor(n_fft / 2) + 1 !== bins) expected("n_fft / 2 + 1", "True");
  } else if (n_fft !== bins) expected("n_fft", "False");
  if (hop <= 0 || hop > size) fail(": expected 0 < hop_length <= win_length");
  if (size <= 0 || size > n_fft) fail(": expected 0 < win_length <= n_fft");
  if (window !== null && (window.ndim !== 1 || window.shape[0] !== size))
    fail(": Invalid window shape. window has to be 1D and length of `win_length`");
}

/** The frames of a signal from their spectra (…, frames, bins). */
function framesOf(t: Torch, x: Tensor, args: Backward): Tensor {
  const { n_fft, normalized, window } = args;
  const spectra = t.transpose(x, -1, -2);
  const norm = normalized ? FftNorm.byRootN : FftNorm.byN;
  const onesided = args.onesided ?? x.shape[x.ndim - 2] !== n_fft;
  if (args.return_complex) {
    if (onesided) throw new TorchError(onesidedMessage);
    return t._fft_c2c(spectra, [-1], norm, false);
  }
  if (window?.is_complex()) throw new TorchError("Complex windows are incompatible with return_complex=False");
  const half = onesided ? spectra : t.slice(spectra, -1, 0, Math.floor(n_fft / 2) + 1, 1);
  return t._fft_c2r(half, [-1], norm, n_fft);
}

function istft(t: Torch, args: Backward): Tensor {
  const { self, n_fft, window, center, length } = args;
  if (!self.is_complex())
    throw new TorchError(
      "istft requires a complex-valued input tensor matching the output from stft with return_complex=True.",
    );
  const hop = args.hop_length ?? Math.floor(n_fft / 4);
  const size = args.win_length ?? n_fft;
  checkBackward(self, args, hop, size);
  const count = self.shape[self.ndim - 1];
  const whole = n_fft + hop * (count - 1);
  const on = { dtype: self.dtype.to_real(), device: self.device };
  const weights = fullWindow(t, window, size, n_fft, self) ?? t.ones([n_fft], on);
  const frames = t.mul(framesOf(t, self, args), weights);
  const batch = self.shape.slice(0, -2);
  const sum = t.unfold_backward(frames, [...batch, whole], -1, n_fft, hop);
  const squares = t.expand(t.mul(weights, weights), [count, n_fft]);
  const envelope = t.unfold_backward(squares, [whole], 0, n_fft, hop);
  const start = center ? Math.floor(n_fft / 2) : 0;
  const end = length !== null ? start + length : center ? whole - Math.floor(n_fft / 2) : whole;
  const cut = (y: Tensor): Tensor => t.slice(y, -1, start, Math.min(end, whole), 1);
  const divisor = cut(envelope);
  if (t.lt(t.min(t.abs(divisor)), 1e-11).item())
    throw new TorchError(`${istftText(args, hop, size)} window overlap add min: 1\n[ CPUBoolType{} ]`);
  const y = t.div(cut(sum), divisor);
  return end > whole ? t.constant_pad_nd(y, [0, end - whole]) : y;
}

op(
  `istft(${shared}, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor`,
  {
    composite: (t, args) => istft(t, args),
    doc: "The signal whose `stft` this is, frames added where they overlap.",
  },
);
