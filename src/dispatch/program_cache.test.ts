/** @file The caches of compiled programs: right or absent, whatever happens to the files. */
import { fork } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { cpuPluginPathSync } from "../assets/index.js";
import { Plugin } from "../pjrt/index.js";
import { ProgramCache, programCaching } from "./program_cache.js";
import { FolderStore } from "./program_store.js";

const folder = mkdtempSync(join(tmpdir(), "programs-"));
afterAll(() => rmSync(folder, { recursive: true }));
const fresh = (): string => mkdtempSync(join(folder, "s-"));
const body = Uint8Array.from({ length: 1000 }, (_, i) => i & 255);
const info = { name: "add", seconds: 0.1, platform: "cpu" };
const key = (n: number): string => n.toString(16).padStart(64, "0");
const files = (where: string): string[] =>
  readdirSync(where, { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile())
    .map((e) => join(e.parentPath, e.name));

describe("FolderStore", () => {
  it("gives back what was put", () => {
    const where = fresh();
    new FolderStore(where).put(key(1), { body, info });
    const found = new FolderStore(where).get(key(1))!;
    expect(Buffer.from(found.body)).toEqual(Buffer.from(body));
    expect(found.info).toEqual(info);
    expect(new FolderStore(where).list()).toMatchObject([{ key: key(1) }]);
  });
  it.each([
    ["cut short", (b: Buffer) => b.subarray(0, b.length / 2)],
    ["cut within its head", (b: Buffer) => b.subarray(0, 30)],
    ["empty", () => Buffer.alloc(0)],
    ["changed in its last bit", (b: Buffer) => (b.writeUInt8(b[b.length - 1] ^ 1, b.length - 1), b)],
    ["given a lying length", (b: Buffer) => (b.writeUInt32LE(0xffffffff, 52), b)],
    ["foreign", () => Buffer.from("not a program at all, and long enough to hold a header and more than that")],
  ])("takes a file that was %s for absent, and rewrites it", (_, damage) => {
    const where = fresh();
    const store = new FolderStore(where);
    store.put(key(1), { body, info });
    const [file] = files(where);
    writeFileSync(file, damage(readFileSync(file)));
    expect(store.get(key(1))).toBeNull();
    store.put(key(1), { body, info });
    expect(store.get(key(1))).not.toBeNull();
  });
  it("does not take one program's file for another's", () => {
    const where = fresh();
    const store = new FolderStore(where);
    store.put(key(1), { body, info });
    store.put(key(2), { body: body.slice(1), info });
    const at = (n: number): string => join(where, key(n).slice(0, 2), key(n));
    writeFileSync(at(2), readFileSync(at(1)));
    expect(store.get(key(2))).toBeNull();
  });
  it("forgets the least recently used when it grows too large", () => {
    const where = fresh();
    const store = new FolderStore(where, 20_000);
    for (let i = 0; i < 300; i++) store.put(key(i), { body, info });
    expect(store.list().reduce((n, f) => n + f.bytes, 0)).toBeLessThan(20_000 + 256 * 1200);
    expect(store.get(key(299))).not.toBeNull();
  });
  it("clears away what a killed writer left", () => {
    const where = fresh();
    const store = new FolderStore(where);
    store.put(key(1), { body, info });
    const left = `${files(where)[0]}.123.0`;
    writeFileSync(left, "half");
    const old = new Date(Date.now() - 7_200_000);
    utimesSync(left, old, old);
    expect(store.list()).toHaveLength(1);
    store.evict();
    expect(files(where)).toHaveLength(1);
  });
  it("serves eight processes at once", { timeout: 60_000 }, async () => {
    const where = fresh();
    const script = join(folder, "writer.mjs");
    // each writes and reads the same programs; a torn file would be a wrong body
    writeFileSync(
      script,
      `import { writeFileSync, readFileSync, renameSync, mkdirSync } from "node:fs";
process.on("message", async ({ module, where, body, info }) => {
  const { FolderStore } = await import(module);
  const store = new FolderStore(where, 40000);
  let wrong = 0;
  for (let i = 0; i < 200; i++) {
    const key = (i % 20).toString(16).padStart(64, "0");
    const want = Uint8Array.from(body, (b) => (b + i % 20) & 255);
    try { store.put(key, { body: want, info }); } catch { wrong++; }
    const got = store.get(key);
    if (got !== null && Buffer.compare(Buffer.from(got.body), Buffer.from(want)) !== 0) wrong++;
  }
  process.send(wrong, () => process.exit());
});`,
    );
    const module = new URL("../../dist/src/dispatch/program_store.js", import.meta.url).href;
    const wrong = await Promise.all(
      Array.from({ length: 8 }, () => {
        const child = fork(script);
        child.send({ module, where, body: [...body], info });
        return new Promise((resolve) => child.on("message", resolve));
      }),
    );
    expect(wrong).toEqual(new Array(8).fill(0));
  });
});

const double = `func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %a, %a : tensor<2xf32>
  return %0 : tensor<2xf32>
}`;

describe("ProgramCache", () => {
  const client = Plugin.load(cpuPluginPathSync()).createClient({ devices: 1 });
  const counts = (run: () => void): [requests: number, hits: number, compiled: number] => {
    programCaching.clearStats();
    run();
    const { num_cache_reqs, num_cache_hits, num_compilations } = programCaching.stats;
    return [num_cache_reqs, num_cache_hits, num_compilations];
  };
  it("compiles once: then from memory, from the host's folder, from the shared one", () => {
    const [host, shared] = [new FolderStore(fresh()), new FolderStore(fresh())];
    const cache = new ProgramCache(client, [host, shared]);
    let kept: unknown;
    expect(counts(() => (kept = cache.program("double", double, {})))).toEqual([1, 0, 1]);
    expect(counts(() => expect(cache.program("double", double, {})).toBe(kept))).toEqual([1, 1, 0]);
    expect(counts(() => new ProgramCache(client, [host]).program("double", double, {}))).toEqual([1, 1, 0]);
    const other = new FolderStore(fresh());
    expect(counts(() => new ProgramCache(client, [other, shared]).program("double", double, {}))).toEqual([1, 1, 0]);
    expect(other.list()).toHaveLength(1); // the nearer one has it now
  });
  it("has another key for another text, option or plugin", () => {
    const cache = new ProgramCache(client, []);
    const other = { ...client, platformName: client.platformName, platformVersion: "another" } as typeof client;
    Object.assign(other, { plugin: client.plugin, addressableDevices: client.addressableDevices });
    const keys = [
      cache.keyOf("a", {}),
      cache.keyOf("b", {}),
      cache.keyOf("a", { numReplicas: 1 }),
      new ProgramCache(other, []).keyOf("a", {}),
    ];
    expect(new Set(keys).size).toBe(4);
  });
  it("compiles anew what another plugin wrote under the same key", () => {
    const host = new FolderStore(fresh());
    const cache = new ProgramCache(client, [host]);
    host.put(cache.keyOf(double, {}), { body, info });
    expect(counts(() => cache.program("double", double, {}))).toEqual([1, 0, 1]);
  });
  it("goes on where nothing can be written", () => {
    const file = join(fresh(), "a file");
    writeFileSync(file, "");
    const cache = new ProgramCache(client, [new FolderStore(file)]);
    expect(counts(() => cache.program("double", double, {}))).toEqual([1, 0, 1]);
    expect(programCaching.stats.num_failed_writes).toBe(1);
  });
  it("can be switched off, and made the only source", () => {
    const cache = new ProgramCache(client, [new FolderStore(fresh())]);
    programCaching.only = true;
    try {
      expect(() => cache.program("double", double, {})).toThrow("double: expected its program in the cache");
    } finally {
      programCaching.only = false;
    }
    cache.program("double", double, {});
    programCaching.allow = false;
    try {
      expect(counts(() => cache.program("double", double, {}))).toEqual([1, 0, 1]);
    } finally {
      programCaching.allow = true;
    }
  });
});
