/** @file One small program for every operation of the builder. */
import { bool, complex64, float32, int32, int64, uint32, uint64, type DType } from "../../schema/dtype.js";
import { Mesh, Module, type Builder, type ParamSpec, type Value } from "../index.js";

export interface OpCase {
  /** The builder's method. */
  readonly op: string;
  readonly params: readonly ParamSpec[];
  readonly build: (h: Builder, p: Value[], m: Module) => Value | Value[];
  /** Partitions of the program, for those that need more than one device. */
  readonly devices?: number;
  /** What XLA's CPU plugin says instead of compiling the program. */
  readonly cpuRefuses?: RegExp;
  /** What libtpu says instead of compiling the program. */
  readonly tpuRefuses?: RegExp;
}

const t = (dtype: DType, ...shape: number[]): ParamSpec => ({ dtype, shape });
const f = (...shape: number[]): ParamSpec => t(float32, ...shape);
const x23 = f(2, 3);

const one = (op: string, params: ParamSpec[], build: OpCase["build"], rest: Partial<OpCase> = {}): OpCase => ({ op, params, build, ...rest });

type BinaryName = "add" | "subtract" | "multiply" | "divide" | "remainder" | "maximum" | "minimum" | "power" | "atan2" | "chlo_polygamma" | "chlo_zeta" | "chlo_next_after";
type IntBinaryName = "and" | "or" | "xor" | "shift_left" | "shift_right_arithmetic" | "shift_right_logical";
type IntUnaryName = "not" | "popcnt" | "count_leading_zeros";
type UnaryName =
  | "abs" | "negate" | "sign" | "exponential" | "exponential_minus_one" | "log" | "log_plus_one" | "sqrt" | "rsqrt" | "cbrt" | "cosine"
  | "sine" | "tan" | "tanh" | "logistic" | "ceil" | "floor" | "round_nearest_afz" | "round_nearest_even" | "is_finite"
  | "chlo_acos" | "chlo_acosh" | "chlo_asin" | "chlo_asinh" | "chlo_atan" | "chlo_atanh" | "chlo_cosh" | "chlo_sinh" | "chlo_square"
  | "chlo_erf" | "chlo_erfc" | "chlo_erf_inv" | "chlo_lgamma" | "chlo_digamma" | "chlo_bessel_i1e" | "chlo_is_inf" | "chlo_is_neg_inf" | "chlo_is_pos_inf";

const binaryNames: BinaryName[] = [
  "add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "power", "atan2", "chlo_polygamma", "chlo_zeta", "chlo_next_after",
];
const intBinaryNames: IntBinaryName[] = ["and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical"];
const intUnaryNames: IntUnaryName[] = ["not", "popcnt", "count_leading_zeros"];
const unaryNames: UnaryName[] = [
  "abs", "negate", "sign", "exponential", "exponential_minus_one", "log", "log_plus_one", "sqrt", "rsqrt", "cbrt", "cosine", "sine", "tan",
  "tanh", "logistic", "ceil", "floor", "round_nearest_afz", "round_nearest_even", "is_finite", "chlo_acos", "chlo_acosh", "chlo_asin",
  "chlo_asinh", "chlo_atan", "chlo_atanh", "chlo_cosh", "chlo_sinh", "chlo_square", "chlo_erf", "chlo_erfc", "chlo_erf_inv", "chlo_lgamma",
  "chlo_digamma", "chlo_bessel_i1e", "chlo_is_inf", "chlo_is_neg_inf", "chlo_is_pos_inf",
];

