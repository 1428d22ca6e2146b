/**
 * @file Calls the native addon wrongly in every way we could think of, in a process of its own, since a mistake in native
 * code ends the process: `node misuse_child.mjs ADDON PLUGIN OPTIONS`. Prints one JSON line for each case: its name and
 * the error, or null.
 */

import { createRequire } from "node:module";

const [addonPath, pluginPath, optionsHex] = process.argv.slice(2);
const native = createRequire(import.meta.url)(addonPath);
native.setErrorFactory((code, message) => Object.assign(new Error(message), { code }));

const f32 = 11;
const options = Buffer.from(optionsHex, "hex");
const none = new Uint8Array(0);
const add = (type) =>
  `module @m { func.func public @main(%a: tensor<${type}>, %b: tensor<${type}>) -> tensor<${type}> {
    %0 = stablehlo.add %a, %b : tensor<${type}> return %0 : tensor<${type}> } }`;

const plugin = native.loadPlugin(pluginPath, [["TF_CPP_MIN_LOG_LEVEL", "3"]]);
const client = native.createClient(plugin, [["cpu_device_count", 2]]);
const other = native.createClient(plugin, [["cpu_device_count", 1]]);
const disposedClient = native.createClient(plugin, [["cpu_device_count", 1]]);
native.disposeClient(disposedClient);
const exe = native.compile(client, add("4xf32"), options);
const disposedExe = native.compile(client, add("5xf32"), options);
native.disposeExecutable(disposedExe);
const donating = native.compile(
  client,
  add("4xf32").replace("tensor<4xf32>,", "tensor<4xf32> {tf.aliasing_output = 0 : i32},"),
  options,
);
const upload = (data, dims, c = client, device = 0, type = f32) => native.upload(c, device, data, type, dims);
const x = upload(new Float32Array(4), [4]);
const deleted = upload(new Float32Array(4), [4]);
native.remove(deleted);
const donated = upload(new Float32Array(4), [4]);
native.execute(donating, [donated, x]);
const detached = new Float32Array(4);
structuredClone(detached.buffer, { transfer: [detached.buffer] });

/** What may stand where a handle is expected. */
const notHandles = {
  undefined: undefined,
  null: null,
  number: 1,
  string: "x",
  bigint: 1n,
  symbol: Symbol("x"),
  object: {},
  array: [x],
  function: () => x,
  proxy: new Proxy({}, {}),
};
const handles = { plugin, client, exe, buffer: x };

const cases = {};

/** Every function, given everything but the right handle in its first place. */
const first = {
  pluginInfo: "plugin",
  createClient: "plugin",
  createTopology: "plugin",
  disposeClient: "client",
  clientInfo: "client",
  memoryStats: "client",
  allocatorStats: "client",
  defaultDeviceAssignment: "client",
  clientTopology: "client",
  upload: "client",
  uploadZeroCopy: "client",
  compile: "client",
  deserialize: "client",
  read: "buffer",
  ready: "buffer",
  isReady: "buffer",
  remove: "buffer",
  isDeleted: "buffer",
  bufferInfo: "buffer",
  copyToDevice: "buffer",
  execute: "exe",
  executeSpread: "exe",
  executeSharded: "exe",
  disposeExecutable: "exe",
  executableInfo: "exe",
  costAnalysis: "exe",
  compiledMemoryStats: "exe",
  optimizedProgram: "exe",
  serialize: "exe",
  fingerprint: "exe",
  shardings: "exe",
  disposeTopology: "topology",
  topologyInfo: "topology",
  compileForTopology: "topology",
  readAsync: "buffer",
  readyAsync: "buffer",
  compileAsync: "client",
  deserializeAsync: "client",
  compileForTopologyAsync: "topology",
};
for (const [fn, kind] of Object.entries(first)) {
  const wrong = { ...notHandles, ...handles };
  delete wrong[kind];
  for (const [name, value] of Object.entries(wrong))
    cases[`${fn}(${name})`] = () => native[fn](value, 0, none, f32, [0]);
  cases[`${fn}()`] = () => native[fn]();
}

for (const fn of ["read", "ready", "isReady", "bufferInfo", "copyToDevice", "readAsync", "readyAsync"]) {
  cases[`${fn}(deleted)`] = () => native[fn](deleted, 1);
  cases[`${fn}(donated)`] = () => native[fn](donated, 1);
}
for (const fn of [
  "executableInfo",
  "costAnalysis",
  "compiledMemoryStats",
  "optimizedProgram",
  "serialize",
  "fingerprint",
]) {
  cases[`${fn}(disposed)`] = () => native[fn](disposedExe);
}

