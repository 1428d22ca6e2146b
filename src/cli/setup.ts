/** @file `torch-tpu setup`: fetches assets, or says that they are there; builds the native addon where it is missing. */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type AssetName, assetTable, ensureAsset, findAsset } from "../assets/index.js";
import { probe } from "./probe.js";

/** Fetches what is named; nothing means the CPU plugin, `all` every asset that this machine can use. Returns an exit code. */
export async function setup(what: readonly string[]): Promise<number> {
  const names = assetNames(what);
  for (const name of names) {
    const found = findAsset(name);
    process.stdout.write(`${name}: ${found ?? (await ensureAsset(name))}\n`);
  }
  const needsAddon = names.some((name) => name === "cpu" || name === "cpu-xla" || name === "tpu");
  return needsAddon ? ensureAddon() : 0;
}

function assetNames(what: readonly string[]): readonly AssetName[] {
  if (what.includes("all")) {
    const machine = `${process.platform}-${process.arch}`;
    return assetTable.filter((spec) => spec.machine === undefined || spec.machine === machine).map((spec) => spec.name);
  }
  return [...new Set(what.length === 0 ? ["cpu"] : what)] as AssetName[];
}

/** npm may have been told to run no install scripts, or had no compiler then: the build is made up for here. */
function ensureAddon(): number {
  const addon = probe(["addon"])[0];
  if (addon !== undefined && addon.error === undefined) {
    process.stdout.write(`addon: ${addon.detail}\n`);
    return 0;
  }
  const script = buildScript();
  if (script === null) {
    process.stderr.write("torch-tpu: expected native/build.mjs in the package, got none: reinstall torch-tpu\n");
    return 1;
  }
  const build = spawnSync(process.execPath, [script], { stdio: "inherit" });
  process.stdout.write(`addon: ${build.status === 0 ? "built" : "not built, see above"}\n`);
  return build.status === 0 ? 0 : 1;
}

/** native/ lies two folders up from the source, and three from the compiled file. */
function buildScript(): string | null {
  const candidates = ["../../../native/build.mjs", "../../native/build.mjs"];
  return (
    candidates.map((path) => fileURLToPath(new URL(path, import.meta.url))).find((path) => existsSync(path)) ?? null
  );
}
