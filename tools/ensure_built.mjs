/**
 * @file `node tools/ensure_built.mjs FILE`: compiles TypeScript when FILE in dist/ is missing or older than a source.
 * Type errors are printed but stop nothing as long as FILE was written: `npm run lint` and CI are where they fail.
 */

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const STAMP = "dist/.tsbuildinfo";
const SOURCES = ["src", "examples", "bench", "tools", "tests/conformance"];
const SETTINGS = ["tsconfig.json", "tsconfig.build.json"];

function newestSource() {
  let newest = Math.max(...SETTINGS.map((path) => statSync(join(root, path)).mtimeMs));
  for (const folder of SOURCES.filter((path) => existsSync(join(root, path)))) {
    for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !entry.name.endsWith(".ts")) continue;
      newest = Math.max(newest, statSync(join(entry.parentPath, entry.name)).mtimeMs);
    }
  }
  return newest;
}

function isCurrent(target) {
  const stamp = statSync(join(root, STAMP), { throwIfNoEntry: false });
  return existsSync(join(root, target)) && stamp !== undefined && stamp.mtimeMs >= newestSource();
}

const target = process.argv[2];
if (!isCurrent(target)) {
  console.error("compiling TypeScript …");
  if (!existsSync(join(root, target))) rmSync(join(root, STAMP), { force: true }); // Else tsc takes it for written.
  const tsc = spawnSync(
    process.execPath,
    [join(root, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.build.json"],
    {
      cwd: root,
      stdio: ["ignore", 2, 2],
    },
  );
  if (!existsSync(join(root, target))) {
    console.error(`expected the compiler to write ${target}, got none (exit status ${tsc.status})`);
    process.exit(1);
  }
  utimesSync(join(root, STAMP), new Date(), new Date()); // tsc leaves the stamp alone when no output changed.
}