const argumentLists = {
  "no arguments": [],
  "one argument": [x],
  "three arguments": [x, x, x],
  "1000 arguments": Array(1000).fill(x),
  "a deleted buffer": [x, deleted],
  "a donated buffer": [donated, x],
  "a buffer of another client": [x, upload(new Float32Array(4), [4], other)],
  "a buffer of another device": [x, upload(new Float32Array(4), [4], client, 1)],
  "a buffer of another size": [x, upload(new Float32Array(5), [5])],
  "a smaller buffer": [x, upload(new Float32Array(1), [1])],
  "an executable": [x, exe],
  "a hole": [x, , x],
  null: [x, null],
};
for (const [name, args] of Object.entries(argumentLists)) {
  cases[`execute with ${name}`] = () => native.execute(exe, args);
  cases[`executeSharded with ${name}`] = () => native.executeSharded(exe, [args], []);
  if (args.length <= 8) cases[`executeSpread with ${name}`] = () => native.executeSpread(exe, ...args);
}
Object.assign(cases, {
  "execute a disposed program": () => native.execute(disposedExe, [x, x]),
  "execute without a list": () => native.execute(exe, x),
  "execute with an array-like": () => native.execute(exe, { length: 2, 0: x, 1: x }),
  "execute with a getter that throws": () =>
    native.execute(exe, Object.defineProperty([x, x], 1, { get: () => { throw new Error("getter"); } })), // prettier-ignore
  "executeSpread with 9": () => native.executeSpread(exe, x, x, x, x, x, x, x, x, x),
  "executeSharded with 0 devices": () => native.executeSharded(exe, [], []),
  "executeSharded with 2 devices": () => native.executeSharded(exe, [[x, x], [x, x]], []), // prettier-ignore
  "executeSharded with no lists": () => native.executeSharded(exe, [x, x], []),
  "executeSharded with wrong kept": () => native.executeSharded(exe, [[x, x]], ["x"]),
  "donate twice in a call": () => native.execute(donating, [x, x]),

  "upload to device 2": () => upload(new Float32Array(4), [4], client, 2),
  "upload to device -1": () => upload(new Float32Array(4), [4], client, -1),
  "upload to device 0.5": () => upload(new Float32Array(4), [4], client, 0.5),
  "upload to device NaN": () => upload(new Float32Array(4), [4], client, NaN),
  "upload to device 2^40": () => upload(new Float32Array(4), [4], client, 2 ** 40),
  "upload too few bytes": () => upload(new Float32Array(3), [4]),
  "upload too many bytes": () => upload(new Float32Array(5), [4]),
  "upload detached": () => upload(detached, [4]),
  "upload an array": () => upload([1, 2, 3, 4], [4]),
  "upload an ArrayBuffer": () => upload(new ArrayBuffer(16), [4]),
  "upload a negative dimension": () => upload(new Float32Array(4), [-4]),
  "upload two negative dimensions": () => upload(new Float32Array(4), [-2, -2]),
  "upload an overflowing shape": () => upload(none, [2 ** 40, 2 ** 40]),
  "upload a shape that overflows to 0": () => upload(none, [2 ** 32, 2 ** 32]),
  "upload a fractional dimension": () => upload(new Float32Array(4), [4.5]),
  "upload a text dimension": () => upload(new Float32Array(4), ["4"]),
  "upload without dimensions": () => upload(new Float32Array(4), undefined),
  "upload 65 dimensions": () => upload(new Float32Array(1), Array(65).fill(1)),
  "upload type 0": () => upload(none, [0], client, 0, 0),
  "upload a token": () => upload(none, [0], client, 0, 23),
  "upload type 40": () => upload(new Uint8Array(1), [1], client, 0, 40),
  "upload type 1000": () => upload(none, [0], client, 0, 1000),
  "upload type -1": () => upload(none, [0], client, 0, -1),
  "upload to a disposed client": () => upload(new Float32Array(4), [4], disposedClient),

  "read into too little": () => native.read(x, new Float32Array(3)),
  "read into too much": () => native.read(x, new Float32Array(5)),
  "read into detached": () => native.read(x, detached),
  "read into an array": () => native.read(x, [0, 0, 0, 0]),
  "read into nothing": () => native.read(x),
  "copy to device 2": () => native.copyToDevice(x, 2),
  "copy to device -1": () => native.copyToDevice(x, -1),

  "compile nothing": () => native.compile(client, "", options),
  "compile a number": () => native.compile(client, 1, options),
  "compile zeros": () => native.compile(client, "\0".repeat(100), options),
  "compile with broken options": () => native.compile(client, add("4xf32"), Buffer.from([255, 255, 255])),
  "compile with text options": () => native.compile(client, add("4xf32"), "x"),
  "compile with a disposed client": () => native.compile(disposedClient, add("4xf32"), options),
  "compile a program without main": () => native.compile(client, "module @m { }", options),
  "deserialize nothing": () => native.deserialize(client, none, none),
  "deserialize text": () => native.deserialize(client, "x", none),

  "memoryStats of device 7": () => native.memoryStats(client, 7, false),
  "allocatorStats of device -1": () => native.allocatorStats(client, -1),
  "assignment of nothing": () => native.defaultDeviceAssignment(client, 0, 0),
  "assignment of far too many": () => native.defaultDeviceAssignment(client, 2 ** 30, 2 ** 30),
  "a client with odd options": () => native.createClient(plugin, [["cpu_device_count", {}]]),
  "a client with text options": () => native.createClient(plugin, "options"),
  "a client with numbers for options": () => native.createClient(plugin, [1, 2]),
  "a client with text devices": () => native.createClient(plugin, [["cpu_device_count", "two"]]),
  "a client with 0 devices": () => native.createClient(plugin, [["cpu_device_count", 0]]),
  "a client with -1 devices": () => native.createClient(plugin, [["cpu_device_count", -1]]),
  "a client with 1.5 devices": () => native.createClient(plugin, [["cpu_device_count", 1.5]]),
  "a client with 2^40 devices": () => native.createClient(plugin, [["cpu_device_count", 2 ** 40]]),
  "a plugin without a path": () => native.loadPlugin(),
  "a plugin at no path": () => native.loadPlugin("/no/such.so", []),
});

const serialized = native.serialize(exe);
for (const at of [1, 7, 50, serialized.length >> 1, serialized.length - 1]) {
  cases[`deserialize ${at} bytes`] = () => native.deserialize(client, serialized.subarray(0, at), none);
}

for (const [name, run] of Object.entries(cases)) {
  let error = null;
  try {
    await run();
  } catch (e) {
    error = { isError: e instanceof Error, message: String(e?.message), code: e?.code };
  }
  console.log(JSON.stringify({ name, error }));
}
globalThis.gc?.();

const values = new Float32Array(4);
native.read(native.execute(exe, [x, x]), values);
console.log(JSON.stringify({ name: "still works", error: null }));
