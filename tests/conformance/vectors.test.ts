import { existsSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { replayOpinfo } from "./replay.js";

const folder = new URL("../vectors/opinfo", import.meta.url).pathname;
const names = existsSync(folder)
  ? readdirSync(folder)
      .filter((f) => f.endsWith(".json"))
      .map((f) => f.slice(0, -".json".length))
  : [];

describe("calls recorded from PyTorch", () => {
  it("are there", () => expect(names.length).toBeGreaterThan(100));
  it.each(names)("%s", (name) => {
    const { failures, passed, skipped } = replayOpinfo(folder, name, "tpu");
    expect(failures).toEqual([]);
    expect(skipped).toBe(0);
    expect(passed).toBeGreaterThan(0);
  });
});
