/** @file The child process of sync.ts: `node fetch_child.js FN NAME` fetches one asset and prints a ChildResult. */

import { ensureSpec } from "./ensure.js";
import { AssetError } from "./error.js";
import type { ChildResult } from "./sync.js";
import { assetSpec } from "./table.js";

async function run(fn: string, name: string): Promise<ChildResult> {
  try {
    return { path: await ensureSpec(fn, assetSpec(name)) };
  } catch (error) {
    if (error instanceof AssetError) return { kind: error.kind, problem: error.problem, remedy: error.remedy };
    return { kind: null, problem: error instanceof Error ? (error.stack ?? error.message) : String(error), remedy: "" };
  }
}

process.stdout.write(JSON.stringify(await run(process.argv[2], process.argv[3])));
