import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import * as torch from "torch-tpu";
import { CharDataset, CharTokenizer } from "./dataset.js";
import { GPT } from "./model.js";
import { defaultTrainer, Trainer, type Progress } from "./trainer.js";

const text = "the quick brown fox jumps over the lazy dog. ".repeat(60);
const tokenizer = CharTokenizer.of(text);
const data = tokenizer.encode(text);
const out = mkdtempSync(join(tmpdir(), "mingpt-"));
afterAll(() => rmSync(out, { recursive: true }));

function trainer(max_iters: number): Trainer {
  torch.manual_seed(1);
  const model = new GPT({
    vocab_size: tokenizer.vocab_size,
    block_size: 16,
    n_layer: 1,
    n_head: 2,
    n_embd: 32,
    embd_pdrop: 0,
    resid_pdrop: 0,
    attn_pdrop: 0,
    tie_weights: false,
  });
  const config = {
    ...defaultTrainer,
    device: "tpu",
    max_iters,
    batch_size: 8,
    warmup_iters: 2,
    eval_interval: 20,
    eval_batches: 2,
  };
  return new Trainer(config, model, new CharDataset(data, 16), new CharDataset(data, 16));
}

describe("minGPT", () => {
  it("learns, and is the same run when interrupted and resumed", async () => {
    const whole: Progress[] = [];
    const run = trainer(20);
    await run.run((p) => {
      whole.push(p);
      if (p.iteration === 10) run.save(out);
    });
    expect(whole[19].loss).toBeLessThan(whole[0].loss - 0.5);
    expect(whole[19].valLoss).toBeLessThan(whole[0].loss);

    const resumed = trainer(20);
    expect(resumed.load(out)).toBe(true);
    expect(resumed.iteration).toBe(10);
    const rest: Progress[] = [];
    await resumed.run((p) => rest.push(p));
    expect(rest.map((p) => p.loss)).toEqual(whole.slice(10).map((p) => p.loss));
  });

  it("writes as many characters as asked, past its window", () => {
    const { model } = trainer(1);
    const start = torch.from_typed_array(tokenizer.encode("the "), [1, 4], { device: "tpu" });
    const written = model.eval().generate(start, 20, { top_k: 5 });
    expect(written.shape).toEqual([1, 24]);
    expect(tokenizer.decode(written.at(0).tolist() as number[]).startsWith("the ")).toBe(true);
  });

  it("says what it expected", () => {
    expect(() => tokenizer.encode("É")).toThrow('expected characters of the training text, got "É"');
    expect(() => new CharDataset(data.slice(0, 4), 16)).toThrow("expected more than block_size = 16 characters, got 4");
    expect(() => trainer(1).model(torch.zeros([1, 17], { dtype: torch.int64, device: "tpu" }))).toThrow(
      "expected at most block_size = 16 positions, got 17",
    );
  });
});
