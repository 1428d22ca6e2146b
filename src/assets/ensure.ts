/**
 * @file Assets that are here, or are fetched. The code that fetches (fetch.ts) loads when it is needed: it brings archive
 * and lock libraries that most programs never use, and `import "torch-tpu"` should not wait for them.
 */

import { AssetError, fileError } from "./error.js";
import { assetFolder, cacheRoot, findSpec, pluginPathOverride } from "./find.js";
import { type AssetName, type AssetSpec, assetSpec } from "./table.js";

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
    const { fetchLocked } = await import("./fetch.js");
    return await fetchLocked(fn, spec);
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
