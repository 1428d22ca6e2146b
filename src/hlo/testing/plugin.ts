/** @file Runs modules on XLA's CPU plugin, for tests. */
import {
  compilePresets,
  executeRaw,
  Plugin,
  readRaw,
  uploadRaw,
  type BufferHandle,
  type Client,
  type LoadedExecutable,
} from "../../pjrt/index.js";
import type { DType } from "../../schema/dtype.js";
import { Module, type Builder, type ParamSpec, type Value } from "../index.js";

const path = process.env.TORCH_TPU_PLUGIN_PATH;

/** Why tests that compile cannot run; null when they can. */
export const noPlugin: string | null = path ? null : "TORCH_TPU_PLUGIN_PATH is not set";
if (noPlugin) console.warn(`Tests that compile with XLA are skipped: ${noPlugin}`);

let client: Client | null = null;
const getClient = (): Client => (client ??= Plugin.load(path!).createClient({ devices: 2 }));

/** Compiles a program for `devices` partitions. */
export const compileText = (text: string, devices = 1): LoadedExecutable =>
  getClient().compile(
    text,
    devices === 1
      ? compilePresets.fast
      : { ...compilePresets.fast, numPartitions: devices, useShardyPartitioner: true },
  );

/** A tensor on the host: bytes in PJRT's layout, where types below a byte take one. */
export interface HostTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: ArrayBufferView;
}

/** Runs a program of one function and returns the bytes of its results. */
export function runProgram(params: readonly HostTensor[], build: (h: Builder, p: Value[]) => Value[]): DataView[] {
  const m = new Module("test");
  const h = m.func(
    "main",
    params.map(({ dtype, shape }): ParamSpec => ({ dtype, shape })),
  );
  const results = build(h, h.params);
  h.return(results);
  const executable = compileText(m.toString());
  const buffers = params.map(({ dtype, shape, data }) => uploadRaw(getClient().handle, 0, data, dtype.pjrt, shape));
  const outputs = executeRaw(executable.raw, buffers);
  return [outputs].flat().map((out: BufferHandle, i) => {
    const { dtype, numel } = results[i];
    const bytes = new Uint8Array(Math.max(1, numel * dtype.itemsize));
    if (numel > 0) readRaw(out, bytes);
    return new DataView(bytes.buffer);
  });
}
