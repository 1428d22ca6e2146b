/** @file GGUF: headers, metadata, every element type against an encoder written from the definitions, and damage. */
import * as torch from "torch-tpu";
import { GgufError, GgufFile } from "torch-tpu/serialization";
import { describe, expect, it } from "vitest";
import { expectNoCrash } from "./testing/damage.js";

const u32 = (n: number): Buffer => Buffer.from(Uint32Array.of(n).buffer);
const u64 = (n: number | bigint): Buffer => Buffer.from(BigUint64Array.of(BigInt(n)).buffer);
const text = (s: string): Buffer => Buffer.concat([u64(Buffer.byteLength(s)), Buffer.from(s)]);
const half = (x: number): number[] => [...torch.tensor([x], { dtype: torch.float16 }).toBytes()];

interface Spec {
  name: string;
  type: number;
  /** ggml's order: innermost first. */
  sizes: (number | bigint)[];
  data: Uint8Array;
  offset?: number;
}

function gguf(values: [key: string, type: number, value: Buffer][], tensors: Spec[], version = 3): Buffer {
  const parts = [Buffer.from("GGUF"), u32(version), u64(tensors.length), u64(values.length)];
  for (const [key, type, value] of values) parts.push(text(key), u32(type), value);
  const data: Buffer[] = [];
  let at = 0;
  for (const { name, type, sizes, data: bytes, offset } of tensors) {
    parts.push(text(name), u32(sizes.length), ...sizes.map(u64), u32(type), u64(offset ?? at));
    const padded = Buffer.alloc(Math.ceil(bytes.length / 32) * 32);
    padded.set(bytes);
    data.push(padded);
    at += padded.length;
  }
  const head = Buffer.concat(parts);
  return Buffer.concat([head, Buffer.alloc((32 - (head.length % 32)) % 32), ...data]);
}

/** A sequence that visits every quantum and has no symmetry. */
const quanta = (n: number, top: number): number[] =>
  Array.from({ length: n }, (_, i) => (i * 7 + (i >> 4) * 3) % (top + 1));
const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const [d, m] = [0.25, -1.5];

/** 32 numbers: nibbles of element j and j + 16 share a byte; fifth bits lie in a 32-bit word. */
function small(q: number[], withMinimum: boolean, fifth: boolean): number[] {
  const high = q.reduce((word, x, i) => word + BigInt(x >> 4) * 2n ** BigInt(i), 0n);
  const word = fifth ? [...new Uint8Array(Uint32Array.of(Number(high)).buffer)] : [];
  const nibbles = range(16).map((j) => (q[j] % 16) + 16 * (q[j + 16] % 16));
  return [...half(d), ...(withMinimum ? half(m) : []), ...word, ...nibbles];
}

const [scales, minima] = [[1, 5, 9, 63, 33, 17, 2, 48], [0, 3, 62, 7, 21, 40, 63, 1]]; // prettier-ignore

/** 256 numbers in 8 groups; scale and minimum of 6 bits: the last four keep their upper 2 bits above the first four. */
function q4k(q: number[]): number[] {
  const packed = [
    ...range(4).map((i) => scales[i] + ((scales[i + 4] >> 4) << 6)),
    ...range(4).map((i) => minima[i] + ((minima[i + 4] >> 4) << 6)),
    ...range(4).map((i) => (scales[i + 4] & 15) + ((minima[i + 4] & 15) << 4)),
  ];
  const qs = range(128).map((i) => q[64 * (i >> 5) + (i & 31)] + 16 * q[64 * (i >> 5) + 32 + (i & 31)]);
  return [...half(d), ...half(0.5), ...packed, ...qs];
}

/** 256 numbers of 6 bits in 16 groups: 4 low bits, then 2 high bits of four rows of 32 in a byte. */
function q6k(q: number[]): number[] {
  const row = (half: number, r: number, l: number): number => q[128 * half + 32 * r + l];
  const low = range(128).map((i) => {
    const [h, r, l] = [i >> 6, (i >> 5) & 1, i & 31];
    return (row(h, r, l) & 15) + ((row(h, r + 2, l) & 15) << 4);
  });
  const high = range(64).map((i) => range(4).reduce((b, r) => b + ((row(i >> 5, r, i & 31) >> 4) << (2 * r)), 0));
  return [...low, ...high, ...range(16).map((i) => (i * 5 - 40) & 255), ...half(d)];
}

const blocks: [name: string, type: number, bytes: number[], values: number[]][] = [
  ["Q4_0", 2, small(quanta(32, 15), false, false), quanta(32, 15).map((q) => d * (q - 8))],
  ["Q4_1", 3, small(quanta(32, 15), true, false), quanta(32, 15).map((q) => d * q + m)],
  ["Q5_0", 6, small(quanta(32, 31), false, true), quanta(32, 31).map((q) => d * (q - 16))],
  ["Q5_1", 7, small(quanta(32, 31), true, true), quanta(32, 31).map((q) => d * q + m)],
  ["Q8_0", 8, [...half(d), ...range(32).map((i) => (i * 8 - 128) & 255)], range(32).map((i) => d * (i * 8 - 128))],
  ["Q4_K", 12, q4k(quanta(256, 15)), quanta(256, 15).map((q, i) => d * scales[i >> 5] * q - 0.5 * minima[i >> 5])],
  ["Q6_K", 14, q6k(quanta(256, 63)), quanta(256, 63).map((q, i) => d * ((i >> 4) * 5 - 40) * (q - 32))],
];

