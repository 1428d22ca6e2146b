/** @file Plugins, clients, devices, memories, buffers. */

import { afterAll, describe, expect, test } from "vitest";
import { bfloat16, dtypes, float32, int32, uint8 } from "../schema/index.js";
import type { PjrtError } from "./index.js";
import { AddonError, addonPath, deleteRaw, Plugin, UnimplementedError, type Client } from "./index.js";
import {
  addProgram,
  cpuPluginPath,
  f32,
  floats,
  noPlugin,
  openClient,
  program,
  sampleBytes,
} from "./testing/programs.js";

/** Returns its argument in memory with the dimensions in the order `minorToMajor`. */
const identity = (type: string, minorToMajor: string): string =>
  program(
    `%a: tensor<${type}>`,
    `tensor<${type}> {mhlo.layout_mode = "${minorToMajor}"}`,
    `return %a : tensor<${type}>`,
  );

describe("the native addon", () => {
  test("is found from src/ as from dist/src/", () => {
    expect(addonPath()).toMatch(/native\/(?:prebuilt|build)\/[^/]+\/torch_tpu\.node$/);
  });

  test("missing, it is an error that says how to get it", () => {
    expect(() => addonPath("plan9-vax")).toThrowError(
      /the native addon of torch-tpu for plan9-vax is missing.*C\+\+ compiler.*npx torch-tpu setup.*npx torch-tpu doctor/,
    );
    expect(() => addonPath("plan9-vax")).toThrowError(AddonError);
  });
});

describe("Plugin", () => {
  test("a missing file is an error that names the remedies", () => {
    expect(() => Plugin.load("/no/such/plugin.so")).toThrowError(
      /Plugin\.load\(\): expected a PJRT plugin at \/no\/such\/plugin\.so, found no file.*TORCH_TPU_PLUGIN_PATH.*npx torch-tpu setup/,
    );
  });

  test("a file that is no library is an error", () => {
    expect(() => Plugin.load(import.meta.filename ?? __filename)).toThrowError(/could not load the plugin/);
  });

  test("a library that is no plugin is an error", () => {
    expect(() => Plugin.load(process.platform === "linux" ? "/lib/x86_64-linux-gnu/libm.so.6" : "x")).toThrowError(
      /without GetPjrtApi|found no file/,
    );
  });
});