const elementwise: OpCase[] = [
  ...binaryNames.map((op) => one(op, [x23, x23], (h, [a, b]) => h[op](a, b))),
  ...intBinaryNames.map((op) => one(op, [t(int32, 2, 3), t(int32, 2, 3)], (h, [a, b]) => h[op](a, b))),
  ...intUnaryNames.map((op) => one(op, [t(uint32, 4)], (h, [a]) => h[op](a))),
  ...unaryNames.map((op) => one(op, [x23], (h, [a]) => h[op](a))),
  one("abs", [t(complex64, 3)], (h, [a]) => h.abs(a)),
  one("real", [t(complex64, 3)], (h, [a]) => h.real(a)),
  one("imag", [t(complex64, 3)], (h, [a]) => h.imag(a)),
  one("complex", [f(3), f(3)], (h, [a, b]) => h.complex(a, b)),
  one("chlo_conj", [t(complex64, 3)], (h, [a]) => h.chlo_conj(a)),
  one("compare", [x23, x23], (h, [a, b]) => (["EQ", "NE", "LT", "LE", "GT", "GE"] as const).map((d) => h.compare(a, b, d))),
  one("compare", [x23, x23], (h, [a, b]) => h.compare(a, b, "LT", "TOTALORDER")),
  one("compare", [t(int32), t(int32)], (h, [a, b]) => h.compare(a, b, "LT", "SIGNED")),
  one("select", [t(bool, 2, 3), x23, x23], (h, [c, a, b]) => h.select(c, a, b)),
  one("select", [t(bool), x23, x23], (h, [c, a, b]) => h.select(c, a, b)),
  one("clamp", [f(), x23, x23], (h, [lo, x, hi]) => h.clamp(lo, x, hi)),
  one("convert", [x23], (h, [x]) => h.convert(x, int32)),
  one("bitcast_convert", [x23], (h, [x]) => h.bitcast_convert(x, int32)),
  one("bitcast_convert", [t(int64, 2)], (h, [x]) => h.bitcast_convert(x, int32)),
  one("bitcast_convert", [t(int32, 2, 2)], (h, [x]) => h.bitcast_convert(x, int64)),
  one("reduce_precision", [x23], (h, [x]) => h.reduce_precision(x, 8, 7)),
];

const creation: OpCase[] = [
  one("constant", [], (h) => [h.constant(1.5, float32), h.constant([1, 2, 3], int32), h.constant([1, -2], complex64), h.constant([true, false], bool)]),
  one("constant", [], (h) => [h.constant(0, float32, [0, 3]), h.constant([], float32, [0])]),
  one("splat", [], (h) => h.splat(-0, float32, [2])),
  one("zerosLike", [t(complex64, 2)], (h, [x]) => h.zerosLike(x)),
  one("onesLike", [t(bool, 2)], (h, [x]) => h.onesLike(x)),
  one("fullLike", [t(int64, 2)], (h, [x]) => h.fullLike(x, -(2n ** 63n))),
  one("iota", [], (h) => [h.iota(float32, [2, 3], 1), h.iota(complex64, [2], 0)]),
];

const movement: OpCase[] = [
  one("broadcast_in_dim", [f(1, 3)], (h, [x]) => h.broadcast_in_dim(x, [3, 5, 2], [2, 0])),
  one("broadcast_in_dim", [f(1, 3)], (h, [x]) => h.broadcast_in_dim(x, [4, 3], [0, 1])),
  one("broadcastTo", [f(3, 1)], (h, [x]) => h.broadcastTo(x, [2, 3, 4])),
  one("broadcastPair", [f(3, 1), f(4)], (h, [a, b]) => h.broadcastPair(a, b)),
  one("reshape", [x23], (h, [x]) => h.reshape(x, [3, 1, 2])),
  one("transpose", [f(2, 3, 4)], (h, [x]) => h.transpose(x, [2, 0, 1])),
  one("reverse", [x23], (h, [x]) => h.reverse(x, [1, 0])),
  one("slice", [f(4, 5)], (h, [x]) => h.slice(x, [1, 0], [3, 5], [1, 2])),
  one("dynamic_slice", [f(4, 5), t(int64), t(int64)], (h, [x, i, j]) => h.dynamic_slice(x, [i, j], [2, 2])),
  one("dynamic_update_slice", [f(4, 5), f(2, 2), t(int32), t(int32)], (h, [x, u, i, j]) => h.dynamic_update_slice(x, u, [i, j])),
  one("pad", [x23, f()], (h, [x, v]) => h.pad(x, v, [1, -1], [0, 2], [1, 0])),
  one("concatenate", [x23, f(2, 1)], (h, xs) => h.concatenate(xs, 1)),
];

