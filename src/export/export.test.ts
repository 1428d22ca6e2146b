/** @file torch.export programs: recorded outputs, other batch sizes, training, signatures, and files that lie. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as torch from "torch-tpu";
import type { Tensor } from "torch-tpu";
import { ExportError, load } from "torch-tpu/export";
import { load_file, openSource, ZipReader } from "torch-tpu/serialization";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expectNoCrash } from "../serialization/testing/damage.js";
import { zipParts } from "../serialization/zip.js";
import { TreeSpec } from "./pytree.js";
import { symbolicFunction } from "./symbolic.js";

const here = "tests/models/export";

function record(folder: string): { inputs: Tensor[]; outputs: Tensor[] } {
  const io = load_file(join(folder, "io.safetensors"));
  const of = (kind: string): Tensor[] =>
    Object.keys(io)
      .filter((k) => k.startsWith(kind))
      .sort()
      .map((k) => io[k]);
  return { inputs: of("input"), outputs: of("output") };
}

/** The largest difference of any output, relative to the output's largest element. */
function difference(got: unknown, expected: readonly Tensor[]): number {
  const flat = [got].flat(9) as Tensor[];
  expect(flat.map((t) => t.shape)).toEqual(expected.map((t) => t.shape));
  return Math.max(...flat.map((t, i) => Number(t.sub(expected[i]).abs().max().item()) / Math.max(1e-6, Number(expected[i].abs().max().item())))); // prettier-ignore
}

describe("recorded programs", () => {
  it.each(readdirSync(here))("%s", (name) => {
    const program = load(join(here, name, "model.pt2"));
    expect(program.missing_operators()).toEqual([]);
    const { inputs, outputs } = record(join(here, name));
    const got = torch.no_grad(() => program.module()(...(inputs as never[])));
    expect(difference(got, outputs)).toBeLessThan(1e-5);
  });
});

/** The program of a file with its JSON changed. */
function changed(name: string, change: (json: string) => string): Uint8Array {
  const zip = new ZipReader(openSource(join(here, name, "model.pt2")));
  return Buffer.concat([
    ...zipParts(
      zip.names().map((n) => {
        const bytes = zip.read(n);
        return [n, () => (n.endsWith("models/model.json") ? Buffer.from(change(bytes.toString())) : bytes)] as const;
      }),
    ),
  ]);
}

describe("a program as a module", () => {
  const bert = join(here, "bert-dynamic", "model.pt2");
  const { inputs } = record(join(here, "bert-dynamic"));

  it("takes any batch in its range, and says which sizes it wants in PyTorch's words", () => {
    const model = load(bert).module();
    const batch = (n: number, length = 12): Tensor => torch.ones([n, length], { dtype: torch.int64 });
    expect((model(batch(2)) as Tensor).shape).toEqual([2, 12, 32]);
    expect(() => model(batch(17))).toThrow("Guard failed: a_0.size()[0] <= 16");
    expect(() => model(batch(3, 11))).toThrow("Guard failed: a_0.size()[1] == 12");
    expect(() => model()).toThrow("Trying to flatten user inputs with exported input tree spec");
    expect(() => model.train()).toThrow("Calling train() is not supported yet.");
  });
  it("has PyTorch's names, and trains", () => {
    const program = load(bert);
    const model = program.module();
    expect(Object.keys(model.state_dict())).toContain("model.embeddings.word_embeddings.weight");
    expect([...program.named_parameters()].length).toBe(39);
    expect([...program.named_buffers()].map(([n]) => n)).toContain("model.embeddings.position_ids");
    const optimizer = new torch.optim.AdamW(model.parameters(), { lr: 0.01 });
    const losses = [0, 1, 2].map(() => {
      const loss = (model(inputs[0]) as Tensor).pow(2).mean();
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      return Number(loss.item());
    });
    expect(losses[2]).toBeLessThan(losses[0]);
    const other = load(bert).module();
    other.load_state_dict(model.state_dict());
    expect(difference(other(inputs[0]), [model(inputs[0]) as Tensor])).toBe(0);
  });
  it("moves to another device, constants of the graph with it", () => {
    const { inputs: x, outputs } = record(join(here, "lstm"));
    const model = load(join(here, "lstm", "model.pt2"))
      .module()
      .to("tpu");
    const [y] = model(x[0].to("tpu")) as [Tensor];
    expect(y.device.type).toBe("tpu");
    expect(difference(y.cpu(), [outputs[0]])).toBeLessThan(1e-5);
  });
  it("writes buffers that the signature says are written", () => {
    const program = load(
      changed("bert-dynamic", (json) => {
        const p = JSON.parse(json) as { graph_module: { graph: { outputs: unknown[]; nodes: unknown[] }; signature: { output_specs: unknown[] } } }; // prettier-ignore
        const { graph, signature } = p.graph_module;
        const buffer = "model.embeddings.token_type_ids";
        graph.nodes.push({
          target: "torch.ops.aten.add.Tensor",
          inputs: [
            { name: "self", arg: { as_tensor: { name: "b_model_embeddings_token_type_ids" } }, kind: 1 },
            { name: "other", arg: { as_int: 1 }, kind: 1 },
          ],
          outputs: [{ as_tensor: { name: "plus_one" } }],
        });
        graph.outputs.push({ as_tensor: { name: "plus_one" } });
        signature.output_specs.push({ buffer_mutation: { arg: { name: "plus_one" }, buffer_name: buffer } });
        return JSON.stringify(p);
      }),
    );
    const model = program.module();
    const y = model(inputs[0]) as Tensor;
    expect(y.shape).toEqual([3, 12, 32]);
    expect(model.get_buffer("model.embeddings.token_type_ids").max().item()).toBe(1);
  });
});

