/** @file Buffer: an array on a device. */

import type { DType } from "../schema/index.js";
import { addon } from "./addon.js";
import type { Client } from "./client.js";
import type { Device } from "./device.js";
import { deleteRaw, isDeletedRaw, readBytesAsync, readRaw, readyRaw, type BufferHandle } from "./raw.js";

/** An array on a device: shape and element type never change. Freed in garbage collection, or early by `dispose`. */
export class Buffer {
  constructor(
    readonly client: Client,
    /** For the functions of raw.ts. */
    readonly handle: BufferHandle,
    readonly dtype: DType,
    readonly shape: readonly number[],
    private readonly deviceIndex: number,
  ) {}

  get device(): Device {
    return this.client.addressableDevices[this.deviceIndex];
  }

  /** Bytes of its elements on the host: one byte an element for types smaller than a byte. */
  get byteLength(): number {
    return this.shape.reduce((n, d) => n * d, this.dtype.itemsize);
  }

  /** Whether it was disposed of, or donated to a program. */
  get isDeleted(): boolean {
    return isDeletedRaw(this.handle);
  }

  /** Whether its value is there, or has failed to come. */
  get isReady(): boolean {
    return addon().isReady(this.handle);
  }

  /** Its elements, row-major. Does not block the event loop. */
  toHost(): Promise<Uint8Array> {
    return readBytesAsync(this.handle);
  }

  /** Its elements, row-major. Blocks until they are computed. */
  toHostSync(): Uint8Array {
    const bytes = new Uint8Array(this.byteLength);
    readRaw(this.handle, bytes);
    return bytes;
  }

  /** Resolves when the value is there. Rejects with what went wrong while it was computed. */
  ready(): Promise<void> {
    return addon().readyAsync(this.handle);
  }

  /** Blocks until the value is there. Throws what went wrong while it was computed. */
  readySync(): void {
    readyRaw(this.handle);
  }

  /** A copy on another device of the same client. */
  copyToDevice(device: number | Device): Buffer {
    const index = typeof device === "number" ? device : device.index;
    return new Buffer(this.client, addon().copyToDevice(this.handle, index), this.dtype, this.shape, index);
  }

  /** Frees the device memory as soon as the programs that read it are done. Harmless when repeated. */
  dispose(): void {
    deleteRaw(this.handle);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  toString(): string {
    return `Buffer(${this.dtype.name}[${this.shape.join(", ")}] on ${this.device?.toString() ?? "?"})`;
  }
}
