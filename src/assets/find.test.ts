/** @file Where things are looked for: environment, cache, Python's packages; and the table's own consistency. */

import { mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fakePip, removeTemporaryFolders, temporaryFolder } from "../../tests/kit/fake_pip.js";
import * as assets from "./index.js";
import { keptPath } from "./unpack.js";

let folder: string;

beforeEach(() => {
  vi.resetModules();
  folder = temporaryFolder();
  vi.stubEnv("TORCH_TPU_HOME", folder);
  vi.stubEnv("TORCH_TPU_PLUGIN_PATH", "");
  vi.stubEnv("TPU_LIBRARY_PATH", "");
});
afterEach(() => vi.unstubAllEnvs());
afterAll(removeTemporaryFolders);

describe("cacheRoot", () => {
  it("is TORCH_TPU_HOME, then XDG_CACHE_HOME, then ~/.cache", () => {
    expect(assets.cacheRoot()).toBe(folder);
    vi.stubEnv("TORCH_TPU_HOME", "");
    vi.stubEnv("XDG_CACHE_HOME", "/xdg");
    expect(assets.cacheRoot()).toBe("/xdg/torch-tpu");
    vi.stubEnv("XDG_CACHE_HOME", "");
    expect(assets.cacheRoot()).toBe(join(homedir(), ".cache/torch-tpu"));
  });
});

describe("TORCH_TPU_PLUGIN_PATH", () => {
  it("is taken as it is when it names a file", () => {
    const plugin = join(folder, "plugin.so");
    writeFileSync(plugin, "");
    vi.stubEnv("TORCH_TPU_PLUGIN_PATH", plugin);
    expect(assets.cpuPluginPathSync()).toBe(plugin);
  });

  it.each([
    ["no file", "missing.so"],
    ["a folder", "."],
  ])("naming %s is an AssetError that says so", (what, name) => {
    vi.stubEnv("TORCH_TPU_PLUGIN_PATH", join(folder, name));
    expect(() => assets.cpuPluginPathSync()).toThrow(
      expect.objectContaining({
        kind: "bad-path",
        message: expect.stringContaining(`got ${what} at ${folder}`) as unknown,
      }),
    );
  });
});

describe("libtpuPath", () => {
  const fresh = (): Promise<typeof assets> => import("./index.js");

  it("is TPU_LIBRARY_PATH if that is set, and an error if there is no such file", async () => {
    const libtpu = join(folder, "libtpu.so");
    vi.stubEnv("TPU_LIBRARY_PATH", libtpu);
    expect(() => assets.libtpuPath()).toThrow(/expected TPU_LIBRARY_PATH to name libtpu.so, got no file/);
    writeFileSync(libtpu, "");
    expect((await fresh()).libtpuPath()).toBe(libtpu);
  });

  it("is the package of the user's Python where the asset is not here", async () => {
    vi.stubEnv("TORCH_TPU_PYTHON", fakePip("", "echo /site-packages/libtpu/libtpu.so").path);
    expect((await fresh()).libtpuPath()).toBe("/site-packages/libtpu/libtpu.so");
  });

  it("is null where neither is, or Python is missing; never downloads", async () => {
    vi.stubEnv("TORCH_TPU_PYTHON", "/nonexistent/python");
    expect((await fresh()).libtpuPath()).toBeNull();
    const python = fakePip("", "echo");
    vi.stubEnv("TORCH_TPU_PYTHON", python.path);
    vi.resetModules();
    expect((await fresh()).libtpuPath()).toBeNull();
    expect(python.calls().join()).not.toContain("pip");
  });
});

describe("findAsset", () => {
  it("takes a folder without manifest for absent", () => {
    const spec = assets.assetSpec("cpu");
    mkdirSync(assets.assetFolder(spec), { recursive: true });
    writeFileSync(join(assets.assetFolder(spec), spec.main), "half a plugin");
    expect(assets.findAsset("cpu")).toBeNull();
  });
});

describe("assetTable", () => {
  it.each(assets.assetTable.map((spec) => [spec.name, spec] as const))("%s is complete", (_name, spec) => {
    expect(spec.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(spec.file).toContain(spec.version);
    expect(spec.size).toBeGreaterThan(1e6);
    expect(spec.licence).not.toBe("");
    if (!(spec.members instanceof RegExp)) expect(Object.values(spec.members)).toContain(spec.main);
  });

  it("has each name once", () => {
    const names = assets.assetTable.map((spec) => spec.name);
    expect(new Set(names).size).toBe(names.length);
  });

  it("keeps members and licences, and nothing else", () => {
    const spec = assets.assetSpec("digits");
    expect(keptPath(spec, "sklearn/datasets/data/digits.csv.gz")).toBe("digits.csv.gz");
    expect(keptPath(spec, "scikit_learn-1.7.2.dist-info/licenses/COPYING")).toBe("licences/COPYING");
    expect(keptPath(spec, "sklearn/externals/array_api_compat/LICENSE")).toBeNull();
    expect(keptPath(spec, "sklearn/__init__.py")).toBeNull();
  });
});

describe("formatBytes", () => {
  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [62711338, "62.7 MB"],
    [137064406, "137 MB"],
    [5416192, "5.4 MB"],
    [2.5e12, "2.5 TB"],
    [9e15, "9000 TB"],
  ])("%d is %s", (bytes, text) => {
    expect(assets.formatBytes(bytes)).toBe(text);
  });
});
