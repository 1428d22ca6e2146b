import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";

/** A synchronous loop in a process of its own; prints the peak of its resident memory in MB. */
const program = `
import * as torch from ${JSON.stringify(new URL("../dist/src/index.js", import.meta.url).href)};
const a = torch.ones(1024, 1024, { device: "tpu" });
let x = a;
let peak = 0;
for (let i = 0; i < 10000; i++) {
  x = x.add(a);
  if (i % 100 === 0) peak = Math.max(peak, process.memoryUsage().rss);
}
console.log(Math.round(peak / 1e6), x.at(0, 0).item());
`;

describe("memory", () => {
  it("is freed in a synchronous loop over 4 MB tensors", () => {
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
      encoding: "utf8",
    });
    const [peak, value] = stdout.trim().split(" ").map(Number);
    expect([value, stderr.includes("Error")]).toEqual([10001, false]);
    expect(peak).toBeLessThan(1000);
  }, 240_000);
});
