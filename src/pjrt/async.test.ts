/** @file What does not block: compiles in threads, reads, waiting, and errors that come late. */

import { afterAll, describe, expect, test } from "vitest";
import { float32 } from "../schema/index.js";
import { executeRaw, fastCompile, readAsync, readBytesAsync, type BufferHandle, type Client } from "./index.js";
import { addProgram, f32, floats, noPlugin, openClient, program, slowProgram } from "./testing/programs.js";

const now = (): number => performance.now();

describe.skipIf(noPlugin)("asynchronous", () => {
  const client = noPlugin ? (null as unknown as Client) : openClient();
  afterAll(() => client?.dispose());

  test("several programs compile in threads while the main thread executes", async () => {
    const add = client.compile(addProgram("4x4xf32"), fastCompile);
    const x = client.bufferFromHost(new Float32Array(16), float32, [4, 4]);
    let compiling = true;
    const compiles = Promise.all(
      Array.from({ length: 6 }, (_, i) => client.compileAsync(addProgram(`4x${i + 5}xf32`))),
    ).finally(() => (compiling = false));
    let executed = 0;
    while (compiling) {
      for (let i = 0; i < 20; i++, executed++) executeRaw(add.raw, [x.handle, x.handle]);
      await new Promise((done) => setImmediate(done));
    }
    const programs = await compiles;
    expect(executed).toBeGreaterThan(100);
    expect(programs.map((p) => p.outputTypes[0].shape[1])).toEqual([5, 6, 7, 8, 9, 10]);
    const wide = f32(client, Array(20).fill(1), [4, 5]);
    expect(floats(programs[0].execute([wide, wide])[0].toHostSync())).toEqual(Array(20).fill(2));
  });

  test("a compile that fails in a thread rejects with the compiler's words", async () => {
    await expect(client.compileAsync("module { nonsense }")).rejects.toMatchObject({ name: "PjrtError" });
    await expect(client.compileAsync(addProgram("2xf32"), { numReplicas: -1 })).rejects.toThrowError(/numReplicas/);
    await expect(client.deserializeAsync(new Uint8Array(3))).rejects.toMatchObject({ name: "PjrtError" });
  });

  test("execute returns before the program is done, and reading waits for it", () => {
    const size = 256;
    const slow = client.compile(slowProgram(size, 200), fastCompile);
    const x = client.bufferFromHost(new Float32Array(size * size).fill(1 / size), float32, [size, size]);
    slow.execute([x])[0].readySync();
    const start = now();
    const [y] = slow.execute([x]);
    const returned = now() - start;
    const wasReady = y.isReady;
    const value = floats(y.toHostSync())[0];
    const done = now() - start;
    expect(wasReady).toBe(false);
    expect(value).toBeCloseTo(1 / size);
    expect(returned).toBeLessThan(done / 2);
  });

  test("the event loop runs while a result is awaited", async () => {
    const size = 256;
    const slow = client.compile(slowProgram(size, 300), fastCompile);
    const x = client.bufferFromHost(new Float32Array(size * size).fill(1 / size), float32, [size, size]);
    for (const wait of [
      (b: BufferHandle) => readBytesAsync(b),
      (b: BufferHandle) => readAsync(b, new Float32Array(size * size)),
      (b: BufferHandle) => client.wrap(b).ready(),
    ]) {
      let ticks = 0;
      const timer = setInterval(() => ticks++, 1);
      const [y] = slow.execute([x]);
      const start = now();
      await wait(y.handle);
      const took = now() - start;
      clearInterval(timer);
      expect(ticks).toBeGreaterThan(Math.min(5, took / 10));
    }
  });

  test("releasing the result of a running program does not wait for it", () => {
    const size = 256;
    const slow = client.compile(slowProgram(size, 300), fastCompile);
    const x = client.bufferFromHost(new Float32Array(size * size).fill(1 / size), float32, [size, size]);
    const [probe] = slow.execute([x]);
    const begin = now();
    probe.readySync();
    const runTime = now() - begin;
    const [y] = slow.execute([x]);
    const start = now();
    y.dispose();
    expect(now() - start).toBeLessThan(runTime / 4);
    x.dispose();
    slow.dispose();
    expect(now() - start).toBeLessThan(runTime / 2);
  });

  test("a buffer may be disposed of while it is read", async () => {
    const values = Array.from({ length: 1000 }, (_, i) => i);
    const buffer = f32(client, values);
    const bytes = buffer.toHost();
    buffer.dispose();
    expect(floats(await bytes)).toEqual(values);
  });

  test("readAsync wants a destination of the right size", async () => {
    const buffer = f32(client, [1, 2]);
    const dst = new Float32Array(2);
    await readAsync(buffer.handle, dst);
    expect([...dst]).toEqual([1, 2]);
    await expect(readAsync(buffer.handle, new Float32Array(3))).rejects.toThrowError(
      "readAsync(): expected a destination of 8 bytes, got 12",
    );
  });

  test("many reads at once", async () => {
    const buffers = Array.from({ length: 500 }, (_, i) => f32(client, [i]));
    const results = await Promise.all(buffers.map((b) => b.toHost()));
    expect(results.map((r) => floats(r)[0])).toEqual(buffers.map((_, i) => i));
  });

  test("an execution that fails later throws when its result is read or used, with the reason", async () => {
    const large = "tensor<2x2x1000000x1000000xf32>";
    const tooLarge = client.compile(
      program(
        "%a: tensor<2x2xf32>",
        "tensor<2x2x1x1xf32>",
        `%b = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<2x2xf32>) -> ${large}
         %c = "stablehlo.sort"(%b) ({ ^bb0(%p: tensor<f32>, %q: tensor<f32>):
           %l = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
           stablehlo.return %l : tensor<i1> }) {dimension = 2 : i64} : (${large}) -> ${large}
         %s = stablehlo.slice %c [0:2, 0:2, 5:6, 5:6] : (${large}) -> tensor<2x2x1x1xf32> return %s : tensor<2x2x1x1xf32>`,
      ),
      fastCompile,
    );
    const [y] = tooLarge.execute([f32(client, [1, 2, 3, 4], [2, 2])]);
    const reason = /Out of memory allocating 16000000000000 bytes/;
    expect(() => y.toHostSync()).toThrowError(reason);
    expect(() => y.readySync()).toThrowError(reason);
    await expect(y.toHost()).rejects.toThrowError(reason);
    await expect(y.ready()).rejects.toThrowError(reason);
    const add = client.compile(addProgram("2x2x1x1xf32"), fastCompile);
    const use = async (): Promise<unknown> => add.execute([y, y])[0].toHost();
    await expect(use()).rejects.toThrowError(reason);
  });

  test("what cannot run is refused when it is compiled", () => {
    const unknown =
      "%0 = stablehlo.custom_call @no_such_target(%a) : (tensor<f32>) -> tensor<f32> return %0 : tensor<f32>";
    expect(() => client.compile(program("%a: tensor<f32>", "tensor<f32>", unknown))).toThrowError(/no_such_target/);
  });
});
