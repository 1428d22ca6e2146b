/** @file The state of the random number generator for one call. */
import type { BufferHandle } from "../pjrt/index.js";
import { uint64 } from "../schema/index.js";
import type { Backend } from "./backend.js";

/** Key and counter, on the device once a program needs them there. */
export class RngState {
  private buffer: BufferHandle | null = null;
  constructor(readonly words: BigUint64Array) {}
  handle(backend: Backend): BufferHandle {
    return (this.buffer ??= backend.upload(this.words, uint64, [2]));
  }
}
