/** @file What a case of the table of operations is. */
import { float32, type DType } from "../../schema/dtype.js";
import type { Builder, Module, ParamSpec, Value } from "../index.js";

export interface OpCase {
  /** The builder's method. */
  readonly op: string;
  readonly params: readonly ParamSpec[];
  readonly build: (h: Builder, p: Value[], m: Module) => Value | Value[];
  /** Partitions of the program, for those that need more than one device. */
  readonly devices?: number;
  /** What XLA's CPU plugin says instead of compiling the program. */
  readonly cpuRefuses?: RegExp;
  /** What libtpu says instead of compiling the program. */
  readonly tpuRefuses?: RegExp;
}

export const t = (dtype: DType, ...shape: number[]): ParamSpec => ({ dtype, shape });
export const f = (...shape: number[]): ParamSpec => t(float32, ...shape);
export const x23 = f(2, 3);

export const one = (op: string, params: ParamSpec[], build: OpCase["build"], rest: Partial<OpCase> = {}): OpCase => ({
  op,
  params,
  build,
  ...rest,
});