const contraction: OpCase[] = [
  one("dot_general", [f(2, 3, 4), f(2, 4, 5)], (h, [a, b]) =>
    h.dot_general(a, b, { lhsBatch: [0], rhsBatch: [0], lhsContract: [2], rhsContract: [1], precision: "HIGHEST" })),
  one("dot_general", [x23, f(3)], (h, [a, b]) => h.dot_general(a, b, { lhsContract: [1], rhsContract: [0] })),
  one("convolution", [f(2, 4, 8, 8), f(6, 2, 3, 3)], (h, [x, w]) =>
    h.convolution(x, w, {
      inputBatch: 0, inputFeature: 1, inputSpatial: [2, 3], kernelOutput: 0, kernelInput: 1, kernelSpatial: [2, 3],
      outputBatch: 0, outputFeature: 1, outputSpatial: [2, 3], strides: [2, 1], padding: [[1, 1], [0, 2]], lhsDilation: [1, 2],
      rhsDilation: [2, 1], windowReversal: [true, false], featureGroupCount: 2, precision: "HIGHEST",
    })),
  one("convolution", [f(4, 3), f(3, 2)], (h, [x, w]) =>
    h.convolution(x, w, {
      inputBatch: 0, inputFeature: 1, inputSpatial: [], kernelInput: 0, kernelOutput: 1, kernelSpatial: [], outputBatch: 0, outputFeature: 1,
      outputSpatial: [], batchGroupCount: 2,
    })),
  one("cholesky", [f(2, 3, 3)], (h, [a]) => h.cholesky(a)),
  one("triangular_solve", [f(2, 3, 3), f(2, 3, 4)], (h, [a, b]) => h.triangular_solve(a, b, { lower: true, transposeA: "ADJOINT" })),
  one("fft", [t(complex64, 4, 8)], (h, [x]) => [h.fft(x, "FFT", [8]), h.fft(x, "IFFT", [4, 8]), h.fft(x, "IRFFT", [14])]),
  one("fft", [f(4, 8)], (h, [x]) => h.fft(x, "RFFT", [8])),
];

const indexing: OpCase[] = [
  one("gather", [f(4, 5), t(int32, 3)], (h, [x, i]) =>
    h.gather(x, i, { offsetDims: [1], collapsedSliceDims: [0], startIndexMap: [0], indexVectorDim: 1, sliceSizes: [1, 5] })),
  one("gather", [f(3, 4, 5), t(int64, 3, 2)], (h, [x, i]) =>
    h.gather(x, i, {
      offsetDims: [2], collapsedSliceDims: [1], operandBatchingDims: [0], startIndicesBatchingDims: [0], startIndexMap: [1],
      indexVectorDim: 2, sliceSizes: [1, 1, 5], indicesAreSorted: true,
    })),
  one("scatter", [f(4, 5), t(int32, 3, 1), f(3, 5)], (h, [x, i, u]) =>
    h.scatter([x], i, [u], { updateWindowDims: [1], insertedWindowDims: [0], scatterDimsToOperandDims: [0], indexVectorDim: 1, uniqueIndices: true },
      ([a], [b]) => [h.add(a, b)])),
  one("scatter", [f(3, 4), t(int32, 4), t(int64, 3, 2), f(3, 2)], (h, [x, , i, u]) =>
    h.scatter([x, x], i, [u, u], {
      updateWindowDims: [], insertedWindowDims: [1], inputBatchingDims: [0], scatterIndicesBatchingDims: [0], scatterDimsToOperandDims: [1],
      indexVectorDim: 2,
    }, ([a, c], [b, d]) => [h.add(a, b), h.maximum(c, d)])),
  one("sort", [x23, t(int32, 2, 3)], (h, xs) => h.sort(xs, 1, true, (a, b) => h.compare(a, b, "LT"))),
  one("chlo_top_k", [f(2, 8)], (h, [x]) => h.chlo_top_k(x, 3)),
];