describe("elements", () => {
  it.each(blocks)("%s", (name, type, bytes, values) => {
    using file = new GgufFile(gguf([], [{ name: "w", type, sizes: [values.length, 2], data: Uint8Array.from([...bytes, ...bytes]) }])); // prettier-ignore
    expect(file.info("w")).toEqual({ shape: [2, values.length], type: name, dtype: torch.float32 });
    expect(file.get_tensor("w").tolist()).toEqual([values, values]);
  });
  it.each([
    ["F32", 0, torch.float32],
    ["F16", 1, torch.float16],
    ["BF16", 30, torch.bfloat16],
    ["I32", 26, torch.int32],
  ])("%s stays as it is", (_, type, dtype) => {
    const t = torch.tensor([[1, -2, 3]], { dtype });
    using file = new GgufFile(gguf([], [{ name: "w", type, sizes: [3, 1], data: t.toBytes() }]));
    const got = file.get_tensor("w");
    expect([got.dtype, got.tolist()]).toEqual([dtype, t.tolist()]);
    expect(file.get_tensor("w", "cpu", { dtype: torch.float64 }).dtype).toBe(torch.float64);
  });
  it("a type that is not read says so by name, and only when asked for", () => {
    using file = new GgufFile(gguf([], [{ name: "w", type: 10, sizes: [256], data: new Uint8Array(84) }]));
    expect(file.info("w").dtype).toBe(null);
    expect(() => file.get_tensor("w")).toThrow("got 'w' of Q2_K");
  });
});

const array = (type: number, items: Buffer[]): Buffer => Buffer.concat([u32(type), u64(items.length), ...items]);
const someValues: [string, number, Buffer][] = [
  ["general.architecture", 8, text("llama")],
  ["llama.block_count", 4, u32(30)],
  ["big", 10, u64(2n ** 60n + 1n)],
  ["float", 6, Buffer.from(Float32Array.of(0.5).buffer)],
  ["yes", 7, Buffer.from([1])],
  ["tokenizer.ggml.tokens", 9, array(8, ["a", "ä"].map(text))],
  ["nested", 9, array(9, [array(5, [Buffer.from(Int32Array.of(-1).buffer)])])],
];

it("metadata and tokenizer", () => {
  using file = new GgufFile(gguf(someValues, [], 2));
  expect(file.metadata()).toEqual({
    "general.architecture": "llama",
    "llama.block_count": 30,
    big: 2n ** 60n + 1n,
    float: 0.5,
    yes: true,
    "tokenizer.ggml.tokens": ["a", "ä"],
    nested: [[-1]],
  });
  expect(file.tokenizer()).toEqual({ "ggml.tokens": ["a", "ä"] });
});

describe("headers that lie", () => {
  const f32 = (sizes: (number | bigint)[], offset?: number): Spec => ({ name: "w", type: 0, sizes, data: new Uint8Array(32), offset }); // prettier-ignore
  it.each([
    ["another file", Buffer.from("GGML0000"), "'GGUF' at the start"],
    ["version 1", gguf([], [], 1), "got version 1"],
    ["a big-endian file", gguf([], [], 0x03000000), "got a big-endian file"],
    ["a text beyond the file", gguf([["k", 8, u64(2n ** 62n)]], []), "a count of bytes of a text"],
    ["an array beyond the file", gguf([["k", 9, Buffer.concat([u32(4), u64(2 ** 40)])]], []), "elements of an array"],
    ["an unknown type of metadata", gguf([["k", 77, u32(0)]], []), "a type of metadata"],
    ["a key twice", gguf([["k", 4, u32(0)], ["k", 4, u32(0)]], []), "each key once"], // prettier-ignore
    ["a tensor beyond the file", gguf([], [f32([1 << 20])]), "it is truncated"],
    ["a tensor of 2^60 elements", gguf([], [f32([2n ** 60n])]), "sizes of 'w'"],
    ["sizes whose product overflows", gguf([], [f32([2 ** 40, 2 ** 40])]), "a shape of 'w'"],
    ["seven dimensions", gguf([], [f32([1, 1, 1, 1, 1, 1, 1])]), "at most 4 dimensions"],
    ["part of a block", gguf([], [{ ...f32([31]), type: 8 }]), "whole blocks of 32"],
    ["a place between alignments", gguf([], [f32([4], 4)]), "at a multiple of 32"],
    ["tensors that overlap", gguf([], [f32([8]), { ...f32([8], 0), name: "v" }]), "tensors that overlap"],
    ["an alignment of zero", gguf([["general.alignment", 4, u32(0)]], []), "an alignment"],
    ["no bytes", Buffer.alloc(0), "it is truncated"],
  ])("%s", (_, bytes, message) => {
    expect(() => new GgufFile(bytes)).toThrow(GgufError);
    expect(() => new GgufFile(bytes)).toThrow(message);
  });
  it("any damage", { timeout: 600_000 }, () => {
    const file = gguf(someValues, [f32([8]), { ...f32([32]), name: "q", type: 8, data: new Uint8Array(34).fill(3) }]);
    expectNoCrash(file, (bytes) => {
      using damaged = new GgufFile(bytes);
      for (const name of damaged.keys()) if (damaged.info(name).dtype) damaged.get_tensor(name);
    });
  });
});
