/** @file Where compiled programs are kept outside of the process: a folder, or what else has the same four methods. */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** What is known of a kept program besides its bytes. */
export interface ProgramInfo {
  /** The operator or function that it was compiled for. */
  readonly name: string;
  /** How long compiling took, in seconds. */
  readonly seconds: number;
  /** The plugin and the kind of device. */
  readonly platform: string;
}

export interface StoredProgram {
  readonly body: Uint8Array;
  readonly info: ProgramInfo;
}

export interface StoreEntry {
  readonly key: string;
  readonly bytes: number;
  /** When it was last read or written, in milliseconds since 1970. */
  readonly used: number;
}

/** A place for programs by key. Nothing in it is trusted: `get` gives what `put` was given, or null. */
export interface ProgramStore {
  get(key: string): StoredProgram | null;
  /** Throws where it cannot keep the program. */
  put(key: string, program: StoredProgram): void;
  list(): StoreEntry[];
  remove(key: string): void;
}

/** What keeps a foreign or damaged file from being taken for a program. */
const magic = Buffer.from("torch-tpu program 2\n");
const digestBytes = 32;
const head = magic.length + digestBytes + 4;

export const sha256 = (...parts: readonly (string | Uint8Array)[]): Buffer => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part).update("\0");
  return hash.digest();
};

const isKey = /^[0-9a-f]{64}$/;

/** A folder on this machine or a mounted one. Files appear whole or not at all, whoever else writes. */
export class FolderStore implements ProgramStore {
  private written = 0;
  constructor(
    readonly folder: string,
    /** The least recently used go when there are more bytes. */
    private readonly limitBytes = Infinity,
  ) {}

  private path(key: string): string {
    return join(this.folder, key.slice(0, 2), key);
  }

  get(key: string): StoredProgram | null {
    const program = this.peek(key);
    if (program === null) return null;
    const now = new Date();
    try {
      utimesSync(this.path(key), now, now);
    } catch {
      // a read-only folder serves as well
    }
    return program;
  }

  /** The same without counting as a use. */
  peek(key: string): StoredProgram | null {
    try {
      return decode(key, readFileSync(this.path(key)));
    } catch {
      return null;
    }
  }

  put(key: string, program: StoredProgram): void {
    const path = this.path(key);
    const staged = `${path}.${process.pid}.${this.written++}`;
    try {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(staged, encode(key, program));
      renameSync(staged, path);
    } catch (error) {
      try {
        rmSync(staged, { force: true });
      } catch {
        // the folder itself is not one
      }
      throw error;
    }
    if (this.written % 256 === 1) this.evict();
  }

  remove(key: string): void {
    rmSync(this.path(key), { force: true });
  }

  /** Removes the least recently used programs until three quarters of the limit are left, and what killed writers left. */
  evict(): void {
    const entries = this.files();
    const hourAgo = Date.now() - 3_600_000;
    for (const f of entries) if (!isKey.test(f.name) && f.used < hourAgo) rmSync(f.path, { force: true });
    let total = entries.reduce((n, f) => n + f.bytes, 0);
    if (total <= this.limitBytes) return;
    entries.sort((a, b) => a.used - b.used);
    for (const f of entries) {
      if (total <= 0.75 * this.limitBytes) break;
      rmSync(f.path, { force: true });
      total -= f.bytes;
    }
  }

  list(): StoreEntry[] {
    return this.files()
      .filter((f) => isKey.test(f.name))
      .map(({ name, bytes, used }) => ({ key: name, bytes, used }));
  }

  private files(): { path: string; name: string; bytes: number; used: number }[] {
    let entries;
    try {
      entries = readdirSync(this.folder, { recursive: true, withFileTypes: true });
    } catch {
      return [];
    }
    return entries.flatMap((entry) => {
      if (!entry.isFile()) return [];
      const path = join(entry.parentPath, entry.name);
      try {
        const { size, mtimeMs } = statSync(path);
        return [{ path, name: entry.name, bytes: size, used: mtimeMs }];
      } catch {
        return []; // somebody removed it meanwhile
      }
    });
  }
}

function encode(key: string, { body, info }: StoredProgram): Buffer {
  const about = Buffer.from(JSON.stringify(info));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(about.length);
  return Buffer.concat([magic, sha256(key, about, body), length, about, body]);
}

function decode(key: string, file: Buffer): StoredProgram | null {
  if (file.length < head || !file.subarray(0, magic.length).equals(magic)) return null;
  const end = head + file.readUInt32LE(head - 4);
  if (end >= file.length) return null;
  const [about, body] = [file.subarray(head, end), file.subarray(end)];
  if (!sha256(key, about, body).equals(file.subarray(magic.length, head - 4))) return null;
  return { body, info: JSON.parse(about.toString()) as ProgramInfo };
}
