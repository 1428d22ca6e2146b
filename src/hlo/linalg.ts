/** @file Contractions and factorizations: dot_general, convolution, cholesky, triangular_solve, fft. */
import type { DType } from "../schema/dtype.js";
import { convolutionAttributes, convolutionShape, type ConvolutionOptions } from "./convolution.js";
import { MovementBuilder } from "./movement.js";
import { i64Array, ints } from "./print.js";
import { checkDims, fail, formatType, list, sameShape } from "./types.js";
import type { OpDef, Value } from "./value.js";

export type Precision = "DEFAULT" | "HIGH" | "HIGHEST";
export type FftType = "FFT" | "IFFT" | "RFFT" | "IRFFT";

export interface DotOptions {
  readonly lhsBatch?: readonly number[];
  readonly rhsBatch?: readonly number[];
  readonly lhsContract: readonly number[];
  readonly rhsContract: readonly number[];
  readonly precision?: Precision;
  /** Element type of the result, in which products are summed. Default: the operands'. */
  readonly outDtype?: DType;
}

export interface TriangularSolveOptions {
  /** Solve op(a) x = b; otherwise x op(a) = b. Default: true. */
  readonly leftSide?: boolean;
  readonly lower: boolean;
  /** Take the diagonal of `a` as ones. */
  readonly unitDiagonal?: boolean;
  readonly transposeA?: "NO_TRANSPOSE" | "TRANSPOSE" | "ADJOINT";
}

const DOT_GENERAL: OpDef<DotOptions> = {
  name: "stablehlo.dot_general",
  form: "function",
  attributes: ({ lhsBatch = [], rhsBatch = [], lhsContract, rhsContract, precision }) => {
    const batch = lhsBatch.length === 0 ? "" : `, batching_dims = ${ints(lhsBatch)} x ${ints(rhsBatch)}`;
    const p = precision ? `, precision = [${precision}, ${precision}]` : "";
    return `${batch}, contracting_dims = ${ints(lhsContract)} x ${ints(rhsContract)}${p}`;
  },
};
const CONVOLUTION: OpDef<ConvolutionOptions> = {
  name: "stablehlo.convolution",
  form: "generic",
  attributes: convolutionAttributes,
};
const CHOLESKY: OpDef<boolean> = {
  name: "stablehlo.cholesky",
  form: "generic",
  attributes: (lower) => `lower = ${lower}`,
};
const TRIANGULAR_SOLVE: OpDef<Required<TriangularSolveOptions>> = {
  name: "stablehlo.triangular_solve",
  form: "generic",
  attributes: (o) =>
    `left_side = ${o.leftSide}, lower = ${o.lower}, unit_diagonal = ${o.unitDiagonal}, transpose_a = #stablehlo<transpose ${o.transposeA}>`,
};
const FFT: OpDef<{ type: FftType; lengths: readonly number[] }> = {
  name: "stablehlo.fft",
  form: "generic",
  attributes: ({ type, lengths }) => `fft_type = #stablehlo<fft_type ${type}>, fft_length = ${i64Array(lengths)}`,
};

export class LinalgBuilder extends MovementBuilder {
  /** Sums of products over the contracted dimensions; result dimensions: batch, then the rest of `a`, then of `b`. */
  dot_general(a: Value, b: Value, options: DotOptions): Value {
    const op = "dot_general";
    const { lhsBatch = [], rhsBatch = [], lhsContract, rhsContract, outDtype = a.dtype } = options;
    this.checkTensor(op, a);
    this.checkTensor(op, b);
    if (
      a.dtype !== b.dtype &&
      !(a.dtype.bits <= 8 && b.dtype.bits <= 8 && a.dtype.kind === "float" && b.dtype.kind === "float")
    ) {
      fail(op, "operands of one element type", `${formatType(a)} and ${formatType(b)}`);
    }
    if (lhsBatch.length !== rhsBatch.length)
      fail(op, "as many lhsBatch as rhsBatch dimensions", `${list(lhsBatch)} and ${list(rhsBatch)}`);
    if (lhsContract.length !== rhsContract.length)
      fail(op, "as many lhsContract as rhsContract dimensions", `${list(lhsContract)} and ${list(rhsContract)}`);
    checkDims(op, "lhsBatch and lhsContract dimensions", [...lhsBatch, ...lhsContract], a.rank);
    checkDims(op, "rhsBatch and rhsContract dimensions", [...rhsBatch, ...rhsContract], b.rank);
    const pairs = [...lhsBatch, ...lhsContract].map((d, i) => [
      d,
      i < lhsBatch.length ? rhsBatch[i] : rhsContract[i - lhsBatch.length],
    ]);
    for (const [l, r] of pairs) {
      if (a.shape[l] !== b.shape[r]) {
        fail(
          op,
          `equal sizes in dimension ${l} of ${formatType(a)} and dimension ${r} of ${formatType(b)}`,
          `${a.shape[l]} and ${b.shape[r]}`,
        );
      }
    }
    const shape = lhsBatch.map((d) => a.shape[d]);
    a.shape.forEach((n, d) => lhsBatch.includes(d) || lhsContract.includes(d) || shape.push(n));
    b.shape.forEach((n, d) => rhsBatch.includes(d) || rhsContract.includes(d) || shape.push(n));
    return this.emit1(op, DOT_GENERAL, [a, b], outDtype, shape, { ...options });
  }

