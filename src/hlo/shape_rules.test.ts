/** @file Calls that StableHLO does not allow, with the exact messages. */
import { expect, test } from "vitest";
import { bool, complex64, float16, float32, float64, float8_e5m2, int32, int64, int8, uint32, uint64, type DType } from "../schema/dtype.js";
import { HloError, Mesh, Module, type Builder, type GatherOptions, type ParamSpec, type Value } from "./index.js";

const t = (dtype: DType, ...shape: number[]): ParamSpec => ({ dtype, shape });
const f = (...shape: number[]): ParamSpec => t(float32, ...shape);
const mesh = new Mesh("mesh", { x: 2, y: 4 });
const rows: GatherOptions = { offsetDims: [1], collapsedSliceDims: [0], startIndexMap: [0], indexVectorDim: 1, sliceSizes: [1, 5] };
const conv = {
  inputBatch: 0, inputFeature: 1, inputSpatial: [2], kernelInput: 1, kernelOutput: 0, kernelSpatial: [2], outputBatch: 0, outputFeature: 1, outputSpatial: [2],
};
const scatterRows = { updateWindowDims: [1], insertedWindowDims: [0], scatterDimsToOperandDims: [0], indexVectorDim: 1 };

type BadCall = [params: ParamSpec[], call: (h: Builder, p: Value[]) => unknown, message: string];

const elementwise: BadCall[] = [
  [[f(2, 3), f(2)], (h, [a, b]) => h.add(a, b), "add(): expected operands of the same type, got f32[2,3] and f32[2]"],
  [[f(2), t(int32, 2)], (h, [a, b]) => h.multiply(a, b), "multiply(): expected operands of the same type, got f32[2] and i32[2]"],
  [[t(bool, 2), t(bool, 2)], (h, [a, b]) => h.subtract(a, b), "subtract(): expected integers, floats or complex numbers, got i1[2]"],
  [[t(complex64), t(complex64)], (h, [a, b]) => h.remainder(a, b), "remainder(): expected integers or floats, got complex<f32>[]"],
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
  [[f(2), f(3)], (h, [a, b]) => h.compare(a, b, "EQ"), "compare(): expected operands of the same type, got f32[2] and f32[3]"],
  [[f(2)], (h, [a]) => h.compare(a, a, "XX" as "EQ"), "compare(): expected EQ, NE, LT, LE, GT or GE, got XX"],
  [[t(complex64)], (h, [a]) => h.compare(a, a, "LT"), "compare(): expected EQ or NE for complex numbers, got LT"],
  [[f()], (h, [a]) => h.compare(a, a, "LT", "SIGNED"), "compare(): expected FLOAT or TOTALORDER for f32, got SIGNED"],
  [[t(bool, 3), f(2)], (h, [c, a]) => h.select(c, a, a), "select(): expected a predicate i1[2] or i1[], got i1[3]"],
  [[f(2), f(3)], (h, [lo, x]) => h.clamp(lo, x, lo), "clamp(): expected bounds of type f32[3] or f32[], got f32[2]"],
  [[f(3)], (h, [x]) => h.bitcast_convert(x, float64), "bitcast_convert(): expected a last dimension of size 2 for f64, got f32[3]"],
  [[f(2)], (h, [x]) => h.bitcast_convert(x, complex64), "bitcast_convert(): expected a real type for f32[2], got complex<f32>"],
  [[t(int32)], (h, [x]) => h.reduce_precision(x, 8, 7), "reduce_precision(): expected floats, got i32[]"],
  [[f()], (h, [x]) => h.reduce_precision(x, 0, 7), "reduce_precision(): expected exponentBits >= 1 and mantissaBits >= 0, got [0,7]"],
];

