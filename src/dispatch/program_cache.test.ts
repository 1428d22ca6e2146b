import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ProgramCache } from "./program_cache.js";

const folder = mkdtempSync(join(tmpdir(), "programs-"));
afterAll(() => rmSync(folder, { recursive: true }));
const body = Uint8Array.from({ length: 1000 }, (_, i) => i & 255);
const onlyFile = (where: string): string =>
  readdirSync(where, { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile())
    .map((e) => join(e.parentPath, e.name))[0];

describe("ProgramCache", () => {
  it("gives back what was put", () => {
    const where = join(folder, "a");
    const key = new ProgramCache("plugin 1", where).keyOf("module", "{}");
    new ProgramCache("plugin 1", where).put(key, body);
    const later = new ProgramCache("plugin 1", where);
    expect(Buffer.from(later.get(key)!)).toEqual(Buffer.from(body));
    expect(later.stats).toMatchObject({ hits: 1, misses: 0 });
  });
  it("has another key for another plugin, text or option", () => {
    const keys = [
      new ProgramCache("1", folder).keyOf("a", "b"),
      new ProgramCache("2", folder).keyOf("a", "b"),
      new ProgramCache("1", folder).keyOf("ab", ""),
      new ProgramCache("1", folder).keyOf("a", "c"),
    ];
    expect(new Set(keys).size).toBe(4);
  });
  it.each([
    ["cut short", (b: Buffer) => b.subarray(0, b.length / 2)],
    ["empty", () => Buffer.alloc(0)],
    ["changed in one bit", (b: Buffer) => (b.writeUInt8(b[b.length - 1] ^ 1, b.length - 1), b)],
    ["foreign", () => Buffer.from("not a program at all, and long enough to hold a header and more than that")],
  ])("takes a file that was %s for absent, and rewrites it", (_, damage) => {
    const where = mkdtempSync(join(folder, "d-"));
    const cache = new ProgramCache("p", where);
    const key = cache.keyOf("m", "");
    cache.put(key, body);
    const file = onlyFile(where);
    writeFileSync(file, damage(readFileSync(file)));
    expect(cache.get(key)).toBeNull();
    cache.put(key, body);
    expect(cache.get(key)).not.toBeNull();
  });
  it("does not take one program's file for another's", () => {
    const where = join(folder, "swap");
    const cache = new ProgramCache("p", where);
    const [a, b] = [cache.keyOf("a", ""), cache.keyOf("b", "")];
    cache.put(a, body);
    cache.put(b, body.slice(1));
    writeFileSync(join(where, b.slice(0, 2), b), readFileSync(join(where, a.slice(0, 2), a)));
    expect(cache.get(b)).toBeNull();
  });
  it("goes on without a folder that can be written", () => {
    writeFileSync(join(folder, "a file"), "");
    const cache = new ProgramCache("p", join(folder, "a file"));
    const key = cache.keyOf("m", "");
    cache.put(key, body);
    expect(cache.get(key)).toBeNull();
    expect(cache.stats.failedWrites).toBe(1);
  });
  it("forgets the least recently used when it grows too large", () => {
    const where = join(folder, "small");
    const cache = new ProgramCache("p", where, 20_000);
    const keys = Array.from({ length: 300 }, (_, i) => cache.keyOf(String(i), ""));
    keys.forEach((k) => cache.put(k, body));
    expect(cache.list().reduce((n, f) => n + f.bytes, 0)).toBeLessThan(20_000 + 256 * 1100);
    expect(cache.get(keys[299])).not.toBeNull();
  });
});
