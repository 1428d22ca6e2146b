/** @file Checks of the machine, which need none of this library: Node, platform, compiler, memory, folders, TPU hardware. */

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, statfsSync, statSync } from "node:fs";
import { availableParallelism, freemem, totalmem } from "node:os";
import { join } from "node:path";
import { assetTable, cacheRoot, findAsset, formatBytes, isOffline } from "../assets/index.js";
import { type Check, fail, ok, warn } from "./check.js";

export function checkNode(): Check {
  const major = Number(process.versions.node.split(".")[0]);
  if (major >= 20) return ok("node", `${process.version}, Node-API ${process.versions.napi}`);
  return fail("node", `expected Node 20 or newer, got ${process.version}`, "Install a newer Node.");
}

export function checkPlatform(): Check {
  const machine = `${process.platform}-${process.arch}`;
  const libc = glibcVersion();
  if (machine !== "linux-x64") {
    return fail(
      "platform",
      `expected linux-x64, got ${machine}`,
      "The pinned plugins are for Linux on x64. On another system: build the addon there (node native/build.mjs) and set " +
        "TORCH_TPU_PLUGIN_PATH to a PJRT plugin made for it, or use a Linux container.",
    );
  }
  if (libc === null) {
    return fail(
      "platform",
      "expected a Linux with glibc 2.31 or newer, got one without glibc",
      "The plugins are linked with glibc: use a Debian, Ubuntu or Fedora based image instead of Alpine.",
    );
  }
  return ok("platform", `${machine}, glibc ${libc}, ${availableParallelism()} cores`);
}

function glibcVersion(): string | null {
  // Without this, a report looks up the names of all sockets' peers, which can take seconds.
  if (process.report) Object.assign(process.report, { excludeNetwork: true });
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return report?.header?.glibcVersionRuntime ?? null;
}

/** A compiler is needed only where the addon is not built yet. */
export function checkCompiler(addonLoads: boolean): Check {
  const candidates = process.env.CXX ? [process.env.CXX] : ["c++", "g++", "clang++"];
  for (const compiler of candidates) {
    const run = spawnSync(compiler, ["--version"], { encoding: "utf8", timeout: 20_000 });
    if (run.status === 0) return ok("compiler", run.stdout.split("\n")[0]);
  }
  const detail = `none under ${candidates.join(", ")}`;
  if (addonLoads) return ok("compiler", `${detail}; not needed, the native addon is built`);
  return fail(
    "compiler",
    detail,
    "Install one (Debian, Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++), then run npx torch-tpu setup.",
  );
}

/** Below this, compiling and training on the CPU plugin swap or die. */
const LITTLE_MEMORY = 2e9;

export function checkMemory(): Check {
  const limit = process.constrainedMemory?.() ?? 0;
  const total = limit > 0 && limit < totalmem() ? limit : totalmem();
  const detail = `${formatBytes(total)} in all, ${formatBytes(freemem())} free`;
  if (total >= LITTLE_MEMORY) return ok("memory", detail);
  return warn("memory", detail, "Programs of some size need 2 GB or more; give the machine or container more memory.");
}

/** The cache folder: can it be written, how much is in each part of it, how much room is left. */
export function checkCache(): Check {
  const root = cacheRoot();
  try {
    mkdirSync(root, { recursive: true });
    rmdirSync(mkdtempSync(join(root, "doctor-")));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    if (findAsset("cpu") !== null) {
      return warn("cache", `${root} cannot be written (${code})`, "Set TORCH_TPU_HOME to a folder you can write to.");
    }
    return fail(
      "cache",
      `${root} cannot be written (${code})`,
      "Set TORCH_TPU_HOME to a folder that you can write to.",
    );
  }
  const parts = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => `${entry.name} ${formatBytes(folderSize(join(root, entry.name)))}`);
  const { bavail, bsize } = statfsSync(root);
  const room = bavail * bsize;
  const detail = `${root}: ${parts.join(", ") || "empty"}; ${formatBytes(room)} free`;
  if (room >= 1e9) return ok("cache", detail);
  return warn("cache", detail, "Free some space, or set TORCH_TPU_HOME to a folder on another disk.");
}

function folderSize(folder: string): number {
  let size = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    size += statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0;
  }
  return size;
}

export function checkAssets(): Check {
  const here = assetTable.filter((spec) => findAsset(spec.name) !== null).map((spec) => spec.name);
  const detail = `here: ${here.join(", ") || "none"}`;
  return ok("assets", isOffline() ? `${detail}; TORCH_TPU_OFFLINE is set, so nothing is fetched` : detail);
}

/** Signs of a TPU on this machine: device files, PCI devices of Google, variables that a TPU VM sets. */
export function tpuSigns(): readonly string[] {
  return [
    ...list("/dev").filter((name) => /^accel\d*$/.test(name)),
    ...list("/dev/vfio").filter((name) => /^\d+$/.test(name)),
    ...list("/sys/bus/pci/devices").filter(isGoogleAccelerator),
    ...["TPU_NAME", "TPU_WORKER_ID", "TPU_ACCELERATOR_TYPE"].filter((name) => process.env[name]),
  ];
}

const GOOGLE_PCI_VENDOR = "0x1ae0";
/** PCI class "processing accelerator": Google's network cards on its cloud have the same vendor. */
const ACCELERATOR_CLASS = "0x1200";

function isGoogleAccelerator(device: string): boolean {
  const read = (file: string): string => readFileSync(`/sys/bus/pci/devices/${device}/${file}`, "utf8").trim();
  try {
    return read("vendor") === GOOGLE_PCI_VENDOR && read("class").startsWith(ACCELERATOR_CLASS);
  } catch {
    return false;
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