const noRaggedDot = { cpuRefuses: /`ragged-dot` is not supported/ };

const reduction: OpCase[] = [
  one("reduce", [x23, t(int32, 2, 3), f(), t(int32)], (h, [x, i, a, b]) => h.reduce([x, i], [a, b], [1], ([m, n], [y, z]) => [h.maximum(m, y), h.add(n, z)])),
  one("reduceWith", [x23, f()], (h, [x, z]) => (["add", "multiply", "maximum", "minimum"] as const).map((k) => h.reduceWith(x, z, [0, 1], k))),
  one("reduceWith", [t(bool, 2, 3), t(bool)], (h, [x, z]) => (["and", "or", "xor"] as const).map((k) => h.reduceWith(x, z, [1], k))),
  one("reduce_window", [f(4, 6), f()], (h, [x, z]) =>
    h.reduce_window([x], [z], {
      windowDimensions: [2, 2], windowStrides: [2, 1], padding: [[0, 1], [1, 0]], baseDilations: [1, 2], windowDilations: [2, 1],
    }, ([a], [b]) => [h.add(a, b)])),
  one("select_and_scatter", [f(2, 4, 6, 3), f(2, 2, 3, 3), f()], (h, [x, s, z]) =>
    h.select_and_scatter(x, s, z, { windowDimensions: [1, 2, 2, 1], windowStrides: [1, 2, 2, 1], padding: [[0, 0], [0, 0], [1, -1], [0, 0]] }, (a, b) => h.compare(a, b, "GE"), (a, b) => h.add(a, b))),
  one("map", [x23, x23], (h, xs) => h.map(xs, (a, b) => h.add(a, h.multiply(a, b)))),
  one("chlo_ragged_dot", [f(6, 4), f(3, 4, 5), t(int32, 3)], (h, [a, b, g]) =>
    h.chlo_ragged_dot(a, b, g, { lhsContract: [1], rhsContract: [1], lhsRagged: 0, rhsGroup: [0], precision: "DEFAULT" }), noRaggedDot),
  one("chlo_ragged_dot", [f(6, 4), f(6, 5), t(int32, 3)], (h, [a, b, g]) =>
    h.chlo_ragged_dot(a, b, g, { lhsContract: [0], rhsContract: [0], lhsRagged: 0 }), noRaggedDot),
  one("batch_norm_training", [f(4, 3, 2), f(3), f(3)], (h, [x, s, o]) => h.batch_norm_training(x, s, o, 1e-5, 1)),
  one("batch_norm_inference", [f(4, 3), f(3), f(3), f(3), f(3)], (h, [x, s, o, m, v]) => h.batch_norm_inference(x, s, o, m, v, 0.001, 1)),
  one("batch_norm_grad", [f(4, 3), f(3), f(3), f(3), f(4, 3)], (h, [x, s, m, v, g]) => h.batch_norm_grad(x, s, m, v, g, 1, 1)),
];

