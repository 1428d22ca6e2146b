import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import * as torch from "../index.js";
import { tensorFromBytes } from "./factories.js";
import type { PrintOptions as AllOptions } from "./printing.js";
import { printed } from "./printed.fixture.js";

type PrintOptions = Partial<AllOptions>;

afterEach(() => torch.set_printoptions({ profile: "default" }));

describe("printing", () => {
  it.each(printed)("%s", (expression, want) => {
    const make = new Function("torch", `return ${expression}`) as (t: typeof torch) => torch.Tensor;
    expect(make(torch).toString()).toBe(want);
  });
  it("names the device", () => {
    expect(torch.ones([2], { device: "tpu" }).toString()).toBe("tensor([1., 1.], device='tpu:0')");
  });
  it.each<[PrintOptions, (t: typeof torch) => torch.Tensor, string]>([
    [{ precision: 2, sci_mode: true }, (t) => t.tensor([1.234, 0.5]), "tensor([1.23e+00, 5.00e-01])"],
    [
      { sci_mode: false },
      (t) => t.tensor([1e22, 1.5]),
      "tensor([9999999778196308361216.0000,                      1.5000])",
    ],
    [{ edgeitems: 0, threshold: 2 }, (t) => t.arange(5), "tensor([...], size=(5,))"],
    [{ edgeitems: 0, threshold: 2 }, (t) => t.arange(12).view(3, 4), "tensor([...], size=(3, 4))"],
    [
      { threshold: 10 },
      (t) => t.arange(100).view(2, 50),
      "tensor([[ 0,  1,  2,  ..., 47, 48, 49],\n        [50, 51, 52,  ..., 97, 98, 99]])",
    ],
    [
      { threshold: 5 },
      (t) => t.arange(8).view(2, 2, 2),
      "tensor([[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]])",
    ],
    [{ precision: 0 }, (t) => t.tensor([0.5, 1.5, 2.5]), "tensor([0, 2, 2])"],
    [{ precision: 1 }, (t) => t.tensor([0.25, 0.35]), "tensor([0.2, 0.3])"],
    [{ precision: 6, sci_mode: true }, (t) => t.tensor([1.5078125]), "tensor([1.507812e+00])"],
    [{ linewidth: 20 }, (t) => t.ones(3, { dtype: t.float64 }), "tensor([1., 1., 1.],\n       dtype=torch.float64)"],
  ])("follows set_printoptions(%j)", (options, make, want) => {
    torch.set_printoptions(options);
    expect(make(torch).toString()).toBe(want);
  });
  it("makes the notation automatic again in a call without sci_mode", () => {
    torch.set_printoptions({ sci_mode: true });
    torch.set_printoptions({ precision: 1 });
    expect(torch.tensor([1.5]).toString()).toBe("tensor([1.5])");
  });
  it("names the type of meta tensors unless it is the default", () => {
    const make = (dtype: torch.DType): torch.Tensor => torch.empty([2], { device: "meta", dtype });
    expect(make(torch.int64).toString()).toBe("tensor(..., device='meta', size=(2,), dtype=torch.int64)");
    expect(make(torch.float32).toString()).toBe("tensor(..., device='meta', size=(2,))");
  });
  it("prints any shape and type under any options", () => {
    const dtypes = [torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.bool, torch.complex64];
    const shape = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 4 });
    const options = fc.record({
      precision: fc.integer({ min: 0, max: 12 }),
      threshold: fc.integer({ min: 0, max: 50 }),
      edgeitems: fc.integer({ min: 0, max: 3 }),
      linewidth: fc.integer({ min: 1, max: 120 }),
      sci_mode: fc.constantFrom(true, false, null),
    });
    const bytes = fc.uint8Array({ minLength: 4 ** 4 * 8, maxLength: 4 ** 4 * 8 });
    fc.assert(
      fc.property(shape, fc.constantFrom(...dtypes), options, bytes, (sizes, dtype, opts, data) => {
        torch.set_printoptions(opts);
        const numel = sizes.reduce((n, d) => n * d, 1);
        const raw = dtype === torch.bool ? data.map((b) => b & 1) : data;
        const t = tensorFromBytes(raw.slice(0, numel * dtype.itemsize), dtype, sizes, torch.device("cpu"));
        return t.toString().startsWith("tensor(") && t.toString().endsWith(")");
      }),
      // Shortened tensors are cut on the device: a program for each new shape.
      { numRuns: 40 },
    );
  });
});
