/** @file Cases of the operations without regions: elementwise, constants, movement, contractions. */
import { bool, complex64, float32, int32, int64, uint32 } from "../../schema/dtype.js";
import { f, one, t, x23, type OpCase } from "./op_case.js";

type BinaryName =
  | "add"
  | "subtract"
  | "multiply"
  | "divide"
  | "remainder"
  | "maximum"
  | "minimum"
  | "power"
  | "atan2"
  | "chlo_polygamma"
  | "chlo_zeta"
  | "chlo_next_after";
type IntBinaryName = "and" | "or" | "xor" | "shift_left" | "shift_right_arithmetic" | "shift_right_logical";
type IntUnaryName = "not" | "popcnt" | "count_leading_zeros";
type UnaryName =
  | "abs"
  | "negate"
  | "sign"
  | "exponential"
  | "exponential_minus_one"
  | "log"
  | "log_plus_one"
  | "sqrt"
  | "rsqrt"
  | "cbrt"
  | "cosine"
  | "sine"
  | "tan"
  | "tanh"
  | "logistic"
  | "ceil"
  | "floor"
  | "round_nearest_afz"
  | "round_nearest_even"
  | "is_finite"
  | "chlo_acos"
  | "chlo_acosh"
  | "chlo_asin"
  | "chlo_asinh"
  | "chlo_atan"
  | "chlo_atanh"
  | "chlo_cosh"
  | "chlo_sinh"
  | "chlo_square"
  | "chlo_erf"
  | "chlo_erfc"
  | "chlo_erf_inv"
  | "chlo_lgamma"
  | "chlo_digamma"
  | "chlo_bessel_i1e"
  | "chlo_is_inf"
  | "chlo_is_neg_inf"
  | "chlo_is_pos_inf";

const binaryNames: BinaryName[] = [
  "add",
  "subtract",
  "multiply",
  "divide",
  "remainder",
  "maximum",
  "minimum",
  "power",
  "atan2",
  "chlo_polygamma",
  "chlo_zeta",
  "chlo_next_after",
];
const intBinaryNames: IntBinaryName[] = [
  "and",
  "or",
  "xor",
  "shift_left",
  "shift_right_arithmetic",
  "shift_right_logical",
];
const intUnaryNames: IntUnaryName[] = ["not", "popcnt", "count_leading_zeros"];
const unaryNames: UnaryName[] = [
  "abs",
  "negate",
  "sign",
  "exponential",
  "exponential_minus_one",
  "log",
  "log_plus_one",
  "sqrt",
  "rsqrt",
  "cbrt",
  "cosine",
  "sine",
  "tan",
  "tanh",
  "logistic",
  "ceil",
  "floor",
  "round_nearest_afz",
  "round_nearest_even",
  "is_finite",
  "chlo_acos",
  "chlo_acosh",
  "chlo_asin",
  "chlo_asinh",
  "chlo_atan",
  "chlo_atanh",
  "chlo_cosh",
  "chlo_sinh",
  "chlo_square",
  "chlo_erf",
  "chlo_erfc",
  "chlo_erf_inv",
  "chlo_lgamma",
  "chlo_digamma",
  "chlo_bessel_i1e",
  "chlo_is_inf",
  "chlo_is_neg_inf",
  "chlo_is_pos_inf",
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
  one("compare", [x23, x23], (h, [a, b]) =>
    (["EQ", "NE", "LT", "LE", "GT", "GE"] as const).map((d) => h.compare(a, b, d)),
  ),
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
  one("constant", [], (h) => [
    h.constant(1.5, float32),
    h.constant([1, 2, 3], int32),
    h.constant([1, -2], complex64),
    h.constant([true, false], bool),
  ]),
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
  one("dynamic_update_slice", [f(4, 5), f(2, 2), t(int32), t(int32)], (h, [x, u, i, j]) =>
    h.dynamic_update_slice(x, u, [i, j]),
  ),
  one("pad", [x23, f()], (h, [x, v]) => h.pad(x, v, [1, -1], [0, 2], [1, 0])),
  one("concatenate", [x23, f(2, 1)], (h, xs) => h.concatenate(xs, 1)),
];

const contraction: OpCase[] = [
  one("dot_general", [f(2, 3, 4), f(2, 4, 5)], (h, [a, b]) =>
    h.dot_general(a, b, { lhsBatch: [0], rhsBatch: [0], lhsContract: [2], rhsContract: [1], precision: "HIGHEST" }),
  ),
  one("dot_general", [x23, f(3)], (h, [a, b]) => h.dot_general(a, b, { lhsContract: [1], rhsContract: [0] })),
  one("convolution", [f(2, 4, 8, 8), f(6, 2, 3, 3)], (h, [x, w]) =>
    h.convolution(x, w, {
      inputBatch: 0,
      inputFeature: 1,
      inputSpatial: [2, 3],
      kernelOutput: 0,
      kernelInput: 1,
      kernelSpatial: [2, 3],
      outputBatch: 0,
      outputFeature: 1,
      outputSpatial: [2, 3],
      strides: [2, 1],
      padding: [
        [1, 1],
        [0, 2],
      ],
      lhsDilation: [1, 2],
      rhsDilation: [2, 1],
      windowReversal: [true, false],
      featureGroupCount: 2,
      precision: "HIGHEST",
    }),
  ),
  one("convolution", [f(4, 3), f(3, 2)], (h, [x, w]) =>
    h.convolution(x, w, {
      inputBatch: 0,
      inputFeature: 1,
      inputSpatial: [],
      kernelInput: 0,
      kernelOutput: 1,
      kernelSpatial: [],
      outputBatch: 0,
      outputFeature: 1,
      outputSpatial: [],
      batchGroupCount: 2,
    }),
  ),
  one("cholesky", [f(2, 3, 3)], (h, [a]) => h.cholesky(a)),
  one("triangular_solve", [f(2, 3, 3), f(2, 3, 4)], (h, [a, b]) =>
    h.triangular_solve(a, b, { lower: true, transposeA: "ADJOINT" }),
  ),
  one("fft", [t(complex64, 4, 8)], (h, [x]) => [
    h.fft(x, "FFT", [8]),
    h.fft(x, "IFFT", [4, 8]),
    h.fft(x, "IRFFT", [14]),
  ]),
  one("fft", [f(4, 8)], (h, [x]) => h.fft(x, "RFFT", [8])),
];

export const valueCases: readonly OpCase[] = [...elementwise, ...creation, ...movement, ...contraction];
