import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as torch from "torch-tpu";
import * as nn from "torch-tpu/nn";
import * as optim from "torch-tpu/optim";
import { load_file, save_file } from "torch-tpu/serialization";
import type { Tensor } from "torch-tpu";
import { GPT } from "../examples/mingpt/model.js";

const folder = new URL("models/gpt2/", import.meta.url).pathname;
const recorded = JSON.parse(readFileSync(`${folder}expected.json`, "utf8")) as {
  eval_loss: number;
  grad_norm: number;
  lr: number;
  adamw_losses: number[];
};
const expected = load_file(`${folder}expected.safetensors`);

/** GPT-2 keeps the weights of its linear layers transposed. */
const isTransposed = (name: string): boolean => /(c_attn|c_proj|c_fc)\.weight$/.test(name);
const toOurs = (name: string, t: Tensor): Tensor => (isTransposed(name) ? t.t() : t);

function recordedModel(): GPT {
  const model = new GPT({
    vocab_size: 256,
    block_size: 128,
    n_layer: 2,
    n_head: 4,
    n_embd: 64,
    embd_pdrop: 0,
    resid_pdrop: 0,
    attn_pdrop: 0,
    tie_weights: true,
  });
  const state: Record<string, Tensor> = {};
  for (const [name, t] of Object.entries(load_file(`${folder}model.safetensors`))) state[name] = toOurs(name, t);
  state["lm_head.weight"] = state["transformer.wte.weight"];
  model.load_state_dict(state);
  return model.to("tpu");
}

/** Next-token loss as transformers computes it: the logits of all positions but the last. */
function lossOf(model: GPT): { loss: Tensor; logits: Tensor } {
  const ids = expected["input.input_ids"].to("tpu");
  const { logits } = model(ids);
  const predicted = logits.narrow(1, 0, ids.size(1) - 1).reshape(-1, 256);
  return {
    logits,
    loss: nn.functional.cross_entropy(
      predicted,
      expected["input.labels"]
        .to("tpu")
        .narrow(1, 1, ids.size(1) - 1)
        .reshape(-1),
    ),
  };
}

/** Largest excess of |got − want| over 1e-5 + 1.3e-5 |want|. */
function excess(got: Tensor, want: Tensor): number {
  const [a, b] = [got.detach().cpu().double(), want.double()];
  return a.sub(b).abs().sub(b.abs().mul(1.3e-5).add(1e-5)).max().item() as number;
}

describe("minGPT against a recorded PyTorch run", () => {
  it("computes the same logits and the same loss", () => {
    const model = recordedModel().eval();
    const { loss, logits } = torch.no_grad(() => lossOf(model));
    expect(loss.item()).toBeCloseTo(recorded.eval_loss, 5);
    expect(excess(logits, expected["eval.logits"])).toBeLessThanOrEqual(0);
  });

  it("computes the same gradients", () => {
    const model = recordedModel();
    lossOf(model).loss.backward();
    const checked = [...model.named_parameters()].filter(([name]) => `grad.${name}` in expected);
    expect(checked.length).toBeGreaterThan(20);
    for (const [name, p] of checked)
      expect([name, excess(p.grad!, toOurs(name, expected[`grad.${name}`]))]).toEqual([
        name,
        expect.toSatisfy((x: number) => x <= 0),
      ]);
    expect(nn.utils.clip_grad_norm_(model.parameters(), 1e9).item()).toBeCloseTo(recorded.grad_norm, 4);
  });

  it("follows the same five AdamW steps", () => {
    const model = recordedModel();
    const optimizer = new optim.AdamW(model.parameters(), { lr: recorded.lr, weight_decay: 0.1 });
    const losses = recorded.adamw_losses.map(() => {
      optimizer.zero_grad();
      const { loss } = lossOf(model);
      loss.backward();
      optimizer.step();
      return loss.item() as number;
    });
    losses.forEach((loss, i) => expect(Math.abs(loss - recorded.adamw_losses[i])).toBeLessThanOrEqual(1e-4));
  });

  it("saves and loads without changing a bit", () => {
    const out = mkdtempSync(join(tmpdir(), "mingpt-"));
    try {
      const model = recordedModel();
      const state = model.state_dict();
      save_file(state, join(out, "model.safetensors"));
      const back = load_file(join(out, "model.safetensors"));
      expect(Object.keys(back).sort()).toEqual(Object.keys(state).sort());
      for (const [name, t] of Object.entries(state))
        expect(Buffer.compare(back[name].toBytes(), t.toBytes()), name).toBe(0);
    } finally {
      rmSync(out, { recursive: true });
    }
  });
});
