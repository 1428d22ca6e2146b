/**
 * @file Step 5 of a call, execute: the native functions as the dispatcher calls them. Handles are opaque: they own what
 * they point to, free it in garbage collection, and belong to the thread that made them. A wrong handle is an Error.
 */

import { addon } from "./addon.js";
import { misuse } from "./errors.js";

declare const brand: unique symbol;

/** A device buffer. */
export type BufferHandle = { readonly [brand]: "buffer" };
/** A compiled program. */
export type ExecutableHandle = { readonly [brand]: "executable" };
export type ClientHandle = { readonly [brand]: "client" };
export type PluginHandle = { readonly [brand]: "plugin" };
export type TopologyHandle = { readonly [brand]: "topology" };

/**
 * Runs a program on its one device. Returns the handle itself for 1 output, else an array. Does not wait for the result:
 * a failure while the program runs throws where a result is read. Inputs that the program donates are gone afterwards.
 */
export let executeRaw = (
  executable: ExecutableHandle,
  args: readonly BufferHandle[],
): BufferHandle | BufferHandle[] => {
  bindRaw();
  return executeRaw(executable, args);
};

/**
 * A new buffer on the client's `device`-th addressable device with a copy of `data`: row-major elements of the type with
 * the code `pjrtType` (`DType.pjrt`), one byte an element for types smaller than a byte.
 */
export let uploadRaw = (
  client: ClientHandle,
  device: number,
  data: ArrayBufferView,
  pjrtType: number,
  dims: readonly number[],
): BufferHandle => {
  bindRaw();
  return uploadRaw(client, device, data, pjrtType, dims);
};

/** Blocks until the buffer is ready and copies its elements, row-major, into `dst`, which must have exactly their size. */
export let readRaw = (buffer: BufferHandle, dst: ArrayBufferView): void => {
  bindRaw();
  readRaw(buffer, dst);
};

/** Resolves to the elements, row-major, in a new array. Does not block the event loop. */
export const readBytesAsync = (buffer: BufferHandle): Promise<Uint8Array> => addon().readAsync(buffer);

/**
 * Copies the elements into `dst`, which must have exactly their size, when they are ready. Does not block the event loop.
 * The plugin writes to an array of its own first: `dst` may be transferred or resized meanwhile.
 */
export async function readAsync(buffer: BufferHandle, dst: ArrayBufferView): Promise<void> {
  const bytes = await readBytesAsync(buffer);
  if (bytes.byteLength !== dst.byteLength) {
    throw misuse("readAsync", `a destination of ${bytes.byteLength} bytes`, String(dst.byteLength));
  }
  new Uint8Array(dst.buffer, dst.byteOffset, dst.byteLength).set(bytes);
}

/** Blocks until the buffer is ready. Throws what went wrong while it was computed. */
export const readyRaw = (buffer: BufferHandle): void => addon().ready(buffer);

/** Frees the device memory now, or when the programs that read it are done. Harmless when repeated. */
export const deleteRaw = (buffer: BufferHandle): void => addon().remove(buffer);

/** Whether the buffer was deleted or donated. */
export const isDeletedRaw = (buffer: BufferHandle): boolean => addon().isDeleted(buffer);

/** Replaces the first call's stand-ins by the native functions. */
export function bindRaw(): void {
  const { execute, executeSpread, upload, read } = addon();
  // Native code reads an array's elements by one call each: few arguments are cheaper as arguments (0.25 µs for two).
  executeRaw = (executable, args) => {
    switch (args.length) {
      case 1:
        return executeSpread(executable, args[0]);
      case 2:
        return executeSpread(executable, args[0], args[1]);
      case 3:
        return executeSpread(executable, args[0], args[1], args[2]);
      case 4:
        return executeSpread(executable, args[0], args[1], args[2], args[3]);
      default:
        return execute(executable, args);
    }
  };
  uploadRaw = upload;
  readRaw = read;
}
