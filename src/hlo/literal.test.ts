/** @file Constants: every number arrives in the program with its exact bits. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as dt from "../schema/dtype.js";
import type { DType } from "../schema/dtype.js";
import { bitsToFloat, floatToBits, Module, type ConstantData } from "./index.js";
import { noPlugin, runProgram } from "./testing/plugin.js";

const floats = dt.dtypes.filter((d) => d.is_floating_point);
const small = floats.filter((d) => d.bits <= 16);

const allBits = (dtype: DType): number[] => Array.from({ length: 2 ** dtype.bits }, (_, i) => i);

/** NaNs have many bit patterns; a constant of NaN has one. */
const sameBits = (a: number | bigint, b: number | bigint, dtype: DType): boolean =>
  a === b || (Number.isNaN(bitsToFloat(a, dtype)) && Number.isNaN(bitsToFloat(b, dtype)));

test.each(small.map((d) => [d.name, d] as const))("bits of every %s survive", (_, dtype) => {
  const wrong = allBits(dtype).filter((bits) => !sameBits(floatToBits(bitsToFloat(bits, dtype), dtype), bits, dtype));
  expect(wrong).toEqual([]);
});

test.each(small.map((d) => [d.name, d] as const))("numbers round to the nearest %s", (_, dtype) => {
  const finite = allBits(dtype)
    .map((b) => bitsToFloat(b, dtype))
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  const largest = finite[finite.length - 1];
  fc.assert(
    fc.property(
      fc.double({ min: dtype.hlo === "f8E8M0FNU" ? 2 ** -127 : -largest, max: largest, noNaN: true }),
      (x) => {
        const got = bitsToFloat(floatToBits(x, dtype), dtype);
        let low = 0;
        let high = finite.length - 1;
        while (high - low > 1) {
          const mid = (low + high) >> 1;
          if (finite[mid] <= x) low = mid;
          else high = mid;
        }
        expect(Math.abs(got - x)).toBe(Math.min(Math.abs(finite[low] - x), Math.abs(finite[high] - x)));
      },
    ),
  );
});

test("halves round to even", () => {
  expect(floatToBits(1 + 2 ** -8, dt.bfloat16)).toBe(0x3f80);
  expect(floatToBits(1 + 3 * 2 ** -8, dt.bfloat16)).toBe(0x3f82);
  expect(floatToBits(2 ** -25, dt.float16)).toBe(0);
  expect(floatToBits(3 * 2 ** -25, dt.float16)).toBe(2);
  expect(floatToBits(65520, dt.float16)).toBe(0x7c00);
  expect(floatToBits(65519.99, dt.float16)).toBe(0x7bff);
});

test("what a format lacks: infinities, -0, NaN", () => {
  expect(floatToBits(Infinity, dt.float8_e5m2)).toBe(0x7c);
  expect(floatToBits(-Infinity, dt.float8_e4m3fn)).toBe(0xff);
  expect(floatToBits(1e9, dt.float8_e4m3fnuz)).toBe(0x80);
  expect(floatToBits(-0, dt.float8_e5m2fnuz)).toBe(0);
  expect(floatToBits(NaN, dt.float8_e8m0fnu)).toBe(0xff);
  expect(floatToBits(-100, dt.float4_e2m1fn)).toBe(0xf);
});

test("text of literals", () => {
  const text = (
    value: Parameters<ReturnType<Module["func"]>["constant"]>[0],
    dtype: DType,
    shape?: number[],
  ): string => {
    const m = new Module();
    const h = m.func("main", []);
    h.return([h.constant(value, dtype, shape)]);
    return /stablehlo.constant (.*) : /.exec(m.toString())![1];
  };
  expect(text(0.1, dt.float32)).toBe("dense<0.1>");
  expect(text(3, dt.float64)).toBe("dense<3.0>");
  expect(text(1e-7, dt.float32)).toBe("dense<1.0e-7>");
  expect(text(-0, dt.float32)).toBe("dense<0x80000000>");
  expect(text(NaN, dt.bfloat16)).toBe("dense<0x7FC0>");
  expect(text(-Infinity, dt.float64)).toBe("dense<0xFFF0000000000000>");
  expect(text(1e-40, dt.float32)).toBe("dense<0x000116C2>");
  expect(text(1, dt.bool, [2])).toBe("dense<true>");
  expect(text([1, 2.5], dt.complex64)).toBe("dense<(1.0, 2.5)>");
  expect(text(2n ** 64n - 1n, dt.uint64)).toBe("dense<18446744073709551615>");
  expect(text([1, 1, 1], dt.int32)).toBe("dense<1>");
  expect(text([0, -0], dt.float32)).toBe('dense<"0x0000000000000080">');
  expect(text([1, 2, 3, 4], dt.int16, [2, 2])).toBe('dense<"0x0100020003000400">');
  expect(text([true, false, true, true], dt.bool, [2, 2])).toBe("dense<[[true, false], [true, true]]>");
  expect(text([], dt.float32, [0, 2])).toBe("dense<>");
  expect(text(7, dt.float32, [0])).toBe("dense<>");
});

