/** @file The lint rules of this repository refuse what they should. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Linter } from "eslint";
import tseslint from "typescript-eslint";
import { describe, expect, it } from "vitest";
import { plugin, readLayers } from "./plugin.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Messages of the rule `name` for `code` as the file src/`path` of a project with layers low, mid and high. */
function lint(name: string, path: string, code: string): string[] {
  const layers = [
    ["low", 0],
    ["beside", 0],
    ["mid", 1],
    ["high", 2],
    ["index.ts", 3],
  ];
  const options = name === "layers" ? [{ src: "/project/src", layers }] : [];
  const config: Linter.Config = {
    files: ["**/*.ts"],
    languageOptions: { parser: tseslint.parser as Linter.Parser },
    plugins: { "torch-tpu": plugin },
    rules: { [`torch-tpu/${name}`]: ["error", ...options] },
  };
  const linter = new Linter({ cwd: "/project" });
  return linter.verify(code, config, { filename: `/project/src/${path}` }).map(({ message }) => message);
}

describe("layers", () => {
  const upward: readonly (readonly [string, string, string])[] = [
    ["import", "low/a.ts", 'import { x } from "../mid/index.js";'],
    ["import for its effects", "low/a.ts", 'import "../high/index.js";'],
    ["import of a package path", "low/a.ts", 'import { x } from "torch-tpu/mid";'],
    ["import of the package", "mid/a.ts", 'import * as torch from "torch-tpu";'],
    ["import of the index file", "high/a.ts", 'import * as torch from "../index.js";'],
    ["re-export", "mid/deep/a.ts", 'export { x } from "../../high/x.js";'],
    ["re-export of all", "mid/a.ts", 'export * from "../high/x.js";'],
    ["dynamic import", "mid/a.ts", 'await import("../high/x.js");'],
    ["import in which one name is a value", "low/a.ts", 'import { type A, b } from "../mid/a.js";'],
    ["import of a layer beside", "low/a.ts", 'import { x } from "../beside/x.js";'],
  ];
  it.each(upward)("refuses an upward %s", (_what, path, code) => {
    expect(lint("layers", path, code)).toHaveLength(1);
    expect(lint("layers", path, code)[0]).toMatch(/may not import from .* (above|beside) it/);
  });

  const allowed: readonly (readonly [string, string, string])[] = [
    ["an import downwards", "high/a.ts", 'import { x } from "../low/index.js";'],
    ["an import within a layer", "mid/deep/a.ts", 'import { x } from "../b.js";'],
    ["a package", "low/a.ts", 'import { readFileSync } from "node:fs"; import * as tar from "tar";'],
    ["import type", "low/a.ts", 'import type { A } from "../high/a.js";'],
    ["an import of types only", "low/a.ts", 'import { type A, type B } from "../high/a.js";'],
    ["export type", "low/a.ts", 'export type { A } from "../high/a.js";'],
    ["a test that imports upwards", "low/a.test.ts", 'import { x } from "../high/index.js";'],
    ["a helper of tests that imports upwards", "low/testing/a.ts", 'import { x } from "../../high/index.js";'],
    ["a package path downwards", "high/a.ts", 'import { x } from "torch-tpu/low";'],
  ];
  it.each(allowed)("allows %s", (_what, path, code) => {
    expect(lint("layers", path, code)).toEqual([]);
  });

  it("refuses a folder that layers.json does not name, from either side", () => {
    expect(lint("layers", "new/a.ts", "")).toEqual([expect.stringContaining("names no layer new")]);
    expect(lint("layers", "low/a.ts", 'import { x } from "../new/a.js";')).toEqual([
      expect.stringContaining("names no layer new"),
    ]);
  });

  it("refuses an import from outside src/", () => {
    expect(lint("layers", "low/a.ts", 'import { x } from "../../tests/a.js";')).toEqual([
      expect.stringContaining("outside src/"),
    ]);
  });

  it("has a row for every folder of src/ that holds code", () => {
    const folders = readdirSync(join(ROOT, "src"), { withFileTypes: true }).filter(
      (entry) => entry.isDirectory() && readdirSync(join(ROOT, "src", entry.name)).length > 0,
    );
    const missing = folders.map(({ name }) => name).filter((name) => !readLayers().has(name));
    expect(missing).toEqual([]);
  });
});

describe("file-docblock", () => {
  it.each([
    ["nothing", "export const x = 1;"],
    ["a line comment", "// @file no\nexport const x = 1;"],
    ["a docblock without @file", "/** Says something else. */\nexport const x = 1;"],
    ["an empty @file", "/** @file */\nexport const x = 1;"],
    ["a docblock after the first statement", 'import "a";\n/** @file Late. */\nexport const x = 1;'],
  ])("refuses %s", (_what, code) => {
    expect(lint("file-docblock", "low/a.ts", code)).toHaveLength(1);
  });

  it.each([
    ["one line", "/** @file What it is for. */\nexport const x = 1;"],
    ["several lines", "/**\n * @file What it is for.\n *\n * More.\n */\nexport const x = 1;"],
  ])("accepts %s", (_what, code) => {
    expect(lint("file-docblock", "low/a.ts", code)).toEqual([]);
  });
});
