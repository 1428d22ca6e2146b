/** @file One process at a time fetches an asset. A lock whose holder was killed is taken over after some seconds. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import lockfile from "proper-lockfile";
import { AssetError, errorCode } from "./error.js";
import { cacheRoot } from "./find.js";
import { say } from "./progress.js";

/** A holder renews its lock every UPDATE_MS; one that has not done so for STALE_MS is dead. */
const STALE_MS = 10_000;
const UPDATE_MS = 2_000;
const POLL_MS = 200;
const SAY_AFTER_MS = 1_000;
const GIVE_UP_MS = 30 * 60_000;

/**
 * Runs `body` while holding the lock `name`. While waiting for another process, `done` is asked again and again: when it
 * answers something other than null, that is the result and `body` never runs.
 */
export async function withLock<T>(fn: string, name: string, done: () => T | null, body: () => Promise<T>): Promise<T> {
  const folder = join(cacheRoot(), "locks");
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.lock`);
  const release = await acquire(fn, name, path, done);
  if (release === null) return done() as T;
  try {
    return done() ?? (await body());
  } finally {
    await release().catch(() => {}); // Taken over by another process after a long suspend: nothing is left to release.
  }
}

async function acquire(
  fn: string,
  name: string,
  path: string,
  done: () => unknown,
): Promise<(() => Promise<void>) | null> {
  const start = Date.now();
  let said = false;
  for (;;) {
    try {
      return await lockfile.lock(path, {
        lockfilePath: path,
        realpath: false,
        stale: STALE_MS,
        update: UPDATE_MS,
        // After a long suspend another process may hold the lock. Both finish safely: each has its own staging folder.
        onCompromised: () => {},
      });
    } catch (error) {
      if (errorCode(error) !== "ELOCKED") throw error;
    }
    if (done() !== null) return null;
    const waited = Date.now() - start;
    if (!said && waited > SAY_AFTER_MS) {
      say(`waiting for another process that is fetching ${name} (${path})`);
      said = true;
    }
    if (waited > GIVE_UP_MS) throw neverReleased(fn, name, path);
    await sleep(POLL_MS);
  }
}

function neverReleased(fn: string, name: string, path: string): AssetError {
  return new AssetError(
    "locked",
    `${fn}(): expected another process to finish fetching ${name}, got no end of it in ${GIVE_UP_MS / 60_000} minutes`,
    `Look for a process that hangs; if there is none, remove ${path}.`,
  );
}
