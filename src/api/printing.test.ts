import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import * as torch from "../index.js";
import { printed } from "./printed.fixture.js";

afterEach(() => torch.set_printoptions({ profile: "default" }));

describe("printing", () => {
  it.each(printed)("%s", (expression, want) => {
    const make = new Function("torch", `return ${expression}`) as (t: typeof torch) => torch.Tensor;
    expect(make(torch).toString()).toBe(want);
  });
  it("names the device", () => {
    expect(torch.ones([2], { device: "tpu" }).toString()).toBe("tensor([1., 1.], device='tpu:0')");
  });
  it("follows set_printoptions", () => {
    torch.set_printoptions({ precision: 2, sci_mode: true });
    expect(torch.tensor([1.234, 0.5]).toString()).toBe("tensor([1.23e+00, 5.00e-01])");
  });
  it("prints any numbers", () => {
    fc.assert(
      fc.property(fc.array(fc.float(), { maxLength: 8 }), (xs) =>
        torch.tensor(xs, { dtype: torch.float32 }).toString().startsWith("tensor(["),
      ),
      { numRuns: 60 },
    );
  });
});
