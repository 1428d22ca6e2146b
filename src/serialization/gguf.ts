/**
 * @file GGUF files, for reading: metadata as plain data, and tensors one at a time, dequantized.
 * @see https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
import { functional, tensorFromBytes } from "../api/index.js";
import { numelOf, TorchError, type DType } from "../schema/index.js";
import { device as deviceOf, type DeviceLike, type Tensor } from "../tensor/index.js";
import { dequantize, ggufTypes, otherGgufTypes, type GgufType } from "./gguf_quants.js";
import { openSource, type FileLike, type Source } from "./source.js";

/** A file that is not what it should be. */
export class GgufError extends TorchError {
  override name = "GgufError";
}

/** Metadata: numbers, texts, truth values and arrays of them; integers beyond 2^53 are bigint. */
export type GgufValue = number | bigint | string | boolean | readonly GgufValue[];

interface GgufTensor {
  readonly name: string;
  /** Undefined for a type that is not read here. */
  readonly type: GgufType | undefined;
  readonly typeName: string;
  readonly shape: readonly number[];
  readonly offset: number;
  readonly nbytes: number;
}

const windowBytes = 1 << 20;
const deepestArray = 8;
/** ggml's own bound. */
const mostDims = 4;

/** Reads a header whose length nobody says, through a window; every length is checked against the file first. */
class Cursor {
  private window: Buffer = Buffer.alloc(0);
  private start = 0;
  constructor(
    private readonly source: Source,
    public at = 0,
  ) {}

  bad(expected: string, got: string): never {
    throw new GgufError(`GgufFile(): expected ${expected} in '${this.source.name}', got ${got}`);
  }

  private take(length: number): Buffer {
    if (length > this.source.size - this.at)
      this.bad(`${length} bytes at ${this.at}`, `${this.source.size} bytes: it is truncated or damaged`);
    if (this.at < this.start || this.at + length > this.start + this.window.length) {
      this.start = this.at;
      this.window = this.source.read(this.at, Math.min(Math.max(length, windowBytes), this.source.size - this.at));
    }
    const from = this.at - this.start;
    this.at += length;
    return this.window.subarray(from, from + length);
  }

  u32 = (): number => this.take(4).readUInt32LE();
  i64 = (): number | bigint => narrowed(this.take(8).readBigInt64LE());
  u64 = (): number | bigint => narrowed(this.take(8).readBigUInt64LE());

  /** A count of things that take at least `bytes` each, so that there can be so many. */
  count(what: string, bytes: number): number {
    const n = this.u64();
    if (typeof n === "bigint" || n * bytes > this.source.size - this.at)
      this.bad(`a count of ${what} that the file has room for`, String(n));
    return n;
  }
  text(): string {
    return this.take(this.count("bytes of a text", 1)).toString("utf8");
  }

  private static readonly scalars: Record<number, { bytes: number; read: (c: Cursor) => GgufValue }> = {
    0: { bytes: 1, read: (c) => c.take(1).readUInt8() },
    1: { bytes: 1, read: (c) => c.take(1).readInt8() },
    2: { bytes: 2, read: (c) => c.take(2).readUInt16LE() },
    3: { bytes: 2, read: (c) => c.take(2).readInt16LE() },
    4: { bytes: 4, read: (c) => c.u32() },
    5: { bytes: 4, read: (c) => c.take(4).readInt32LE() },
    6: { bytes: 4, read: (c) => c.take(4).readFloatLE() },
    7: { bytes: 1, read: (c) => c.take(1).readUInt8() !== 0 },
    8: { bytes: 8, read: (c) => c.text() },
    10: { bytes: 8, read: (c) => c.u64() },
    11: { bytes: 8, read: (c) => c.i64() },
    12: { bytes: 8, read: (c) => c.take(8).readDoubleLE() },
  };

  value(type: number, depth = 0): GgufValue {
    if (type !== 9) return this.scalar(type).read(this);
    if (depth >= deepestArray) this.bad(`at most ${deepestArray} levels of arrays`, "more");
    const of = this.u32();
    const n = this.count("elements of an array", of === 9 ? 12 : this.scalar(of).bytes);
    const out: GgufValue[] = [];
    for (let i = 0; i < n; i++) out.push(this.value(of, depth + 1));
    return out;
  }
  private scalar(type: number): { bytes: number; read: (c: Cursor) => GgufValue } {
    return Object.hasOwn(Cursor.scalars, type)
      ? Cursor.scalars[type]
      : this.bad("a type of metadata from 0 to 12", String(type));
  }
}

const narrowed = (n: bigint): number | bigint =>
  BigInt(Number(n)) === n && Number.isSafeInteger(Number(n)) ? Number(n) : n;

function readTensorInfo(c: Cursor): GgufTensor {
  const name = c.text();
  const rank = c.u32();
  if (rank > mostDims) c.bad(`at most ${mostDims} dimensions of '${name}'`, String(rank));
  const sizes = Array.from({ length: rank }, () => c.u64());
  const number = c.u32();
  const offset = c.u64();
  const type = ggufTypes.get(number);
  const typeName = type?.name ?? otherGgufTypes.get(number) ?? `type ${number}`;
  // ggml counts dimensions from the innermost
  const shape = sizes.map((n) => (typeof n === "bigint" ? c.bad(`sizes of '${name}'`, String(n)) : n)).reverse();
  if (typeof offset === "bigint") return c.bad(`an offset of '${name}'`, String(offset));
  const numel = numelOf(shape);
  const { elements, bytes } = type ?? { elements: 1, bytes: 0 };
  if ((shape.at(-1) ?? 1) % elements !== 0)
    c.bad(`rows of '${name}' to be whole blocks of ${elements}`, `[${shape.join(", ")}]`);
  const nbytes = (numel / elements) * bytes;
  if (!Number.isSafeInteger(numel) || !Number.isSafeInteger(nbytes))
    c.bad(`a shape of '${name}'`, `[${shape.join(", ")}]`);
  return { name, type, typeName, shape, offset, nbytes };
}