const control: OpCase[] = [
  one("while", [t(int32), f()], (h, [n, x]) =>
    h.while([n, x], ([i]) => h.compare(i, h.constant(5, int32), "LT"), ([i, v]) => [h.add(i, h.constant(1, int32)), h.add(v, x)])),
  one("if", [t(bool), x23], (h, [c, x]) => h.if(c, () => [x, h.negate(x)], () => [h.abs(x), x])),
  one("case", [t(int32), x23], (h, [i, x]) => h.case(i, [() => [x], () => [h.negate(x)], () => [h.abs(x)]])),
  one("optimization_barrier", [x23, f()], (h, xs) => h.optimization_barrier(xs)),
  one("rng_bit_generator", [t(uint64, 2)], (h, [s]) => h.rng_bit_generator(s, "THREE_FRY", uint32, [4])),
  one("rng_bit_generator", [t(uint64, 3)], (h, [s]) => h.rng_bit_generator(s, "PHILOX", uint64, [4])),
  one("rng", [f(), f()], (h, [a, b]) => [h.rng(a, b, [3], "UNIFORM"), h.rng(a, b, [3], "NORMAL")]),
  one("tuple", [f(), t(int32, 2)], (h, xs) => h.get_tuple_element(h.tuple(xs), 1)),
  one("get_tuple_element", [f(), t(int32, 2)], (h, xs) => h.get_tuple_element(h.tuple([h.tuple(xs), xs[0]]), 1)),
  one("custom_call", [f(3, 3)], (h, [a]) => h.custom_call("Qr", [a], [f(3, 3), f(3)], { hasSideEffect: false })),
  one("custom_call", [f(3, 3)], (h, [a]) => h.custom_call("Eigh", [a], [f(3, 3), f(3)], { backendConfig: "1,1,100,1e-6" })),
  one("call", [x23], (h, [x], m) => {
    const helper = m.func("a helper", [x23]);
    helper.return([helper.negate(helper.params[0])]);
    return h.call(helper, h.call(helper, [x]));
  }),
  one("composite", [x23], (h, [x], m) => {
    const impl = m.func("impl", [x23]);
    impl.return([impl.abs(impl.params[0])]);
    return h.composite("test.abs", [x], impl, { attributes: { n: 1, name: "x", flag: true, ratio: 1e-7 }, version: 2 });
  }),
];

const mesh = new Mesh("mesh", { x: 2, y: 1 });
const groups = { replicaGroups: [[0, 1]], channel: 1, useGlobalDeviceIds: true };
const pair = { devices: 2 };
const rows = { mesh, dims: [["x"], []] };
/** Collectives run inside a region that is written for one device. */
const manual = (op: string, body: (h: Builder, x: Value) => Value, rest: Partial<OpCase> = {}): OpCase =>
  one(op, [f(4, 4)], (h, xs) => h.manual_computation(xs, { mesh, inShardings: [rows], outShardings: [rows] }, ([x]) => [body(h, x)]), { ...pair, ...rest });

