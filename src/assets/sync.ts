/**
 * @file The same, synchronously: the first tensor operation of a program is a plain call, and may have to fetch a plugin.
 *
 * A child process runs the asynchronous code; its progress goes to our standard error, its result comes back as JSON.
 */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { AssetError, type AssetErrorKind } from "./error.js";
import { findAsset, pluginPathOverride } from "./find.js";
import { type AssetName, assetSpec } from "./table.js";

/** What the child prints on its standard output. */
export type ChildResult =
  | { readonly path: string }
  | { readonly kind: AssetErrorKind | null; readonly problem: string; readonly remedy: string };

/** {@link ensureAsset}, blocking. Throws AssetError when the asset cannot be fetched. */
export function ensureAssetSync(name: AssetName): string {
  return findAsset(name) ?? fetchInChild("ensureAssetSync", assetSpec(name).name);
}

/** The path of the CPU plugin: what `TORCH_TPU_PLUGIN_PATH` names, else the asset `cpu`, fetched if it is missing. */
export function cpuPluginPathSync(): string {
  return pluginPathOverride() ?? findAsset("cpu") ?? fetchInChild("cpuPluginPathSync", "cpu");
}

function fetchInChild(fn: string, name: AssetName): string {
  const child = spawnSync(process.execPath, [childScript(fn), fn, name], {
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  if (child.error) throw child.error;
  const result = parseResult(child.stdout);
  if (result === null)
    throw new Error(`${fn}(): expected the fetching process to answer, got exit status ${child.status}`);
  if ("path" in result) return result.path;
  if (result.kind === null) throw new Error(result.problem);
  throw new AssetError(result.kind, result.problem, result.remedy);
}

function parseResult(output: string): ChildResult | null {
  try {
    return JSON.parse(output) as ChildResult;
  } catch {
    return null;
  }
}

/** The compiled child beside this file, or in dist/ when this file runs as TypeScript (tests). */
function childScript(fn: string): string {
  const candidates = ["./fetch_child.js", "../../dist/src/assets/fetch_child.js"];
  const found = candidates
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new AssetError(
    "not-built",
    `${fn}(): expected a compiled dist/src/assets/fetch_child.js to fetch assets with, got none`,
    'Run "npm run build", or fetch beforehand with "npx torch-tpu setup".',
  );
}
