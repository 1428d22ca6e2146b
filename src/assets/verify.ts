/** @file Checking the content of an asset that is here, file by file. Costs a read of everything. */

import { join } from "node:path";
import { assetFolder, readManifest } from "./find.js";
import { type AssetName, assetSpec } from "./table.js";
import { sha256File } from "./hash.js";

/** Whether every file of an asset has the SHA-256 it was unpacked with. False when the asset is not here. */
export async function verifyAsset(name: AssetName): Promise<boolean> {
  const folder = assetFolder(assetSpec(name));
  const manifest = readManifest(folder);
  if (manifest === null) return false;
  for (const { path, sha256 } of manifest.files) {
    if ((await sha256File(join(folder, path))) !== sha256) return false;
  }
  return true;
}
