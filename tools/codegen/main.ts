/** @file Generates the typed API from the operator registry: `npm run codegen`, with `--check` only compares. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import "../../src/ops/index.js";
import { operators } from "../../src/ops/registry.js";
import { emitExports, emitFunctional, emitMethods, emitNamespaces, type NameTable } from "./emit.js";

const root = new URL("../../", import.meta.url).pathname.replace(/\/dist\/$/, "/");
const names = JSON.parse(readFileSync(`${root}tools/codegen/pytorch_names.json`, "utf8")) as NameTable;
const files: Record<string, string> = {
  "functional.ts": emitFunctional(operators, names),
  "methods.ts": emitMethods(operators, names),
  "exports.ts": emitExports(operators, names),
  "namespaces.ts": emitNamespaces(operators, names),
};
let stale = 0;
for (const [name, text] of Object.entries(files)) {
  const path = fileURLToPath(new URL(`file://${root}src/api/generated/${name}`));
  let before = "";
  try {
    before = readFileSync(path, "utf8");
  } catch {
    // a first run
  }
  if (before === text) continue;
  stale++;
  if (process.argv.includes("--check"))
    console.error(`codegen: src/api/generated/${name} is stale, run npm run codegen`);
  else writeFileSync(path, text);
}
if (process.argv.includes("--check") && stale > 0) process.exit(1);
console.log(
  `codegen: ${operators.size} operators, ${stale} of ${Object.keys(files).length} files ${process.argv.includes("--check") ? "stale" : "written"}`,
);
