/** @file Calls that StableHLO does not allow, with the exact messages. */
import { expect, test } from "vitest";
import {
  bool,
  complex64,
  float16,
  float32,
  float64,
  float8_e5m2,
  int32,
  int64,
  int8,
  uint32,
  uint64,
  type DType,
} from "../schema/dtype.js";
import { HloError, Module, type Builder, type ParamSpec, type Value } from "./index.js";

const t = (dtype: DType, ...shape: number[]): ParamSpec => ({ dtype, shape });
const f = (...shape: number[]): ParamSpec => t(float32, ...shape);
const conv = {
  inputBatch: 0,
  inputFeature: 1,
  inputSpatial: [2],
  kernelInput: 1,
  kernelOutput: 0,
  kernelSpatial: [2],
  outputBatch: 0,
  outputFeature: 1,
  outputSpatial: [2],
};

type BadCall = [params: ParamSpec[], call: (h: Builder, p: Value[]) => unknown, message: string];

const elementwise: BadCall[] = [
  [[f(2, 3), f(2)], (h, [a, b]) => h.add(a, b), "add(): expected operands of the same type, got f32[2,3] and f32[2]"],
  [
    [f(2), t(int32, 2)],
    (h, [a, b]) => h.multiply(a, b),
    "multiply(): expected operands of the same type, got f32[2] and i32[2]",
  ],
  [
    [t(bool, 2), t(bool, 2)],
    (h, [a, b]) => h.subtract(a, b),
    "subtract(): expected integers, floats or complex numbers, got i1[2]",
  ],
  [
    [t(complex64), t(complex64)],
    (h, [a, b]) => h.remainder(a, b),
    "remainder(): expected integers or floats, got complex<f32>[]",
  ],
  [[f(2), f(2)], (h, [a, b]) => h.and(a, b), "and(): expected integers or booleans, got f32[2]"],
  [[f(2), f(2)], (h, [a, b]) => h.shift_left(a, b), "shift_left(): expected integers, got f32[2]"],
  [[t(int32, 2)], (h, [a]) => h.exponential(a), "exponential(): expected floats or complex numbers, got i32[2]"],
  [[t(complex64, 2)], (h, [a]) => h.floor(a), "floor(): expected floats, got complex<f32>[2]"],
  [[t(uint32, 2)], (h, [a]) => h.abs(a), "abs(): expected signed integers, floats or complex numbers, got ui32[2]"],
  [[f(2)], (h, [a]) => h.popcnt(a), "popcnt(): expected integers, got f32[2]"],
  [[t(int32, 2)], (h, [a]) => h.chlo_erf(a), "chlo_erf(): expected floats, got i32[2]"],
  [[t(float8_e5m2, 2)], (h, [a]) => h.chlo_erfc(a), "chlo_erfc(): expected floats of 16 bits or more, got f8E5M2[2]"],
  [[t(float16, 2), t(float16, 2)], (h, [a, b]) => h.complex(a, b), "complex(): expected f32 or f64, got f16[2]"],
  [[], (h) => h.negate(h.create_token()), "negate(): expected a tensor, got token"],
  [[], (h) => h.negate(h.tuple([h.constant(1, int32)])), "negate(): expected a tensor, got tuple(i32[])"],
  [[f(2)], (h, [a]) => h.add(a, null as unknown as Value), "add(): expected a Value, got null"],
  [
    [f(2), f(3)],
    (h, [a, b]) => h.compare(a, b, "EQ"),
    "compare(): expected operands of the same type, got f32[2] and f32[3]",
  ],
  [[f(2)], (h, [a]) => h.compare(a, a, "XX" as "EQ"), "compare(): expected EQ, NE, LT, LE, GT or GE, got XX"],
  [[t(complex64)], (h, [a]) => h.compare(a, a, "LT"), "compare(): expected EQ or NE for complex numbers, got LT"],
  [[f()], (h, [a]) => h.compare(a, a, "LT", "SIGNED"), "compare(): expected FLOAT or TOTALORDER for f32, got SIGNED"],
  [[t(bool, 3), f(2)], (h, [c, a]) => h.select(c, a, a), "select(): expected a predicate i1[2] or i1[], got i1[3]"],
  [[f(2), f(3)], (h, [lo, x]) => h.clamp(lo, x, lo), "clamp(): expected bounds of type f32[3] or f32[], got f32[2]"],
  [
    [f(3)],
    (h, [x]) => h.bitcast_convert(x, float64),
    "bitcast_convert(): expected a last dimension of size 2 for f64, got f32[3]",
  ],
  [
    [f(2)],
    (h, [x]) => h.bitcast_convert(x, complex64),
    "bitcast_convert(): expected a real type for f32[2], got complex<f32>",
  ],
  [[t(int32)], (h, [x]) => h.reduce_precision(x, 8, 7), "reduce_precision(): expected floats, got i32[]"],
  [
    [f()],
    (h, [x]) => h.reduce_precision(x, 0, 7),
    "reduce_precision(): expected exponentBits >= 1 and mantissaBits >= 0, got [0,7]",
  ],
];

