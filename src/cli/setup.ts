/** @file `torch-tpu setup`: fetches assets, or says that they are there. */

import { type AssetName, assetTable, ensureAsset, findAsset } from "../assets/index.js";

/** Fetches what is named; nothing means the CPU plugin, `all` every asset that this machine can use. */
export async function setup(what: readonly string[]): Promise<void> {
  for (const name of assetNames(what)) {
    const found = findAsset(name);
    process.stdout.write(`${name}: ${found ?? (await ensureAsset(name))}\n`);
  }
}

function assetNames(what: readonly string[]): readonly AssetName[] {
  if (what.includes("all")) {
    const machine = `${process.platform}-${process.arch}`;
    return assetTable.filter((spec) => spec.machine === undefined || spec.machine === machine).map((spec) => spec.name);
  }
  return [...new Set(what.length === 0 ? ["cpu"] : what)] as AssetName[];
}
