/** @file Storage: one device buffer, or a value that is not computed yet, that tensors share. */
import type { BufferHandle } from "../pjrt/index.js";
import type { Aval } from "../schema/index.js";
import type { Device } from "./device.js";

/** A value of a graph under construction. What it is belongs to the tracer. */
export interface TracedValue {
  readonly aval: Aval;
  /** The trace it belongs to. */
  readonly trace: object;
}

/** A value that fused mode has put off. */
export interface DeferredValue {
  /** Computes the value, unless it is there. */
  materialize(): BufferHandle;
}

export class Storage {
  /** Counts the writes; autograd compares it with the count it saw. */
  version = 0;
  /** The buffer may be seen from another storage: a write must not reuse its memory. */
  shared = false;
  /** While a function is traced: what the storage holds there. */
  traced: TracedValue | null = null;
  /** In fused mode: what the storage will hold. */
  deferred: DeferredValue | null = null;
  private buffer: BufferHandle | null;
  constructor(
    handle: BufferHandle | null,
    public aval: Aval,
    readonly device: Device,
  ) {
    this.buffer = handle;
  }

  /** The buffer; a value that was put off is computed. Null on the meta device, while tracing, and after dispose(). */
  get handle(): BufferHandle | null {
    if (this.deferred !== null) {
      this.buffer = this.deferred.materialize();
      this.deferred = null;
    }
    return this.buffer;
  }

  set handle(handle: BufferHandle | null) {
    this.buffer = handle;
    this.deferred = null;
  }

  /** Puts off the value: it is `deferred` when somebody asks. */
  defer(deferred: DeferredValue): void {
    this.buffer = null;
    this.deferred = deferred;
  }
}
