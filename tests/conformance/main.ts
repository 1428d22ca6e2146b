/** @file `npm run conformance`: replays recorded PyTorch calls and counts. */
import { fork } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { replayAten, replayOpinfo, type OperatorResult } from "./replay.js";

const usage = `usage: npm run conformance -- --vectors DIR [--only REGEX] [--kind opinfo|aten] [--device tpu|cpu] [--jobs N] [--json FILE] [--list-missing]`;

interface Task {
  readonly kind: "opinfo" | "aten";
  readonly folder: string;
  readonly name: string;
}

function tasksOf(vectors: string, only: RegExp, kinds: readonly ("opinfo" | "aten")[]): Task[] {
  return kinds.flatMap((kind) => {
    const folder = join(vectors, kind);
    if (!existsSync(folder)) return [];
    const names = readdirSync(folder)
      .filter((f) => f.endsWith(".json"))
      .map((f) => f.slice(0, -".json".length));
    return names
      .filter((n) => only.test(n))
      .sort()
      .map((name) => ({ kind, folder, name }));
  });
}

function replay(task: Task, device: string): OperatorResult {
  return task.kind === "opinfo"
    ? replayOpinfo(task.folder, task.name, device)
    : replayAten(task.folder, task.name, device);
}

/** One process takes tasks until there are none. A process that dies counts its operator as failed; another takes over. */
function runWorkers(
  tasks: readonly Task[],
  jobs: number,
  device: string,
  done: (r: OperatorResult) => void,
): Promise<void> {
  let next = 0;
  const start = (): Promise<void> =>
    new Promise((resolve) => {
      const child = fork(fileURLToPath(import.meta.url), ["--worker", "--device", device], {
        stdio: ["ignore", "inherit", "inherit", "ipc"],
      });
      let current: Task | null = null;
      const give = (): void => {
        current = tasks[next++] ?? null;
        child.send(current);
      };
      child.on("message", (r: OperatorResult) => {
        done(r);
        give();
      });
      child.on("exit", () => {
        if (current === null) return resolve();
        const message = "the process ended while replaying it";
        done({
          kind: current.kind,
          name: current.name,
          passed: 0,
          failed: 1,
          skipped: 0,
          gradients: { passed: 0, failed: 0 },
          errors: { passed: 0, failed: 0 },
          failures: [{ index: -1, form: "forward", dtype: "", message }],
        });
        void start().then(resolve);
      });
      give();
    });
  return Promise.all(Array.from({ length: Math.min(jobs, tasks.length) }, start)).then(() => undefined);
}

function work(device: string): void {
  process.on("message", (task: Task | null) => {
    if (task === null) process.exit(0);
    process.send!(replay(task, device));
  });
}

function print(results: readonly OperatorResult[], listMissing: boolean): void {
  for (const r of results) {
    if (r.failed === 0) continue;
    console.log(`${r.kind} ${r.name}: ${r.failed} of ${r.passed + r.failed} failed`);
    for (const f of r.failures.slice(0, 3)) console.log(`    ${f.form} ${f.index} ${f.dtype}: ${f.message}`);
  }
  const missing = results.filter((r) => r.skipped > 0);
  if (missing.length > 0) {
    const names = missing.map((r) => r.name);
    console.log(
      `${missing.length} operators are not implemented: ${(listMissing ? names : names.slice(0, 12)).join(" ")}${listMissing || names.length <= 12 ? "" : " … (--list-missing)"}`,
    );
  }
  const sum = (of: (r: OperatorResult) => number): number => results.reduce((n, r) => n + of(r), 0);
  for (const kind of ["opinfo", "aten"] as const) {
    const own = results.filter((r) => r.kind === kind);
    if (own.length > 0)
      console.log(
        `${kind}: ${own.filter((r) => r.failed === 0 && r.skipped === 0).length} of ${own.length} operators pass in full`,
      );
  }
  console.log(
    `gradients: ${sum((r) => r.gradients.passed)} passed, ${sum((r) => r.gradients.failed)} failed; must-fail calls: ${sum((r) => r.errors.passed)} passed, ${sum((r) => r.errors.failed)} failed`,
  );
  console.log(`${sum((r) => r.passed)} passed, ${sum((r) => r.failed)} failed, ${sum((r) => r.skipped)} skipped`);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      vectors: { type: "string" },
      only: { type: "string", default: "." },
      kind: { type: "string" },
      device: { type: "string", default: "tpu" },
      jobs: { type: "string", default: String(availableParallelism()) },
      json: { type: "string" },
      "list-missing": { type: "boolean", default: false },
      worker: { type: "boolean", default: false },
    },
  });
  process.env.TORCH_TPU_QUIET = "1";
  if (values.worker) return work(values.device);
  if (!values.vectors || !existsSync(values.vectors)) {
    console.error(`conformance: expected a folder of vectors, got ${values.vectors ?? "none"}\n${usage}`);
    process.exit(2);
  }
  const kinds = values.kind ? [values.kind as "opinfo" | "aten"] : (["opinfo", "aten"] as const);
  const tasks = tasksOf(values.vectors, new RegExp(values.only), kinds);
  const results: OperatorResult[] = [];
  await runWorkers(tasks, Number(values.jobs), values.device, (r) => results.push(r));
  results.sort((a, b) => (a.kind + a.name < b.kind + b.name ? -1 : 1));
  print(results, values["list-missing"]);
  if (values.json) writeFileSync(values.json, JSON.stringify(results, null, 1));
  process.exit(results.some((r) => r.failed > 0) ? 1 : 0);
}

await main();