const constants: BadCall[] = [
  [[], (h) => h.constant(1.5, int32), "constant(): expected an integer in the range of i32, got 1.5"],
  [[], (h) => h.constant(128, int8), "constant(): expected an integer in the range of i8, got 128"],
  [[], (h) => h.splat(-1, uint64, [2]), "splat(): expected an integer in the range of ui64, got -1"],
  [[], (h) => h.constant(2n ** 63n, int64), "constant(): expected an integer in the range of i64, got 9223372036854775808"],
  [[], (h) => h.constant(NaN, int32), "constant(): expected an integer in the range of i32, got NaN"],
  [[], (h) => h.constant([1, 2, 300], int8), "constant(): expected an integer in the range of i8, got 300"],
  [[], (h) => h.constant([1, 2, 3], float32, [2, 2]), "constant(): expected 4 elements for f32[2,2], got 3"],
  [[], (h) => h.constant(Float32Array.of(1, 2, 3), complex64, [3]), "constant(): expected 6 elements for complex<f32>[3], got 3"],
  [[], (h) => h.constant([[1, 2]], float32), "constant(): expected a real number for f32, got [1,2]"],
  [[], (h) => h.splat(1, float32, [-1]), "splat(): expected sizes that are non-negative integers, got [-1]"],
  [[], (h) => h.iota(float32, [2], 1), "iota(): expected a dimension in [0,0], got 1"],
  [[], (h) => h.iota(float32, [], 0), "iota(): expected no dimension (the value has rank 0), got 0"],
  [[], (h) => h.iota(bool, [2], 0), "iota(): expected an integer, float or complex type, got i1"],
];

const movement: BadCall[] = [
  [[f(2, 3)], (h, [x]) => h.broadcast_in_dim(x, [2, 4], [0, 1]), "broadcast_in_dim(): expected dimension 1 of f32[2,3] to be 1 or 4, for shape [2,4] and dims [0,1], got 3"],
  [[f(2)], (h, [x]) => h.broadcast_in_dim(x, [2, 2], []), "broadcast_in_dim(): expected 1 dims for f32[2], got []"],
  [[f(2, 2)], (h, [x]) => h.broadcast_in_dim(x, [2, 2], [1, 1]), "broadcast_in_dim(): expected dims that differ, got [1,1]"],
  [[f(2)], (h, [x]) => h.broadcast_in_dim(x, [2], [1]), "broadcast_in_dim(): expected dims in [0,1), got [1]"],
  [[f(2, 3)], (h, [x]) => h.broadcastTo(x, [3]), "broadcastTo(): expected a shape that broadcasts to [3], got f32[2,3]"],
  [[f(2), f(3)], (h, [a, b]) => h.broadcastPair(a, b), "broadcastPair(): expected shapes that broadcast together, got f32[2] and f32[3]"],
  [[f(2, 3)], (h, [x]) => h.reshape(x, [4]), "reshape(): expected a shape with 6 elements for f32[2,3], got [4]"],
  [[f(2, 3)], (h, [x]) => h.reshape(x, [-1, 6]), "reshape(): expected sizes that are non-negative integers, got [-1,6]"],
  [[f(2, 3)], (h, [x]) => h.transpose(x, [0, 0]), "transpose(): expected a permutation of the dimensions of f32[2,3], got [0,0]"],
  [[f(2, 3)], (h, [x]) => h.reverse(x, [2]), "reverse(): expected dims in [0,2), got [2]"],
  [[f(4)], (h, [x]) => h.slice(x, [3], [2]), "slice(): expected 0 <= start <= limit <= 4 in dimension 0 of f32[4], got 3:2"],
  [[f(4)], (h, [x]) => h.slice(x, [0], [5]), "slice(): expected 0 <= start <= limit <= 4 in dimension 0 of f32[4], got 0:5"],
  [[f(4)], (h, [x]) => h.slice(x, [0], [4], [0]), "slice(): expected positive strides, got [0]"],
  [[f(4, 4)], (h, [x]) => h.slice(x, [0], [4, 4]), "slice(): expected 2 starts for f32[4,4], got 1"],
  [[f(4), t(int32)], (h, [x, i]) => h.dynamic_slice(x, [i], [5]), "dynamic_slice(): expected sizes that fit in f32[4], got [5]"],
  [[f(4), f()], (h, [x, i]) => h.dynamic_slice(x, [i], [1]), "dynamic_slice(): expected start indices that are integers of rank 0, got f32[]"],
  [[f(4, 4), t(int32), t(int64)], (h, [x, i, j]) => h.dynamic_slice(x, [i, j], [1, 1]), "dynamic_slice(): expected start indices of one type, got i32[], i64[]"],
  [[f(4), f(5), t(int32)], (h, [x, u, i]) => h.dynamic_update_slice(x, u, [i]), "dynamic_update_slice(): expected an update that fits in f32[4], got f32[5]"],
  [[f(4), t(int32)], (h, [x, v]) => h.pad(x, v, [0], [0], [0]), "pad(): expected a padding value f32[], got i32[]"],
  [[f(4), f()], (h, [x, v]) => h.pad(x, v, [-3], [-2], [0]), "pad(): expected paddings that leave sizes >= 0 of f32[4], got [-1]"],
  [[f(4), f()], (h, [x, v]) => h.pad(x, v, [0], [0], [-1]), "pad(): expected interior paddings that are not negative, got [-1]"],
  [[f(2, 3), f(3, 3)], (h, xs) => h.concatenate(xs, 1), "concatenate(): expected f32[2,3] up to dimension 1, got f32[3,3]"],
  [[], (h) => h.concatenate([], 0), "concatenate(): expected at least one value, got none"],
];