/**
 * An open GGUF file. Tensors are read one at a time, when asked for: F32, F16, BF16 and integers as they are, Q8_0, Q4_0,
 * Q4_1, Q5_0, Q5_1, Q4_K and Q6_K as float32.
 *
 * @example
 * using file = new GgufFile("model.gguf");
 * file.metadata()["general.architecture"]; // "llama"
 * const w = file.get_tensor("token_embd.weight");
 */
export class GgufFile implements Disposable {
  private readonly source: Source;
  private readonly values = new Map<string, GgufValue>();
  private readonly tensors = new Map<string, GgufTensor>();
  private dataStart = 0;
  /** Of the format: 2 or 3. */
  readonly version: number;

  constructor(file: FileLike) {
    this.source = openSource(file);
    try {
      this.version = this.readHeader(new Cursor(this.source));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  private readHeader(c: Cursor): number {
    const magic = c.u32();
    if (magic !== 0x46554747) c.bad("'GGUF' at the start", `bytes ${magic.toString(16)}`);
    const version = c.u32();
    if (version !== 2 && version !== 3)
      c.bad("version 2 or 3", version > 0xffff ? "a big-endian file" : `version ${version}`);
    const tensors = c.count("tensors", 24);
    const values = c.count("metadata", 13);
    for (let i = 0; i < values; i++) {
      const key = c.text();
      if (this.values.has(key)) c.bad("each key once", `'${key}' twice`);
      this.values.set(key, c.value(c.u32()));
    }
    for (let i = 0; i < tensors; i++) {
      const info = readTensorInfo(c);
      if (this.tensors.has(info.name)) c.bad("each tensor once", `'${info.name}' twice`);
      this.tensors.set(info.name, info);
    }
    this.checkPlaces(c);
    return version;
  }

  private checkPlaces(c: Cursor): void {
    const alignment = this.values.get("general.alignment") ?? 32;
    if (typeof alignment !== "number" || !Number.isSafeInteger(alignment) || alignment < 1 || alignment > 1 << 20)
      return c.bad("an alignment", String(alignment));
    this.dataStart = Math.ceil(c.at / alignment) * alignment;
    let end = 0;
    for (const t of [...this.tensors.values()].sort((a, b) => a.offset - b.offset)) {
      if (t.offset % alignment !== 0) c.bad(`'${t.name}' at a multiple of ${alignment}`, String(t.offset));
      if (t.offset < end) c.bad(`'${t.name}' behind the tensor before it`, "tensors that overlap");
      end = t.offset + t.nbytes;
      if (this.dataStart + end > this.source.size)
        c.bad(`${t.nbytes} bytes for '${t.name}' at ${this.dataStart + t.offset}`, `${this.source.size} bytes: it is truncated`); // prettier-ignore
    }
  }

  /** The path, or `<bytes>`. */
  get path(): string {
    return this.source.name;
  }

  /** Names of the tensors, in the order of the file. */
  keys(): string[] {
    return [...this.tensors.keys()];
  }

  /** Everything that the file says besides its tensors, as in `metadata()["llama.block_count"]`. */
  metadata(): Readonly<Record<string, GgufValue>> {
    return Object.fromEntries(this.values);
  }

  /** The metadata below `tokenizer.`: `ggml.model`, `ggml.tokens`, `ggml.merges`, `chat_template` and so on. */
  tokenizer(): Readonly<Record<string, GgufValue>> {
    const prefix = "tokenizer.";
    return Object.fromEntries(
      [...this.values].filter(([k]) => k.startsWith(prefix)).map(([k, v]) => [k.slice(prefix.length), v]),
    );
  }

  private entry(name: string): GgufTensor {
    const found = this.tensors.get(name);
    if (!found) throw new GgufError(`get_tensor(): expected the name of a tensor in '${this.path}', got '${name}'`);
    return found;
  }

  /** Shape, type in the file, and the dtype that `get_tensor` gives (null: it cannot be read). */
  info(name: string): { readonly shape: readonly number[]; readonly type: string; readonly dtype: DType | null } {
    const { shape, typeName, type } = this.entry(name);
    return { shape, type: typeName, dtype: type?.dtype ?? null };
  }

  /** Reads one tensor to a device, dequantized where it is quantized, and cast to `dtype` if one is given. */
  get_tensor(name: string, device: DeviceLike = "cpu", options: { dtype?: DType } = {}): Tensor {
    const { type, typeName, shape, offset, nbytes } = this.entry(name);
    if (!type)
      throw new GgufError(
        `get_tensor(): expected one of ${[...ggufTypes.values()].map((t) => t.name).join(", ")}, got '${name}' of ${typeName}`,
      );
    const to = deviceOf(device);
    const dtype = options.dtype ?? type.dtype;
    if (to.type === "meta") return functional.empty(shape, { dtype, device: to });
    const bytes = this.source.read(this.dataStart + offset, nbytes);
    const { decode } = type;
    const elements = decode ? dequantize({ ...type, decode }, bytes) : bytes;
    return tensorFromBytes(elements, type.dtype, shape, to).to(dtype);
  }

  close(): void {
    this.source.close();
  }
  [Symbol.dispose](): void {
    this.close();
  }
}
