/** @file Values: what programs compute, for operations whose text alone does not show that they are right. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bool, float32, int32 } from "../schema/dtype.js";
import { Module, type Builder, type Value } from "./index.js";
import { noPlugin, runProgram, type HostTensor } from "./testing/plugin.js";

const f = (shape: number[], data: number[]): HostTensor => ({ dtype: float32, shape, data: Float32Array.from(data) });
const i = (shape: number[], data: number[]): HostTensor => ({ dtype: int32, shape, data: Int32Array.from(data) });
const floats = (v: DataView): number[] => [...new Float32Array(v.buffer)];
const ints = (v: DataView): number[] => [...new Int32Array(v.buffer)];
const range = (n: number): number[] => Array.from({ length: n }, (_, k) => k);

describe.skipIf(noPlugin)("execute", () => {
  test("arithmetic, comparison, selection", () => {
    const out = runProgram([f([4], [1, -2, 3, 0]), f([4], [2, 2, -4, 0])], (h, [a, b]) => [
      h.add(a, b),
      h.subtract(a, b),
      h.multiply(a, b),
      h.divide(a, b),
      h.maximum(a, b),
      h.select(h.compare(a, b, "LT"), a, b),
      h.clamp(h.constant(-1, float32), a, h.constant(2, float32)),
    ]);
    expect(out.map(floats)).toEqual([
      [3, 0, -1, 0],
      [-1, -4, 7, 0],
      [2, -4, -12, 0],
      [0.5, -1, -0.75, NaN],
      [2, 2, 3, 0],
      [1, -2, -4, 0],
      [1, -1, 2, 0],
    ]);
  });

  test("dot_general with batch", () => {
    const [out] = runProgram([f([2, 2, 3], range(12)), f([2, 3, 1], [1, 0, 0, 0, 1, 2])], (h, [a, b]) => [
      h.dot_general(a, b, { lhsBatch: [0], rhsBatch: [0], lhsContract: [2], rhsContract: [1] }),
    ]);
    expect(floats(out)).toEqual([0, 3, 7 + 16, 10 + 22]);
  });

  test("convolution with stride, padding and groups", () => {
    const [out] = runProgram([f([1, 2, 4], range(8)), f([2, 1, 3], [1, 1, 1, 1, 0, -1])], (h, [x, w]) => [
      h.convolution(x, w, {
        inputBatch: 0,
        inputFeature: 1,
        inputSpatial: [2],
        kernelOutput: 0,
        kernelInput: 1,
        kernelSpatial: [2],
        outputBatch: 0,
        outputFeature: 1,
        outputSpatial: [2],
        strides: [2],
        padding: [[1, 1]],
        featureGroupCount: 2,
      }),
    ]);
    expect(floats(out)).toEqual([1, 6, -5, -2]);
  });

  test("gather takes rows and clamps indices", () => {
    const [out] = runProgram([f([3, 2], range(6)), i([3], [2, 0, 9])], (h, [x, at]) => [
      h.gather(x, at, {
        offsetDims: [1],
        collapsedSliceDims: [0],
        startIndexMap: [0],
        indexVectorDim: 1,
        sliceSizes: [1, 2],
      }),
    ]);
    expect(floats(out)).toEqual([4, 5, 0, 1, 4, 5]);
  });

  test("scatter adds rows and drops what does not fit", () => {
    const [out] = runProgram(
      [f([3, 2], range(6)), i([3], [2, 2, 9]), f([3, 2], [1, 1, 10, 10, 100, 100])],
      (h, [x, at, u]) =>
        h.scatter(
          [x],
          at,
          [u],
          { updateWindowDims: [1], insertedWindowDims: [0], scatterDimsToOperandDims: [0], indexVectorDim: 1 },
          ([a], [b]) => [h.add(a, b)],
        ),
    );
    expect(floats(out)).toEqual([0, 1, 2, 3, 15, 16]);
  });

  test("sort carries a second array", () => {
    const [values, order] = runProgram([f([5], [3, 1, 2, 1, 0])], (h, [x]) =>
      h.sort([x, h.iota(int32, [5], 0)], 0, true, (a, b) => h.compare(a, b, "LT")),
    );
    expect(floats(values)).toEqual([0, 1, 1, 2, 3]);
    expect(ints(order)).toEqual([4, 1, 3, 2, 0]);
  });

  test("while, if and case read values from outside", () => {
    const out = runProgram([i([], [5]), i([], [3])], (h, [n, step]) => {
      const zero = h.constant(0, int32);
      const [, sum] = h.while(
        [zero, zero],
        ([k]) => h.compare(k, n, "LT"),
        ([k, s]) => [h.add(k, h.constant(1, int32)), h.add(s, step)],
      );
      const [bigger] = h.if(
        h.compare(sum, n, "GT"),
        () => [h.multiply(sum, step)],
        () => [zero],
      );
      const [picked] = h.case(step, [() => [n], () => [step], () => [h.negate(sum)]]);
      return [sum, bigger, picked];
    });
    expect(out.map((o) => ints(o)[0])).toEqual([15, 45, -15]);
  });

  test("reduce with two values: argmax", () => {
    const [max, at] = runProgram([f([2, 3], [1, 5, 2, 7, 0, 7])], (h, [x]) =>
      h.reduce(
        [x, h.iota(int32, [2, 3], 1)],
        [h.constant(-Infinity, float32), h.constant(0, int32)],
        [1],
        ([m, k], [y, j]) => {
          const take = h.or(h.compare(y, m, "GT"), h.and(h.compare(y, m, "EQ"), h.compare(j, k, "LT")));
          return [h.select(take, y, m), h.select(take, j, k)];
        },
      ),
    );
    expect(floats(max)).toEqual([5, 7]);
    expect(ints(at)).toEqual([1, 0]);
  });

  test("pad, slice, reverse, transpose, concatenate", () => {
    const out = runProgram([f([2, 2], [1, 2, 3, 4])], (h, [x]) => [
      h.pad(x, h.constant(9, float32), [0, 1], [0, -1], [1, 0]),
      h.slice(x, [0, 1], [2, 2]),
      h.reverse(x, [1]),
      h.transpose(x, [1, 0]),
      h.concatenate([x, x], 1),
    ]);
    expect(out.map(floats)).toEqual([
      [9, 1, 9, 9, 9, 3],
      [2, 4],
      [2, 1, 4, 3],
      [1, 3, 2, 4],
      [1, 2, 1, 2, 3, 4, 3, 4],
    ]);
  });

  test("a donated parameter and a called function", () => {
    const m = new Module();
    const twice = m.func("twice", [{ dtype: float32, shape: [2] }]);
    twice.return([twice.add(twice.params[0], twice.params[0])]);
    const h = m.func("main", [{ dtype: float32, shape: [2], aliasOutput: 0 }]);
    h.return(h.call(twice, h.params));
    expect(m.toString()).toContain("tf.aliasing_output = 0 : i32");
  });
});

/** Broadcasting by the definition: the value at an index of the result, from the end of the shapes. */
function broadcastValues(data: readonly number[], from: readonly number[], to: readonly number[]): number[] {
  const size = to.reduce((n, d) => n * d, 1);
  return range(size).map((flat) => {
    let at = 0;
    let stride = 1;
    let rest = flat;
    for (let k = 1; k <= to.length; k++) {
      const index = rest % to[to.length - k];
      rest = Math.floor(rest / to[to.length - k]);
      const n = from[from.length - k] ?? 1;
      if (n !== 1) at += index * stride;
      stride *= n;
    }
    return data[at];
  });
}