const contraction: BadCall[] = [
  [[f(2, 3), f(4, 5)], (h, [a, b]) => h.dot_general(a, b, { lhsContract: [1], rhsContract: [0] }),
    "dot_general(): expected equal sizes in dimension 1 of f32[2,3] and dimension 0 of f32[4,5], got 3 and 4"],
  [[f(2, 3), t(int32, 3, 2)], (h, [a, b]) => h.dot_general(a, b, { lhsContract: [1], rhsContract: [0] }),
    "dot_general(): expected operands of one element type, got f32[2,3] and i32[3,2]"],
  [[f(2, 3), f(3, 2)], (h, [a, b]) => h.dot_general(a, b, { lhsContract: [1], rhsContract: [] }),
    "dot_general(): expected as many lhsContract as rhsContract dimensions, got [1] and []"],
  [[f(2, 3), f(3, 2)], (h, [a, b]) => h.dot_general(a, b, { lhsContract: [2], rhsContract: [0] }),
    "dot_general(): expected lhsBatch and lhsContract dimensions in [0,2), got [2]"],
  [[f(1, 4, 8), f(2, 3, 3)], (h, [x, w]) => h.convolution(x, w, conv),
    "convolution(): expected 4 kernel input features (4 input features in 1 groups), got 3"],
  [[f(1, 4, 8), f(3, 2, 3)], (h, [x, w]) => h.convolution(x, w, { ...conv, featureGroupCount: 2 }),
    "convolution(): expected kernel output features divisible by featureGroupCount 2, got 3"],
  [[f(1, 4, 8), f(2, 4, 3)], (h, [x, w]) => h.convolution(x, w, { ...conv, strides: [0] }), "convolution(): expected positive strides, got [0]"],
  [[f(1, 4, 8), f(2, 4, 3)], (h, [x, w]) => h.convolution(x, w, { ...conv, padding: [] }), "convolution(): expected 1 pairs of paddings, got 0"],
  [[f(1, 4, 8), f(2, 4, 3)], (h, [x, w]) => h.convolution(x, w, { ...conv, inputSpatial: [1] }),
    "convolution(): expected input dimensions that are a permutation of 3 dimensions, got [0,1,1]"],
  [[f(2, 3)], (h, [a]) => h.cholesky(a), "cholesky(): expected square matrices, got f32[2,3]"],
  [[t(int32, 2, 2)], (h, [a]) => h.cholesky(a), "cholesky(): expected f32, f64 or complex matrices, got i32[2,2]"],
  [[f(3, 3), f(4, 2)], (h, [a, b]) => h.triangular_solve(a, b, { lower: true }), "triangular_solve(): expected right-hand sides with 3 rows for f32[3,3], got f32[4,2]"],
  [[f(4)], (h, [x]) => h.fft(x, "FFT", [4]), "fft(): expected complex numbers, got f32[4]"],
  [[f(4)], (h, [x]) => h.fft(x, "RFFT", [8]), "fft(): expected last dimensions [8] for RFFT of lengths [8], got f32[4]"],
  [[t(complex64, 4)], (h, [x]) => h.fft(x, "IRFFT", [8]), "fft(): expected last dimensions [5] for IRFFT of lengths [8], got complex<f32>[4]"],
];

