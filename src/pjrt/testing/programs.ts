/** @file Where tests of this layer find plugins, and the programs they run. */

import { existsSync } from "node:fs";
import { findAsset, libtpuPath } from "../../assets/index.js";
import { float32, type DType } from "../../schema/index.js";
import { Plugin, type Buffer, type Client, type ClientOptions } from "../index.js";

const firstFile = (...paths: readonly (string | null | undefined)[]): string | null =>
  paths.find((path): path is string => !!path && existsSync(path)) ?? null;

/** XLA's CPU plugin, or null. */
export const cpuPluginPath = firstFile(process.env.TORCH_TPU_PLUGIN_PATH, findAsset("cpu"));

/** libtpu.so, or null. */
export const libtpu = firstFile(process.env.TORCH_TPU_LIBTPU_PATH, process.env.TPU_LIBRARY_PATH ?? libtpuPath());

/** For `describe.skipIf`. */
export const noPlugin = cpuPluginPath === null;
if (noPlugin) console.warn('pjrt: tests skipped, no CPU plugin: set TORCH_TPU_PLUGIN_PATH or run "torch-tpu setup"');

export const noLibtpu = libtpu === null;
if (noLibtpu) console.warn('pjrt: tests skipped, no libtpu: set TORCH_TPU_LIBTPU_PATH or run "torch-tpu setup tpu"');

export const openClient = (options: ClientOptions = { devices: 1 }): Client =>
  Plugin.load(cpuPluginPath!).createClient(options);

/** A module whose `main` is `body`: statements that end with a return. */
export const program = (params: string, results: string, body: string, name = "m"): string =>
  `module @${name} { func.func public @main(${params}) -> (${results}) { ${body} } }`;

/** `a + b` for two tensors of a type such as `4x4xf32`. */
export const addProgram = (type: string): string =>
  program(
    `%a: tensor<${type}>, %b: tensor<${type}>`,
    `tensor<${type}>`,
    `%0 = stablehlo.add %a, %b : tensor<${type}> return %0 : tensor<${type}>`,
    "add",
  );

/** `a + b` in the memory of `a`. */
export const donatingProgram = (type: string): string =>
  addProgram(type).replace(`%a: tensor<${type}>`, `%a: tensor<${type}> {tf.aliasing_output = 0 : i32}`);

/** Doubles each element, `steps` times in a loop: slow enough to still run when the call returns. */
export const slowProgram = (size: number, steps: number): string => {
  const t = `tensor<${size}x${size}xf32>`;
  return program(
    `%x: ${t}`,
    t,
    `%zero = stablehlo.constant dense<0> : tensor<i32>
     %n = stablehlo.constant dense<${steps}> : tensor<i32>
     %one = stablehlo.constant dense<1> : tensor<i32>
     %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, ${t}
       cond { %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %c : tensor<i1> }
       do {
         %d = stablehlo.dot_general %y, %x, contracting_dims = [1] x [0] : (${t}, ${t}) -> ${t}
         %j = stablehlo.add %i, %one : tensor<i32>
         stablehlo.return %j, %d : tensor<i32>, ${t}
       }
     return %r#1 : ${t}`,
    "slow",
  );
};

export const f32 = (client: Client, values: readonly number[], shape: readonly number[] = [values.length]): Buffer =>
  client.bufferFromHost(Float32Array.from(values), float32, shape);

export const floats = (bytes: Uint8Array): number[] => [...new Float32Array(bytes.slice().buffer)];

/** Host bytes of `count` elements of any type, none of them NaN or out of range. */
export const sampleBytes = (dtype: DType, count: number): Uint8Array =>
  Uint8Array.from(
    { length: count * dtype.itemsize },
    (_, i) => (i * 7) % (dtype.bits < 8 || dtype.kind === "bool" ? 2 : 60),
  );
