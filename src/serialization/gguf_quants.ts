/**
 * @file The element types of GGUF: bytes of a block, and its numbers as float32, rounded where llama.cpp rounds.
 * @see https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
import type { DType } from "../schema/index.js";
import * as dt from "../schema/dtype.js";

/** Writes the numbers of the block at `at` of `bytes` to `out` from `to` on. */
type DecodeBlock = (bytes: DataView, at: number, out: Float32Array, to: number) => void;

/** One element type of GGUF. */
export interface GgufType {
  readonly name: string;
  /** Elements of a block. */
  readonly elements: number;
  /** Bytes of a block. */
  readonly bytes: number;
  /** The element type here: of the same bytes, or float32 with `decode`. */
  readonly dtype: DType;
  /** Undefined where the bytes are the elements. */
  readonly decode?: DecodeBlock;
}

const { fround } = Math;

const halves = Float32Array.from({ length: 1 << 16 }, (_, bits) => {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const sign = bits >> 15 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
});
const half = (b: DataView, at: number): number => halves[b.getUint16(at, true)];

/** 32 elements of 4 or 5 bits: `d * (q - shift) + m`; low nibbles are the first 16. */
function small(shift: number, hasMinimum: boolean, highBits: boolean): DecodeBlock {
  const headBytes = hasMinimum ? 4 : 2;
  return (b, at, out, to) => {
    const d = half(b, at);
    const m = hasMinimum ? half(b, at + 2) : 0;
    const high = highBits ? b.getUint32(at + headBytes, true) : 0;
    const qs = at + headBytes + (highBits ? 4 : 0);
    for (let j = 0; j < 16; j++) {
      const q = b.getUint8(qs + j);
      const low = (q & 15) | (((high >>> j) & 1) << 4);
      const top = (q >> 4) | (((high >>> (j + 16)) & 1) << 4);
      out[to + j] = fround(d * (low - shift)) + m;
      out[to + j + 16] = fround(d * (top - shift)) + m;
    }
  };
}

const q8_0: DecodeBlock = (b, at, out, to) => {
  const d = half(b, at);
  for (let j = 0; j < 32; j++) out[to + j] = d * b.getInt8(at + 2 + j);
};

/** Scale `j` of 8 and its minimum, of 6 bits each, packed into 12 bytes. */
function scaleOf(b: DataView, at: number, j: number): [scale: number, minimum: number] {
  const q = (i: number): number => b.getUint8(at + i);
  if (j < 4) return [q(j) & 63, q(j + 4) & 63];
  return [(q(j + 4) & 15) | ((q(j - 4) >> 6) << 4), (q(j + 4) >> 4) | ((q(j) >> 6) << 4)];
}

const q4_k: DecodeBlock = (b, at, out, to) => {
  const d = half(b, at);
  const dmin = half(b, at + 2);
  for (let j = 0; j < 8; j++) {
    const [scale, minimum] = scaleOf(b, at + 4, j);
    const step = fround(d * scale);
    const base = fround(dmin * minimum);
    const qs = at + 16 + (j >> 1) * 32;
    for (let l = 0; l < 32; l++)
      out[to + 32 * j + l] = fround(step * ((b.getUint8(qs + l) >> (4 * (j & 1))) & 15)) - base;
  }
};

const q6_k: DecodeBlock = (b, at, out, to) => {
  const d = half(b, at + 208);
  for (let i = 0; i < 256; i++) {
    const [part, l] = [i >> 7, i & 31];
    const quarter = (i >> 5) & 3;
    const low = (b.getUint8(at + 64 * part + 32 * (quarter & 1) + l) >> (quarter >= 2 ? 4 : 0)) & 15;
    const high = (b.getUint8(at + 128 + 32 * part + l) >> (2 * quarter)) & 3;
    const scale = fround(d * b.getInt8(at + 192 + (i >> 4)));
    out[to + i] = scale * ((low | (high << 4)) - 32);
  }
};

const plain = (name: string, dtype: DType): GgufType => ({ name, elements: 1, bytes: dtype.itemsize, dtype });
const quantized = (name: string, elements: number, bytes: number, decode: DecodeBlock): GgufType => ({
  name,
  elements,
  bytes,
  dtype: dt.float32,
  decode,
});

/** By ggml's numbers. */
export const ggufTypes: ReadonlyMap<number, GgufType> = new Map([
  [0, plain("F32", dt.float32)],
  [1, plain("F16", dt.float16)],
  [2, quantized("Q4_0", 32, 18, small(8, false, false))],
  [3, quantized("Q4_1", 32, 20, small(0, true, false))],
  [6, quantized("Q5_0", 32, 22, small(16, false, true))],
  [7, quantized("Q5_1", 32, 24, small(0, true, true))],
  [8, quantized("Q8_0", 32, 34, q8_0)],
  [12, quantized("Q4_K", 256, 144, q4_k)],
  [14, quantized("Q6_K", 256, 210, q6_k)],
  [24, plain("I8", dt.int8)],
  [25, plain("I16", dt.int16)],
  [26, plain("I32", dt.int32)],
  [27, plain("I64", dt.int64)],
  [28, plain("F64", dt.float64)],
  [30, plain("BF16", dt.bfloat16)],
]);

/** Names of the types that are not read here, for messages. */
export const otherGgufTypes: ReadonlyMap<number, string> = new Map(
  Object.entries({ 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 13: "Q5_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4" }).map(([n, name]) => [Number(n), name]), // prettier-ignore
);

/** The numbers of whole blocks. */
export function dequantize(type: GgufType & { decode: DecodeBlock }, bytes: Uint8Array): Float32Array<ArrayBuffer> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const blocks = bytes.byteLength / type.bytes;
  const out = new Float32Array(blocks * type.elements);
  for (let i = 0; i < blocks; i++) type.decode(view, i * type.bytes, out, i * type.elements);
  return out;
}
