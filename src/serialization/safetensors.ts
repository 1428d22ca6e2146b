/**
 * @file safetensors files, both ways: a JSON header with names, types, shapes and places, then the elements.
 * @see https://github.com/huggingface/safetensors
 */
import { functional, tensorFromBytes } from "../api/index.js";
import * as dt from "../schema/dtype.js";
import { numelOf, TorchError, type DType } from "../schema/index.js";
import { device as deviceOf, Tensor, type DeviceLike } from "../tensor/index.js";
import { openSource, writeWhole, type FileLike, type Source } from "./source.js";

/** A file that is not what it should be. Nothing of it was taken. */
export class SafetensorError extends TorchError {
  override name = "SafetensorError";
}

const names: readonly [string, DType][] = [
  ["BOOL", dt.bool],
  ["U8", dt.uint8],
  ["I8", dt.int8],
  ["F8_E5M2", dt.float8_e5m2],
  ["F8_E4M3", dt.float8_e4m3fn],
  ["F8_E8M0", dt.float8_e8m0fnu],
  ["I16", dt.int16],
  ["U16", dt.uint16],
  ["F16", dt.float16],
  ["BF16", dt.bfloat16],
  ["I32", dt.int32],
  ["U32", dt.uint32],
  ["F32", dt.float32],
  ["F64", dt.float64],
  ["I64", dt.int64],
  ["U64", dt.uint64],
  ["C64", dt.complex64],
];
const byName = new Map(names);
const byDtype = new Map(names.map(([n, d]) => [d, n]));

/** The Python library's own bound. */
const maxHeaderBytes = 100_000_000;

interface Entry {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly start: number;
  readonly end: number;
}

interface Header {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly metadata: Readonly<Record<string, string>>;
  /** Where the elements start in the file. */
  readonly dataStart: number;
}

const isCount = (x: unknown): x is number => typeof x === "number" && Number.isSafeInteger(x) && x >= 0;

function bad(path: string, expected: string, got: string): never {
  throw new SafetensorError(`load_file(): expected ${expected} in '${path}', got ${got}`);
}

function parseEntry(path: string, name: string, value: unknown, dataBytes: number): Entry {
  const v = value as { dtype?: unknown; shape?: unknown; data_offsets?: unknown } | null;
  const dtype = typeof v?.dtype === "string" ? byName.get(v.dtype) : undefined;
  if (!dtype) bad(path, `a known dtype for tensor '${name}'`, JSON.stringify(v?.dtype));
  if (!Array.isArray(v?.shape) || !v.shape.every(isCount))
    bad(path, `a shape of non-negative integers for tensor '${name}'`, JSON.stringify(v?.shape));
  const offsets = v.data_offsets;
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount))
    bad(path, `two data_offsets for tensor '${name}'`, JSON.stringify(offsets));
  const [start, end] = offsets as [number, number];
  const shape = v.shape as number[];
  const bytes = numelOf(shape) * dtype.itemsize;
  if (end < start || end - start !== bytes)
    bad(
      path,
      `${bytes} bytes for tensor '${name}' (${dtype.name}[${shape.join(",")}])`,
      `data_offsets [${start}, ${end}]`,
    );
  if (end > dataBytes)
    bad(path, `data up to byte ${end} for tensor '${name}'`, `${dataBytes} bytes: the file is truncated`);
  return { dtype, shape, start, end };
}

/** Finds a key that appears twice in one object of the header's top level; JSON.parse would keep the last silently. */
function duplicateKey(text: string): string | null {
  const seen = new Set<string>();
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === "{" || c === "[") depth++;
    else if (c === "}" || c === "]") depth--;
    else if (c === '"') {
      let j = i + 1;
      while (j < text.length && text[j] !== '"') j += text[j] === "\\" ? 2 : 1;
      const key = text.slice(i, j + 1);
      i = j;
      if (depth !== 1 || !/^\s*:/.test(text.slice(j + 1, j + 40))) continue;
      if (seen.has(key)) return key;
      seen.add(key);
    }
  }
  return null;
}

function parseHeader(path: string, read: (at: number, length: number) => Buffer, size: number): Header {
  if (size < 8) bad(path, "a header length of 8 bytes", `a file of ${size} bytes`);
  const length = read(0, 8).readBigUInt64LE();
  if (length > BigInt(maxHeaderBytes)) bad(path, `a header of at most ${maxHeaderBytes} bytes`, `${length} bytes`);
  if (8n + length > BigInt(size)) bad(path, `a header of ${length} bytes`, `a file of ${size} bytes: it is truncated`);
  const text = read(8, Number(length)).toString("utf8");
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    bad(path, "a JSON header", (error as Error).message);
  }
  if (typeof json !== "object" || json === null || Array.isArray(json))
    bad(path, "a JSON object as header", text.slice(0, 40));
  const twice = duplicateKey(text);
  if (twice !== null) bad(path, "each name once", `${twice} twice`);
  const dataStart = 8 + Number(length);
  const entries = new Map<string, Entry>();
  let metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(json as Record<string, unknown>)) {
    if (name !== "__metadata__") entries.set(name, parseEntry(path, name, value, size - dataStart));
    else if (typeof value === "object" && value !== null && Object.values(value).every((v) => typeof v === "string"))
      metadata = value as Record<string, string>;
    else bad(path, "__metadata__ with texts", JSON.stringify(value));
  }
  let at = 0;
  for (const [name, e] of [...entries].sort((a, b) => a[1].start - b[1].start || a[1].end - b[1].end)) {
    if (e.start !== at)
      bad(path, `tensor '${name}' to start at byte ${at} of the data`, `${e.start}: tensors overlap or leave holes`);
    at = e.end;
  }
  if (at !== size - dataStart) bad(path, `${at} bytes of data`, `${size - dataStart}`);
  return { entries, metadata, dataStart };
}

