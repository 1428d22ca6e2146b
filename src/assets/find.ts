/** @file Where assets live, and what is already there. Nothing in this file downloads. */

import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { AssetError } from "./error.js";
import { pythonSync } from "./python.js";
import { type AssetName, type AssetSpec, assetSpec } from "./table.js";

/** The folder that holds everything this library keeps: `TORCH_TPU_HOME`, else `torch-tpu` in the user's cache folder. */
export function cacheRoot(): string {
  if (process.env.TORCH_TPU_HOME) return resolve(process.env.TORCH_TPU_HOME);
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "torch-tpu");
}

/** The list of files in a complete asset folder. It is written last, so a folder without it was never finished. */
export interface AssetManifest {
  readonly package: string;
  readonly version: string;
  /** SHA-256 of the downloaded archive. */
  readonly archive: string;
  readonly files: readonly { readonly path: string; readonly size: number; readonly sha256: string }[];
}

export const MANIFEST = "asset.json";

/** The folder of one asset. It names version and hash: another version never overwrites this one. */
export function assetFolder(spec: AssetSpec): string {
  return join(cacheRoot(), "assets", `${spec.name}-${spec.version}-${spec.sha256.slice(0, 8)}`);
}

/** The manifest of `folder` if every file it lists is there with its size; otherwise null. */
export function readManifest(folder: string): AssetManifest | null {
  try {
    const manifest = JSON.parse(readFileSync(join(folder, MANIFEST), "utf8")) as AssetManifest;
    const complete = manifest.files.every(({ path, size }) => statSync(join(folder, path)).size === size);
    return complete ? manifest : null;
  } catch {
    return null;
  }
}

/** The main file of `spec` if the asset is complete in the cache; otherwise null. */
export function findSpec(spec: AssetSpec): string | null {
  const folder = assetFolder(spec);
  return readManifest(folder)?.archive === spec.sha256 ? join(folder, spec.main) : null;
}

/**
 * The path of an asset that is already here, or null. Downloads nothing.
 *
 * @example
 * findAsset("weights"); // null until `npx torch-tpu setup weights` has run
 */
export function findAsset(name: AssetName): string | null {
  return findSpec(assetSpec(name));
}

/** The file that `TORCH_TPU_PLUGIN_PATH` names, or null when it is not set. Throws AssetError if it is not a file. */
export function pluginPathOverride(fn = "cpuPluginPathSync"): string | null {
  return fileFromEnv(fn, "TORCH_TPU_PLUGIN_PATH", "a PJRT plugin (a shared library)");
}

function fileFromEnv(fn: string, variable: string, what: string): string | null {
  const value = process.env[variable];
  if (!value) return null;
  const path = resolve(value);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile()) return path;
  throw new AssetError(
    "bad-path",
    `${fn}(): expected ${variable} to name ${what}, got ${stat ? "a folder" : "no file"} at ${path}`,
    `Correct ${variable}, or unset it to use the asset that "npx torch-tpu setup" fetches.`,
  );
}

let sitePackagesLibtpu: string | null | undefined;

/**
 * libtpu.so, or null when there is none: `TPU_LIBRARY_PATH`, then the asset `tpu`, then the package `libtpu` of the
 * user's Python. Never downloads: Google's terms ask that the user decides (`npx torch-tpu setup tpu`).
 */
export function libtpuPath(): string | null {
  const found = fileFromEnv("libtpuPath", "TPU_LIBRARY_PATH", "libtpu.so") ?? findAsset("tpu");
  if (found) return found;
  sitePackagesLibtpu ??= libtpuOfPython();
  return sitePackagesLibtpu;
}

const FIND_LIBTPU = `
import importlib.util, os
spec = importlib.util.find_spec("libtpu")
path = spec and spec.origin and os.path.join(os.path.dirname(spec.origin), "libtpu.so")
print(path if path and os.path.exists(path) else "")
`;

function libtpuOfPython(): string | null {
  return pythonSync(["-c", FIND_LIBTPU])?.trim() || null;
}
