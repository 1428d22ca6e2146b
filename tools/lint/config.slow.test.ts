/** @file The repository's lint configuration uses the rules. Slow: ESLint loads the types of the whole project for it. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ESLint } from "eslint";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

describe("eslint.config.js", () => {
  it("refuses a file that breaks the rules of this repository", async () => {
    const fixture = join(ROOT, "tools/lint/fixtures/upward.ts.txt");
    const eslint = new ESLint({ cwd: ROOT });
    // The text stands in for a real file, as type information is only there for files of the project.
    const [result] = await eslint.lintText(readFileSync(fixture, "utf8"), {
      filePath: join(ROOT, "src/assets/error.ts"),
    });
    const rules = new Set(result.messages.map(({ ruleId }) => ruleId));
    expect([...rules].sort()).toEqual([
      "@typescript-eslint/no-explicit-any",
      "@typescript-eslint/no-floating-promises",
      "@typescript-eslint/no-unused-vars",
      "no-restricted-syntax",
      "prefer-const",
      "torch-tpu/file-docblock",
      "torch-tpu/layers",
    ]);
  });
});