const broadcastable = fc
  .array(fc.record({ size: fc.integer({ min: 1, max: 4 }), one: fc.boolean() }), { maxLength: 4 })
  .chain((dims) => fc.record({ dims: fc.constant(dims), drop: fc.nat(dims.length) }))
  .map(({ dims, drop }) => ({ to: dims.map((d) => d.size), from: dims.map((d) => (d.one ? 1 : d.size)).slice(drop) }));

test("broadcastTo gives the shape asked for, or refuses", () => {
  const shape = fc.array(fc.nat(3), { maxLength: 4 });
  const make = (h: Builder, s: number[]): Value => h.splat(0, bool, s);
  fc.assert(
    fc.property(shape, shape, (from, to) => {
      const h = new Module().func("main", []);
      const legal = from.length <= to.length && from.every((n, k) => n === 1 || n === to[to.length - from.length + k]);
      if (legal) expect(h.broadcastTo(make(h, from), to).shape).toEqual(to);
      else
        expect(() => h.broadcastTo(make(h, from), to)).toThrowError(
          /^broadcastTo\(\): expected a shape that broadcasts to/,
        );
    }),
  );
});

test.skipIf(noPlugin)("broadcastTo repeats as the definition says", () => {
  fc.assert(
    fc.property(broadcastable, ({ from, to }) => {
      const data = range(from.reduce((n, d) => n * d, 1));
      const [out] = runProgram([f(from, data)], (h, [x]) => [h.broadcastTo(x, to)]);
      expect(floats(out)).toEqual(broadcastValues(data, from, to));
    }),
    { numRuns: 15 },
  );
});