describe("numbers and nests", () => {
  it("Python's rounding of quotients and remainders", () => {
    const f = (name: string, ...args: unknown[]): unknown => symbolicFunction(`_operator.${name}`)!(...args);
    expect([f("floordiv", -7, 2), f("mod", -7, 2), f("mod", 7, -2), f("rshift", -5, 1)]).toEqual([-4, 1, -1, -3]);
    expect([f("and_", true, false), f("and_", 6, 3), f("eq", true, 1)]).toEqual([false, 2, true]);
    expect([symbolicFunction("torch.sym_max")!(2, 3), symbolicFunction("math.trunc")!(-2.5)]).toEqual([3, -2]);
    expect(symbolicFunction("os.system")).toBeUndefined();
    expect(symbolicFunction("_operator.constructor")).toBeUndefined();
  });
  it("arguments by position, by name, and in containers", () => {
    const leaf = { type: null, context: null, children_spec: [] };
    const nest = (type: string, context: unknown, ...children_spec: unknown[]): unknown => ({ type, context: JSON.stringify(context), children_spec }); // prettier-ignore
    const dict = nest("builtins.dict", ["a", "b"], leaf, leaf);
    const args = nest("builtins.tuple", null, leaf, nest("builtins.list", null, leaf, leaf));
    const spec = TreeSpec.parse(JSON.stringify([1, nest("builtins.tuple", null, args, nest("builtins.dict", ["k"], dict))])); // prettier-ignore
    const names = ["x", "y", "k"];
    const want = [1, 2, 3, 4, 5];
    expect(spec.flattenCall([1, [2, 3], { k: { a: 4, b: 5 } }], names)).toEqual(want);
    expect(spec.flattenCall([1, { k: { b: 5, a: 4 }, y: [2, 3] }], names)).toEqual(want);
    expect(() => spec.flattenCall([1, [2], { k: { a: 4, b: 5 } }], names)).toThrow("same number and type");
    expect(TreeSpec.parse(JSON.stringify([1, dict])).unflatten([1, 2])).toEqual({ a: 1, b: 2 });
  });
});

describe("files that lie", { timeout: 600_000 }, () => {
  it("say what is wrong", () => {
    expect(() => load(changed("lstm", () => "{"))).toThrow(ExportError);
    expect(() => load(changed("lstm", () => "{}"))).toThrow("expected an object at the top.graph_module");
    expect(() => load(changed("lstm", (j) => j.replace('"major": 8', '"major": 99')))).toThrow("schema version");
    expect(() => load(changed("lstm", (j) => j.replaceAll("weight_ih_l0", "gone")))).toThrow("parameter 'gone'");
    expect(() => load("tests/checkpoints/every_kind.pt")).toThrow("an archive without one");
    const missing = load(changed("lstm", (j) => j.replaceAll("aten.lstm.input", "aten.nothing.default")));
    expect(missing.missing_operators()).toEqual(["torch.ops.aten.nothing.default"]);
    const { inputs } = record(join(here, "lstm"));
    expect(() => missing.module()(inputs[0])).toThrow("got torch.ops.aten.nothing.default");
  });
  it("never crash", () => expectNoCrash(readFileSync(join(here, "lstm", "model.pt2")), (bytes) => load(bytes)));
  it("nor do programs with a value of another kind somewhere", () => {
    const zip = new ZipReader(openSource(join(here, "lstm", "model.pt2")));
    const json = zip.read("model/models/model.json").toString();
    const wrong = fc.constantFrom(
      null,
      -1,
      2 ** 53,
      "",
      "x",
      [],
      [[]],
      {},
      { as_none: true },
      { as_tensor: null },
      true,
    );
    const numRuns = process.env.TORCH_TPU_TEST_ALL === "1" ? 5000 : 200;
    fc.assert(
      fc.property(fc.nat(), wrong, (at, value) => {
        const program: unknown = JSON.parse(json);
        replaceAt(program, at, value);
        try {
          load(changed("lstm", () => JSON.stringify(program)));
        } catch (error) {
          if (!(error instanceof torch.TorchError)) throw error;
        }
      }),
      { seed: 7, numRuns },
    );
  });
});

/** Replaces one of all values below `root`, counted as they come. */
function replaceAt(root: unknown, at: number, value: unknown): void {
  const places: [Record<string, unknown>, string][] = [];
  const visit = (x: unknown): void => {
    if (typeof x !== "object" || x === null) return;
    for (const key of Object.keys(x)) {
      places.push([x as Record<string, unknown>, key]);
      visit((x as Record<string, unknown>)[key]);
    }
  };
  visit(root);
  const [owner, key] = places[at % places.length];
  owner[key] = value;
}
