/** @file Compiling for TPUs that are not here, with libtpu. */

import { beforeAll, describe, expect, test } from "vitest";
import { float32 } from "../schema/index.js";
import { fastCompile, Plugin, PjrtError, UnimplementedError, type Topology } from "./index.js";
import { addProgram, cpuPluginPath, libtpu, noLibtpu, noPlugin, program } from "./testing/programs.js";

test.skipIf(noPlugin)("XLA's CPU plugin has no topologies by name: a typed error", () => {
  expect(() => Plugin.load(cpuPluginPath!).createTopology("v5e:2x2")).toThrowError(UnimplementedError);
});

describe.skipIf(noLibtpu)("Topology", () => {
  let plugin: Plugin;
  beforeAll(() => {
    plugin = Plugin.load(libtpu!);
  });

  const sharded = (dims: string, axes: number): string =>
    `module @sharded { sdy.mesh @mesh = <["x"=${axes}]>
      func.func public @main(%a: tensor<${dims}xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                             %b: tensor<${dims}xf32>) -> (tensor<${dims}xf32>) {
        %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<${dims}xf32>, tensor<${dims}xf32>) -> tensor<${dims}xf32>
        return %0 : tensor<${dims}xf32> } }`;

  test.each([
    ["v5e:2x2", 4, /v5/],
    ["v6e:2x2", 4, /v6/],
    ["tpu7x:2x2x1", 8, /7/],
  ])("%s: a program for all its devices, with memory and cost", (name, count, kind) => {
    const topology = plugin.createTopology(name);
    expect(topology.platformName).toBe("tpu");
    expect(topology.platformVersion).not.toBe("");
    expect(topology.devices).toHaveLength(count);
    expect(topology.devices[0].kind).toMatch(kind);
    expect(topology.devices.at(-1)!.coordinates).toHaveLength(3);
    expect(String(topology)).toBe(`Topology(tpu, ${count} devices)`);
    const exe = topology.compile(sharded("1024x1024", count), {
      ...fastCompile, // options of the CPU compiler are left out
      numPartitions: count,
      useShardyPartitioner: true,
    });
    expect(exe.numPartitions).toBe(count);
    expect(exe.outputTypes[0].dtype).toBe(float32);
    const memory = exe.memoryStats();
    expect(memory.argumentBytes).toBeGreaterThanOrEqual((4 << 20) / count);
    expect(memory.outputBytes).toBeGreaterThan(0);
    expect(exe.costAnalysis().flops).toBeGreaterThan(1e9 / count);
    expect(exe.serialize().length).toBeGreaterThan(1000);
    expect(exe.optimizedProgram().code.length).toBeGreaterThan(1000);
    expect(exe.outputShardings === null || exe.outputShardings.length === 1).toBe(true);
  });

  test("compiles in threads, several at once, and programs outlive their topology", async () => {
    const topology = plugin.createTopology("v5e:2x2");
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    const programs = await Promise.all(
      [256, 512].map((n) =>
        topology.compileAsync(sharded(`${n}x${n}`, 4), { numPartitions: 4, useShardyPartitioner: true }),
      ),
    );
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(5);
    topology.dispose();
    expect(() => topology.compile(addProgram("8xf32"))).toThrowError(/expected a live topology, got a disposed one/);
    expect(programs.map((p) => p.outputTypes[0].shape)).toEqual([
      [64, 256],
      [128, 512],
    ]);
  });

  test("a program that does not fit into HBM is RESOURCE_EXHAUSTED, with sizes", () => {
    const topology: Topology = plugin.createTopology("v5e:2x2");
    const t = "tensor<65536x65536xf32>";
    const tooLarge = program(
      `%a: ${t}`,
      t,
      `%0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (${t}, ${t}) -> ${t}
       %1 = stablehlo.dot_general %0, %a, contracting_dims = [1] x [0] : (${t}, ${t}) -> ${t} return %1 : ${t}`,
    );
    try {
      topology.compile(tooLarge, { numPartitions: 4 });
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(PjrtError);
      expect((error as PjrtError).code).toBe("RESOURCE_EXHAUSTED");
      expect((error as PjrtError).message).toMatch(/exceed.*hbm|hbm.*exceed/i);
    }
  });

  test("names and programs that do not fit are errors", () => {
    expect(() => plugin.createTopology("v99:2x2")).toThrowError(PjrtError);
    const topology = plugin.createTopology("v5e:2x2");
    expect(() => topology.compile("module { nonsense }", { numPartitions: 4 })).toThrowError(PjrtError);
  });
});
