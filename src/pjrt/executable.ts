/** @file Compiled programs: what is known of them, and running them. */

import { dtypeFromPjrt } from "../schema/index.js";
import { addon } from "./addon.js";
import { Buffer } from "./buffer.js";
import type { Client } from "./client.js";
import type { Device } from "./device.js";
import { misuse, PjrtError, UnimplementedError } from "./errors.js";
import { readParameterTypes, type ArrayType } from "./hlo_signature.js";
import type { CompiledMemoryStats, NamedValue } from "./native.js";
import type { BufferHandle, ExecutableHandle } from "./raw.js";

/** A compiled program, for a client or for a topology. */
export class Executable {
  /** The name of the module. */
  readonly name: string;
  readonly numReplicas: number;
  readonly numPartitions: number;
  /** The results on one device. */
  readonly outputTypes: readonly ArrayType[];
  protected readonly deviceIndices: readonly number[];
  private parameters: readonly ArrayType[] | null | undefined;

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

  /** The parameters on one device, or null if the plugin does not show the program. */
  get parameterTypes(): readonly ArrayType[] | null {
    return (this.parameters ??= orNull(() => readParameterTypes(this.optimizedProgram())));
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

  /** How XLA shards each parameter: serialized xla.OpSharding. Null where it does not say. */
  get parameterShardings(): readonly Uint8Array[] | null {
    return orNull(() => addon().shardings(this.raw, false));
  }

  /** How XLA shards each result: serialized xla.OpSharding. Null where it does not say. */
  get outputShardings(): readonly Uint8Array[] | null {
    return orNull(() => addon().shardings(this.raw, true));
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

/** What `fn` returns, or null where the plugin cannot. */
function orNull<T>(fn: () => T): T | null {
  try {
    return fn();
  } catch (error) {
    if (error instanceof UnimplementedError) return null;
    throw error;
  }
}

const show = (type: ArrayType): string => `${type.dtype.name}[${type.shape.join(", ")}]`;

const isSameType = (a: ArrayType, b: ArrayType): boolean =>
  a.dtype === b.dtype && a.shape.length === b.shape.length && a.shape.every((d, i) => d === b.shape[i]);

export interface ExecuteOptions {
  /** `false` keeps inputs that the program was compiled to consume, at the cost of a copy. Default true. */
  readonly donate?: boolean;
}

/** A program that is ready to run on devices of a client. */
export class LoadedExecutable extends Executable {
  constructor(
    readonly client: Client,
    raw: ExecutableHandle,
  ) {
    super(raw);
  }

  /** The devices it runs on, in the order of the argument lists. */
  get devices(): readonly Device[] {
    return this.deviceIndices.map((index) => this.client.addressableDevices[index]);
  }

  /**
   * Runs the program on its one device: takes its arguments, returns its results. On several devices: takes a list of
   * arguments for each, returns a list of results for each. Does not wait for the results.
   *
   * @throws PjrtError `INVALID_ARGUMENT` for arguments of another number, type, device or client
   */
  execute(args: readonly Buffer[], options?: ExecuteOptions): Buffer[];
  execute(args: readonly (readonly Buffer[])[], options?: ExecuteOptions): Buffer[][];
  execute(args: readonly Buffer[] | readonly (readonly Buffer[])[], options: ExecuteOptions = {}): unknown {
    const isNested = args.length > 0 && args.every((list) => Array.isArray(list));
    const lists = (isNested ? args : [args]) as readonly (readonly Buffer[])[];
    this.checkArguments(lists);
    const handles = lists.map((list) => list.map((buffer) => buffer.handle));
    const kept = options.donate === false ? lists[0].map((_, i) => i) : [];
    const results = addon()
      .executeSharded(this.raw, handles, kept)
      .map((list, d) => list.map((handle, i) => this.wrapOutput(handle, d, i)));
    return isNested ? results : results[0];
  }

  private wrapOutput(handle: BufferHandle, device: number, output: number): Buffer {
    const { dtype, shape } = this.outputTypes[output];
    return new Buffer(this.client, handle, dtype, shape, this.deviceIndices[device]);
  }

  private checkArguments(lists: readonly (readonly Buffer[])[]): void {
    const { devices } = this;
    if (lists.length !== devices.length) {
      throw misuse("execute", `a list of arguments for each of ${devices.length} devices`, `${lists.length}`);
    }
    const types = this.parameterTypes;
    lists.forEach((list, d) => {
      if (types && list.length !== types.length) {
        throw misuse("execute", `${types.length} argument${types.length === 1 ? "" : "s"}`, String(list.length));
      }
      list.forEach((buffer, i) => this.checkArgument(buffer, i, devices[d], types?.[i]));
    });
  }

  private checkArgument(buffer: Buffer, i: number, device: Device, type: ArrayType | undefined): void {
    const fail = (expected: string, got: string): never => {
      throw new PjrtError("INVALID_ARGUMENT", `execute(): argument ${i}: expected ${expected}, got ${got}`);
    };
    if (!(buffer instanceof Buffer)) fail("a Buffer", buffer === null ? "null" : typeof buffer);
    if (buffer.client !== this.client) fail("a buffer of the program's client", "one of another client");
    if (type && !isSameType(buffer, type)) fail(show(type), show(buffer));
    if (buffer.device !== device) fail(`a buffer on ${device.toString()}`, `one on ${buffer.device.toString()}`);
  }
}
