/** @file Bytes to read a part at a time, from a file or from memory, and files that appear whole or not at all. */
import { closeSync, fstatSync, fsyncSync, openSync, readSync, renameSync, rmSync, writeSync } from "node:fs";
import { TorchError } from "../schema/index.js";

/** What a reader takes: the path of a file, or its bytes. */
export type FileLike = string | URL | Uint8Array | ArrayBuffer;

/** One system call reads or writes at most so much. */
const largestStep = 1 << 30;

/** Something that can be read at any place. Nothing is allocated beyond what exists. */
export interface Source extends Disposable {
  /** For messages: the path, or `<bytes>`. */
  readonly name: string;
  readonly size: number;
  /** A copy of `length` bytes at `at`; throws where the source ends earlier. */
  read(at: number, length: number): Buffer;
  close(): void;
}

function checkRange(source: Source, at: number, length: number): void {
  if (!Number.isSafeInteger(at) || !Number.isSafeInteger(length) || at < 0 || length < 0 || at + length > source.size)
    throw new TorchError(
      `read(): expected ${length} bytes at ${at} within '${source.name}', got ${source.size} bytes: it is truncated`,
    );
}

class FileSource implements Source {
  readonly size: number;
  private fd: number | null;
  constructor(
    readonly name: string,
    path: string | URL,
  ) {
    this.fd = openSync(path, "r");
    const stat = fstatSync(this.fd);
    if (!stat.isFile()) {
      this.close();
      throw new TorchError(`open(): expected a file, got '${name}'`);
    }
    this.size = stat.size;
  }
  read(at: number, length: number): Buffer {
    if (this.fd === null) throw new TorchError(`read(): expected an open file, got '${this.name}' after close()`);
    checkRange(this, at, length);
    const out = Buffer.allocUnsafeSlow(length);
    for (let done = 0; done < length;) {
      const n = readSync(this.fd, out, done, Math.min(length - done, largestStep), at + done);
      if (n === 0) throw new TorchError(`read(): expected ${length} bytes at ${at} of '${this.name}', got ${done}`);
      done += n;
    }
    return out;
  }
  close(): void {
    if (this.fd !== null) closeSync(this.fd);
    this.fd = null;
  }
  [Symbol.dispose](): void {
    this.close();
  }
}

class MemorySource implements Source {
  readonly name = "<bytes>";
  constructor(private readonly bytes: Uint8Array) {}
  get size(): number {
    return this.bytes.byteLength;
  }
  read(at: number, length: number): Buffer {
    checkRange(this, at, length);
    const out = Buffer.allocUnsafeSlow(length);
    out.set(this.bytes.subarray(at, at + length));
    return out;
  }
  close(): void {
    // nothing is held
  }
  [Symbol.dispose](): void {
    this.close();
  }
}

/** Opens a file, or bytes in memory, for reading. */
export function openSource(f: FileLike): Source {
  if (typeof f === "string") return new FileSource(f, f);
  if (f instanceof URL) return new FileSource(f.pathname, f);
  return new MemorySource(f instanceof Uint8Array ? f : new Uint8Array(f));
}

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;)
    done += writeSync(fd, bytes, done, Math.min(bytes.length - done, largestStep));
}

/** Writes a file from its parts. It appears whole or not at all: a full disk or a killed process leaves what was there. */
export function writeWhole(path: string, parts: Iterable<Uint8Array>): void {
  const staged = `${path}.${process.pid}.new`;
  let fd: number | null = openSync(staged, "w");
  try {
    for (const part of parts) writeAll(fd, part);
    fsyncSync(fd);
    closeSync(fd);
    fd = null;
    renameSync(staged, path);
  } catch (error) {
    if (fd !== null) closeSync(fd);
    rmSync(staged, { force: true });
    throw error;
  }
}
