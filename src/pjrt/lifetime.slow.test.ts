/** @file Memory, exit, worker threads and misuse: each in a process of its own, since a mistake would end this one. */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { encodeCompileOptions, type CompileOptions } from "./compile_options.js";
import { addonPath, fastCompile } from "./index.js";
import { cpuPluginPath, libtpu, noLibtpu, noPlugin } from "./testing/programs.js";

interface Result {
  readonly status: number | null;
  readonly signal: string | null;
  readonly lines: readonly Record<string, unknown>[];
  readonly errors: string;
}

const hex = (options: CompileOptions, platform: string): string =>
  Buffer.from(encodeCompileOptions(options, platform)).toString("hex");
const cpu = [cpuPluginPath!, hex(fastCompile, "cpu")];
const tpu = [libtpu!, hex({ numPartitions: 4 }, "tpu")];

function run(script: string, args: readonly string[] = [], plugin: readonly string[] = cpu): Promise<Result> {
  const path = fileURLToPath(new URL(`./testing/${script}`, import.meta.url));
  const child = spawn(process.execPath, ["--expose-gc", path, ...args, addonPath(), ...plugin]);
  let output = "";
  let errors = "";
  child.stdout.on("data", (text) => (output += text));
  child.stderr.on("data", (text) => (errors += text));
  return new Promise((done) => {
    child.on("close", (status, signal) => {
      const lines = output.split("\n").filter(Boolean);
      done({ status, signal, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>), errors });
    });
  });
}

const lifetime = async (name: string, status = 0): Promise<Record<string, unknown>> => {
  const result = await run("lifetime_child.mjs", [name]);
  expect({ ...result, lines: result.lines.length }).toEqual({ status, signal: null, lines: 1, errors: "" });
  return result.lines[0];
};

describe.skipIf(noPlugin)("memory", () => {
  test("3,000 chained 4 MB additions in a synchronous loop stay below 1 GB", async () => {
    const { last, peakMB, peakBytes } = await lifetime("large buffers");
    expect(last).toBe(3001);
    expect(peakMB).toBeLessThan(1000);
    expect(peakBytes).toBeLessThan(1 << 30);
  });

  test("2,000 uploads of 4 MB in a synchronous loop stay below 1 GB", async () => {
    expect((await lifetime("uploads")).peakMB).toBeLessThan(1000);
  });

  test("a million chained additions of 4 floats stay below 1 GB", async () => {
    const { last, peakMB } = await lifetime("small buffers");
    expect(last).toBe(1_000_001);
    expect(peakMB).toBeLessThan(1000);
  });
});

describe.skipIf(noPlugin)("exit", () => {
  test.each([
    ["exit with everything alive", 7],
    ["exit while compiling", 7],
    ["exit while reading", 7],
    ["exit while executing", 7],
    ["nothing keeps the process alive", 0],
  ])("%s", async (name, status) => {
    await lifetime(name, status);
  });

  test("a promise keeps the process alive", async () => {
    expect(await lifetime("a promise keeps the process alive")).toEqual({ last: 256 });
  });
});

test.skipIf(noLibtpu).each([
  ["libtpu, ending by itself", 0],
  ["libtpu, process.exit", 7],
  ["libtpu, an uncaught error", 1],
  ["libtpu, exit while compiling", 7],
])("the exit status after %s", async (name, expected) => {
  const { status, signal, lines } = await run("lifetime_child.mjs", [name], tpu);
  expect({ status, signal, lines }).toEqual({ status: expected, signal: null, lines: [{}] });
});

test.skipIf(noPlugin)("workers load the addon, handles do not cross threads, a worker may be terminated", async () => {
  const sums = [2, 4, 6, 8];
  expect(await lifetime("workers")).toEqual({ results: [sums, sums, sums], transfer: "DataCloneError", out: sums });
});

test.skipIf(noPlugin)("every misuse is an Error, and the process lives on", async () => {
  const { status, signal, lines } = await run("misuse_child.mjs");
  expect({ status, signal, last: lines.at(-1) }).toEqual({
    status: 0,
    signal: null,
    last: { name: "still works", error: null },
  });
  expect(lines.length).toBeGreaterThan(600);
  const silent = lines.slice(0, -1).filter(({ error }) => error === null);
  expect(silent.map(({ name }) => name)).toEqual([]);
  const strange = lines.filter(({ error }) => error !== null && !(error as { isError: boolean }).isError);
  expect(strange).toEqual([]);
  const vague = lines.filter(({ error }) => error !== null && (error as { message: string }).message.length < 5);
  expect(vague).toEqual([]);
});
