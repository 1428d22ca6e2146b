/**
 * @file Programs that end, or use much memory, in a process of their own: `node lifetime_child.mjs CASE ADDON PLUGIN
 * OPTIONS`. Prints one JSON line with what it found.
 */

import { createRequire } from "node:module";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { fileURLToPath } from "node:url";

const args = isMainThread ? process.argv.slice(2) : workerData;
const [name, addonPath, pluginPath, optionsHex] = args;
const options = Buffer.from(optionsHex, "hex");
const native = createRequire(import.meta.url)(addonPath);
native.setErrorFactory((code, message) => Object.assign(new Error(message), { code }));
const f32 = 11;
const say = (value) => console.log(JSON.stringify(value));

function open(devices = 1) {
  const plugin = native.loadPlugin(pluginPath, [["TF_CPP_MIN_LOG_LEVEL", "3"]]);
  return native.createClient(plugin, [["cpu_device_count", devices]]);
}

const add = (n) =>
  `module @m { func.func public @main(%a: tensor<${n}xf32>, %b: tensor<${n}xf32>) -> tensor<${n}xf32> {
    %0 = stablehlo.add %a, %b : tensor<${n}xf32> return %0 : tensor<${n}xf32> } }`;

/** `count` additions of `n` floats, each to the result of the last, in one synchronous loop. */
function chain(n, count) {
  const client = open();
  const exe = native.compile(client, add(n), options);
  const one = native.upload(client, 0, new Float32Array(n).fill(1), f32, [n]);
  let y = one;
  let peak = 0;
  for (let i = 0; i < count; i++) {
    y = native.execute(exe, [y, one]);
    if (i % 64 === 0) peak = Math.max(peak, process.memoryUsage.rss());
  }
  const out = new Float32Array(n);
  native.read(y, out);
  const { liveBytes, peakBytes, numBuffers } = native.memoryStats(client, 0, false);
  return { last: out[n - 1], peakMB: peak / 2 ** 20, liveBytes, peakBytes, numBuffers };
}

const cases = {
  "large buffers": () => say(chain(1 << 20, 3000)),
  "small buffers": () => say(chain(4, 1_000_000)),
  uploads: () => {
    const client = open();
    const data = new Float32Array(1 << 20);
    let peak = 0;
    for (let i = 0; i < 2000; i++) {
      native.upload(client, 0, data, f32, [1 << 20]);
      if (i % 64 === 0) peak = Math.max(peak, process.memoryUsage.rss());
    }
    say({ peakMB: peak / 2 ** 20 });
  },
  "exit with everything alive": () => {
    const client = open(4);
    globalThis.kept = [
      client,
      native.compile(client, add(8), options),
      native.upload(client, 3, new Float32Array(8), f32, [8]),
    ];
    say({});
    process.exit(7);
  },
  "exit while compiling": () => {
    const client = open();
    for (let i = 0; i < 8; i++) native.compileAsync(client, add(100 + i), options).catch(() => {});
    say({});
    process.exit(7);
  },
  "exit while reading": () => {
    const client = open();
    const data = new Float32Array(1 << 24);
    for (let i = 0; i < 8; i++) native.readAsync(native.upload(client, 0, data, f32, [1 << 24])).catch(() => {});
    native.uploadZeroCopy(client, 0, data, f32, [1 << 24]);
    say({});
    process.exit(7);
  },
  "exit while executing": () => {
    const client = open();
    const n = 1 << 24;
    const exe = native.compile(client, add(n), options);
    let x = native.upload(client, 0, new Float32Array(n), f32, [n]);
    for (let i = 0; i < 8; i++) x = native.execute(exe, [x, x]);
    say({});
    process.exit(7);
  },
  "nothing keeps the process alive": () => {
    const client = open();
    const x = native.uploadZeroCopy(client, 0, new Float32Array(1 << 20), f32, [1 << 20]);
    globalThis.kept = [client, x];
    say({});
  },
  "a promise keeps the process alive": async () => {
    const client = open();
    const exe = await native.compileAsync(client, add(1 << 22), options);
    let x = native.upload(client, 0, new Float32Array(1 << 22).fill(1), f32, [1 << 22]);
    for (let i = 0; i < 8; i++) x = native.execute(exe, [x, x]);
    const bytes = await native.readAsync(x);
    say({ last: new Float32Array(bytes.buffer)[(1 << 22) - 1] });
  },
  workers: async () => {
    const file = fileURLToPath(import.meta.url);
    const client = open();
    const exe = native.compile(client, add(4), options);
    const x = native.upload(client, 0, Float32Array.of(1, 2, 3, 4), f32, [4]);
    const run = (task) => {
      const worker = new Worker(file, { workerData: [task, ...args.slice(1)] });
      return new Promise((done, fail) => worker.on("message", done).on("error", fail).on("exit", done));
    };
    const results = await Promise.all([run("in a worker"), run("in a worker"), run("in a worker")]);
    let transfer = "transferred";
    try {
      new Worker(file, { workerData: x });
    } catch (error) {
      transfer = error.name;
    }
    const terminated = new Worker(file, { workerData: ["a busy worker", ...args.slice(1)] });
    await new Promise((done) => terminated.once("message", done));
    await terminated.terminate();
    const out = new Float32Array(4);
    native.read(native.execute(exe, [x, x]), out);
    say({ results, transfer, out: [...out] });
  },
  "in a worker": async () => {
    const { parentPort } = await import("node:worker_threads");
    const client = open();
    const exe = await native.compileAsync(client, add(4), options);
    const x = native.upload(client, 0, Float32Array.of(1, 2, 3, 4), f32, [4]);
    const bytes = await native.readAsync(native.execute(exe, [x, x]));
    parentPort.postMessage([...new Float32Array(bytes.buffer)]);
  },
  "a busy worker": async () => {
    const { parentPort } = await import("node:worker_threads");
    const client = open();
    const exe = native.compile(client, add(1 << 20), options);
    let x = native.upload(client, 0, new Float32Array(1 << 20), f32, [1 << 20]);
    native.compileAsync(client, add(5), options).catch(() => {});
    parentPort.postMessage("started");
    for (;;) {
      x = native.execute(exe, [x, x]);
      native.readAsync(x).catch(() => {});
      await new Promise((done) => setImmediate(done));
    }
  },
};
/** Uses processor time, which is what timers of profilers count. */
function compileForTpu() {
  const env = { TPU_SKIP_MDS_QUERY: "1", ALLOW_MULTIPLE_LIBTPU_LOAD: "1", TPU_WORKER_HOSTNAMES: "localhost" };
  const plugin = native.loadPlugin(pluginPath, Object.entries({ ...env, TPU_ACCELERATOR_TYPE: "v5litepod-4" }));
  const topology = native.createTopology(plugin, "v5e:2x2", []);
  for (let i = 0; i < 3; i++) native.compileForTopology(topology, add(1000 + i), options);
  say({});
  return topology;
}

Object.assign(cases, {
  "libtpu, ending by itself": compileForTpu,
  "libtpu, process.exit": () => {
    compileForTpu();
    process.exit(7);
  },
  "libtpu, an uncaught error": () => {
    compileForTpu();
    throw new Error("uncaught");
  },
  "libtpu, exit while compiling": () => {
    const topology = compileForTpu();
    native.compileForTopologyAsync(topology, add(5000), options).catch(() => {});
    process.exit(7);
  },
});

await cases[name]();
