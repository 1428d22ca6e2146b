/** @file torch.load and torch.save: Python's files, sharing, what is refused, and damage. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as torch from "torch-tpu";
import type { Tensor } from "torch-tpu";
import { load, save, UnpicklingError } from "torch-tpu/serialization";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { zipParts, ZipReader } from "./zip.js";
import { openSource } from "./source.js";

const folder = mkdtempSync(join(tmpdir(), "checkpoint-"));
afterAll(() => rmSync(folder, { recursive: true }));

type Views = Record<"all" | "row" | "transposed" | "strided" | "expanded" | "channels_last" | "empty", Tensor>;
interface Checkpoint {
  model: Record<string, Tensor>;
  optimizer: torch.optim.OptimizerState;
  views: Views;
  tied: [Tensor, Tensor];
  frozen: Tensor;
  leaf: Tensor;
  dtypes: Record<string, Tensor>;
  plain: unknown[];
  torch: unknown[];
  dicts: unknown[];
}

const python = "tests/checkpoints/every_kind.pt";
const archive = (pickle: string, storages: Record<string, Uint8Array> = {}): Uint8Array =>
  Buffer.concat([
    ...zipParts([
      ["archive/data.pkl", () => Buffer.from(pickle, "latin1")] as const,
      ...Object.entries(storages).map(([k, v]) => [`archive/data/${k}`, () => v] as const),
    ]),
  ]);

function checkViews(views: Views): void {
  expect(views.row.tolist()).toEqual([6, 7, 8, 9, 10, 11]);
  expect(views.transposed.shape).toEqual([6, 4]);
  expect(views.transposed.select(0, 1).tolist()).toEqual([1, 7, 13, 19]);
  expect(views.strided.select(0, 3).tolist()).toEqual([18, 20, 22]);
  expect(views.strided.stride()).toEqual([6, 2]);
  expect(views.expanded.tolist()).toEqual([
    [3, 3],
    [3, 3],
  ]);
  expect(views.channels_last.shape).toEqual([1, 2, 3, 4]);
  expect(views.channels_last.flatten().tolist()).toEqual(Array.from({ length: 24 }, (_, i) => i));
  expect(views.channels_last.stride().slice(1)).toEqual([1, 8, 2]);
  expect(views.empty.shape).toEqual([0, 3]);
  views.all.fill_(7);
  expect(views.row.tolist()).toEqual([7, 7, 7, 7, 7, 7]);
  expect(views.strided.max().item()).toBe(7);
}

function checkContent(c: Checkpoint): void {
  expect(Object.keys(c.model)).toEqual([
    "0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked",
  ]); // prettier-ignore
  expect((c.model as { _metadata?: unknown })._metadata).toMatchObject({ "1": { version: 2 } });
  expect(c.optimizer.param_groups[0]).toMatchObject({ lr: 0.01, betas: [0.9, 0.999], params: [0, 1, 2, 3] });
  expect((c.optimizer.state[0] as { exp_avg: Tensor }).exp_avg.shape).toEqual([2, 3]);
  const net = new torch.nn.Sequential(new torch.nn.Linear(3, 2), new torch.nn.BatchNorm1d(2));
  expect(net.load_state_dict(c.model).toString()).toBe("<All keys matched successfully>");
  new torch.optim.AdamW(net.parameters()).load_state_dict(c.optimizer);
  for (const [name, t] of Object.entries(c.dtypes)) {
    expect(t.dtype.toString()).toBe(name);
    expect(t.to(torch.complex128).real.tolist()).toEqual([0, 1, 1, 0]);
  }
  expect(c.tied[0]).toBe(c.tied[1]);
  expect(c.tied[0]).toBeInstanceOf(torch.nn.Parameter);
  expect([c.tied[0].requires_grad, c.frozen.requires_grad, c.leaf.requires_grad]).toEqual([true, false, true]);
  const bytes = new Uint8Array([0, 255]);
  const tuple = [1, [2]];
  expect(c.plain).toEqual([
    null, true, 3, -70000, 2 ** 40, -(2n ** 70n), 0.5, "täxt", bytes, tuple, new Set([1, 2]), new torch.Complex(1, 2),
  ]); // prettier-ignore
  expect(Object.isFrozen(c.plain[9])).toBe(true);
  expect(c.torch).toEqual([torch.float32, torch.device("cpu"), [2, 3]]);
  const [empty, texts, counts, mixed, ordered] = c.dicts;
  expect([empty, counts, ordered]).toEqual([{}, { 0: 1 }, { 0: 1, b: 2 }]);
  expect([...(texts as Map<unknown, unknown>)]).toEqual([["0", 1]]);
  expect([...(mixed as Map<unknown, unknown>)]).toEqual([["a", 1], [2, 3]]); // prettier-ignore
  checkViews(c.views);
}

describe("checkpoints of Python", () => {
  it("every kind of value", () => checkContent(load(python) as Checkpoint));
  it("the same from bytes", () => checkContent(load(readFileSync(python)) as Checkpoint));
  it("written and read again", () => {
    const path = join(folder, "again.pt");
    save(load(python), path);
    checkContent(load(path) as Checkpoint);
    checkContent(load(save(load(path))) as Checkpoint);
  });
  it("the format before PyTorch 1.6", () => {
    const { views, tied } = load("tests/checkpoints/legacy.pt") as Checkpoint;
    checkViews(views);
    expect(tied[0]).toBe(tied[1]);
    expect(tied[0].tolist()).toEqual([1.5, -2]);
  });
  it("map_location: a device, a table, a function", () => {
    const meta = load(python, { map_location: "meta" }) as Checkpoint;
    expect([meta.leaf.is_meta, meta.views.row.shape]).toEqual([true, [6]]);
    expect((load(python, { map_location: { cpu: "meta" } }) as Checkpoint).leaf.is_meta).toBe(true);
    expect((load(python, { map_location: () => null }) as Checkpoint).leaf.device.type).toBe("cpu");
  });
});

describe("save", () => {
  it("writes a storage once, and views of it with their strides", () => {
    const base = torch.arange(1000);
    const bytes = save({ a: base, b: base.view([10, 100]).t(), c: base.narrow(0, 5, 3) });
    const zip = new ZipReader(openSource(bytes));
    expect(zip.names().filter((n) => n.startsWith("archive/data/"))).toEqual(["archive/data/0"]);
    const { a, b, c } = load(bytes) as Record<"a" | "b" | "c", Tensor>;
    a.fill_(1);
    expect([b.stride(), b.sum().item(), c.tolist()]).toEqual([[1, 100], 1000, [1, 1, 1]]);
  });
  it("elements lie at multiples of 64 bytes, as for Python's memory maps", () => {
    const bytes = Buffer.from(save({ a: torch.full([3], 77, { dtype: torch.uint8 }) }));
    expect(bytes.indexOf(Buffer.from([77, 77, 77])) % 64).toBe(0);
  });
  it("refuses what Python could not load, and says where", () => {
    expect(() => save({ a: [new torch.nn.Linear(1, 1)] })).toThrow(/under 'a\.0', got /);
    expect(() => save({ f: () => 1 })).toThrow("under 'f', got function");
    const loop: unknown[] = [];
    loop.push(loop);
    expect((load(save(loop)) as unknown[])[0]).toHaveLength(1);
    expect(() => save(Object.freeze(loop))).toThrow("levels of containers");
  });
  it("conjugated and other views that strides cannot describe are copied", () => {
    const x = torch.view_as_complex(torch.arange(4, { dtype: torch.float32 }).view([2, 2]));
    const { conj, real } = load(save({ conj: x.conj(), real: x.real })) as Record<string, Tensor>;
    expect(conj.imag.tolist()).toEqual([-1, -3]);
    expect(real.tolist()).toEqual([0, 2]);
  });
});

describe("refused", () => {
  it.each([
    ["cposix\nsystem\n(X\x02\0\0\0lstR.", "GLOBAL posix.system"],
    ["cos\nsystem\n(X\x02\0\0\0lstR.", "Unsupported global: GLOBAL os.system"],
    ["c__builtin__\neval\n(X\x01\0\0\x001tR.", "Unsupported global: GLOBAL eval was not an allowed global by default"],
    ["cnumpy.core.multiarray\nscalar\n.", "Unsupported global: GLOBAL numpy.core.multiarray.scalar"],
    ["cconstructor\nconstructor\n.", "Unsupported global: GLOBAL constructor.constructor"],
    ["ctorch\nfloat32\n)R.", "Trying to call reduce for unrecognized function"],
    ["(X\x06\0\0\0moduleK\x01tQ.", "Only persistent_load of storage is allowed"],
    ["]X\x01\0\0\0ab.", "Can only build Tensor"],
    ["\x95\0\0\0\0\0\0\0\0.", "Unsupported operand 149"],
    ["X\xff\xff\xff\xffab", "pickle data was truncated"],
    ["h\x05.", "Memo value not found at index 5"],
    ["a.", "unexpected end of the stack"],
    ["u.", "could not find MARK"],
    ["(".repeat(9) + ".", "unexpected end of the stack"],
    ["]q\0h\0a.", ""],
  ])("%s", (pickle, message) => {
    if (message === "") return expect(load(archive(pickle))).toHaveLength(1);
    expect(() => load(archive(pickle))).toThrow(UnpicklingError);
    expect(() => load(archive(pickle))).toThrow(message);
  });

  const tensor = (count: string, size: string): string =>
    "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpu" +
    `${count}tQK\0${size}\x85K\x01\x85\x89NtR.`;
  const sixteen = { "0": new Uint8Array(16) };
  it.each([
    ["a tensor beyond its storage", tensor("K\x04", "K\x05"), "requiring a storage size of 20 are out of bounds"],
    ["a huge tensor", tensor("K\x04", "\x8a\x07\0\0\0\0\0\0\x10"), "out of bounds for storage of size 16"],
    ["a negative size", tensor("K\x04", "J\xff\xff\xff\xff"), "setStorage: expected sizes"],
    ["a storage that the file lacks bytes for", tensor("J\xff\xff\xff\x7f", "K\x01"), "got 16"],
    ["a negative storage", tensor("J\xff\xff\xff\xff", "K\x01"), "expected a count of elements"],
  ])("%s", (_, pickle, message) => expect(() => load(archive(pickle, sixteen))).toThrow(message));

  it("other files, each with what to do", () => {
    expect(() => load(Buffer.from("hello world"))).toThrow("expected a checkpoint that torch.save wrote");
    expect(() => load(new Uint8Array())).toThrow("expected a checkpoint");
    expect(() => load(python, { weights_only: false })).toThrow("weights_only=True");
    expect(() => load(archive("N."), { map_location: "gpu" })).not.toThrow();
    expect(() => load(python, { map_location: { cpu: "cuda:0" } })).toThrow(
      "Attempting to deserialize object on a CUDA",
    );
    const tar = Buffer.alloc(1024);
    tar.write("ustar", 257);
    expect(() => load(tar)).toThrow("tar archive");
  });
  it("nesting without end", () => {
    expect(() => load(archive("]".repeat(5000) + "a".repeat(4999) + "."))).toThrow("1000 levels");
  });
  let file: Buffer;
  beforeAll(() => {
    file = readFileSync(python);
  });
  it("a flipped bit in the elements", () => {
    const bad = Buffer.from(file);
    bad[bad.indexOf(Buffer.from([0, 0, 128, 63, 0, 0, 0, 64])) + 1] ^= 1;
    expect(() => load(bad)).toThrow("checksum");
  });
});
