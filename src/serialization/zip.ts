/**
 * @file Zip archives, read and written synchronously a record at a time, as `torch.load` and `torch.save` are.
 *
 * Readers from npm either call back (yauzl) or inflate whole archives into memory; a checkpoint needs neither.
 * @see https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
 */
import * as zlib from "node:zlib";
import { TorchError } from "../schema/index.js";
import type { Source } from "./source.js";

/** An archive that is not what it should be. */
export class ZipError extends TorchError {
  override name = "ZipError";
}

const END = 0x06054b50;
const END64 = 0x06064b50;
const END64_LOCATOR = 0x07064b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
const ZIP64_EXTRA = 1;
const NONE32 = 0xffffffff;
const NONE16 = 0xffff;
/** No deflate stream gives more bytes than this for one of its own. */
const largestRatio = 1032;

interface Entry {
  readonly name: string;
  readonly method: number;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  readonly at: number;
}

const crcTable = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

function slowCrc32(bytes: Uint8Array): number {
  let c = 0xffffffff;
  for (const b of bytes) c = crcTable[(c ^ b) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

/** CRC-32; Node has its own from 20.15 on. */
export const crc32: (bytes: Uint8Array) => number =
  (zlib as { crc32?: (bytes: Uint8Array) => number }).crc32 ?? slowCrc32;

const size64 = (b: Buffer, at: number): number => Number(b.readBigUInt64LE(at));

/** A zip archive that is open for reading. */
export class ZipReader {
  private readonly entries = new Map<string, Entry>();

  constructor(private readonly source: Source) {
    const { count, at, bytes } = this.findDirectory();
    this.readDirectory(this.within(at, bytes, "the central directory"), count, at);
    this.checkOverlaps(at);
  }

  private bad(expected: string, got: string): never {
    throw new ZipError(`ZipReader(): expected ${expected} in '${this.source.name}', got ${got}`);
  }

  private within(at: number, length: number, what: string): Buffer {
    if (!Number.isSafeInteger(at) || !Number.isSafeInteger(length) || at + length > this.source.size)
      this.bad(`${what} of ${length} bytes at ${at}`, `${this.source.size} bytes: it is truncated or damaged`);
    return this.source.read(at, length);
  }

  private findDirectory(): { count: number; at: number; bytes: number } {
    const { size } = this.source;
    const tailAt = Math.max(0, size - 22 - NONE16);
    const tail = this.source.read(tailAt, size - tailAt);
    for (let i = tail.length - 22; i >= 0; i--) {
      if (tail.readUInt32LE(i) !== END || i + 22 + tail.readUInt16LE(i + 20) !== tail.length) continue;
      const plain = {
        count: tail.readUInt16LE(i + 10),
        bytes: tail.readUInt32LE(i + 12),
        at: tail.readUInt32LE(i + 16),
      };
      const locatorAt = tailAt + i - 20;
      if (locatorAt < 0) return plain;
      const locator = this.source.read(locatorAt, 20);
      if (locator.readUInt32LE(0) !== END64_LOCATOR) return plain;
      const end = this.within(size64(locator, 8), 56, "a zip64 end record");
      if (end.readUInt32LE(0) !== END64) this.bad("a zip64 end record", "something else");
      return { count: size64(end, 32), bytes: size64(end, 40), at: size64(end, 48) };
    }
    return this.bad("the end of a zip archive", `${size} bytes without one: it is truncated or no archive`);
  }

  private readDirectory(directory: Buffer, count: number, end: number): void {
    let at = 0;
    for (let i = 0; i < count; i++) {
      if (at + 46 > directory.length || directory.readUInt32LE(at) !== CENTRAL)
        this.bad(`${count} entries in the central directory`, `${i}`);
      const nameLength = directory.readUInt16LE(at + 28);
      const extraLength = directory.readUInt16LE(at + 30);
      const next = at + 46 + nameLength + extraLength + directory.readUInt16LE(at + 32);
      if (next > directory.length) this.bad("an entry within the central directory", "one that runs over its end");
      const name = directory.toString("utf8", at + 46, at + 46 + nameLength);
      const extra = directory.subarray(at + 46 + nameLength, at + 46 + nameLength + extraLength);
      const entry = this.entryOf(name, directory.subarray(at, at + 46), extra);
      if (!Number.isSafeInteger(entry.packed + entry.at) || entry.at + 30 + entry.packed > end)
        this.bad(`'${name}' to lie before the central directory`, `${entry.packed} bytes at ${entry.at}`);
      if (this.entries.has(name)) this.bad("each name once", `'${name}' twice`);
      this.entries.set(name, entry);
      at = next;
    }
  }

  private entryOf(name: string, head: Buffer, extra: Buffer): Entry {
    if (head.readUInt16LE(8) & 1) this.bad(`'${name}' not to be encrypted`, "encryption");
    let packed = head.readUInt32LE(20);
    let size = head.readUInt32LE(24);
    let at = head.readUInt32LE(42);
    for (let i = 0; i + 4 <= extra.length;) {
      const end = i + 4 + extra.readUInt16LE(i + 2);
      let j = i + 4;
      const next = (): number => {
        if (j + 8 > Math.min(end, extra.length)) this.bad(`the zip64 sizes of '${name}'`, "too few bytes");
        return size64(extra, (j += 8) - 8);
      };
      if (extra.readUInt16LE(i) === ZIP64_EXTRA) {
        if (size === NONE32) size = next();
        if (packed === NONE32) packed = next();
        if (at === NONE32) at = next();
      }
      i = end;
    }
    const method = head.readUInt16LE(10);
    if (method !== 0 && method !== 8) this.bad(`'${name}' to be stored or deflated`, `method ${method}`);
    if (method === 0 ? size !== packed : size > largestRatio * (packed + 1))
      this.bad(`a size of '${name}' that its ${packed} bytes can have`, `${size}`);
    return { name, method, crc: head.readUInt32LE(16), packed, size, at };
  }

  private checkOverlaps(end: number): void {
    const sorted = [...this.entries.values()].sort((a, b) => a.at - b.at);
    sorted.forEach((e, i) => {
      const next = sorted[i + 1]?.at ?? end;
      if (e.at + 30 + e.packed > next) this.bad(`'${e.name}' to end before the next record`, "records that overlap");
    });
  }

  /** Names of the records, in the order of the directory. */
  names(): string[] {
    return [...this.entries.keys()];
  }

  has(name: string): boolean {
    return this.entries.has(name);
  }

  /** Bytes of a record, unpacked. */
  sizeOf(name: string): number {
    return this.entry(name).size;
  }

  private entry(name: string): Entry {
    return this.entries.get(name) ?? this.bad(`a record '${name}'`, "none of that name");
  }

  /** One record, with its checksum verified. */
  read(name: string): Buffer {
    const { at, packed, size, method, crc } = this.entry(name);
    const head = this.within(at, 30, `the header of '${name}'`);
    if (head.readUInt32LE(0) !== LOCAL) this.bad(`a header of '${name}'`, "something else");
    const bytes = this.within(at + 30 + head.readUInt16LE(26) + head.readUInt16LE(28), packed, `'${name}'`);
    const out = method === 0 ? bytes : this.inflate(name, bytes, size);
    if (out.length !== size || crc32(out) !== crc) this.bad(`'${name}' with its checksum`, "a damaged record");
    return out;
  }

  private inflate(name: string, bytes: Buffer, size: number): Buffer {
    try {
      return zlib.inflateRawSync(bytes, { maxOutputLength: Math.max(1, size) });
    } catch (error) {
      return this.bad(`'${name}' to unpack to ${size} bytes`, (error as Error).message);
    }
  }
}

/** Elements start at multiples of this, so that readers can map them into memory. */
const alignment = 64;

function header(bytes: number, fields: readonly (readonly [at: number, size: 2 | 4 | 8, value: number])[]): Buffer {
  const out = Buffer.alloc(bytes);
  for (const [at, size, value] of fields) {
    if (size === 2) out.writeUInt16LE(value, at);
    else if (size === 4) out.writeUInt32LE(value, at);
    else out.writeBigUInt64LE(BigInt(value), at);
  }
  return out;
}

const clip = (n: number): number => Math.min(n, NONE32);
/** 1980-01-01, the first day that zip knows: equal content makes equal files. */
const date = 0x21;

function extraOf(sizes: readonly number[]): Buffer {
  const large = sizes.filter((n) => n >= NONE32);
  if (large.length === 0) return Buffer.alloc(0);
  return header(4 + 8 * large.length, [
    [0, 2, ZIP64_EXTRA],
    [2, 2, 8 * large.length],
    ...large.map((n, i) => [4 + 8 * i, 8, n] as const),
  ]);
}

/** A filler of at least 4 bytes that puts the data behind it at a multiple of the alignment. */
function filler(at: number): Buffer {
  const length = 4 + ((alignment - ((at + 4) % alignment)) % alignment);
  const out = Buffer.alloc(length, "Z");
  out.write("FB", 0, "latin1");
  out.writeUInt16LE(length - 4, 2);
  return out;
}

/** The parts of an archive of stored records, one record in memory at a time. */
export function* zipParts(
  records: Iterable<readonly [name: string, bytes: () => Uint8Array]>,
): Generator<Uint8Array, void> {
  const directory: Buffer[] = [];
  let at = 0;
  for (const [text, get] of records) {
    const name = Buffer.from(text);
    const bytes = get();
    const sizes = [bytes.length, bytes.length];
    const crc = crc32(bytes);
    const zip64 = extraOf(sizes);
    const extra = Buffer.concat([zip64, filler(at + 30 + name.length + zip64.length)]);
    const common = [[4, 2, 45], [6, 2, 0x800], [8, 2, 0], [12, 2, date], [14, 4, crc]] as const; // prettier-ignore
    const local = [[0, 4, LOCAL], ...common, [18, 4, clip(sizes[0])], [22, 4, clip(sizes[1])], [26, 2, name.length], [28, 2, extra.length]] as const; // prettier-ignore
    yield header(30, local);
    yield name;
    yield extra;
    yield bytes;
    const far = extraOf([...sizes, at]);
    const central = [[0, 4, CENTRAL], [4, 2, 45], ...common.map(([o, s, v]) => [o + 2, s, v] as const), [20, 4, clip(sizes[0])], [24, 4, clip(sizes[1])], [28, 2, name.length], [30, 2, far.length], [42, 4, clip(at)]] as const; // prettier-ignore
    directory.push(header(46, central), name, far);
    at += 30 + name.length + extra.length + bytes.length;
  }
  const central = Buffer.concat(directory);
  yield central;
  yield endOf(directory.length / 3, central.length, at);
}

function endOf(count: number, bytes: number, at: number): Buffer {
  const clip16 = Math.min(count, NONE16);
  const plain = header(22, [[0, 4, END], [8, 2, clip16], [10, 2, clip16], [12, 4, clip(bytes)], [16, 4, clip(at)]]); // prettier-ignore
  if (count < NONE16 && bytes < NONE32 && at < NONE32) return plain;
  const end64 = header(56, [[0, 4, END64], [4, 8, 44], [12, 2, 45], [14, 2, 45], [24, 8, count], [32, 8, count], [40, 8, bytes], [48, 8, at]]); // prettier-ignore
  return Buffer.concat([
    end64,
    header(20, [
      [0, 4, END64_LOCATOR],
      [8, 8, at + bytes],
      [16, 4, 1],
    ]),
    plain,
  ]);
}