  /** Sums of products of `rhs` moved as a window over `lhs`. */
  convolution(lhs: Value, rhs: Value, options: ConvolutionOptions): Value {
    this.checkTensor("convolution", lhs);
    this.checkTensor("convolution", rhs);
    if (lhs.dtype !== rhs.dtype)
      fail("convolution", "operands of one element type", `${formatType(lhs)} and ${formatType(rhs)}`);
    const shape = convolutionShape(lhs, rhs, options);
    return this.emit1("convolution", CONVOLUTION, [lhs, rhs], options.outDtype ?? lhs.dtype, shape, { ...options });
  }

  private checkMatrices(op: string, x: Value): void {
    this.checkDType(
      op,
      x,
      (x.dtype.kind === "float" || x.dtype.kind === "complex") && x.dtype.bits >= 32,
      "f32, f64 or complex matrices",
    );
    if (x.rank < 2 || x.shape[x.rank - 1] !== x.shape[x.rank - 2]) fail(op, "square matrices", formatType(x));
  }

  /** The triangular factor of positive-definite matrices; the other triangle of the result is undefined. */
  cholesky(a: Value, lower = true): Value {
    this.checkMatrices("cholesky", a);
    return this.emit1("cholesky", CHOLESKY, [a], a.dtype, a.shape, lower);
  }

  /** Solves op(a) x = b, or x op(a) = b, for triangular `a`. */
  triangular_solve(a: Value, b: Value, options: TriangularSolveOptions): Value {
    const op = "triangular_solve";
    this.checkMatrices(op, a);
    const { leftSide = true, lower, unitDiagonal = false, transposeA = "NO_TRANSPOSE" } = options;
    const n = a.shape[a.rank - 1];
    const ok =
      b.dtype === a.dtype &&
      b.rank === a.rank &&
      sameShape(a.shape.slice(0, -2), b.shape.slice(0, -2)) &&
      b.shape[b.rank - (leftSide ? 2 : 1)] === n;
    if (!ok)
      fail(
        op,
        `${a.rank < 3 ? "" : "batched "}right-hand sides with ${n} ${leftSide ? "rows" : "columns"} for ${formatType(a)}`,
        formatType(b),
      );
    return this.emit1(op, TRIANGULAR_SOLVE, [a, b], b.dtype, b.shape, { leftSide, lower, unitDiagonal, transposeA });
  }

  /** Discrete Fourier transform over the last `lengths.length` (1 to 3) dimensions. */
  fft(x: Value, type: FftType, lengths: readonly number[]): Value {
    const n = lengths.length;
    const real = type === "RFFT";
    this.checkDType(
      "fft",
      x,
      x.dtype.kind === (real ? "float" : "complex") && x.dtype.bits >= 32,
      real ? "f32 or f64" : "complex numbers",
    );
    if (n < 1 || n > 3 || n > x.rank)
      fail("fft", `1 to ${Math.min(3, x.rank)} lengths for ${formatType(x)}`, list(lengths));
    const last = lengths[n - 1];
    const have = x.shape.slice(x.rank - n);
    const want = type === "IRFFT" ? [...lengths.slice(0, -1), Math.floor(last / 2) + 1] : lengths;
    if (!sameShape(have, want))
      fail("fft", `last dimensions ${list(want)} for ${type} of lengths ${list(lengths)}`, formatType(x));
    const shape = [...x.shape];
    if (real) shape[x.rank - 1] = last === 0 ? 0 : Math.floor(last / 2) + 1;
    if (type === "IRFFT") shape[x.rank - 1] = last;
    const dtype = real ? x.dtype.to_complex() : type === "IRFFT" ? x.dtype.to_real() : x.dtype;
    return this.emit1("fft", FFT, [x], dtype, shape, { type, lengths: [...lengths] });
  }
}
