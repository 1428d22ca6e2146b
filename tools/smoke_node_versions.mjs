/**
 * @file A tiny program on Node 20, 22, 24 and 26, with the native binary that is built here: `node
 * tools/smoke_node_versions.mjs [VERSION…]`. The npm package `node` carries the versions. Offline, versions that npm has
 * not cached are skipped, with the reason.
 */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const VERSIONS = process.argv.length > 2 ? process.argv.slice(2) : ["20", "22", "24", "26"];
const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PROGRAM = fileURLToPath(new URL("./smoke.mjs", import.meta.url));
const NO_NETWORK = /ENOTFOUND|EAI_AGAIN|ENOTCACHED|ECONNREFUSED|ENETUNREACH|network/i;

/** "ok …", "skipped …" or "FAILED …" for one version. */
function smoke(version) {
  const npx = ["--yes", "--package", `node@${version}`, "--", "node", PROGRAM];
  const run = spawnSync("npx", npx, { cwd: ROOT, encoding: "utf8", timeout: 180_000 });
  const output = `${run.stdout ?? ""}${run.stderr ?? ""}`.trim();
  if (run.status === 0) return `ok ${run.stdout.trim()}`;
  if (/npm (?:error|ERR!)/.test(output) && NO_NETWORK.test(output))
    return "skipped: npm cannot fetch this version (offline)";
  const how = run.error?.message ?? (run.signal ? `killed by ${run.signal}` : `exit status ${run.status}`);
  return `FAILED: ${how}\n${output}`;
}

const results = VERSIONS.map((version) => {
  const result = smoke(version);
  console.log(`node ${version}: ${result}`);
  return result;
});
process.exitCode = results.some((result) => result.startsWith("FAILED")) ? 1 : 0;