describe.skipIf(noPlugin)("Client", () => {
  const client = noPlugin ? (null as unknown as Client) : openClient({ devices: 2 });
  afterAll(() => client?.dispose());

  test("the plugin is loaded once and knows its version", () => {
    const plugin = Plugin.load(cpuPluginPath!);
    expect(Plugin.load(cpuPluginPath!)).toBe(plugin);
    expect(plugin.apiVersion.major).toBe(0);
    expect(plugin.apiVersion.minor).toBeGreaterThan(50);
    expect(String(plugin)).toContain("PJRT API 0.");
    expect(plugin.attributes).toHaveProperty("stablehlo_current_version");
    expect(plugin.extensions.length).toBeGreaterThan(0);
  });

  test("platform and devices", () => {
    expect(client.platformName).toBe("cpu");
    expect(client.processIndex).toBe(0);
    expect(client.platformVersion).toBeTypeOf("string");
    expect(client.devices.map((d) => d.id)).toEqual([0, 1]);
    expect(client.addressableDevices.map((d) => d.index)).toEqual([0, 1]);
    const [, device] = client.devices;
    expect(device.kind).toBe("cpu");
    expect(String(device)).toMatch(/cpu/i);
    expect(device.isAddressable).toBe(true);
    expect(device.defaultMemory?.kind).toBe("device");
    expect(device.memories.map((m) => m.kind)).toContain("unpinned_host");
    expect(String(device.memories[0])).not.toBe("");
    expect(client.defaultDeviceAssignment(2, 1)).toEqual([[0], [1]]);
    expect(client.defaultDeviceAssignment(1, 2)).toEqual([[0, 1]]);
  });

  test("XLA's CPU plugin has no allocator statistics: a typed error", () => {
    expect(() => client.allocatorStats()).toThrowError(UnimplementedError);
    expect(() => client.topology().compile("")).toThrow();
  });

  test("an unknown option is an error of the plugin, or ignored by it", () => {
    try {
      openClient({ devices: 1, no_such_option: 1 }).dispose();
    } catch (error) {
      expect((error as PjrtError).code).toBe("INVALID_ARGUMENT");
    }
  });

  test("a round trip, blocking and not", async () => {
    const buffer = f32(client, [1, 2, 3, 4, 5, 6], [2, 3]);
    expect(buffer.dtype).toBe(float32);
    expect(buffer.shape).toEqual([2, 3]);
    expect(buffer.byteLength).toBe(24);
    expect(buffer.device).toBe(client.addressableDevices[0]);
    expect(floats(buffer.toHostSync())).toEqual([1, 2, 3, 4, 5, 6]);
    expect(floats(await buffer.toHost())).toEqual([1, 2, 3, 4, 5, 6]);
    await buffer.ready();
    buffer.readySync();
    expect(buffer.isReady).toBe(true);
    expect(String(buffer)).toMatch(/^Buffer\(float32\[2, 3\] on /);
  });

  test.each(dtypes.map((dtype) => [dtype.name, dtype] as const))("a round trip of %s", async (_, dtype) => {
    const bytes = sampleBytes(dtype, 10);
    const buffer = client.bufferFromHost(bytes, dtype, [2, 5]);
    expect(buffer.toHostSync()).toEqual(bytes);
    expect(await buffer.toHost()).toEqual(bytes);
    expect(client.wrap(buffer.handle).dtype).toBe(dtype);
  });

  test("no elements, no dimensions, and every kind of view", async () => {
    const empty = client.bufferFromHost(new Float32Array(0), float32, [0, 3]);
    expect(empty.toHostSync()).toEqual(new Uint8Array(0));
    expect(await empty.toHost()).toEqual(new Uint8Array(0));
    expect(floats(client.bufferFromHost(Float32Array.of(7), float32, []).toHostSync())).toEqual([7]);
    const bytes = Uint8Array.of(1, 2, 3, 4);
    const shared = new Uint8Array(new SharedArrayBuffer(4));
    shared.set(bytes);
    const views: ArrayBufferView[] = [bytes, new DataView(bytes.buffer), shared, globalThis.Buffer.from(bytes)];
    for (const view of views) expect(client.bufferFromHost(view, uint8, [4]).toHostSync()).toEqual(bytes);
    const offset = Int32Array.of(1, 2, 3).subarray(1);
    expect(new Int32Array(client.bufferFromHost(offset, int32, [2]).toHostSync().buffer)).toEqual(Int32Array.of(2, 3));
  });

  test("an upload copies: later writes to the array do not show", () => {
    const data = Float32Array.from({ length: 100_000 }, (_, i) => i);
    const buffer = client.bufferFromHost(data, float32, [100_000]);
    data.fill(-1);
    expect(floats(buffer.toHostSync()).at(-1)).toBe(99_999);
  });

  test("zero-copy reads the array's own memory and keeps it alive", async () => {
    let data: Float32Array | null = Float32Array.from({ length: 1 << 20 }, (_, i) => i % 1000);
    const buffer = client.bufferFromHost(data, float32, [1 << 20], 0, { zeroCopy: true });
    data = null;
    for (let i = 0; i < 20; i++) new Float32Array(1 << 20).fill(-1);
    await new Promise((done) => setTimeout(done, 20));
    expect(floats(await buffer.toHost()).slice(998, 1002)).toEqual([998, 999, 0, 1]);
    buffer.dispose();
    await new Promise((done) => setTimeout(done, 20));
  });

  test("copies between devices", () => {
    const there = f32(client, [1, 2]).copyToDevice(1);
    expect(there.device).toBe(client.addressableDevices[1]);
    expect(floats(there.toHostSync())).toEqual([1, 2]);
    expect(floats(there.copyToDevice(client.addressableDevices[0]).toHostSync())).toEqual([1, 2]);
    const onSecond = client.bufferFromHost(Float32Array.of(3), float32, [1], client.addressableDevices[1]);
    expect(onSecond.device.id).toBe(1);
  });

  test("a disposed buffer refuses everything, and being disposed of again is fine", async () => {
    const buffer = f32(client, [1]);
    buffer.dispose();
    buffer.dispose();
    deleteRaw(buffer.handle);
    expect(buffer.isDeleted).toBe(true);
    expect(() => buffer.toHostSync()).toThrowError("read(): expected a live buffer, got a deleted one");
    expect(() => buffer.copyToDevice(1)).toThrowError(/deleted/);
    await expect(buffer.toHost()).rejects.toThrowError(/deleted/);
    await expect(buffer.ready()).rejects.toThrowError(/deleted/);
  });

  test("using frees a buffer", () => {
    const before = client.memoryStats().liveBytes;
    {
      using buffer = client.bufferFromHost(new Float32Array(1000), float32, [1000]);
      expect(client.memoryStats().liveBytes).toBe(before + buffer.byteLength);
    }
    expect(client.memoryStats().liveBytes).toBe(before);
  });

  test("live and peak bytes are counted by device", () => {
    const own = openClient({ devices: 2 });
    const add = own.compile(addProgram("4x4xf32"), { deviceAssignment: [[1]] });
    const x = own.bufferFromHost(new Float32Array(16), float32, [4, 4], 1);
    const [y] = add.execute([x, x]);
    expect(own.memoryStats(1)).toEqual({ liveBytes: 128, peakBytes: 128, numBuffers: 2 });
    expect(own.memoryStats(0)).toEqual({ liveBytes: 0, peakBytes: 0, numBuffers: 0 });
    y.dispose();
    expect(own.memoryStats(1)).toEqual({ liveBytes: 64, peakBytes: 128, numBuffers: 1 });
    own.resetPeakMemory(1);
    expect(own.memoryStats(own.devices[1]).peakBytes).toBe(64);
  });

  test("a disposed client refuses new work; its buffers and programs live on", () => {
    const own = openClient();
    const add = own.compile(addProgram("2xf32"));
    const x = f32(own, [1, 2]);
    own.dispose();
    own.dispose();
    expect(() => f32(own, [1])).toThrowError("upload(): expected a live client, got a disposed one");
    expect(() => own.compile(addProgram("2xf32"))).toThrowError(/disposed/);
    expect(floats(add.execute([x, x])[0].toHostSync())).toEqual([2, 4]);
  });

  test("results that are not row-major are read row-major", async () => {
    const transposed = program(
      "%a: tensor<2x3xf32>",
      'tensor<3x2xf32> {mhlo.layout_mode = "{0,1}"}',
      "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32> return %0 : tensor<3x2xf32>",
    );
    const [y] = client.compile(transposed).execute([f32(client, [1, 2, 3, 4, 5, 6], [2, 3])]);
    expect(floats(y.toHostSync())).toEqual([1, 4, 2, 5, 3, 6]);
    expect(floats(await y.toHost())).toEqual([1, 4, 2, 5, 3, 6]);
    const [z] = client.compile(identity("2x3x4x5xf32", "{1,3,0,2}")).execute([
      f32(
        client,
        Array.from({ length: 120 }, (_, i) => i),
        [2, 3, 4, 5],
      ),
    ]);
    expect(floats(z.toHostSync())).toEqual(Array.from({ length: 120 }, (_, i) => i));
  });

  test("element types of results", () => {
    const cast = program(
      "%a: tensor<2xf32>",
      "tensor<2xbf16>",
      "%0 = stablehlo.convert %a : (tensor<2xf32>) -> tensor<2xbf16> return %0 : tensor<2xbf16>",
    );
    const [y] = client.compile(cast).execute([f32(client, [1, -2])]);
    expect(y.dtype).toBe(bfloat16);
    expect(new Uint16Array(y.toHostSync().buffer)).toEqual(Uint16Array.of(0x3f80, 0xc000));
  });
});