const indexing: BadCall[] = [
  [[f(4, 5), f(3)], (h, [x, i]) => h.gather(x, i, rows), "gather(): expected integer indices, got f32[3]"],
  [[f(4, 5), t(int32, 3)], (h, [x, i]) => h.gather(x, i, { ...rows, indexVectorDim: 2 }), "gather(): expected indexVectorDim in [0,1], got 2"],
  [[f(4, 5), t(int32, 3, 2)], (h, [x, i]) => h.gather(x, i, rows), "gather(): expected startIndexMap with 2 dimensions for indices i32[3,2], got [0]"],
  [[f(4, 5), t(int32, 3)], (h, [x, i]) => h.gather(x, i, { ...rows, sliceSizes: [1, 6] }), "gather(): expected a slice size in [0,5] for dimension 1 of f32[4,5], got 6"],
  [[f(4, 5), t(int32, 3)], (h, [x, i]) => h.gather(x, i, { ...rows, sliceSizes: [2, 5] }), "gather(): expected a slice size in [0,1] for dimension 0 of f32[4,5], got 2"],
  [[f(4, 5), t(int32, 3)], (h, [x, i]) => h.gather(x, i, { ...rows, offsetDims: [0, 1] }), "gather(): expected 1 offsetDims, got [0,1]"],
  [[f(4, 5), t(int32, 3), f(3, 6)], (h, [x, i, u]) => h.scatter([x], i, [u], scatterRows, ([a]) => [a]),
    "scatter(): expected updates of shape [3,5] (windows may be smaller), got f32[3,6]"],
  [[f(4, 5), t(int32, 3), t(int32, 3, 5)], (h, [x, i, u]) => h.scatter([x], i, [u], scatterRows, ([a]) => [a]), "scatter(): expected updates of type f32, got i32[3,5]"],
  [[f(4, 5), t(int32, 3), f(3, 5)], (h, [x, i, u]) => h.scatter([x], i, [u], scatterRows, ([a, b]) => [h.compare(a, b ?? a, "LT")]),
    "scatter(): expected the body to return (f32[]), got (i1[])"],
  [[f(4, 5)], (h, [x]) => h.sort([x], 2, true, (a, b) => h.compare(a, b, "LT")), "sort(): expected a dimension in [0,1], got 2"],
  [[f(4)], (h, [x]) => h.sort([x], 0, true, (a) => a), "sort(): expected the comparator to return (i1[]), got (f32[])"],
  [[f(4), f(5)], (h, xs) => h.sort(xs, 0, true, (a, b) => h.compare(a, b, "LT")), "sort(): expected inputs of shape [4], got f32[5]"],
  [[f(4)], (h, [x]) => h.chlo_top_k(x, 5), "chlo_top_k(): expected k in [0,4] for f32[4], got 5"],
];

