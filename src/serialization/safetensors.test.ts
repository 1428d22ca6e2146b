/** @file safetensors: both ways, a tensor at a time, in shards, and headers that lie. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as torch from "torch-tpu";
import type { ShardedSafetensors } from "torch-tpu/serialization";
import { load_file, safe_open, SafetensorError, save_file, save_sharded } from "torch-tpu/serialization";
import { afterAll, describe, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "safetensors-"));
afterAll(() => rmSync(folder, { recursive: true }));

const tensors = {
  b: torch.arange(6, { dtype: torch.bfloat16 }).view([2, 3]).t(),
  a: torch.tensor([1.5, -2]),
  none: torch.empty([0, 4]),
  flags: torch.tensor([true, false]),
};

describe("one file", () => {
  const path = join(folder, "a.safetensors");
  it("both ways, also from bytes, with metadata", () => {
    save_file(tensors, path, { format: "pt" });
    const read = load_file(path);
    for (const [name, t] of Object.entries(tensors)) {
      expect([read[name].dtype, read[name].shape]).toEqual([t.dtype, t.shape]);
      expect(read[name].tolist()).toEqual(t.tolist());
    }
    using file = safe_open(path);
    expect(file.metadata()).toEqual({ format: "pt" });
    expect(file.info("b")).toEqual({ dtype: torch.bfloat16, shape: [3, 2] });
    expect(file.get_tensor("b", "meta").is_meta).toBe(true);
    expect(() => file.get_tensor("c")).toThrow("expected the name of a tensor");
  });
  it("a closed file says so", () => {
    const file = safe_open(path);
    file.close();
    expect(() => file.get_tensor("a")).toThrow("after close()");
  });
});

describe("shards", () => {
  it("are written by size, opened when needed, and read as one", () => {
    const index = save_sharded(tensors, join(folder, "m"), { max_shard_size: 12 });
    expect(index).toMatch(/model\.safetensors\.index\.json$/);
    using file = safe_open(index) as ShardedSafetensors;
    expect(file.shards()).toEqual(["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]);
    expect(file.keys()).toEqual(Object.keys(tensors));
    expect(file.metadata()).toEqual({ total_size: "22" });
    expect(load_file(index).a.tolist()).toEqual([1.5, -2]);
  });
  it("one shard needs no index", () =>
    expect(save_sharded(tensors, join(folder, "n"))).toMatch(/n\/model\.safetensors$/));
  it.each([
    ["{", "a JSON index"],
    ["[]", "a weight_map"],
    ['{"weight_map":{"a":"../x"}}', "a file in the same folder for 'a', got"],
    ['{"weight_map":{"a":1}}', "a file in the same folder"],
  ])("an index %s is refused", (text, message) => {
    const path = join(folder, "bad.json");
    writeFileSync(path, text);
    expect(() => safe_open(path)).toThrow(message.split(", got")[0]);
  });
});

describe("headers that lie", () => {
  const file = (header: string, data = 8, length = Buffer.byteLength(header)): Uint8Array => {
    const head = Buffer.alloc(8);
    head.writeBigUInt64LE(BigInt(length));
    return Buffer.concat([head, Buffer.from(header), Buffer.alloc(data)]);
  };
  const one = (entry: string): string => `{"a":${entry}}`;
  it.each([
    ["too short a file", Buffer.alloc(5), "a header length of 8 bytes"],
    ["a header longer than the file", file("{}", 0, 1000), "it is truncated"],
    ["a header of exabytes", file("{}", 0, Number.MAX_SAFE_INTEGER), "a header of at most"],
    ["no JSON", file("{a}"), "a JSON header"],
    ["an unknown type", file(one('{"dtype":"F3","shape":[2],"data_offsets":[0,8]}')), "a known dtype"],
    ["a negative size", file(one('{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}')), "non-negative integers"],
    ["sizes beyond the bytes", file(one('{"dtype":"F32","shape":[1e9,1e9],"data_offsets":[0,8]}')), "bytes for tensor"],
    [
      "offsets beyond the file",
      file(one('{"dtype":"F32","shape":[4],"data_offsets":[0,16]}')),
      "the file is truncated",
    ],
    ["offsets that run back", file(one('{"dtype":"F32","shape":[2],"data_offsets":[8,0]}')), "data_offsets [8, 0]"],
    [
      "tensors that overlap",
      file(
        '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}',
      ),
      "overlap or leave holes",
    ],
    ["a hole at the end", file(one('{"dtype":"F32","shape":[1],"data_offsets":[0,4]}')), "4 bytes of data"],
    [
      "a name twice",
      file(
        '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}',
      ),
      "each name once",
    ],
  ])("%s", (_, bytes, message) => {
    expect(() => load_file(bytes)).toThrow(SafetensorError);
    expect(() => load_file(bytes)).toThrow(message);
  });
});
