/** @file The modes in which recorded calls can run: each of the eager ones, or each call as a compiled function. */
import * as torch from "torch-tpu";
import type { Call } from "./resolve.js";

const eager = {
  strict: torch.tpu.EagerMode.DEFER_NEVER,
  fused: torch.tpu.EagerMode.DEFER_AND_FUSE,
  blocking: torch.tpu.EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING,
} as const;

export const modes = [...Object.keys(eager), "compiled"] as const;
const variable = "TORCH_TPU_CONFORMANCE_MODE";

/** Chooses the mode for this process and those that it starts. */
export function chooseMode(mode: string): void {
  process.env[variable] = mode;
}

/** The function as it is called in the chosen mode. */
export function inMode(fn: Call | undefined): Call | undefined {
  const mode = process.env[variable] ?? "strict";
  if (mode in eager) torch.tpu.set_eager_mode(eager[mode as keyof typeof eager]);
  if (fn === undefined || mode !== "compiled") return fn;
  return (...args) => torch.compile((...inner: unknown[]) => fn(...inner), { mode: "fast" })(...args);
}
