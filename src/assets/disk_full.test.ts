/** @file A disk that fills up: before, while unpacking, while writing the manifest. What was there before stays. */

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { fakePip, makeArchive, removeTemporaryFolders, specFor, temporaryFolder } from "../../tests/kit/fake_pip.js";
import { ensureSpec } from "./ensure.js";
import { AssetError } from "./error.js";
import { assetFolder } from "./find.js";
import type { AssetSpec } from "./table.js";

/** Where the disk is full. */
const full = vi.hoisted(() => ({ at: "" as "" | "before" | "unpacking" | "manifest" }));
const noSpace = (): Error => Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  return {
    ...fs,
    createWriteStream: (...args: Parameters<typeof fs.createWriteStream>) => {
      if (full.at !== "unpacking") return fs.createWriteStream(...args);
      fs.writeFileSync(args[0], "the first half");
      return new Writable({ write: (_chunk, _encoding, done) => done(noSpace()) });
    },
    writeFileSync: (...args: Parameters<typeof fs.writeFileSync>) => {
      if (full.at === "manifest" && String(args[0]).endsWith("asset.json")) throw noSpace();
      fs.writeFileSync(...args);
    },
  };
});
vi.mock("node:fs/promises", async (original) => {
  const fs = await original<typeof import("node:fs/promises")>();
  return {
    ...fs,
    statfs: async (path: string) => {
      const real = await fs.statfs(path);
      return full.at === "before" ? { ...real, bsize: 4096, bavail: 1 } : real;
    },
  };
});

let spec: AssetSpec;
let home: string;

beforeAll(() => {
  const wheel = makeArchive("wheel", temporaryFolder(), { "fake/model.bin": "the model's bytes ".repeat(10_000) });
  spec = specFor(wheel, { unpackedSize: 180_000 });
  vi.stubEnv("TORCH_TPU_PYTHON", fakePip(wheel).path);
  vi.spyOn(process.stderr, "write").mockReturnValue(true);
});
beforeEach(() => {
  home = join(temporaryFolder(), "home");
  vi.stubEnv("TORCH_TPU_HOME", home);
  full.at = "";
});
afterAll(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  removeTemporaryFolders();
});

it.each(["before", "unpacking", "manifest"] as const)(
  "full %s: a clear error, nothing lost, and the next try works",
  async (at) => {
    const previous = join(home, "assets", "weights-0.9-00000000");
    mkdirSync(previous, { recursive: true });
    writeFileSync(join(previous, "model.bin"), "an older version");

    full.at = at;
    const error = await ensureSpec("ensureAsset", spec).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(AssetError);
    expect(error).toMatchObject({ kind: "disk-full" });
    expect((error as AssetError).message).toMatch(/expected room .*TORCH_TPU_HOME/s);
    expect(existsSync(assetFolder(spec))).toBe(false);
    expect(readdirSync(join(home, "staging", spec.name))).toEqual([]);
    expect(readFileSync(join(previous, "model.bin"), "utf8")).toBe("an older version");

    full.at = "";
    expect(await ensureSpec("ensureAsset", spec)).toBe(join(assetFolder(spec), "model.bin"));
  },
);
