/** @file What the user sees while an asset is fetched: a bar on a terminal, now and then a line elsewhere. */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import cliProgress from "cli-progress";
import { formatBytes } from "./format.js";

/** One line on standard error, where it never mixes with a program's output. */
export function say(line: string): void {
  process.stderr.write(`torch-tpu: ${line}\n`);
}

/** How often a terminal's bar moves, and how often a line is printed elsewhere. */
const BAR_MS = 100;
const LINE_MS = 5000;

/**
 * Shows how far a download is, by the size of the largest file below `folder` (pip downloads one archive), until the
 * returned function is called.
 */
export function watchDownload(label: string, folder: string, total: number): () => void {
  return process.stderr.isTTY ? drawBar(label, folder, total) : printLines(label, folder, total);
}

function drawBar(label: string, folder: string, total: number): () => void {
  const bar = new cliProgress.SingleBar(
    {
      format: `torch-tpu: ${label} [{bar}] {percentage}% of ${formatBytes(total)}`,
      stream: process.stderr,
      hideCursor: true,
      clearOnComplete: true,
    },
    cliProgress.Presets.shades_classic,
  );
  bar.start(total, 0);
  const timer = setInterval(() => bar.update(Math.min(largestFile(folder), total)), BAR_MS);
  return () => {
    clearInterval(timer);
    bar.stop();
  };
}

function printLines(label: string, folder: string, total: number): () => void {
  say(`fetching ${label}, ${formatBytes(total)}`);
  const timer = setInterval(() => {
    say(`fetching ${label}, ${formatBytes(Math.min(largestFile(folder), total))} of ${formatBytes(total)}`);
  }, LINE_MS);
  return () => clearInterval(timer);
}

/** The size of the largest file below `folder`; files come and go while this looks. */
function largestFile(folder: string): number {
  let largest = 0;
  try {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const stat = statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false });
      largest = Math.max(largest, stat?.size ?? 0);
    }
  } catch {
    // A folder vanished under the walk: the next tick sees the new state.
  }
  return largest;
}
