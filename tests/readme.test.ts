import { readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import * as torch from "torch-tpu";
import * as nn from "torch-tpu/nn";
import * as optim from "torch-tpu/optim";

describe("the README's example", () => {
  it("runs and learns", () => {
    const text = readFileSync(new URL("../README.md", import.meta.url), "utf8");
    const example = /```ts\n([\s\S]*?)```/.exec(text)![1];
    const body = example.replace(/^import .*$/gm, "");
    const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
    torch.manual_seed(0);
    new Function("torch", "nn", "optim", body)(torch, nn, optim);
    const losses = log.mock.calls.map(([loss]) => loss as number);
    log.mockRestore();
    expect(losses).toHaveLength(3);
    expect(losses[2]).toBeLessThan(losses[0] / 4);
  });
  it("has torch.nn and torch.optim too", () => {
    expect(torch.nn.Linear).toBe(nn.Linear);
    expect(torch.optim.AdamW).toBe(optim.AdamW);
  });
});
