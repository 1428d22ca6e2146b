/** @file Every operation of the builder compiles with XLA's CPU plugin. */
import { describe, expect, test } from "vitest";
import { dtypes, float32 } from "../schema/dtype.js";
import { Builder, Module } from "./index.js";
import { caseModule, notOperations, opCases } from "./testing/op_cases.js";
import { compileText, noPlugin } from "./testing/plugin.js";

/** Methods of the builder that record operations. */
function builderMethods(): string[] {
  const names = new Set<string>();
  for (let p = Builder.prototype as object; p !== Object.prototype; p = Object.getPrototypeOf(p) as object) {
    for (const name of Object.getOwnPropertyNames(p)) names.add(name);
  }
  return [...names].filter((n) => !notOperations.has(n));
}

test("the table has a case for every operation", () => {
  const covered = new Set<string>(opCases.map((c) => c.op));
  expect(builderMethods().filter((n) => !covered.has(n))).toEqual([]);
});

test("each case uses its operation", () => {
  const helpers: Record<string, string> = {
    splat: "constant",
    zerosLike: "constant",
    onesLike: "constant",
    fullLike: "constant",
    broadcastTo: "broadcast_in_dim",
    broadcastPair: "broadcast_in_dim",
    reduceWith: "reduce",
  };
  for (const c of opCases) {
    if (c.op === "create_token") continue; // unused tokens are not printed
    const name = (helpers[c.op] ?? c.op).replace(/^chlo_/, "");
    expect(caseModule(c).toString(), c.op).toMatch(new RegExp(`\\b(stablehlo|chlo|sdy|func)\\.${name}\\b`));
  }
});

describe.skipIf(noPlugin)("compile", () => {
  test.each(opCases.map((c) => [c.op, c] as const))("%s", (_, c) => {
    const text = caseModule(c).toString();
    if (c.cpuRefuses) expect(() => compileText(text, c.devices)).toThrowError(c.cpuRefuses);
    else compileText(text, c.devices);
  });

  test.each(dtypes.map((d) => [d.name, d] as const))("convert %s to every type and back from float32", (_, dtype) => {
    const m = new Module("convert");
    const h = m.func("main", [
      { dtype, shape: [3] },
      { dtype: float32, shape: [3] },
    ]);
    const [x, y] = h.params;
    h.return([...dtypes.map((d) => h.convert(x, d)), h.convert(y, dtype)]);
    compileText(m.toString());
  });
});
