/** @file The user's Python interpreter: which one, and how to run it. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { AssetError, errorCode } from "./error.js";

/** Interpreters to try, best first. `TORCH_TPU_PYTHON` leaves no choice. */
export function pythonCandidates(): readonly string[] {
  return process.env.TORCH_TPU_PYTHON ? [process.env.TORCH_TPU_PYTHON] : ["python3", "python"];
}

/** Standard output of the first interpreter that exists, or null when none exists or it fails. */
export function pythonSync(args: readonly string[]): string | null {
  for (const python of pythonCandidates()) {
    const result = spawnSync(python, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], timeout: 20_000 });
    if (errorCode(result.error) === "ENOENT") continue;
    return result.status === 0 ? result.stdout : null;
  }
  return null;
}

/** Starts the first interpreter that exists, its output piped. Throws AssetError when there is none. */
export async function startPython(fn: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<ChildProcess> {
  for (const python of pythonCandidates()) {
    const child = spawn(python, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    const failure = await new Promise<Error | null>((done) => {
      child.once("spawn", () => done(null));
      child.once("error", done);
    });
    if (failure === null) return child;
    if (errorCode(failure) !== "ENOENT" && errorCode(failure) !== "EACCES") throw failure;
  }
  throw new AssetError(
    "python-missing",
    `${fn}(): expected a Python interpreter to run pip with, got none under ${pythonCandidates().join(" or ")}`,
    "Install Python 3 with pip, or set TORCH_TPU_PYTHON to an interpreter, or TORCH_TPU_PLUGIN_PATH to a PJRT plugin " +
      "you already have.",
  );
}
