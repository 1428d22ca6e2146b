/** @file `npm run conformance`: replays recorded PyTorch calls and counts. */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chooseMode, modes } from "./modes.js";
import type { Kind } from "./replay.js";
import { printReport } from "./report.js";
import { replayAll, serve, type Task } from "./workers.js";

const usage = `usage: npm run conformance -- --vectors DIR [options]
  --vectors DIR      a folder with opinfo/ and aten/, as tests/conformance/README.md describes
  --only REGEX       operators whose name matches
  --kind KIND        opinfo or aten; default: both
  --device DEVICE    tpu (default) or cpu
  --mode MODE        strict (default), fused, blocking, or compiled: each call as a compiled function
  --jobs N           how many processes; default: one a core
  --json FILE        writes the results of every operator and form
  --list-missing     names every operator that is not implemented
The exit status is 1 when a call failed, 2 when the arguments are wrong.`;

const kinds: readonly Kind[] = ["opinfo", "aten"];

function tasksOf(vectors: string, only: RegExp, wanted: readonly Kind[]): Task[] {
  return wanted.flatMap((kind) => {
    const folder = join(vectors, kind);
    if (!existsSync(folder)) return [];
    const files = readdirSync(folder).filter((f) => f.endsWith(".json"));
    const names = files.map((f) => f.slice(0, -".json".length)).filter((n) => only.test(n));
    return names.sort().map((name) => ({ kind, folder, name }));
  });
}

function refuse(message: string): never {
  console.error(`conformance: ${message}\n${usage}`);
  process.exit(2);
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        vectors: { type: "string" },
        only: { type: "string", default: "" },
        kind: { type: "string" },
        device: { type: "string", default: "tpu" },
        mode: { type: "string", default: "strict" },
        jobs: { type: "string", default: String(availableParallelism()) },
        json: { type: "string" },
        "list-missing": { type: "boolean", default: false },
        worker: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (e) {
    return refuse((e as Error).message);
  }
}

async function main(): Promise<void> {
  const options = readOptions();
  if (options.help) return console.log(usage);
  process.env.TORCH_TPU_QUIET = "1";
  if (options.worker) return serve(options.device);
  if (!modes.includes(options.mode)) refuse(`--mode: expected one of ${modes.join(", ")}, got ${options.mode}`);
  chooseMode(options.mode);
  const { vectors } = options;
  if (!vectors || !existsSync(vectors)) refuse(`expected a folder of vectors, got ${vectors ?? "none"}`);
  const jobs = Number(options.jobs);
  if (!Number.isInteger(jobs) || jobs < 1) refuse(`--jobs: expected a positive integer, got ${options.jobs}`);
  const wanted = kinds.filter((k) => (options.kind ?? k) === k);
  if (wanted.length === 0) refuse(`--kind: expected opinfo or aten, got ${options.kind}`);
  const tasks = tasksOf(vectors, new RegExp(options.only), wanted);
  if (tasks.length === 0) refuse(`expected recorded calls in ${vectors} that match /${options.only}/, got none`);
  const results = await replayAll(fileURLToPath(import.meta.url), tasks, jobs, options.device);
  printReport(results, options["list-missing"]);
  if (options.json) writeFileSync(options.json, JSON.stringify(results, null, 1));
  process.exitCode = results.some((r) => r.failed > 0) ? 1 : 0;
}

await main();
