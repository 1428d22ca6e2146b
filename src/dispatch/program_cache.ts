/** @file Compiled programs by the hash of all that shaped them: in memory, on this host, in a shared folder. */
import { readFileSync, statSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { cacheRoot } from "../assets/index.js";
import type { Client, CompileOptions, LoadedExecutable } from "../pjrt/index.js";
import { TorchError } from "../schema/index.js";
import { FolderStore, sha256, type ProgramStore } from "./program_store.js";

/** The machine's instruction sets: a program compiled for others must not be loaded. */
function machineFeatures(): string {
  try {
    return /^flags\s*:(.*)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1] ?? "";
  } catch {
    return cpus()[0]?.model ?? "";
  }
}

/** Source locations in a module: they change with every edit of the user's file, and the program does not. */
const locations = / loc\("(?:[^"\\]|\\.)*"(?::\d+:\d+)?\)/g;

export interface CacheEntryStats {
  readonly name: string;
  /** Seconds; 0 where it was loaded. */
  readonly compilation_duration: number;
  /** Milliseconds since 1970. */
  last_read: number;
  read_count: number;
}

/** Counts since the process started, or since they were cleared. */
export interface CacheStats {
  num_cache_reqs: number;
  num_cache_hits: number;
  num_compilations: number;
  /** Programs that a store could not keep: a full or read-only disk. */
  num_failed_writes: number;
  per_entry_stats: Map<string, CacheEntryStats>;
}

const noStats = (): CacheStats => ({
  num_cache_reqs: 0,
  num_cache_hits: 0,
  num_compilations: 0,
  num_failed_writes: 0,
  per_entry_stats: new Map(),
});

/** Switches and counts of all caches of this process. */
export const programCaching = {
  /** Whether programs of before may be used at all. */
  allow: true,
  /** Whether a program that is in no cache is an error. */
  only: false,
  stats: noStats(),
  /** Programs that were compiled or loaded: those that were in memory already do not count. */
  made: 0,
  clearStats(): void {
    programCaching.stats = noStats();
  },
};

const defaultLimit = 2 * 1024 ** 3;

/** The folder of this host's programs, or null where TORCH_TPU_PROGRAM_CACHE is "off". */
export function hostStore(): FolderStore | null {
  const place = process.env.TORCH_TPU_PROGRAM_CACHE ?? join(cacheRoot(), "programs");
  const limit = Number(process.env.TORCH_TPU_PROGRAM_CACHE_BYTES ?? defaultLimit);
  return place === "off" ? null : new FolderStore(place, limit);
}

/** The folder that hosts share (TORCH_TPU_TIER3_COMPILATION_CACHE_ROOT), or null. */
export function sharedStore(): FolderStore | null {
  const place = process.env.TORCH_TPU_TIER3_COMPILATION_CACHE_ROOT;
  return place ? new FolderStore(place) : null;
}

/** The programs of one client. */
export class ProgramCache {
  private readonly memory = new Map<string, WeakRef<LoadedExecutable>>();
  private readonly salt: Buffer;
  private readonly platform: string;
  constructor(
    private readonly client: Client,
    /** From the nearest to the farthest. */
    private readonly stores: readonly ProgramStore[] = [hostStore(), sharedStore()].filter((s) => s !== null),
  ) {
    const { platformName, platformVersion, plugin, addressableDevices } = client;
    const { size, mtimeMs } = statSync(plugin.path);
    this.platform = `${platformName} ${addressableDevices[0]?.kind ?? ""}`.trim();
    const identity = [platformName, platformVersion, size, mtimeMs, this.platform, addressableDevices.length].join("|");
    this.salt = sha256(identity, machineFeatures());
  }

  keyOf(text: string, options: CompileOptions): string {
    return sha256(this.salt, text.replace(locations, ""), JSON.stringify(options)).toString("hex");
  }

  /** The program of a StableHLO module: from memory, from a store, or compiled. */
  program(name: string, text: string, options: CompileOptions): LoadedExecutable {
    const key = this.keyOf(text, options);
    const found = this.find(name, key, options);
    if (found !== null) return found;
    const start = performance.now();
    return this.keep(name, key, this.client.compile(text, options), (performance.now() - start) / 1000);
  }

  /** The same, compiled in another thread where it must be. */
  async programAsync(name: string, text: string, options: CompileOptions): Promise<LoadedExecutable> {
    const key = this.keyOf(text, options);
    const found = this.find(name, key, options);
    if (found !== null) return found;
    const start = performance.now();
    return this.keep(name, key, await this.client.compileAsync(text, options), (performance.now() - start) / 1000);
  }

  private find(name: string, key: string, options: CompileOptions): LoadedExecutable | null {
    const { stats, allow, only } = programCaching;
    stats.num_cache_reqs++;
    if (allow) {
      const found = this.memory.get(key)?.deref() ?? this.load(name, key, options);
      if (found !== null) {
        stats.num_cache_hits++;
        const entry = stats.per_entry_stats.get(key);
        if (entry) {
          entry.read_count++;
          entry.last_read = Date.now();
        }
        return found;
      }
    }
    if (only)
      throw new TorchError(
        `${name}: expected its program in the cache, which alone may be used, got none of key ${key.slice(0, 16)}`,
      );
    return null;
  }

  private load(name: string, key: string, options: CompileOptions): LoadedExecutable | null {
    for (let i = 0; i < this.stores.length; i++) {
      const stored = this.stores[i].get(key);
      if (stored === null) continue;
      try {
        const loaded = this.client.deserialize(stored.body, options);
        for (const nearer of this.stores.slice(0, i)) this.write(nearer, key, stored);
        this.remember(name, key, loaded, 0);
        return loaded;
      } catch {
        // not this plugin's after all: compile it anew
      }
    }
    return null;
  }

  private keep(name: string, key: string, loaded: LoadedExecutable, seconds: number): LoadedExecutable {
    programCaching.stats.num_compilations++;
    this.remember(name, key, loaded, seconds);
    if (this.stores.length === 0 || !programCaching.allow) return loaded;
    const body = serialized(loaded);
    if (body !== null)
      for (const store of this.stores)
        this.write(store, key, { body, info: { name, seconds, platform: this.platform } });
    return loaded;
  }

  private remember(name: string, key: string, loaded: LoadedExecutable, seconds: number): void {
    programCaching.made++;
    this.memory.set(key, new WeakRef(loaded));
    const entry = { name, compilation_duration: seconds, last_read: Date.now(), read_count: 0 };
    programCaching.stats.per_entry_stats.set(key, entry);
  }

  private write(store: ProgramStore, ...entry: Parameters<ProgramStore["put"]>): void {
    try {
      store.put(...entry);
    } catch {
      programCaching.stats.num_failed_writes++;
    }
  }

  /** Forgets the programs in memory and removes those of the nearest store. */
  clear(): void {
    this.memory.clear();
    const [nearest] = this.stores;
    for (const { key } of nearest?.list() ?? []) nearest.remove(key);
  }
}

/** The program's bytes, or null from a plugin that cannot give them. */
function serialized(loaded: LoadedExecutable): Uint8Array | null {
  try {
    return loaded.serialize();
  } catch {
    return null;
  }
}
