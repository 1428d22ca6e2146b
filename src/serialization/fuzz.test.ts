/** @file Damaged checkpoints and safetensors give an error: never a crash, a hang or memory beyond the file's. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as torch from "torch-tpu";
import { load, load_file, save, save_file } from "torch-tpu/serialization";
import { afterAll, describe, it } from "vitest";
import { expectNoCrash } from "./testing/damage.js";
import { openSource } from "./source.js";
import { zipParts, ZipReader } from "./zip.js";

const folder = mkdtempSync(join(tmpdir(), "fuzz-"));
afterAll(() => rmSync(folder, { recursive: true }));

const small = { a: torch.arange(6).view([2, 3]).t(), b: [1, "x", new Set([2])] };

describe("damaged files", { timeout: 600_000 }, () => {
  it("zip archives", () => {
    const file = Buffer.concat([...zipParts([["a/b", () => Buffer.alloc(40, 1)], ["c", () => Buffer.alloc(3)]])]); // prettier-ignore
    expectNoCrash(file, (bytes) => {
      const zip = new ZipReader(openSource(bytes));
      for (const name of zip.names()) zip.read(name);
    });
  });
  it("checkpoints", () => expectNoCrash(save({ a: small.a, b: small.b }), (bytes) => load(bytes)));
  it("the pickle of a checkpoint, in an archive that is whole", () => {
    const zip = new ZipReader(openSource("tests/checkpoints/every_kind.pt"));
    const records = zip.names().map((name) => [name, zip.read(name)] as const);
    const pickle = records.find(([name]) => name.endsWith("data.pkl"))![1];
    expectNoCrash(pickle, (bytes) =>
      load(Buffer.concat([...zipParts(records.map(([n, b]) => [n, () => (b === pickle ? bytes : b)] as const))])),
    );
  });
  it("checkpoints from before PyTorch 1.6", () =>
    expectNoCrash(readFileSync("tests/checkpoints/legacy.pt"), (bytes) => load(bytes)));
  it("safetensors", () => {
    const path = join(folder, "a.safetensors");
    save_file({ a: small.a.contiguous(), b: torch.ones([2]) }, path, { format: "pt" });
    expectNoCrash(readFileSync(path), (bytes) => {
      writeFileSync(path, bytes);
      load_file(path);
    });
  });
});