const reduction: BadCall[] = [
  [[f(2, 3), t(int32)], (h, [x, z]) => h.reduceWith(x, z, [0], "add"), "reduceWith(): expected an initial value f32[], got i32[]"],
  [[f(2, 3), f()], (h, [x, z]) => h.reduceWith(x, z, [2], "add"), "reduceWith(): expected dims in [0,2), got [2]"],
  [[f(2, 3), f()], (h, [x, z]) => h.reduceWith(x, z, [0, 0], "add"), "reduceWith(): expected dims that differ, got [0,0]"],
  [[f(2, 3), f()], (h, [x, z]) => h.reduceWith(x, z, [0], "and"), "reduceWith(): expected integers or booleans for and, got f32[2,3]"],
  [[f(2, 3), f()], (h, [x, z]) => h.reduce([x], [z], [0], () => []), "reduce(): expected the body to return (f32[]), got ()"],
  [[f(2, 3), f()], (h, [x, z]) => h.reduce([x], [z, z], [0], ([a]) => [a]), "reduce(): expected as many initial values as inputs, at least one, got 1 inputs and 2 initial values"],
  [[f(2), f()], (h, [x, z]) => h.reduce([x], [z], [0], ([a]) => [h.add(a, z)]),
    "add(): expected a value of the body, whose operation does not let it read others, got f32[] from outside"],
  [[f(4), f()], (h, [x, z]) => h.reduce_window([x], [z], { windowDimensions: [2, 2] }, ([a]) => [a]), "reduce_window(): expected 1 windowDimensions for f32[4], got 2"],
  [[f(4), f(3), f()], (h, [x, s, z]) => h.select_and_scatter(x, s, z, { windowDimensions: [2], windowStrides: [2] }, (a, b) => h.compare(a, b, "GE"), h.add.bind(h)),
    "select_and_scatter(): expected a source f32[2], got f32[3]"],
  [[f(2)], (h, [x]) => h.map([x], (a) => h.broadcastTo(a, [2])), "map(): expected the body to return a value of rank 0, got f32[2]"],
  [[f(4, 3), f(4), f(3)], (h, [x, s, o]) => h.batch_norm_training(x, s, o, 1e-5, 1), "batch_norm_training(): expected values for each feature, f32[3], got f32[4]"],
  [[f(6, 4), f(2, 4, 5), t(int32, 3)], (h, [a, b, g]) => h.chlo_ragged_dot(a, b, g, { lhsContract: [1], rhsContract: [1], lhsRagged: 0, rhsGroup: [0] }),
    "chlo_ragged_dot(): expected 3 groups in dimension 0 of rhs, got f32[2,4,5]"],
];

const control: BadCall[] = [
  [[f()], (h, [x]) => h.while([x], ([a]) => a, (v) => v), "while(): expected cond to return (i1[]), got (f32[])"],
  [[f(), t(bool)], (h, [x, c]) => h.while([x], () => c, () => []), "while(): expected body to return (f32[]), got ()"],
  [[f()], (h, [x]) => h.if(x, () => [x], () => [x]), "if(): expected a predicate i1[], got f32[]"],
  [[t(bool), f()], (h, [c, x]) => h.if(c, () => [x], () => [c]), "if(): expected elseFn to return (f32[]), got (i1[])"],
  [[t(bool), f()], (h, [c, x]) => h.if(c, () => x as unknown as Value[], () => [x]), "if(): expected thenFn to return a list of values, got an object (Value)"],
  [[t(int64)], (h, [i]) => h.case(i, [() => []]), "case(): expected an index i32[], got i64[]"],
  [[t(int32), f()], (h, [i, x]) => h.case(i, [() => [x], () => []]), "case(): expected branch 1 to return (f32[]), got ()"],
  [[t(uint64, 3)], (h, [s]) => h.rng_bit_generator(s, "THREE_FRY", uint32, [4]), "rng_bit_generator(): expected a state ui64 or ui32 of 2 64-bit words for THREE_FRY, got ui64[3]"],
  [[f()], (h, [x]) => h.get_tuple_element(h.tuple([x]), 1), "get_tuple_element(): expected an index in [0,1), got 1"],
  [[f()], (h, [x]) => h.get_tuple_element(x, 0), "get_tuple_element(): expected a tuple, got f32[]"],
  [[f()], (h, [x]) => h.custom_call("f", [x], [], { backendConfig: { n: 1 }, apiVersion: 2 }), "custom_call(): expected apiVersion 4 for a backendConfig of attributes, got 2"],
  [[f()], (h) => h.call(h, []), "call(): expected a function that has returned, got main"],
];

