/** @file `torch-tpu assets`: what can be fetched, and what is here. */

import { existsSync } from "node:fs";
import {
  assetFolder,
  type AssetSpec,
  assetTable,
  findAsset,
  formatBytes,
  readManifest,
  verifyAsset,
} from "../assets/index.js";
import { formatTable } from "./table.js";

interface Row {
  readonly name: string;
  readonly package: string;
  readonly version: string;
  readonly licence: string;
  /** Bytes: on disk where it is here, of the download where it is not. */
  readonly size: number;
  readonly state: "here" | "not here" | "damaged";
  readonly path: string;
  readonly purpose: string;
}

/** Prints the table; 1 when an asset is damaged, else 0. */
export async function assets(options: { json: boolean; verify: boolean }): Promise<number> {
  const rows: Row[] = [];
  for (const spec of assetTable) rows.push(await describe(spec, options.verify));
  process.stdout.write(options.json ? JSON.stringify(rows, null, 2) + "\n" : printRows(rows));
  return rows.some((row) => row.state === "damaged") ? 1 : 0;
}

async function describe(spec: AssetSpec, verify: boolean): Promise<Row> {
  const folder = assetFolder(spec);
  const files = readManifest(folder)?.files;
  return {
    name: spec.name,
    package: spec.package,
    version: spec.version,
    licence: spec.licence,
    size: files ? files.reduce((sum, file) => sum + file.size, 0) : spec.size,
    state: await stateOf(spec, verify),
    path: findAsset(spec.name) ?? folder,
    purpose: spec.purpose,
  };
}

async function stateOf(spec: AssetSpec, verify: boolean): Promise<Row["state"]> {
  if (findAsset(spec.name) === null) return existsSync(assetFolder(spec)) ? "damaged" : "not here";
  return !verify || (await verifyAsset(spec.name)) ? "here" : "damaged";
}

function printRows(rows: readonly Row[]): string {
  const table = formatTable([
    ["NAME", "PACKAGE", "VERSION", "SIZE", "STATE", "LICENCE", "PATH"],
    ...rows.map((row) => [
      row.name,
      row.package,
      row.version,
      formatBytes(row.size),
      row.state,
      row.licence,
      row.state === "here" ? row.path : `(npx torch-tpu setup ${row.name})`,
    ]),
  ]);
  const purposes = formatTable(rows.map((row) => [`  ${row.name}`, row.purpose]));
  return `${table}\n\n${purposes}\n`;
}