/** What both a file and a set of shards answer. */
export interface SafetensorsReader extends Disposable {
  readonly path: string;
  keys(): string[];
  metadata(): Readonly<Record<string, string>>;
  info(name: string): TensorInfo;
  get_tensor(name: string, device?: DeviceLike): Tensor;
  get_bytes(name: string): Uint8Array;
  close(): void;
}

/** Type and shape of a tensor that was not read yet. */
export interface TensorInfo {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/** An open safetensors file: tensors are read one at a time, when asked for. */
export class SafetensorsFile implements SafetensorsReader {
  private readonly source: Source;
  private readonly header: Header;

  constructor(file: FileLike) {
    this.source = openSource(file);
    try {
      this.header = parseHeader(this.path, (at, length) => this.source.read(at, length), this.source.size);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** The path, or `<bytes>`. */
  get path(): string {
    return this.source.name;
  }

  /** Names of the tensors, in the order of their data. */
  keys(): string[] {
    return [...this.header.entries].sort((a, b) => a[1].start - b[1].start).map(([name]) => name);
  }

  metadata(): Readonly<Record<string, string>> {
    return this.header.metadata;
  }

  /** Type and shape of a tensor, without reading it. */
  info(name: string): TensorInfo {
    const { dtype, shape } = this.entry(name);
    return { dtype, shape };
  }

  private entry(name: string): Entry {
    const found = this.header.entries.get(name);
    if (!found)
      throw new SafetensorError(`get_tensor(): expected the name of a tensor in '${this.path}', got '${name}'`);
    return found;
  }

  /** Reads one tensor to a device; nothing is read for `meta`. */
  get_tensor(name: string, device: DeviceLike = "cpu"): Tensor {
    const { dtype, shape } = this.entry(name);
    const to = deviceOf(device);
    return to.type === "meta" ? functional.empty(shape, { dtype, device: to }) : tensorFromBytes(this.get_bytes(name), dtype, shape, to); // prettier-ignore
  }

  /** The elements of a tensor as they lie in the file: row-major, little-endian. */
  get_bytes(name: string): Uint8Array {
    const { start, end } = this.entry(name);
    return this.source.read(this.header.dataStart + start, end - start);
  }

  close(): void {
    this.source.close();
  }
  [Symbol.dispose](): void {
    this.close();
  }
}

/** Wider types first, then by name: so the data is aligned, as the Python library lays it out. */
function order(tensors: Readonly<Record<string, Tensor>>): [string, Tensor][] {
  return Object.entries(tensors).sort(([a, x], [b, y]) => y.itemsize - x.itemsize || (a < b ? -1 : a > b ? 1 : 0));
}

function encodeHeader(
  tensors: readonly [string, Tensor][],
  metadata: Readonly<Record<string, string>> | undefined,
): Buffer {
  const json: Record<string, unknown> = metadata ? { __metadata__: metadata } : {};
  let at = 0;
  for (const [name, t] of tensors) {
    if (!(t instanceof Tensor))
      throw new SafetensorError(`save_file(): expected a Tensor under '${name}', got ${typeof t}`);
    const dtype = byDtype.get(t.dtype);
    if (!dtype)
      throw new SafetensorError(
        `save_file(): expected a dtype that safetensors has for '${name}', got ${t.dtype.toString()}`,
      );
    if (name === "__metadata__")
      throw new SafetensorError("save_file(): expected another name for a tensor, got '__metadata__'");
    json[name] = { dtype, shape: t.shape, data_offsets: [at, (at += t.nbytes)] };
  }
  const text = Buffer.from(JSON.stringify(json));
  const padded = Buffer.alloc(8 + Math.ceil(text.length / 8) * 8, " ");
  padded.writeBigUInt64LE(BigInt(padded.length - 8));
  text.copy(padded, 8);
  return padded;
}

function* parts(
  tensors: Readonly<Record<string, Tensor>>,
  metadata: Readonly<Record<string, string>> | undefined,
): Generator<Uint8Array, void> {
  const ordered = order(tensors);
  yield encodeHeader(ordered, metadata);
  for (const [, t] of ordered) yield t.detach().toBytes();
}

/**
 * Writes tensors to a file. It appears whole or not at all: a full disk or a killed process leaves what was there.
 * Tensors that share a storage are written once each.
 */
export function save_file(
  tensors: Readonly<Record<string, Tensor>>,
  path: string,
  metadata?: Readonly<Record<string, string>>,
): void {
  writeWhole(path, parts(tensors, metadata));
}
