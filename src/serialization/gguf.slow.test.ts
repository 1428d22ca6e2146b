/** @file The weights of SmolLM2: fetched once, read whole. */
import { ensureAsset } from "torch-tpu/assets";
import { GgufFile } from "torch-tpu/serialization";
import { expect, it } from "vitest";

it("SmolLM2-135M-Instruct: all of its tensors, and its tokenizer", { timeout: 600_000 }, async () => {
  using file = new GgufFile(await ensureAsset("weights"));
  expect(file.metadata()["general.architecture"]).toBe("llama");
  expect(file.info("token_embd.weight").shape).toEqual([49152, 576]);
  expect(file.keys()).toHaveLength(272);
  let count = 0;
  for (const name of file.keys()) {
    const t = file.get_tensor(name);
    count += t.numel();
    expect(t.isfinite().all().item(), name).toBe(true);
    t.dispose();
  }
  expect(count).toBe(134_515_008);
  expect(file.tokenizer()["ggml.tokens"]).toHaveLength(49152);
});
