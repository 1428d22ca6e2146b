/** @file Compiled programs: what is known of them, and running them. */

import { dtypeFromPjrt, type DType } from "../schema/index.js";
import { addon } from "./addon.js";
import type { Client } from "./client.js";
import type { CompiledMemoryStats, NamedValue } from "./native.js";
import type { ExecutableHandle } from "./raw.js";

/** Element type and shape of an argument or result on one device. */
export interface ArrayType {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/** A compiled program, for a client or for a topology. */
export class Executable {
  /** The name of the module. */
  readonly name: string;
  readonly numReplicas: number;
  readonly numPartitions: number;
  /** The results on one device. */
  readonly outputTypes: readonly ArrayType[];
  protected readonly deviceIndices: readonly number[];

  constructor(
    /** For the functions of raw.ts. */
    readonly raw: ExecutableHandle,
  ) {
    const info = addon().executableInfo(raw);
    this.name = info.name;
    this.numReplicas = info.numReplicas;
    this.numPartitions = info.numPartitions;
    this.outputTypes = info.outputs.map(({ type, dims }) => ({ dtype: dtypeFromPjrt(type), shape: dims }));
    this.deviceIndices = info.devices;
  }

  /** XLA's estimate: `flops`, `bytes accessed`… A loop's body counts once. Throws UnimplementedError where there is none. */
  costAnalysis(): Readonly<Record<string, NamedValue>> {
    return addon().costAnalysis(this.raw);
  }

  /** Bytes the program needs on each device. */
  memoryStats(): CompiledMemoryStats {
    return addon().compiledMemoryStats(this.raw);
  }

  /** The program after XLA's passes; `format` says what `code` is, such as `hlo` (a serialized HloModuleProto). */
  optimizedProgram(): { readonly format: string; readonly code: Uint8Array } {
    return addon().optimizedProgram(this.raw);
  }

  /** For `Client.deserialize` with the same version of the same plugin. */
  serialize(): Uint8Array {
    return addon().serialize(this.raw);
  }

  /** Equal for programs that were compiled from the same input in the same way. */
  get fingerprint(): Uint8Array {
    return addon().fingerprint(this.raw);
  }

  /** Frees the program when its running executions are done. Harmless when repeated. */
  dispose(): void {
    addon().disposeExecutable(this.raw);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  toString(): string {
    return `${this.constructor.name}(${this.name})`;
  }
}

/** A program that is ready to run on devices of a client. */
export class LoadedExecutable extends Executable {
  constructor(
    readonly client: Client,
    raw: ExecutableHandle,
  ) {
    super(raw);
  }
}