const communication: BadCall[] = [
  [[f(4)], (h, [x]) => h.all_reduce(x, "add", { replicaGroups: [] }), "all_reduce(): expected at least one group of devices, got none"],
  [[f(4)], (h, [x]) => h.all_reduce(x, "add", { replicaGroups: [[0, 1], [2]] }), "all_reduce(): expected groups of 2 devices, got [2]"],
  [[f(4)], (h, [x]) => h.all_gather(x, 0, { replicaGroups: [[0, 0]] }), "all_gather(): expected each device in one group, got [0,0]"],
  [[f(4)], (h, [x]) => h.all_gather(x, 0, { replicaGroups: [[0, 1]], useGlobalDeviceIds: true }), "all_gather(): expected a channel with useGlobalDeviceIds, got none"],
  [[f(3)], (h, [x]) => h.reduce_scatter(x, 0, "add", { replicaGroups: [[0, 1]] }), "reduce_scatter(): expected a size divisible by 2 in dimension 0, got f32[3]"],
  [[f(4)], (h, [x]) => h.collective_permute(x, { sourceTargetPairs: [[0, 1], [1, 1]] }), "collective_permute(): expected each device at most once as target, got [1,1]"],
  [[f(4)], (h, [x]) => h.outfeed([x], x), "outfeed(): expected a token, got f32[4]"],
  [[f(4, 4)], (h, [x]) => h.sharding_constraint(x, { mesh, dims: [["x"]] }), "sharding_constraint(): expected a sharding with 2 dimensions for f32[4,4], got 1"],
  [[f(4)], (h, [x]) => h.sharding_constraint(x, { mesh, dims: [["z"]] }), "mesh(): expected an axis of mesh mesh (x, y), got z"],
  [[f(4)], (h, [x]) => h.sharding_constraint(x, { mesh, dims: [["x", "x"]] }), 'sharding_constraint(): expected each axis at most once, got "x"'],
  [[f(3)], (h, xs) => h.manual_computation(xs, { mesh, inShardings: [{ mesh, dims: [["x"]] }], outShardings: [] }, () => []),
    "manual_computation(): expected a size divisible by 2 in dimension 0, got f32[3]"],
  [[f(2), f()], (h, [x, z]) => h.dynamic_reshape(x, z, [2]), "dynamic_reshape(): expected an output shape of 1 integers, got f32[]"],
  [[f(2)], (h, [x]) => h.get_dimension_size(x, 1), "get_dimension_size(): expected a dimension in [0,0], got 1"],
];

const all = { elementwise, constants, movement, contraction, indexing, reduction, control, communication };
for (const [group, calls] of Object.entries(all)) {
  test.each(calls)(`${group}: %#`, (params, call, message) => {
    const h = new Module().func("main", params);
    expect(() => call(h, h.params)).toThrowError(new HloError(message));
  });
}

test("values are visible in their function and region only", () => {
  const m = new Module();
  const h = m.func("main", [f(), t(bool)]);
  const [x, c] = h.params;
  let inner!: Value;
  h.if(c, () => [(inner = h.negate(x))], () => [x]);
  expect(() => h.add(x, inner)).toThrowError("add(): expected a value that is visible here, got f32[] of a region that has ended");
  const other = m.func("other", [f()]);
  expect(() => other.add(x, other.params[0])).toThrowError("add(): expected a value of function other, got f32[] of another function");
});

test("functions of other modules cannot be called", () => {
  const elsewhere = new Module("there").func("main", []);
  elsewhere.return([]);
  expect(() => new Module("here").func("main", []).call(elsewhere, [])).toThrowError("call(): expected a function of module here, got main of module there");
});

test("a function returns once, at its end, what its parameters are donated to", () => {
  const h = new Module().func("main", [{ ...f(2), aliasOutput: 0 }]);
  const [x] = h.params;
  expect(() => h.return([])).toThrowError("return(): expected aliasOutput of parameter 0 in [0,0), got 0");
  expect(() => h.return([h.slice(x, [0], [1])])).toThrowError("return(): expected result 0 of the type of parameter 0, f32[2], got f32[1]");
  h.return([x]);
  expect(() => h.return([x])).toThrowError("return(): expected one return(), got a second one");
  expect(() => h.negate(x)).toThrowError("negate(): expected no operation after return(), got negate");
});
