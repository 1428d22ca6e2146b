/** @file AssetError: why an asset could not be found or fetched, and what to do about it. */

/** What went wrong, for code that wants to react to it. */
export type AssetErrorKind =
  | "python-missing"
  | "pip-missing"
  | "pip-failed"
  | "checksum"
  | "unpack"
  | "disk-full"
  | "not-writable"
  | "offline"
  | "unsupported-platform"
  | "bad-path"
  | "locked"
  | "not-built";

/** Thrown by everything in `assets/`. The message says what was expected, what came, and (after a line break) a remedy. */
export class AssetError extends Error {
  override name = "AssetError";

  constructor(
    readonly kind: AssetErrorKind,
    /** `<fn>(): expected X, got Y`. */
    readonly problem: string,
    /** What the user can do, in one or two sentences. */
    readonly remedy: string,
    options?: ErrorOptions,
  ) {
    super(`${problem}\n${remedy}`, options);
  }
}

/** The `code` of a Node system error, or undefined. */
export function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === "string" ? code : undefined;
}

const DISK_FULL = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);
const NOT_WRITABLE = new Set(["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST", "ENOENT"]);

/**
 * Turns a failed file operation below `folder` into an AssetError; anything else comes back as it is.
 * `fn` is the public function that the user called.
 */
export function fileError(fn: string, folder: string, error: unknown): unknown {
  if (error instanceof AssetError) return error;
  const code = errorCode(error);
  if (code === undefined) return error;
  if (DISK_FULL.has(code)) return diskFull(fn, folder, code, { cause: error });
  if (!NOT_WRITABLE.has(code)) return error;
  return new AssetError(
    "not-writable",
    `${fn}(): expected a writable cache folder, got ${code} for ${folder}`,
    "Set TORCH_TPU_HOME to a folder that you can write to, or TORCH_TPU_PLUGIN_PATH to a PJRT plugin you already have.",
    { cause: error },
  );
}

/** The error of a disk or quota that has no room left. */
export function diskFull(fn: string, folder: string, got: string, options?: ErrorOptions): AssetError {
  return new AssetError(
    "disk-full",
    `${fn}(): expected room for the asset in ${folder}, got ${got}`,
    "Nothing that was there before has been changed. Free some space, or set TORCH_TPU_HOME to a folder on another disk " +
      "(or TORCH_TPU_PLUGIN_PATH to a PJRT plugin you already have).",
    options,
  );
}
