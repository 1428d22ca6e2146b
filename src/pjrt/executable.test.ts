/** @file Compiling, executing, serializing, and what compiled programs say of themselves. */

import { afterAll, describe, expect, test } from "vitest";
import { dtypes, float32, int32 } from "../schema/index.js";
import {
  executeRaw,
  fastCompile,
  fullCompile,
  isDeletedRaw,
  PjrtError,
  UnimplementedError,
  type BufferHandle,
  type Client,
} from "./index.js";
import { addProgram, donatingProgram, f32, floats, noPlugin, openClient, program } from "./testing/programs.js";

const identity = (type: string): string =>
  program(`%a: tensor<${type}>`, `tensor<${type}>`, `return %a : tensor<${type}>`);

/** What `fn` returns, or the error if the plugin does not have it; any other error fails the test. */
function ifImplemented<T>(fn: () => T): T | UnimplementedError {
  try {
    return fn();
  } catch (error) {
    if (error instanceof UnimplementedError) return error;
    throw error;
  }
}

describe.skipIf(noPlugin)("LoadedExecutable", () => {
  const client = noPlugin ? (null as unknown as Client) : openClient({ devices: 8 });
  afterAll(() => client?.dispose());

  test("adds", () => {
    const add = client.compile(addProgram("2x2xf32"), fastCompile);
    const x = f32(client, [1, 2, 3, 4], [2, 2]);
    const [y] = add.execute([x, x]);
    expect(floats(y.toHostSync())).toEqual([2, 4, 6, 8]);
    expect(y.shape).toEqual([2, 2]);
    expect(y.dtype).toBe(float32);
    expect(y.device).toBe(client.devices[0]);
  });

  test("0, 1, 2 and 100 results; 0 and 100 arguments", () => {
    const types = (n: number): string => Array(n).fill("tensor<f32>").join(", ");
    const params = Array.from({ length: 100 }, (_, i) => `%a${i}: tensor<f32>`).join(", ");
    const names = Array.from({ length: 100 }, (_, i) => `%a${i}`).join(", ");
    const many = client.compile(program(params, types(100), `return ${names} : ${types(100)}`));
    const inputs = Array.from({ length: 100 }, (_, i) => f32(client, [i], []));
    expect(many.execute(inputs).map((y) => floats(y.toHostSync())[0])).toEqual(inputs.map((_, i) => i));
    const handles = inputs.map((x) => x.handle);
    expect(executeRaw(many.raw, handles)).toHaveLength(100);
    const constant = "%0 = stablehlo.constant dense<3.0> : tensor<f32>";
    const one = client.compile(program("", "tensor<f32>", `${constant} return %0 : tensor<f32>`));
    expect(floats(one.execute([])[0].toHostSync())).toEqual([3]);
    const two = client.compile(program("", types(2), `${constant} return %0, %0 : ${types(2)}`));
    expect(two.execute([]).map((y) => floats(y.toHostSync())[0])).toEqual([3, 3]);
    const none = client.compile("module @m { func.func public @main(%a: tensor<f32>) { return } }");
    expect(none.execute([inputs[0]])).toEqual([]);
    expect(executeRaw(none.raw, [handles[0]])).toEqual([]);
    expect(executeRaw(one.raw, [])).not.toBeInstanceOf(Array);
  });

  test("knows its name, types, cost and memory", () => {
    const add = client.compile(addProgram("4x4xf32"));
    expect(add.name).toContain("add");
    expect(String(add)).toBe(`LoadedExecutable(${add.name})`);
    expect([add.numReplicas, add.numPartitions]).toEqual([1, 1]);
    expect(add.outputTypes).toEqual([{ dtype: float32, shape: [4, 4] }]);
    expect(add.parameterTypes).toEqual([1, 2].map(() => ({ dtype: float32, shape: [4, 4] })));
    expect(add.devices).toEqual([client.devices[0]]);
    expect(add.memoryStats()).toMatchObject({ argumentBytes: 128, outputBytes: 64, aliasBytes: 0 });
    const cost = ifImplemented(() => add.costAnalysis());
    if (!(cost instanceof Error)) expect(cost.flops).toBe(16);
    const { format, code } = add.optimizedProgram();
    expect(format).toMatch(/hlo|mlir/);
    expect(code.length).toBeGreaterThan(100);
    const fingerprint = ifImplemented(() => add.fingerprint);
    if (!(fingerprint instanceof Error)) {
      expect(client.compile(addProgram("4x4xf32")).fingerprint).toEqual(fingerprint);
      expect(client.compile(addProgram("4x5xf32")).fingerprint).not.toEqual(fingerprint);
    }
  });

  test("parameter types of every element type", () => {
    const unsupported: string[] = [];
    for (const dtype of dtypes) {
      try {
        const { parameterTypes, outputTypes } = client.compile(identity(`3x${dtype.hlo}`), fastCompile);
        expect(parameterTypes).toEqual([{ dtype, shape: [3] }]);
        expect(outputTypes).toEqual([{ dtype, shape: [3] }]);
      } catch (error) {
        if (!(error instanceof PjrtError)) throw error;
        unsupported.push(dtype.name);
      }
    }
    expect(unsupported.length).toBeLessThan(4);
  });

  test("presets and options reach the compiler", () => {
    const max = program(
      "%a: tensor<8xf32>, %b: tensor<8xf32>",
      "tensor<8xf32>",
      "%0 = stablehlo.maximum %a, %b : tensor<8xf32> return %0 : tensor<8xf32>",
    );
    const nan = f32(client, Array(8).fill(NaN));
    const one = f32(client, Array(8).fill(1));
    for (const options of [fastCompile, fullCompile]) {
      const exe = client.compile(max, options);
      expect(floats(exe.execute([one, nan])[0].toHostSync())).toEqual(Array(8).fill(NaN));
      expect(floats(exe.execute([nan, one])[0].toHostSync())).toEqual(Array(8).fill(NaN));
    }
    expect(() => client.compile(max, { envOptionOverrides: { xla_no_such_option: 1 } })).toThrowError(
      /xla_no_such_option/,
    );
    const elsewhere = client.compile(max, { deviceAssignment: [[5]], optimizationLevel: 1, memoryFittingLevel: 0 });
    expect(elsewhere.devices).toEqual([client.devices[5]]);
    const text = client.compile(max, { envOptionOverrides: { xla_cpu_enable_fast_min_max: "False" } });
    expect(floats(text.execute([one, nan])[0].toHostSync())).toEqual(Array(8).fill(NaN));
  });

  test("wrong options are errors", () => {
    const text = addProgram("2xf32");
    expect(() => client.compile(text, { numReplicas: 0 })).toThrowError(
      "compile(): expected numReplicas to be a positive integer, got 0",
    );
    expect(() => client.compile(text, { numReplicas: 2, deviceAssignment: [[0]] })).toThrowError(
      "compile(): expected deviceAssignment of 2 replicas × 1 partitions, got 1 × 1",
    );
    expect(() => client.compile(text, { deviceAssignment: [[99]] })).toThrowError(PjrtError);
    expect(() => client.compile(text, { numReplicas: 9 })).toThrowError(PjrtError);
  });

  test("a program that does not parse is an error with a code", () => {
    try {
      client.compile("module { nonsense }");
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(PjrtError);
      expect((error as PjrtError).code).toMatch(/^(INVALID_ARGUMENT|UNKNOWN|INTERNAL)$/);
      expect((error as PjrtError).message).not.toBe("");
    }
  });

  test("a serialized program loads, runs, and says the same of itself", async () => {
    const add = client.compile(donatingProgram("2xf32"), { ...fastCompile, deviceAssignment: [[3]] });
    const bytes = add.serialize();
    for (const loaded of [client.deserialize(bytes), await client.deserializeAsync(bytes)]) {
      const x = client.bufferFromHost(Float32Array.of(1, 2), float32, [2], 3);
      expect(loaded.parameterTypes).toEqual(add.parameterTypes);
      const [y] = loaded.execute([x, client.bufferFromHost(Float32Array.of(3, 4), float32, [2], 3)]);
      expect(floats(y.toHostSync())).toEqual([4, 6]);
      expect(x.isDeleted).toBe(true);
    }
  });

  test("a serialized program can be loaded for another device", () => {
    const bytes = client.compile(addProgram("2xf32")).serialize();
    const loaded = client.deserialize(bytes, { deviceAssignment: [[6]] });
    expect(loaded.devices).toEqual([client.devices[6]]);
    const x = client.bufferFromHost(Float32Array.of(1, 2), float32, [2], 6);
    expect(floats(loaded.execute([x, x])[0].toHostSync())).toEqual([2, 4]);
  });

  test("damaged serialized programs are errors", () => {
    const bytes = client.compile(addProgram("2xf32")).serialize();
    expect(() => client.deserialize(new Uint8Array(0))).toThrowError(PjrtError);
    expect(() => client.deserialize(bytes.subarray(0, 10))).toThrowError(PjrtError);
    expect(() => client.deserialize(new Uint8Array(1000).fill(255))).toThrowError(PjrtError);
  });

  test("a donated input is gone, unless donation is turned off", () => {
    const exe = client.compile(donatingProgram("4xf32"));
    expect(exe.memoryStats().aliasBytes).toBe(16);
    const a = f32(client, [1, 2, 3, 4]);
    const b = f32(client, [10, 20, 30, 40]);
    const before = client.memoryStats().liveBytes;
    const [kept] = exe.execute([a, b], { donate: false });
    expect(a.isDeleted).toBe(false);
    expect(client.memoryStats().liveBytes).toBe(before + 16);
    expect(floats(a.toHostSync())).toEqual([1, 2, 3, 4]);
    expect(floats(kept.toHostSync())).toEqual([11, 22, 33, 44]);
    const [sum] = exe.execute([a, b]);
    expect([a.isDeleted, b.isDeleted]).toEqual([true, false]);
    expect(client.memoryStats().liveBytes).toBe(before + 16);
    expect(floats(sum.toHostSync())).toEqual([11, 22, 33, 44]);
    expect(() => a.toHostSync()).toThrowError("read(): expected a live buffer, got one that was donated to a program");
    expect(() => exe.execute([a, b])).toThrowError(/argument 0: expected a live buffer, got one that was donated/);
    const raw = executeRaw(exe.raw, [sum.handle, b.handle]) as BufferHandle;
    expect(isDeletedRaw(sum.handle)).toBe(true);
    expect(floats(client.wrap(raw).toHostSync())).toEqual([21, 42, 63, 84]);
  });

  test("the same buffer donated and read is an error or a copy, never a wrong result", () => {
    const exe = client.compile(donatingProgram("4xf32"));
    const a = f32(client, [1, 2, 3, 4]);
    try {
      expect(floats(exe.execute([a, a])[0].toHostSync())).toEqual([2, 4, 6, 8]);
    } catch (error) {
      expect((error as PjrtError).code).toBe("INVALID_ARGUMENT");
    }
  });

  test("wrong arguments are exact errors", () => {
    const exe = client.compile(addProgram("2xf32"));
    const x = f32(client, [1, 2]);
    const other = openClient();
    const message = (fn: () => unknown): string => {
      try {
        fn();
      } catch (error) {
        expect((error as PjrtError).code).toBe("INVALID_ARGUMENT");
        return (error as Error).message;
      }
      return "no error";
    };
    expect(message(() => exe.execute([x]))).toBe("execute(): expected 2 arguments, got 1");
    expect(message(() => exe.execute([x, x, x]))).toBe("execute(): expected 2 arguments, got 3");
    expect(message(() => exe.execute([x, f32(client, [1, 2, 3])]))).toBe(
      "execute(): argument 1: expected float32[2], got float32[3]",
    );
    expect(message(() => exe.execute([client.bufferFromHost(Int32Array.of(1, 2), int32, [2]), x]))).toBe(
      "execute(): argument 0: expected float32[2], got int32[2]",
    );
    expect(message(() => exe.execute([x, f32(other, [1, 2])]))).toBe(
      "execute(): argument 1: expected a buffer of the program's client, got one of another client",
    );
    expect(message(() => exe.execute([x, x.copyToDevice(1)]))).toMatch(
      /^execute\(\): argument 1: expected a buffer on .*0.*, got one on .*1/,
    );
    expect(
      message(() =>
        exe.execute([
          [x, x],
          [x, x],
        ]),
      ),
    ).toBe("execute(): expected a list of arguments for each of 1 devices, got 2");
    expect(message(() => exe.execute([x, 3 as never]))).toBe("execute(): argument 1: expected a Buffer, got number");
    exe.dispose();
    exe.dispose();
    expect(message(() => exe.execute([x, x]))).toMatch(/expected a live executable, got a disposed one/);
  });

  test("eight replicas", () => {
    const sum = client.compile(
      program(
        "%a: tensor<2xf32>",
        "tensor<2xf32>",
        `%0 = "stablehlo.all_reduce"(%a) ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>):
           %s = stablehlo.add %x, %y : tensor<f32> stablehlo.return %s : tensor<f32> }) {
           replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>
         } : (tensor<2xf32>) -> tensor<2xf32> return %0 : tensor<2xf32>`,
      ),
      { numReplicas: 8 },
    );
    expect(sum.devices).toHaveLength(8);
    const inputs = client.devices.map((device, i) => [
      client.bufferFromHost(Float32Array.of(i, 1), float32, [2], device),
    ]);
    const results = sum.execute(inputs);
    expect(results.map(([y]) => y.device.id)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    for (const [y] of results) expect(floats(y.toHostSync())).toEqual([28, 8]);
    expect(() => sum.execute([inputs[0][0]])).toThrowError("expected a list of arguments for each of 8 devices, got 1");
    expect(() => executeRaw(sum.raw, [inputs[0][0].handle])).toThrowError(
      "execute(): expected an executable of one device, got one of 8",
    );
  });

  test("eight partitions with Shardy", () => {
    const sharding = (axis: string): string => `{sdy.sharding = #sdy.sharding<@mesh, [${axis}]>}`;
    const double = client.compile(
      `module @sharded { sdy.mesh @mesh = <["x"=8]>
        func.func public @main(%a: tensor<16xf32> ${sharding('{"x"}')}) -> (tensor<16xf32> ${sharding('{"x"}')}) {
          %0 = stablehlo.add %a, %a : tensor<16xf32> return %0 : tensor<16xf32> } }`,
      { numPartitions: 8, useShardyPartitioner: true },
    );
    expect(double.outputTypes).toEqual([{ dtype: float32, shape: [2] }]);
    expect(double.parameterTypes).toEqual([{ dtype: float32, shape: [2] }]);
    const parts = client.devices.map((d, i) => [
      client.bufferFromHost(Float32Array.of(2 * i, 2 * i + 1), float32, [2], d),
    ]);
    expect(double.execute(parts).flatMap(([y]) => floats(y.toHostSync()))).toEqual(
      Array.from({ length: 16 }, (_, i) => 2 * i),
    );
    const { parameterShardings, outputShardings } = double;
    if (parameterShardings !== null) {
      expect(parameterShardings).toHaveLength(1);
      expect(outputShardings).toHaveLength(1);
      expect(parameterShardings[0].length).toBeGreaterThan(2);
    }
  });
});
