/** @file Padding: constant, reflection, replication, circular. */
import type { Builder, Value } from "../hlo/index.js";
import { sizeText, TorchError, TorchNotImplementedError } from "../schema/index.js";
import { range } from "./scan.js";
import { op } from "./registry.js";

/** How many elements are added before and after each dimension; PyTorch lists pairs from the last dimension on. */
export function padsOf(
  name: string,
  shape: readonly number[],
  pad: readonly number[],
): { low: number[]; high: number[] } {
  if (pad.length % 2 !== 0) throw new TorchError("Padding length must be divisible by 2");
  if (pad.length / 2 > shape.length)
    throw new TorchError(
      `Length of pad should be no more than twice the number of dimensions of the input. Pad length is ${pad.length} while the input has ${shape.length} dimensions.`,
    );
  const low = shape.map(() => 0);
  const high = shape.map(() => 0);
  for (let i = 0; i < pad.length / 2; i++) {
    const d = shape.length - 1 - i;
    low[d] = pad[2 * i];
    high[d] = pad[2 * i + 1];
    if (shape[d] + low[d] + high[d] < 0)
      throw new TorchError(
        `The input size ${shape[d]}, plus negative padding ${low[d]} and ${high[d]} resulted in a negative output size, which is invalid. Check dimension ${d} of your input.`,
      );
  }
  return { low, high };
}

op("constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor", {
  lower: (h, { self, pad, value }) => {
    const { low, high } = padsOf("constant_pad_nd", self.shape, pad);
    return h.pad(self, value.as(self.dtype), low, high);
  },
  grad: (t, { pad }, dy) => ({
    self: t.constant_pad_nd(
      dy,
      pad.map((n) => -n),
      0,
    ),
  }),
  doc: "Adds elements of one value around; negative sizes cut.",
});

type Mode = "reflection" | "replication" | "circular";

/** What enters before and after a dimension of `n` elements. */
function sides(h: Builder, x: Value, dim: number, low: number, high: number, mode: Mode): Value[] {
  const n = x.shape[dim];
  const part = (from: number, to: number): Value => range(h, x, dim, from, to);
  const edge = (at: number, count: number): Value => {
    const one = part(at, at + 1);
    return h.broadcastTo(
      one,
      one.shape.map((s, i) => (i === dim ? count : s)),
    );
  };
  const before = Math.max(0, low);
  const after = Math.max(0, high);
  const head =
    before === 0
      ? null
      : mode === "reflection"
        ? h.reverse(part(1, before + 1), [dim])
        : mode === "circular"
          ? part(n - before, n)
          : edge(0, before);
  const tail =
    after === 0
      ? null
      : mode === "reflection"
        ? h.reverse(part(n - 1 - after, n - 1), [dim])
        : mode === "circular"
          ? part(0, after)
          : edge(n - 1, after);
  return [head, x, tail].filter((v) => v !== null);
}

function padded(h: Builder, x: Value, pad: readonly number[], mode: Mode): Value {
  const { low, high } = padsOf(mode, x.shape, pad);
  let out = x;
  for (let d = 0; d < x.rank; d++) {
    if (low[d] === 0 && high[d] === 0) continue;
    const grown = h.concatenate(sides(h, out, d, low[d], high[d], mode), d);
    out = range(h, grown, d, Math.max(0, -low[d]), grown.shape[d] - Math.max(0, -high[d]));
  }
  return out;
}

/** The transpose of padding: cotangents of what entered go to where it came from. */
function unpadded(h: Builder, dy: Value, shape: readonly number[], pad: readonly number[], mode: Mode): Value {
  const { low, high } = padsOf(mode, shape, pad);
  const zero = h.constant(0, dy.dtype);
  let g = dy;
  for (let d = shape.length - 1; d >= 0; d--) {
    const [before, after] = [Math.max(0, low[d]), Math.max(0, high[d])];
    if (low[d] === 0 && high[d] === 0) continue;
    const at = (from: number, v: Value, size: number): Value => {
      const none = v.shape.map(() => 0);
      return h.pad(
        v,
        zero,
        none.map((_, i) => (i === d ? from : 0)),
        none.map((_, i) => (i === d ? size - from - v.shape[d] : 0)),
      );
    };
    const cutLow = Math.max(0, -low[d]);
    const cutHigh = Math.max(0, -high[d]);
    const whole = at(cutLow, g, g.shape[d] + cutLow + cutHigh);
    const n = shape[d];
    let sum = range(h, whole, d, before, before + n);
    const join = (v: Value, from: number): void => {
      sum = h.add(sum, at(from, v, n));
    };
    const squeezed = (v: Value): Value => {
      const total = h.reduceWith(v, zero, [d], "add");
      return h.reshape(
        total,
        v.shape.map((s, i) => (i === d ? 1 : s)),
      );
    };
    if (before > 0) {
      const head = range(h, whole, d, 0, before);
      if (mode === "reflection") join(h.reverse(head, [d]), 1);
      else if (mode === "circular") join(head, n - before);
      else join(squeezed(head), 0);
    }
    if (after > 0) {
      const tail = range(h, whole, d, before + n, before + n + after);
      if (mode === "reflection") join(h.reverse(tail, [d]), n - 1 - after);
      else if (mode === "circular") join(tail, 0);
      else join(squeezed(tail), n - 1);
    }
    g = sum;
  }
  return g;
}

