/**
 * @file Builds the native addon with the system's C++ compiler: `node native/build.mjs [--header pjrt_c_api.h] [--force]`.
 *
 * The result is native/build/<platform>-<arch>/torch_tpu.node. It is written beside its place and renamed into it, so that
 * two builds at once, or one that is stopped, never leave a broken file. Nothing happens when it is up to date.
 * `CXX` names the compiler, `TORCH_TPU_PJRT_HEADER` the PJRT C API header; without either, the compilers usual on this
 * system are tried and the header is fetched.
 */

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const here = dirname(fileURLToPath(import.meta.url));

/** NAPI_VERSION is NAPI_VERSION_EXPERIMENTAL: finalizers run during garbage collection, not after it (torch_tpu.h). */
const FLAGS = [
  "-O2",
  "-std=c++17",
  "-fPIC",
  "-fvisibility=hidden",
  "-fno-exceptions",
  "-Wall",
  "-Wextra",
  "-Wno-missing-field-initializers",
  "-DNAPI_VERSION=2147483647",
  "-DNODE_GYP_MODULE_NAME=torch_tpu",
];
const LINK_FLAGS =
  process.platform === "darwin" ? ["-shared", "-undefined", "dynamic_lookup"] : ["-shared", "-ldl", "-pthread", "-s"];

function fail(message) {
  console.error(`torch-tpu: ${message}`);
  process.exit(1);
}

/** The path of pjrt_c_api.h: an argument, the environment, or the asset manager. */
async function findHeader(argument) {
  const given = argument ?? process.env.TORCH_TPU_PJRT_HEADER;
  if (given) {
    if (!existsSync(given)) fail(`expected the PJRT C API header at ${given}, found nothing there`);
    return resolve(given);
  }
  const assets = new URL("../dist/src/assets/index.js", import.meta.url);
  if (!existsSync(assets)) {
    fail('expected TORCH_TPU_PJRT_HEADER or a built package to fetch pjrt_c_api.h with: run "npm run build" first');
  }
  const { ensurePjrtHeader } = await import(assets.href);
  return ensurePjrtHeader();
}

function findCompiler() {
  const candidates = process.env.CXX ? [process.env.CXX] : ["g++", "clang++", "c++"];
  const found = candidates.find((name) => spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0);
  if (found) return found;
  return fail(
    `expected a C++ compiler to build the native addon, found none (tried ${candidates.join(", ")}).\n` +
      "  Debian, Ubuntu: apt-get install g++    Fedora: dnf install gcc-c++    macOS: xcode-select --install\n" +
      "  Or set CXX to the path of one that knows C++17.",
  );
}

function napiIncludes() {
  const require = createRequire(import.meta.url);
  try {
    return join(dirname(require.resolve("node-api-headers/package.json")), "include");
  } catch {
    return fail('expected the package node-api-headers, found none: run "npm install"');
  }
}

/** Runs the compiler; its output is shown only when it fails. */
function run(command, args) {
  return new Promise((done, reject) => {
    let output = "";
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.on("data", (text) => (output += text));
    child.stderr.on("data", (text) => (output += text));
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0 && output.trim()) console.error(output.trim());
      if (code === 0) done();
      else reject(new Error(`${command} ${args.join(" ")}\nfailed with exit status ${code}:\n${output}`));
    });
  });
}

/** Calls `task` for every item, `limit` at a time. */
async function inParallel(items, limit, task) {
  const queue = [...items];
  const work = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await task(item);
  };
  await Promise.all(Array.from({ length: limit }, work));
}

async function main() {
  const { values } = parseArgs({ options: { header: { type: "string" }, force: { type: "boolean", default: false } } });
  const header = await findHeader(values.header);
  const files = readdirSync(here).filter((name) => /\.(?:cc|h)$/.test(name));
  const folder = join(here, "build", `${process.platform}-${process.arch}`);
  const target = join(folder, "torch_tpu.node");
  const stamp = join(folder, "torch_tpu.sha256");

  const hash = createHash("sha256");
  for (const part of [...FLAGS, ...LINK_FLAGS, process.env.CXX ?? ""]) hash.update(`${part}\0`);
  for (const path of [header, ...files.sort().map((name) => join(here, name))]) hash.update(readFileSync(path));
  const digest = hash.digest("hex");
  const isCurrent = existsSync(target) && existsSync(stamp) && readFileSync(stamp, "utf8") === digest;
  if (isCurrent && !values.force) return;

  const compiler = findCompiler();
  console.error(`torch-tpu: building the native addon with ${compiler} …`);
  mkdirSync(folder, { recursive: true });
  const staging = mkdtempSync(join(folder, ".staging-"));
  try {
    // The header's own folder may hold other files; only this one is meant to be found.
    writeFileSync(join(staging, "pjrt_c_api.h"), readFileSync(header));
    const sources = files.filter((name) => name.endsWith(".cc"));
    const includes = ["-I", staging, "-isystem", napiIncludes()];
    await inParallel(sources, availableParallelism(), (name) =>
      run(compiler, [...FLAGS, ...includes, "-c", join(here, name), "-o", join(staging, `${name}.o`)]),
    );
    const objects = sources.map((name) => join(staging, `${name}.o`));
    await run(compiler, [...objects, ...LINK_FLAGS, "-o", join(staging, "torch_tpu.node")]);
    // A new inode: a process that has the old one loaded keeps it.
    renameSync(join(staging, "torch_tpu.node"), target);
    writeFileSync(join(staging, "stamp"), digest);
    renameSync(join(staging, "stamp"), stamp);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

try {
  await main();
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}
