/** @file Replays operators in several processes: each takes the next one, and another takes over where one dies. */
import { fork } from "node:child_process";
import { newResult, replayAten, replayOpinfo, type Kind, type OperatorResult } from "./replay.js";

export interface Task {
  readonly kind: Kind;
  readonly folder: string;
  readonly name: string;
}

/** A process that is silent for so long, in milliseconds, hangs. */
const patience = 600_000;

export function replay(task: Task, device: string): OperatorResult {
  const run = task.kind === "opinfo" ? replayOpinfo : replayAten;
  return run(task.folder, task.name, device);
}

/** The other side: replays what the parent sends until it says stop. */
export function serve(device: string): void {
  process.on("message", (task: Task | "stop") => {
    if (task === "stop") process.exit(0);
    process.send!(replay(task, device));
  });
}

function lost(task: Task): OperatorResult {
  const message = "the process ended, or did not answer, while replaying this operator";
  const failures = [{ index: -1, form: "forward" as const, dtype: "", message }];
  return { ...newResult(task.kind, task.name), failed: 1, failures };
}

/** Starts one process. Resolves when there are no tasks left. */
function startWorker(
  script: string,
  device: string,
  next: () => Task | null,
  done: (r: OperatorResult) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = fork(script, ["--worker", "--device", device], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    let current: Task | null = null;
    let timer: NodeJS.Timeout | undefined;
    const give = (): void => {
      clearTimeout(timer);
      current = next();
      child.send(current ?? "stop");
      if (current) timer = setTimeout(() => child.kill("SIGKILL"), patience);
    };
    child.on("message", (r: OperatorResult) => {
      done(r);
      give();
    });
    child.on("error", reject);
    child.on("exit", () => {
      clearTimeout(timer);
      if (current === null) return resolve();
      done(lost(current));
      startWorker(script, device, next, done).then(resolve, reject);
    });
    give();
  });
}

/** Replays all tasks in `jobs` processes of `script`, which calls `serve`. */
export async function replayAll(
  script: string,
  tasks: readonly Task[],
  jobs: number,
  device: string,
): Promise<OperatorResult[]> {
  const results: OperatorResult[] = [];
  let at = 0;
  const next = (): Task | null => tasks[at++] ?? null;
  const count = Math.min(jobs, tasks.length);
  await Promise.all(Array.from({ length: count }, () => startWorker(script, device, next, (r) => results.push(r))));
  return results.sort((a, b) => (a.kind + a.name < b.kind + b.name ? -1 : 1));
}
