/** @file The errors of this layer: a PJRT error carries the plugin's code; what the plugin lacks is its own class. */

/** Names of the PJRT error codes, in the order of their numbers. */
const codes = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const;

/** The name of a PJRT error code, such as `RESOURCE_EXHAUSTED`. */
export type PjrtErrorCode = (typeof codes)[number];

/** What a plugin reports, or a wrong use of this layer (`INVALID_ARGUMENT`). */
export class PjrtError extends Error {
  override name = "PjrtError";
  constructor(
    readonly code: PjrtErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/** The plugin does not have this function. Other functions may work: which ones differ from plugin to plugin. */
export class UnimplementedError extends PjrtError {
  override name = "UnimplementedError";
  constructor(message: string) {
    super("UNIMPLEMENTED", message);
  }
}

/** The native addon is missing or does not load. */
export class AddonError extends Error {
  override name = "AddonError";
}

/** The error for a number from the C API. The native addon calls this. */
export function errorFromCode(code: number, message: string): PjrtError {
  const name = codes[code] ?? "UNKNOWN";
  return name === "UNIMPLEMENTED" ? new UnimplementedError(message) : new PjrtError(name, message);
}

/** The error for a wrong argument: `<fn>(): expected <expected>, got <got>`. */
export function misuse(fn: string, expected: string, got: string): PjrtError {
  return new PjrtError("INVALID_ARGUMENT", `${fn}(): expected ${expected}, got ${got}`);
}
