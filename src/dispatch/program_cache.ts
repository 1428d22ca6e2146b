/** @file Compiled programs kept on this machine, so that a later process loads what an earlier one compiled. */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { cacheRoot } from "../assets/index.js";

/** What keeps a foreign or damaged file from being taken for a program. */
const magic = Buffer.from("torch-tpu program 1\n");
const digestBytes = 32;

const sha256 = (...parts: readonly (string | Uint8Array)[]): Buffer => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part).update("\0");
  return hash.digest();
};

/** The machine's instruction sets: a program compiled for others must not be loaded. */
function machineFeatures(): string {
  try {
    return /^flags\s*:(.*)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1] ?? "";
  } catch {
    return cpus()[0]?.model ?? "";
  }
}

export interface CacheStats {
  hits: number;
  misses: number;
  /** Programs that could not be kept: a full or read-only disk. */
  failedWrites: number;
}

const defaultLimit = 2 * 1024 ** 3;

/** A folder of programs by the hash of all that shaped them. Never trusted: each file carries its own checksum. */
export class ProgramCache {
  readonly stats: CacheStats = { hits: 0, misses: 0, failedWrites: 0 };
  private readonly salt: Buffer;
  private written = 0;
  constructor(
    /** The plugin and its version. */
    identity: string,
    readonly folder = process.env.TORCH_TPU_PROGRAM_CACHE ?? join(cacheRoot(), "programs"),
    private readonly limitBytes = Number(process.env.TORCH_TPU_PROGRAM_CACHE_BYTES ?? defaultLimit),
  ) {
    this.salt = sha256(identity, machineFeatures());
  }

  private path(key: string): string {
    return join(this.folder, key.slice(0, 2), key);
  }

  keyOf(text: string, options: string): string {
    return sha256(this.salt, text, options).toString("hex");
  }

  /** The serialized program, or null. A damaged file counts as absent. */
  get(key: string): Uint8Array | null {
    const path = this.path(key);
    let file: Buffer;
    try {
      file = readFileSync(path);
    } catch {
      this.stats.misses++;
      return null;
    }
    const head = magic.length + digestBytes;
    const body = file.subarray(head);
    const intact =
      file.length > head &&
      file.subarray(0, magic.length).equals(magic) &&
      sha256(key, body).equals(file.subarray(magic.length, head));
    if (!intact) {
      this.stats.misses++;
      return null;
    }
    this.stats.hits++;
    const now = new Date();
    try {
      utimesSync(path, now, now); // least recently used goes first
    } catch {
      // a read-only folder serves as well
    }
    return body;
  }

  /** Keeps a program. A disk that is full or read-only costs speed, nothing else. */
  put(key: string, body: Uint8Array): void {
    const path = this.path(key);
    const staged = `${path}.${process.pid}.${this.written++}`;
    try {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(staged, Buffer.concat([magic, sha256(key, body), body]));
      renameSync(staged, path);
      if (this.written % 256 === 1) this.evict();
    } catch {
      this.stats.failedWrites++;
      try {
        rmSync(staged, { force: true });
      } catch {
        // the folder itself is not one
      }
    }
  }

  /** Removes the least recently used programs until three quarters of the limit are left. */
  private evict(): void {
    const files = this.list();
    let total = files.reduce((n, f) => n + f.bytes, 0);
    if (total <= this.limitBytes) return;
    files.sort((a, b) => a.used - b.used);
    for (const f of files) {
      if (total <= 0.75 * this.limitBytes) break;
      rmSync(f.path, { force: true });
      total -= f.bytes;
    }
  }

  /** Every file in the cache. */
  list(): { path: string; bytes: number; used: number }[] {
    try {
      return readdirSync(this.folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
        if (!entry.isFile()) return [];
        const path = join(entry.parentPath, entry.name);
        const { size, mtimeMs } = statSync(path);
        return [{ path, bytes: size, used: mtimeMs }];
      });
    } catch {
      return [];
    }
  }
}
