/**
 * @file One archive through the user's own pip, with its index, proxy and certificates.
 *
 * A wheel is asked for by an explicit platform and Python version, so that every pip on every machine picks the one
 * pinned file. A source archive is a harder case: `pip download` runs its setup.py to learn its dependencies, before
 * anybody has checked what was downloaded. A stand-in for setuptools (below) answers pip's question instead, so no code
 * of the archive ever runs.
 */

import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { AssetError, diskFull } from "./error.js";
import { startPython } from "./python.js";
import type { AssetSpec } from "./table.js";

/** A build backend (PEP 517) that knows one thing: the name and version of the package that is asked for. */
const STAND_IN_BACKEND = `
import os

class Backend:
    def get_requires_for_build_wheel(self, config_settings=None):
        return []

    def prepare_metadata_for_build_wheel(self, metadata_directory, config_settings=None):
        name, version = os.environ["TORCH_TPU_SDIST"].split("==")
        folder = name + "-" + version + ".dist-info"
        os.makedirs(os.path.join(metadata_directory, folder))
        with open(os.path.join(metadata_directory, folder, "METADATA"), "w") as f:
            f.write("Metadata-Version: 2.1\\nName: " + name + "\\nVersion: " + version + "\\n")
        return folder

__legacy__ = Backend()
`;

/**
 * Downloads `spec` into `staging` and returns the file's path. pip's temporary files stay in `staging` too, so that they
 * are on the disk that was checked for room, are seen by the progress bar, and go when the folder goes.
 */
export async function pipDownload(fn: string, spec: AssetSpec, staging: string): Promise<string> {
  const out = join(staging, "out");
  const tmp = join(staging, "tmp");
  mkdirSync(out);
  mkdirSync(tmp);
  const env: NodeJS.ProcessEnv = { ...process.env, TMPDIR: tmp, PYTHONUNBUFFERED: "1" };
  if (spec.kind === "sdist") addStandInBackend(spec, staging, env);
  const { status, output } = await runPip(fn, pipArguments(spec, out), env);
  if (status !== 0) throw pipFailure(fn, spec, staging, output, status);
  const files = readdirSync(out);
  if (files.length === 1) return join(out, files[0]);
  throw new AssetError(
    "pip-failed",
    `${fn}(): expected pip to download ${spec.file}, got ${files.length === 0 ? "no file" : files.join(", ")}`,
    "Check pip's configuration (pip config list), or set TORCH_TPU_PYTHON to another interpreter.",
  );
}

function pipArguments(spec: AssetSpec, out: string): string[] {
  const choice =
    spec.kind === "sdist"
      ? ["--no-binary", ":all:", "--no-build-isolation", "--use-pep517"]
      : ["--only-binary", ":all:", "--implementation", "cp", "--python-version", "3.11", "--platform", spec.platform];
  return [
    ...["-m", "pip", "download", "--no-deps", "--no-cache-dir", "--no-input", "--disable-pip-version-check"],
    ...["--progress-bar", "off", ...choice, "--dest", out, `${spec.package}==${spec.version}`],
  ];
}

function addStandInBackend(spec: AssetSpec, staging: string, env: NodeJS.ProcessEnv): void {
  const folder = join(staging, "backend");
  mkdirSync(join(folder, "setuptools"), { recursive: true });
  writeFileSync(join(folder, "setuptools", "__init__.py"), "");
  writeFileSync(join(folder, "setuptools", "build_meta.py"), STAND_IN_BACKEND);
  env.PYTHONPATH = [folder, env.PYTHONPATH].filter(Boolean).join(delimiter);
  env.TORCH_TPU_SDIST = `${spec.package}==${spec.version}`;
}

async function runPip(
  fn: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ status: number | string; output: string }> {
  const child = await startPython(fn, args, env);
  let output = "";
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-8192);
  };
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  const status = await new Promise<number | string>((done) => {
    child.once("close", (code, signal) => done(code ?? signal ?? "no exit code"));
  });
  return { status, output };
}

/** What pip prints, and what it means. The first that matches is taken. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [
    /No matching distribution|Could not find a version/i,
    "The index that pip is configured for does not offer this file, or cannot be reached. Check the network and " +
      "pip config list.",
  ],
  [
    /name resolution|NewConnectionError|Max retries|timed out|ConnectionError|ProxyError|SSLError|getaddrinfo/i,
    "The package index cannot be reached. Check network, proxy and pip config list.",
  ],
];

function pipFailure(fn: string, spec: AssetSpec, staging: string, output: string, status: number | string): AssetError {
  if (/No module named '?pip/.test(output)) {
    return new AssetError(
      "pip-missing",
      `${fn}(): expected a Python with pip, got an interpreter without it`,
      "Install pip (python3 -m ensurepip, or your system's python3-pip), or set TORCH_TPU_PYTHON to an interpreter " +
        "that has it, or TORCH_TPU_PLUGIN_PATH to a PJRT plugin you already have.",
    );
  }
  if (/No space left on device|Errno 28\b|Disk quota exceeded|Errno 122\b/.test(output)) {
    return diskFull(fn, staging, "a full disk while pip was downloading");
  }
  const hint = HINTS.find(([pattern]) => pattern.test(output))?.[1] ?? "pip's own words above say why.";
  return new AssetError(
    "pip-failed",
    `${fn}(): expected pip to download ${spec.package} ${spec.version}, got exit status ${status}:\n${lastLines(output)}`,
    `${hint} With the file at hand, PIP_FIND_LINKS=<its folder> lets pip take it from there; TORCH_TPU_PLUGIN_PATH ` +
      "names a PJRT plugin directly.",
  );
}

function lastLines(output: string): string {
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  return (lines.length ? lines.slice(-6) : ["(pip printed nothing)"]).map((line) => `  | ${line}`).join("\n");
}