function checkPad(mode: Mode, shape: readonly number[], pad: readonly number[], n: number): void {
  const name = `${mode}_pad${n}d`;
  if (pad.length !== 2 * n)
    throw new TorchError(`${name}: padding size is expected to be ${2 * n}, but got: ${pad.length}`);
  const batch = shape.length === n + 2;
  if (!(shape.length === n + 1 || batch) || shape.slice(batch ? 1 : 0).some((s) => s === 0))
    throw new TorchError(
      `Expected ${n + 1}D or ${n + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ${sizeText(shape)}`,
    );
  for (let i = 0; i < n; i++) {
    const size = shape[shape.length - 1 - i];
    const [a, b] = [pad[2 * i], pad[2 * i + 1]];
    if (mode === "reflection" && (a >= size || b >= size))
      throw new TorchError(
        `Argument #4: Padding size should be less than the corresponding input dimension, but got: padding (${a}, ${b}) at dimension ${shape.length - 1 - i} of input ${sizeText(shape)}`,
      );
    if (size + a + b < 1)
      throw new TorchError(`input (${shape.slice(-n).join(", ")}) is too small. Calculated output ${size + a + b}`);
  }
}

for (const mode of ["reflection", "replication"] as const) {
  for (const n of [1, 2, 3] as const) {
    const name = `${mode}_pad${n}d` as const;
    op(
      `${name}(Tensor self, SymInt[${2 * n}] padding) -> Tensor` as "reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
      {
        lower: (h, { self, padding }) => {
          checkPad(mode, self.shape, padding, n);
          return padded(h, self, padding, mode);
        },
        grad: (t, { self, padding }, dy) => ({ self: t._pad_backward(dy, self.shape, padding, mode) }),
        doc:
          mode === "reflection"
            ? "Pads with the mirror image of what lies inside."
            : "Pads with copies of the outermost elements.",
      },
    );
    op(
      `${name}_backward(Tensor grad_output, Tensor self, SymInt[${2 * n}] padding) -> Tensor` as "x(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor",
      {
        decompose: (t, { grad_output, self, padding }) => t._pad_backward(grad_output, self.shape, padding, mode),
        doc: "The gradient of padding with copies of elements.",
      },
    );
  }
}

op("_pad_circular(Tensor self, SymInt[] pad) -> Tensor", {
  lower: (h, { self, pad }) => {
    const { low, high } = padsOf("circular", self.shape, pad);
    self.shape.forEach((n, d) => {
      if (low[d] > n || high[d] > n) throw new TorchError("Padding value causes wrapping around more than once.");
      if (n + low[d] + high[d] < 0) throw new TorchError("Negative padding value is resulting in an empty dimension");
    });
    return padded(h, self, pad, "circular");
  },
  grad: (t, { self, pad }, dy) => ({ self: t._pad_backward(dy, self.shape, pad, "circular") }),
  doc: "Pads as if the tensor were repeated.",
});

op("_pad_backward(Tensor grad_output, SymInt[] input_size, SymInt[] pad, str mode) -> Tensor", {
  lower: (h, { grad_output, input_size, pad, mode }) => unpadded(h, grad_output, input_size, pad, mode as Mode),
  grad: (t, { input_size, pad, mode }, g) => {
    const n = pad.length / 2;
    if (mode === "circular") return { grad_output: t._pad_circular(g, pad) };
    const name = `${mode as "reflection" | "replication"}_pad${n as 1 | 2 | 3}d` as const;
    return { grad_output: t[name](t.reshape(g, input_size), pad) };
  },
  doc: "The gradient of padding with copies of elements.",
});

const modes: Record<string, Mode> = { reflect: "reflection", replicate: "replication", circular: "circular" };

op("pad(Tensor self, SymInt[] pad, str mode='constant', float? value=None) -> Tensor", {
  composite: (t, { self, pad, mode, value }) => {
    if (mode === "constant") return t.constant_pad_nd(self, pad, value ?? 0);
    if (value !== null && value !== 0) throw new TorchError(`Padding mode "${mode}" doesn't take in value argument`);
    const kind = modes[mode];
    if (kind === undefined) throw new TorchNotImplementedError(`Unrecognised padding mode ${mode}`);
    const n = pad.length / 2;
    const fits = (n === 1 || n === 2 || n === 3) && (self.ndim === n + 1 || self.ndim === n + 2);
    if (!fits)
      throw new TorchNotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now");
    if (kind === "circular") return t._pad_circular(self, pad);
    return t[`${kind}_pad${n}d`](self, pad);
  },
  doc: "Pads the last dimensions: constant, reflect, replicate or circular.",
});
