/** @file What a check of `torch-tpu doctor` answers. */

/** `warn`: works, but not fully or not for long. `fail`: programs do not run. */
export type Verdict = "ok" | "warn" | "fail";

export interface Check {
  readonly name: string;
  readonly verdict: Verdict;
  /** What was found. */
  readonly detail: string;
  /** What to do about it, where the verdict is not ok. */
  readonly remedy?: string;
}

/** A check that found what it wanted. */
export function ok(name: string, detail: string): Check {
  return { name, verdict: "ok", detail };
}

export function warn(name: string, detail: string, remedy: string): Check {
  return { name, verdict: "warn", detail, remedy };
}

export function fail(name: string, detail: string, remedy: string): Check {
  return { name, verdict: "fail", detail, remedy };
}
