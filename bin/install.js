/**
 * @file Runs after `npm install`: builds the native addon with this machine's compiler. Whatever goes wrong is said, and
 * the install succeeds: the first import and `npx torch-tpu doctor` say again what is missing and how to get it.
 */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const notice = (line) => console.error(`torch-tpu: ${line}`);

const BUILD = file("../native/build.mjs");
const LATER = 'Then run "npx torch-tpu setup". "npx torch-tpu doctor" says what is missing.';

function buildAddon() {
  // In a clone, npm runs `install` before `prepare`, which compiles TypeScript and then comes back here.
  if (process.env.npm_lifecycle_event === "install" && existsSync(file("../tools/ensure_built.mjs"))) return;
  if (process.platform !== "linux" || process.arch !== "x64") {
    notice(`expected linux-x64, got ${process.platform}-${process.arch}: the native addon is not built.`);
    notice("The plugins that torch-tpu fetches are for Linux on x64. To try your own plugin on this machine:");
    notice(`node ${BUILD}, then set TORCH_TPU_PLUGIN_PATH.`);
    return;
  }
  const build = spawnSync(process.execPath, [BUILD], { stdio: "inherit" });
  if (build.status === 0) return;
  notice(`the native addon is not built (${build.error?.message ?? `exit status ${build.status ?? build.signal}`}).`);
  notice("It needs a C++ compiler (Debian, Ubuntu: apt-get install g++), Python 3 with pip, and the network once.");
  notice(LATER);
}

buildAddon();
