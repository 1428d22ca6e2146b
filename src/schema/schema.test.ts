import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseSchema } from "./schema.js";

describe("parseSchema", () => {
  it("reads names, types, defaults and marks", () => {
    const s = parseSchema("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
    expect([s.name, s.overload]).toEqual(["add_", "Tensor"]);
    expect(s.args.map((a) => [a.name, a.type.base, a.kwargOnly, a.defaultValue])).toEqual([
      ["self", "Tensor", false, undefined],
      ["other", "Tensor", false, undefined],
      ["alpha", "Scalar", true, 1],
    ]);
    expect(s.args[0].type.alias).toBe("write");
  });
  it("reads lists and optional elements", () => {
    const s = parseSchema(
      "x(Tensor?[] indices, SymInt[2] stride=1, int[1]? dim=None, bool[3] mask=[True, False, True]) -> (Tensor values, Tensor[] rest)",
    );
    expect(s.args[0].type).toMatchObject({ base: "Tensor", list: 0, optionalElements: true, optional: false });
    expect(s.args[1].defaultValue).toEqual([1, 1]);
    expect(s.args[2].type).toMatchObject({ list: 1, optional: true });
    expect(s.args[3].defaultValue).toEqual([true, false, true]);
    expect(s.returns.map((r) => [r.name, r.type.list])).toEqual([
      ["values", null],
      ["rest", 0],
    ]);
  });
  it("names what it expected", () => {
    expect(() => parseSchema("add(Tensor) -> Tensor")).toThrow("expected 'Type name[=default]', got 'Tensor'");
  });
  const facts = "../shared/facts/aten_schemas.txt";
  it.skipIf(!existsSync(facts))(
    "reads every ATen schema that uses no class types, but for four with types of their own",
    () => {
      const failed = readFileSync(facts, "utf8")
        .split("\n")
        .filter(
          (l) => l.startsWith("aten::") && !/__torch__|Dict|\bt\b|\bt\[|Future|RRef|\bAnyEnum|\.\.\.|AnyClass/.test(l),
        )
        .filter((l) => {
          try {
            parseSchema(l);
            return false;
          } catch {
            return true;
          }
        });
      expect(failed.length).toBeLessThanOrEqual(4);
    },
  );
});
