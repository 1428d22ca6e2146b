/** @file `npx torch-tpu cache`: what is kept of compiled programs on this host and in the shared folder. */
import { formatBytes } from "../assets/index.js";
import { hostStore, sharedStore, type FolderStore } from "../dispatch/index.js";
import { formatTable } from "./table.js";

export const cacheActions = ["stats", "list", "clear", "warm"] as const;
export type CacheAction = (typeof cacheActions)[number];

interface Place {
  readonly name: "host" | "shared";
  readonly store: FolderStore;
}

/** Runs one action and returns the exit code. */
export function cache(action: CacheAction, options: { json: boolean; shared: boolean }): number {
  const host = hostStore();
  const shared = sharedStore();
  const places: Place[] = [];
  if (host) places.push({ name: "host", store: host });
  if (shared) places.push({ name: "shared", store: shared });
  if (places.length === 0) {
    process.stderr.write("torch-tpu cache: programs are not kept, because TORCH_TPU_PROGRAM_CACHE is off\n");
    return 1;
  }
  switch (action) {
    case "stats":
      return show(places.map(statsOf), options.json);
    case "list":
      return show(places.flatMap(entriesOf), options.json);
    case "clear":
      return clear(places.filter((p) => (options.shared ? p.name === "shared" : p.name === "host")));
    case "warm":
      return warm(host, shared);
  }
}

type Row = Readonly<Record<string, string | number>>;

function show(rows: readonly Row[], asJson: boolean): number {
  if (asJson) process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
  else if (rows.length === 0) process.stdout.write("no programs\n");
  else {
    const columns = Object.keys(rows[0]);
    const text = (key: string, value: string | number): string =>
      key === "bytes" ? formatBytes(Number(value)) : String(value);
    const lines = rows.map((row) => columns.map((c) => text(c, row[c])));
    process.stdout.write(`${formatTable([columns.map((c) => c.toUpperCase()), ...lines])}\n`);
  }
  return 0;
}

function statsOf({ name, store }: Place): Row {
  const entries = store.list();
  const bytes = entries.reduce((n, e) => n + e.bytes, 0);
  return { place: name, programs: entries.length, bytes, folder: store.folder };
}

/** The programs of a place, the most recently used first. */
function entriesOf({ name, store }: Place): Row[] {
  const entries = store.list().sort((a, b) => b.used - a.used);
  return entries.flatMap(({ key, bytes, used }): Row[] => {
    const found = store.peek(key);
    if (found === null) return [];
    const { name: program, seconds, platform } = found.info;
    const compiled = `${seconds.toFixed(2)} s`;
    return [
      { place: name, program, bytes, compiled, used: new Date(used).toISOString(), platform, key: key.slice(0, 16) },
    ];
  });
}

function clear(places: readonly Place[]): number {
  if (places.length === 0) {
    process.stderr.write(
      "torch-tpu cache clear: there is no such place: TORCH_TPU_TIER3_COMPILATION_CACHE_ROOT is not set\n",
    );
    return 1;
  }
  for (const { name, store } of places) {
    const entries = store.list();
    for (const { key } of entries) store.remove(key);
    process.stdout.write(`removed ${entries.length} programs from the ${name} folder\n`);
  }
  return 0;
}

/** Copies what the shared folder has to this host, so that a job starts without waiting for a network. */
function warm(host: FolderStore | null, shared: FolderStore | null): number {
  if (host === null || shared === null) {
    process.stderr.write(
      "torch-tpu cache warm: expected a shared folder in TORCH_TPU_TIER3_COMPILATION_CACHE_ROOT to copy from\n",
    );
    return 1;
  }
  const here = new Set(host.list().map((e) => e.key));
  let copied = 0;
  for (const { key } of shared.list()) {
    if (here.has(key)) continue;
    const program = shared.peek(key);
    if (program === null) continue;
    host.put(key, program);
    copied++;
  }
  process.stdout.write(`copied ${copied} programs; ${here.size} were here\n`);
  return 0;
}