const constants: BadCall[] = [
  [[], (h) => h.constant(1.5, int32), "constant(): expected an integer in the range of i32, got 1.5"],
  [[], (h) => h.constant(128, int8), "constant(): expected an integer in the range of i8, got 128"],
  [[], (h) => h.splat(-1, uint64, [2]), "splat(): expected an integer in the range of ui64, got -1"],
  [
    [],
    (h) => h.constant(2n ** 63n, int64),
    "constant(): expected an integer in the range of i64, got 9223372036854775808",
  ],
  [[], (h) => h.constant(NaN, int32), "constant(): expected an integer in the range of i32, got NaN"],
  [[], (h) => h.constant([1, 2, 300], int8), "constant(): expected an integer in the range of i8, got 300"],
  [[], (h) => h.constant([1, 2, 3], float32, [2, 2]), "constant(): expected 4 elements for f32[2,2], got 3"],
  [
    [],
    (h) => h.constant(Float32Array.of(1, 2, 3), complex64, [3]),
    "constant(): expected 6 elements for complex<f32>[3], got 3",
  ],
  [[], (h) => h.constant([[1, 2]], float32), "constant(): expected a real number for f32, got [1,2]"],
  [[], (h) => h.splat(1, float32, [-1]), "splat(): expected sizes that are non-negative integers, got [-1]"],
  [[], (h) => h.iota(float32, [2], 1), "iota(): expected a dimension in [0,0], got 1"],
  [[], (h) => h.iota(float32, [], 0), "iota(): expected no dimension (the value has rank 0), got 0"],
  [[], (h) => h.iota(bool, [2], 0), "iota(): expected an integer, float or complex type, got i1"],
];

const movement: BadCall[] = [
  [
    [f(2, 3)],
    (h, [x]) => h.broadcast_in_dim(x, [2, 4], [0, 1]),
    "broadcast_in_dim(): expected dimension 1 of f32[2,3] to be 1 or 4, for shape [2,4] and dims [0,1], got 3",
  ],
  [[f(2)], (h, [x]) => h.broadcast_in_dim(x, [2, 2], []), "broadcast_in_dim(): expected 1 dims for f32[2], got []"],
  [
    [f(2, 2)],
    (h, [x]) => h.broadcast_in_dim(x, [2, 2], [1, 1]),
    "broadcast_in_dim(): expected dims that differ, got [1,1]",
  ],
  [[f(2)], (h, [x]) => h.broadcast_in_dim(x, [2], [1]), "broadcast_in_dim(): expected dims in [0,1), got [1]"],
  [
    [f(2, 3)],
    (h, [x]) => h.broadcastTo(x, [3]),
    "broadcastTo(): expected a shape that broadcasts to [3], got f32[2,3]",
  ],
  [
    [f(2), f(3)],
    (h, [a, b]) => h.broadcastPair(a, b),
    "broadcastPair(): expected shapes that broadcast together, got f32[2] and f32[3]",
  ],
  [[f(2, 3)], (h, [x]) => h.reshape(x, [4]), "reshape(): expected a shape with 6 elements for f32[2,3], got [4]"],
  [
    [f(2, 3)],
    (h, [x]) => h.reshape(x, [-1, 6]),
    "reshape(): expected sizes that are non-negative integers, got [-1,6]",
  ],
  [
    [f(2, 3)],
    (h, [x]) => h.transpose(x, [0, 0]),
    "transpose(): expected a permutation of the dimensions of f32[2,3], got [0,0]",
  ],
  [[f(2, 3)], (h, [x]) => h.reverse(x, [2]), "reverse(): expected dims in [0,2), got [2]"],
  [
    [f(4)],
    (h, [x]) => h.slice(x, [3], [2]),
    "slice(): expected 0 <= start <= limit <= 4 in dimension 0 of f32[4], got 3:2",
  ],
  [
    [f(4)],
    (h, [x]) => h.slice(x, [0], [5]),
    "slice(): expected 0 <= start <= limit <= 4 in dimension 0 of f32[4], got 0:5",
  ],
  [[f(4)], (h, [x]) => h.slice(x, [0], [4], [0]), "slice(): expected positive strides, got [0]"],
  [[f(4, 4)], (h, [x]) => h.slice(x, [0], [4, 4]), "slice(): expected 2 starts for f32[4,4], got 1"],
  [
    [f(4), t(int32)],
    (h, [x, i]) => h.dynamic_slice(x, [i], [5]),
    "dynamic_slice(): expected sizes that fit in f32[4], got [5]",
  ],
  [
    [f(4), f()],
    (h, [x, i]) => h.dynamic_slice(x, [i], [1]),
    "dynamic_slice(): expected start indices that are integers of rank 0, got f32[]",
  ],
  [
    [f(4, 4), t(int32), t(int64)],
    (h, [x, i, j]) => h.dynamic_slice(x, [i, j], [1, 1]),
    "dynamic_slice(): expected start indices of one type, got i32[], i64[]",
  ],
  [
    [f(4), f(5), t(int32)],
    (h, [x, u, i]) => h.dynamic_update_slice(x, u, [i]),
    "dynamic_update_slice(): expected an update that fits in f32[4], got f32[5]",
  ],
  [[f(4), t(int32)], (h, [x, v]) => h.pad(x, v, [0], [0], [0]), "pad(): expected a padding value f32[], got i32[]"],
  [
    [f(4), f()],
    (h, [x, v]) => h.pad(x, v, [-3], [-2], [0]),
    "pad(): expected paddings that leave sizes >= 0 of f32[4], got [-1]",
  ],
  [
    [f(4), f()],
    (h, [x, v]) => h.pad(x, v, [0], [0], [-1]),
    "pad(): expected interior paddings that are not negative, got [-1]",
  ],
  [
    [f(2, 3), f(3, 3)],
    (h, xs) => h.concatenate(xs, 1),
    "concatenate(): expected f32[2,3] up to dimension 1, got f32[3,3]",
  ],
  [[], (h) => h.concatenate([], 0), "concatenate(): expected at least one value, got none"],
];