describe.skipIf(noPlugin)("on the device", () => {
  /** The bits of `values` after they were constants of a program: one splat each, and one dense constant. */
  function throughProgram(values: readonly (number | bigint | boolean)[], dtype: DType): (number | bigint)[][] {
    // Types below a byte leave the program as wider ones: this is about constants, not about how the host reads.
    const wide = dtype.bits >= 8 ? dtype : dtype.is_floating_point ? dt.float32 : dt.int8;
    const outputs = runProgram([], (h) =>
      [...values.map((v) => h.constant(v, dtype)), h.constant(values as ConstantData, dtype, [values.length])].map(
        (x) => h.convert(x, wide),
      ),
    );
    const at = (view: DataView, i: number): number | bigint => {
      if (wide === dt.float32 && wide !== dtype) return floatToBits(view.getFloat32(4 * i, true), dtype);
      if (dtype.bits === 64) return view.getBigUint64(8 * i, true);
      if (dtype.bits === 32) return view.getUint32(4 * i, true);
      return dtype.bits === 16 ? view.getUint16(2 * i, true) : view.getUint8(i);
    };
    return [values.map((_, i) => at(outputs[i], 0)), values.map((_, i) => at(outputs[values.length], i))];
  }

  const check = (values: readonly number[], dtype: DType): void => {
    const want = values.map((v) => floatToBits(v, dtype));
    for (const got of throughProgram(values, dtype)) {
      const wrong = got.filter((g, i) => !sameBits(g, want[i], dtype)).map((g) => `${g}`);
      expect(wrong, `${dtype.name} of ${values}`).toEqual([]);
    }
  };

  const special = [
    0,
    -0,
    1,
    -1,
    NaN,
    Infinity,
    -Infinity,
    Math.PI,
    1e-40,
    5e-324,
    2 ** -149,
    3.4028234663852886e38,
    65504,
    448,
    1e300,
    0.1,
    1 / 3,
  ];
  test.each(floats.filter((d) => d.bits > 8).map((d) => [d.name, d] as const))("special numbers of %s", (_, dtype) =>
    check(special, dtype),
  );
  test.each(small.filter((d) => d.bits <= 8).map((d) => [d.name, d] as const))("every %s", (_, dtype) => {
    const values = allBits(dtype).map((b) => bitsToFloat(b, dtype));
    for (let i = 0; i < values.length; i += 64) check(values.slice(i, i + 64), dtype);
  });

  const runs = { numRuns: 8 };
  const bitsOf: [DType, fc.Arbitrary<number | bigint>][] = [
    [dt.float16, fc.nat(0xffff)],
    [dt.bfloat16, fc.nat(0xffff)],
    [dt.float32, fc.nat(0xffffffff)],
    [dt.float64, fc.bigInt(0n, 2n ** 64n - 1n)],
  ];
  test.each(bitsOf.map(([d, a]) => [d.name, d, a] as const))("any %s", (_, dtype, bits) => {
    fc.assert(
      fc.property(fc.array(bits, { minLength: 32, maxLength: 32 }), (xs) =>
        check(
          xs.map((b) => bitsToFloat(b, dtype)),
          dtype,
        ),
      ),
      runs,
    );
  });
  test("any float64 as float32", () => {
    fc.assert(
      fc.property(fc.array(fc.double(), { minLength: 32, maxLength: 32 }), (xs) => check(xs, dt.float32)),
      runs,
    );
  });

  test.each([dt.int64, dt.uint64].map((d) => [d.name, d] as const))("any %s", (_, dtype) => {
    const [low, high] = dtype === dt.int64 ? [-(2n ** 63n), 2n ** 63n - 1n] : [0n, 2n ** 64n - 1n];
    fc.assert(
      fc.property(fc.array(fc.bigInt(low, high), { minLength: 16, maxLength: 16 }), (xs) => {
        for (const got of throughProgram([...xs, low, high], dtype))
          expect(got).toEqual([...xs, low, high].map((x) => BigInt.asUintN(64, x)));
      }),
      runs,
    );
  });

  test.each(
    [dt.int8, dt.uint8, dt.int16, dt.uint16, dt.int32, dt.uint32, dt.int4, dt.uint4, dt.int2, dt.uint2].map(
      (d) => [d.name, d] as const,
    ),
  )("limits of %s", (_, dtype) => {
    const { bits } = dtype;
    const [low, high] = dtype.kind === "int" ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
    const mask = 2n ** BigInt(bits) - 1n;
    for (const got of throughProgram([low, high, 0, 1], dtype)) {
      expect(got.map((g) => BigInt(g) & mask)).toEqual([low, high, 0, 1].map((x) => BigInt(x) & mask));
    }
  });

  test("booleans and complex numbers", () => {
    const [b, c] = runProgram([], (h) => [
      h.constant([true, false, true, true, false, true], dt.bool, [2, 3]),
      h.constant(
        [
          [1, -0],
          [NaN, 2],
        ],
        dt.complex64,
      ),
    ]);
    expect([...new Uint8Array(b.buffer)]).toEqual([1, 0, 1, 1, 0, 1]);
    expect([...new Float32Array(c.buffer)]).toEqual([1, -0, NaN, 2]);
  });
});
