/** @file Compile options: typed, with presets, encoded as XLA's CompileOptionsProto. */

import { misuse } from "./errors.js";
import { ProtoWriter } from "./proto.js";

/** How to compile a program. What is left out keeps XLA's default. */
export interface CompileOptions {
  /** Copies of the program that run side by side. Default 1. */
  readonly numReplicas?: number;
  /** Devices among which one copy is partitioned. Default 1. */
  readonly numPartitions?: number;
  /** Device ids by replica and partition. Default: the client's own choice. */
  readonly deviceAssignment?: readonly (readonly number[])[];
  /** Partition by sharding annotations. Default true. */
  readonly useSpmdPartitioning?: boolean;
  /** Read `sdy` annotations, with Shardy. Default false: GSPMD's `mhlo.sharding`. */
  readonly useShardyPartitioner?: boolean;
  readonly useAutoSpmdPartitioning?: boolean;
  /** For each output, or one for all: whether XLA may choose its sharding. */
  readonly allowSpmdShardingPropagationToOutput?: readonly boolean[];
  /** For each parameter, or one for all: whether XLA may choose its sharding. */
  readonly allowSpmdShardingPropagationToParameters?: readonly boolean[];
  readonly deviceOrdinal?: number;
  /** How much effort goes into run time: 0 (least) to 3. */
  readonly optimizationLevel?: 0 | 1 | 2 | 3;
  /** How much effort goes into fitting into memory: 0 (least) to 3. */
  readonly memoryFittingLevel?: 0 | 1 | 2 | 3;
  /** Merge identical computations. */
  readonly deduplicateHlo?: boolean;
  /** Compile for any one device; the device is then chosen at each execution. */
  readonly compilePortableExecutable?: boolean;
  readonly parameterIsTupledArguments?: boolean;
  readonly profileVersion?: number;
  /**
   * XLA's own options by name, such as `xla_cpu_enable_fast_min_max`. A number with a fraction is sent as a double, one
   * without as an integer; write `"1"` for a double that happens to be whole. Options of the CPU compiler (`xla_cpu_…`,
   * `xla_llvm_…`) are not sent to other platforms.
   */
  readonly envOptionOverrides?: Readonly<Record<string, string | number | bigint | boolean>>;
}

/** XLA's CPU default loses NaN in max, min, argmax and pooling. */
const exactMinMax = { xla_cpu_enable_fast_min_max: false } as const;

/** For programs that run once or a few times: a tenth of the compile time on CPU, about the same speed when small. */
export const fastCompile: CompileOptions = {
  envOptionOverrides: {
    ...exactMinMax,
    xla_llvm_disable_expensive_passes: true,
    xla_cpu_parallel_codegen_split_count: 1,
  },
};

/** For programs that run many times. */
export const fullCompile: CompileOptions = { envOptionOverrides: exactMinMax };

/** The presets by name. */
export const compilePresets = { fast: fastCompile, full: fullCompile } as const;

function positive(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw misuse("compile", `${name} to be a positive integer`, String(value));
}

function writeDeviceAssignment(w: ProtoWriter, assignment: readonly (readonly number[])[]): void {
  const partitions = assignment[0].length;
  w.int(1, assignment.length).int(2, partitions);
  for (let p = 0; p < partitions; p++) {
    const ids = assignment.map((replica) => replica[p]);
    w.message(3, (computation) => computation.ints(1, ids));
  }
}

/** xla.ExecutionOptions.EffortLevel. */
const effortLevels = [9, 19, 29, 39] as const;

function writeBuildOptions(w: ProtoWriter, o: CompileOptions, replicas: number, partitions: number): void {
  w.int(1, o.deviceOrdinal ?? -1);
  w.int(4, replicas).int(5, partitions);
  w.int(6, o.useSpmdPartitioning ?? true);
  if (o.useAutoSpmdPartitioning) w.int(7, true);
  if (o.deduplicateHlo) w.int(8, true);
  const { deviceAssignment } = o;
  if (deviceAssignment) {
    const fits = deviceAssignment.length === replicas && deviceAssignment.every((r) => r.length === partitions);
    if (!fits) {
      const got = `${deviceAssignment.length} × ${deviceAssignment.map((r) => r.length).join(", ")}`;
      throw misuse("compile", `deviceAssignment of ${replicas} replicas × ${partitions} partitions`, got);
    }
    w.message(9, (m) => writeDeviceAssignment(m, deviceAssignment));
  }
  if (o.allowSpmdShardingPropagationToOutput) w.ints(12, o.allowSpmdShardingPropagationToOutput.map(Number));
  if (o.allowSpmdShardingPropagationToParameters) w.ints(18, o.allowSpmdShardingPropagationToParameters.map(Number));
  if (o.useShardyPartitioner) w.int(19, true);
  if (o.optimizationLevel !== undefined) w.int(24, effortLevels[o.optimizationLevel]);
  if (o.memoryFittingLevel !== undefined) w.int(25, effortLevels[o.memoryFittingLevel]);
}

function writeOverride(w: ProtoWriter, name: string, value: string | number | bigint | boolean): void {
  w.string(1, name).message(2, (m) => {
    if (typeof value === "string") m.string(1, value);
    else if (typeof value === "boolean") m.int(2, value);
    else if (typeof value === "bigint" || Number.isSafeInteger(value)) m.int(3, value);
    else m.double(4, value);
  });
}

const isCpuOption = (name: string): boolean => /^xla_(?:cpu|llvm)_/.test(name);

/** `options` as a serialized CompileOptionsProto for a platform such as `"cpu"` or `"tpu"`. */
export function encodeCompileOptions(options: CompileOptions, platform: string): Uint8Array {
  const replicas = positive("numReplicas", options.numReplicas ?? options.deviceAssignment?.length ?? 1);
  const partitions = positive("numPartitions", options.numPartitions ?? options.deviceAssignment?.[0]?.length ?? 1);
  const w = new ProtoWriter();
  if (options.parameterIsTupledArguments) w.int(2, true);
  w.message(3, (m) => writeBuildOptions(m, options, replicas, partitions));
  if (options.compilePortableExecutable) w.int(4, true);
  if (options.profileVersion !== undefined) w.int(5, options.profileVersion);
  for (const [name, value] of Object.entries(options.envOptionOverrides ?? {})) {
    if (platform !== "cpu" && isCpuOption(name)) continue;
    w.message(7, (m) => writeOverride(m, name, value));
  }
  return w.finish();
}
