/** @file Storage: one device buffer, or one value of a graph under construction, that tensors share. */
import type { BufferHandle } from "../pjrt/index.js";
import type { Aval } from "../schema/index.js";
import type { Device } from "./device.js";

/** A value of a graph under construction. What it is belongs to the tracer. */
export interface TracedValue {
  readonly aval: Aval;
  /** The trace it belongs to. */
  readonly trace: object;
}

export class Storage {
  /** Counts the writes; autograd compares it with the count it saw. */
  version = 0;
  /** The buffer may be seen from another storage: a write must not reuse its memory. */
  shared = false;
  /** While a function is traced: what the storage holds there. */
  traced: TracedValue | null = null;
  constructor(
    /** Null on the meta device, while tracing, and after dispose(). */
    public handle: BufferHandle | null,
    public aval: Aval,
    readonly device: Device,
  ) {}
}