const contraction: BadCall[] = [
  [
    [f(2, 3), f(4, 5)],
    (h, [a, b]) => h.dot_general(a, b, { lhsContract: [1], rhsContract: [0] }),
    "dot_general(): expected equal sizes in dimension 1 of f32[2,3] and dimension 0 of f32[4,5], got 3 and 4",
  ],
  [
    [f(2, 3), t(int32, 3, 2)],
    (h, [a, b]) => h.dot_general(a, b, { lhsContract: [1], rhsContract: [0] }),
    "dot_general(): expected operands of one element type, got f32[2,3] and i32[3,2]",
  ],
  [
    [f(2, 3), f(3, 2)],
    (h, [a, b]) => h.dot_general(a, b, { lhsContract: [1], rhsContract: [] }),
    "dot_general(): expected as many lhsContract as rhsContract dimensions, got [1] and []",
  ],
  [
    [f(2, 3), f(3, 2)],
    (h, [a, b]) => h.dot_general(a, b, { lhsContract: [2], rhsContract: [0] }),
    "dot_general(): expected lhsBatch and lhsContract dimensions in [0,2), got [2]",
  ],
  [
    [f(1, 4, 8), f(2, 3, 3)],
    (h, [x, w]) => h.convolution(x, w, conv),
    "convolution(): expected 4 kernel input features (4 input features in 1 groups), got 3",
  ],
  [
    [f(1, 4, 8), f(3, 2, 3)],
    (h, [x, w]) => h.convolution(x, w, { ...conv, featureGroupCount: 2 }),
    "convolution(): expected kernel output features divisible by featureGroupCount 2, got 3",
  ],
  [
    [f(1, 4, 8), f(2, 4, 3)],
    (h, [x, w]) => h.convolution(x, w, { ...conv, strides: [0] }),
    "convolution(): expected positive strides, got [0]",
  ],
  [
    [f(1, 4, 8), f(2, 4, 3)],
    (h, [x, w]) => h.convolution(x, w, { ...conv, padding: [] }),
    "convolution(): expected 1 pairs of paddings, got 0",
  ],
  [
    [f(1, 4, 8), f(2, 4, 3)],
    (h, [x, w]) => h.convolution(x, w, { ...conv, inputSpatial: [1] }),
    "convolution(): expected input dimensions that are a permutation of 3 dimensions, got [0,1,1]",
  ],
  [[f(2, 3)], (h, [a]) => h.cholesky(a), "cholesky(): expected square matrices, got f32[2,3]"],
  [[t(int32, 2, 2)], (h, [a]) => h.cholesky(a), "cholesky(): expected f32, f64 or complex matrices, got i32[2,2]"],
  [
    [f(3, 3), f(4, 2)],
    (h, [a, b]) => h.triangular_solve(a, b, { lower: true }),
    "triangular_solve(): expected right-hand sides with 3 rows for f32[3,3], got f32[4,2]",
  ],
  [[f(4)], (h, [x]) => h.fft(x, "FFT", [4]), "fft(): expected complex numbers, got f32[4]"],
  [
    [f(4)],
    (h, [x]) => h.fft(x, "RFFT", [8]),
    "fft(): expected last dimensions [8] for RFFT of lengths [8], got f32[4]",
  ],
  [
    [t(complex64, 4)],
    (h, [x]) => h.fft(x, "IRFFT", [8]),
    "fft(): expected last dimensions [5] for IRFFT of lengths [8], got complex<f32>[4]",
  ],
];

for (const [group, calls] of Object.entries({ elementwise, constants, movement, contraction })) {
  test.each(calls)(`${group}: %#`, (params, call, message) => {
    const h = new Module().func("main", params);
    expect(() => call(h, h.params)).toThrowError(new HloError(message));
  });
}
