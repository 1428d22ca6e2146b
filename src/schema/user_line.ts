/** @file The line of the user's own code that is running. */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this library's own code. */
const own = dirname(dirname(fileURLToPath(import.meta.url)));
const test = /\.test\.[cm]?[jt]s/;
const frame = /(?:\(|at )((?:file:\/\/)?[^()\s]+):(\d+):(\d+)\)?$/;

export interface UserLine {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The innermost line on the stack that is not this library's, or null. Costs some tens of microseconds. */
export function userLine(): UserLine | null {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 50;
  const { stack = "" } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  for (const text of stack.split("\n").slice(1)) {
    const found = frame.exec(text.trim());
    if (found === null) continue;
    const file = found[1].startsWith("file://") ? fileURLToPath(found[1]) : found[1];
    if ((file.startsWith(own) && !test.test(file)) || file.startsWith("node:") || file.includes("node_modules"))
      continue;
    return { file, line: Number(found[2]), column: Number(found[3]) };
  }
  return null;
}

/** ` at file.ts:3:7`, or nothing. */
export function userLineText(): string {
  const at = userLine();
  return at === null ? "" : ` at ${at.file}:${at.line}:${at.column}`;
}