const communication: OpCase[] = [
  manual("all_reduce", (h, x) => h.all_reduce(x, "add", groups)),
  manual("all_reduce", (h, x) => h.all_reduce(x, (a, b) => h.maximum(a, b), groups)),
  manual("reduce_scatter", (h, x) => h.reduce_scatter(x, 1, "add", groups)),
  manual("all_gather", (h, x) => h.all_gather(x, 1, groups)),
  manual("all_to_all", (h, x) => h.all_to_all(x, 1, 0, groups)),
  manual("collective_permute", (h, x) => h.collective_permute(x, { sourceTargetPairs: [[0, 1], [1, 0]], channel: 1 })),
  manual("collective_broadcast", (h, x) => h.collective_broadcast(x, { replicaGroups: [[1, 0]], channel: 1 }), {
    cpuRefuses: /`collective-broadcast` is not supported/,
    tpuRefuses: /collective-broadcast is not implemented on TPU/,
  }),
  manual("partition_id", (h, x) => h.add(x, h.broadcastTo(h.convert(h.partition_id(), float32), x.shape))),
  one("replica_id", [], (h) => h.replica_id()),
  one("sharding_constraint", [f(4, 4)], (h, [x]) => h.sharding_constraint(x, { mesh, dims: [{ axes: ["x"], open: true, priority: 1 }, ["y"]] }), pair),
  one("sharding_group", [f(4), f(4)], (h, [a, b]) => {
    h.sharding_group(a, 1);
    h.sharding_group(b, 1);
    return h.add(a, b);
  }, pair),
  one("propagation_barrier", [f(4)], (h, [x]) => h.propagation_barrier(x, "FORWARD"), pair),
  one("manual_computation", [f(4, 4)], (h, [x]) =>
    h.manual_computation([x], { mesh, manualAxes: ["x"], inShardings: [rows], outShardings: [rows] }, ([a]) => [h.negate(a)]), pair),
  one("create_token", [f()], (h, [x]) => {
    h.create_token();
    return x;
  }),
  one("after_all", [f()], (h, [x]) => {
    h.outfeed([x], h.after_all([h.create_token(), h.create_token()]));
    return x;
  }),
  one("infeed", [], (h) => h.infeed(h.create_token(), [f(2), t(int32)])[0]),
  one("outfeed", [f(2)], (h, [x]) => {
    h.outfeed([x, x], h.create_token());
    return x;
  }),
  one("send", [f(2)], (h, [x]) => {
    h.send([x], h.create_token(), { channel: 1, isHostTransfer: true, handler: "test" });
    return x;
  }, { cpuRefuses: /`send` is not supported/ }),
  one("recv", [], (h) => h.recv(h.create_token(), [f(2)], { channel: 2, isHostTransfer: true, handler: "test" })[0], { cpuRefuses: /`recv` is not supported/ }),
];

const dynamic: OpCase[] = [
  one("get_dimension_size", [x23], (h, [x]) => h.get_dimension_size(x, 1)),
  one("dynamic_reshape", [x23], (h, [x]) => h.dynamic_reshape(x, h.constant([3, 2], int64), [3, 2])),
  one("dynamic_broadcast_in_dim", [f(3)], (h, [x]) => h.dynamic_broadcast_in_dim(x, h.constant([2, 3], int64), [1], [2, 3])),
  one("dynamic_iota", [], (h) => h.dynamic_iota(h.constant([2, 3], int64), 1, int32, [2, 3])),
  one("dynamic_pad", [f(3), f()], (h, [x, v]) => h.dynamic_pad(x, v, h.constant([1], int64), h.constant([0], int64), h.constant([1], int64), [6])),
  one("real_dynamic_slice", [f(5)], (h, [x]) => h.real_dynamic_slice(x, h.constant([1], int64), h.constant([5], int64), h.constant([2], int64), [2])),
  one("dynamic_gather", [f(4), t(int32, 3, 1)], (h, [x, i]) =>
    h.dynamic_gather(x, i, h.constant([2], int32), { offsetDims: [1], collapsedSliceDims: [], startIndexMap: [0], indexVectorDim: 1, sliceSizes: [2] })),
];

export const opCases: readonly OpCase[] = [
  ...elementwise, ...creation, ...movement, ...contraction, ...indexing, ...reduction, ...control, ...communication, ...dynamic,
];

/** The module of a case. */
export function caseModule(c: OpCase): Module {
  const m = new Module(c.op, c.devices ? { numPartitions: c.devices, numReplicas: 1 } : {});
  const h = m.func("main", c.params);
  const out = c.build(h, h.params, m);
  h.return(Array.isArray(out) ? out : [out]);
  return m;
}

/** Methods of the builder that are not operations: its frame, and what TypeScript hides with `protected` and `private`. */
export const notOperations: ReadonlySet<string> = new Set([
  "constructor", "params", "results", "return", "withLocation",
  "emit", "emit1", "block", "unary", "binary", "gatherShape", "combinerRegion", "resultsOf",
  "checkVisible", "checkReturns", "checkSame", "checkSharding", "checkTensor", "checkDType", "checkList", "checkBatchNorm", "checkToken",
  "checkReduced", "checkMatrices", "checkStarts",
]);
