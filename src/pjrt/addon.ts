/** @file Finds and loads the native addon, when it is first needed: importing this layer works without one. */

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { AddonError, errorFromCode } from "./errors.js";
import type { NativeAddon } from "./native.js";

/** `native/` in the package, seen from src/pjrt or from dist/src/pjrt. */
const nativeFolders = ["../../native/", "../../../native/"].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

const doctor = 'run "npx torch-tpu doctor" to see what this machine lacks';

/**
 * The path of the addon: the prebuilt one of this platform if the package has it, else the one that was built here.
 * Throws AddonError if there is neither.
 */
export function addonPath(platform = `${process.platform}-${process.arch}`): string {
  const candidates = ["prebuilt", "build"].flatMap((kind) =>
    nativeFolders.map((folder) => `${folder}${kind}/${platform}/torch_tpu.node`),
  );
  const found = candidates.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new AddonError(
    `the native addon of torch-tpu for ${platform} is missing. It needs a C++ compiler and is built by ` +
      `"npx torch-tpu setup"; ${doctor}.`,
  );
}

let loaded: NativeAddon | undefined;

/** The addon, loaded at the first call. */
export function addon(): NativeAddon {
  if (loaded !== undefined) return loaded;
  const path = addonPath();
  try {
    const native = createRequire(import.meta.url)(path) as NativeAddon;
    native.setErrorFactory(errorFromCode);
    return (loaded = native);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new AddonError(`the native addon ${path} does not load: ${reason}. Rebuild it, or ${doctor}.`, {
      cause: error,
    });
  }
}
