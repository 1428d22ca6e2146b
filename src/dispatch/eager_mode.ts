/** @file How operators outside of compiled functions run. */
import { TorchValueError } from "../schema/index.js";

/** TorchTPU's three eager modes. */
export const EagerMode = {
  /** Each operator starts when it is called. */
  DEFER_NEVER: "DEFER_NEVER",
  /** Operators wait until a value is needed, and then run together as one program. */
  DEFER_AND_FUSE: "DEFER_AND_FUSE",
  /** Each operator runs to its end before the call returns: errors appear where they are made. */
  DEFER_NEVER_AND_LAUNCH_BLOCKING: "DEFER_NEVER_AND_LAUNCH_BLOCKING",
} as const;
export type EagerMode = (typeof EagerMode)[keyof typeof EagerMode];

function fromEnvironment(): EagerMode {
  if (process.env.TORCH_TPU_LAUNCH_BLOCKING === "1") return EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING;
  return process.env.TORCH_TPU_DEFER_AND_FUSE === "1" ? EagerMode.DEFER_AND_FUSE : EagerMode.DEFER_NEVER;
}

let mode = fromEnvironment();
let deferring = mode === EagerMode.DEFER_AND_FUSE;
let blocking = mode === EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING;

export const isDeferring = (): boolean => deferring;
export const isBlocking = (): boolean => blocking;

/** The mode in which operators run at present. */
export const eagerMode = (): EagerMode => mode;

export function setEagerMode(to: EagerMode): void {
  if (!(to in EagerMode))
    throw new TorchValueError(`eager_mode: expected one of ${Object.keys(EagerMode).join(", ")}, got '${String(to)}'`);
  mode = to;
  deferring = mode === EagerMode.DEFER_AND_FUSE;
  blocking = mode === EagerMode.DEFER_NEVER_AND_LAUNCH_BLOCKING;
}

/** Runs `fn` with operators in this mode. */
export function withEagerMode<R>(to: EagerMode, fn: () => R): R {
  const before = mode;
  setEagerMode(to);
  try {
    return fn();
  } finally {
    setEagerMode(before);
  }
}
