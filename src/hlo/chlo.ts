/** @file CHLO: mathematical functions that XLA expands into StableHLO. */
import { bool, int32, type DType } from "../schema/dtype.js";
import { CollectivesBuilder } from "./collectives.js";
import { defineElementwise, FLOAT, FLOAT_OR_COMPLEX, WIDE_FLOAT, type ElementwiseDef } from "./elementwise.js";
import type { Precision } from "./linalg.js";
import { ints } from "./print.js";
import { checkDims, fail, formatType, list } from "./types.js";
import type { OpDef, Value } from "./value.js";

export interface RaggedDotOptions {
  readonly lhsBatch?: readonly number[];
  readonly rhsBatch?: readonly number[];
  readonly lhsContract: readonly number[];
  readonly rhsContract: readonly number[];
  /** The dimension of `lhs` that `groupSizes` cuts into groups. */
  readonly lhsRagged: number;
  /** The dimension of `rhs` with one entry a group; [] when the ragged dimension is contracted. */
  readonly rhsGroup?: readonly number[];
  readonly precision?: Precision;
  readonly outDtype?: DType;
}

const unary = (name: string, kinds = FLOAT): ElementwiseDef => defineElementwise(name, kinds, "arrow", "chlo");
const ACOS = unary("acos", FLOAT_OR_COMPLEX);
const ACOSH = unary("acosh", FLOAT_OR_COMPLEX);
const ASIN = unary("asin", FLOAT_OR_COMPLEX);
const ASINH = unary("asinh", FLOAT_OR_COMPLEX);
const ATAN = unary("atan", FLOAT_OR_COMPLEX);
const ATANH = unary("atanh", FLOAT_OR_COMPLEX);
const COSH = unary("cosh", FLOAT_OR_COMPLEX);
const SINH = unary("sinh", FLOAT_OR_COMPLEX);
const CONJ = unary("conj", FLOAT_OR_COMPLEX);
const SQUARE = unary("square", FLOAT_OR_COMPLEX);
const ERF = unary("erf");
const ERF_INV = unary("erf_inv");
const LGAMMA = unary("lgamma");
const DIGAMMA = unary("digamma");
// XLA expands these two for floats of 16 bits or more only.
const ERFC = unary("erfc", WIDE_FLOAT);
const BESSEL_I1E = unary("bessel_i1e", WIDE_FLOAT);
const IS_INF = unary("is_inf");
const IS_NEG_INF = unary("is_neg_inf");
const IS_POS_INF = unary("is_pos_inf");
const POLYGAMMA = unary("polygamma");
const ZETA = unary("zeta");
const NEXT_AFTER = unary("next_after");
const TOP_K: OpDef<number> = { name: "chlo.top_k", form: "generic", attributes: (k) => `k = ${k} : i64` };
const RAGGED_DOT: OpDef<RaggedDotOptions> = {
  name: "chlo.ragged_dot",
  form: "generic",
  attributes: ({ lhsBatch = [], rhsBatch = [], lhsContract, rhsContract, lhsRagged, rhsGroup = [], precision }) =>
    `ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = ${ints(lhsBatch)}, rhs_batching_dimensions = ${ints(rhsBatch)}, ` +
    `lhs_contracting_dimensions = ${ints(lhsContract)}, rhs_contracting_dimensions = ${ints(rhsContract)}, ` +
    `lhs_ragged_dimensions = [${lhsRagged}], rhs_group_dimensions = ${ints(rhsGroup)}>` +
    (precision ? `, precision_config = [#chlo<precision ${precision}>, #chlo<precision ${precision}>]` : ""),
};

export class ChloBuilder extends CollectivesBuilder {
  chlo_acos(x: Value): Value {
    return this.unary(ACOS, x);
  }
  chlo_acosh(x: Value): Value {
    return this.unary(ACOSH, x);
  }
  chlo_asin(x: Value): Value {
    return this.unary(ASIN, x);
  }
  chlo_asinh(x: Value): Value {
    return this.unary(ASINH, x);
  }
  chlo_atan(x: Value): Value {
    return this.unary(ATAN, x);
  }
  chlo_atanh(x: Value): Value {
    return this.unary(ATANH, x);
  }
  chlo_cosh(x: Value): Value {
    return this.unary(COSH, x);
  }
  chlo_sinh(x: Value): Value {
    return this.unary(SINH, x);
  }
  /** Complex conjugate. */
  chlo_conj(x: Value): Value {
    return this.unary(CONJ, x);
  }
  chlo_square(x: Value): Value {
    return this.unary(SQUARE, x);
  }
  /** Error function. */
  chlo_erf(x: Value): Value {
    return this.unary(ERF, x);
  }
  /** 1 - erf(x), accurate for large x. */
  chlo_erfc(x: Value): Value {
    return this.unary(ERFC, x);
  }
  chlo_erf_inv(x: Value): Value {
    return this.unary(ERF_INV, x);
  }
  /** Logarithm of the absolute value of the gamma function. */
  chlo_lgamma(x: Value): Value {
    return this.unary(LGAMMA, x);
  }
  /** Derivative of lgamma. */
  chlo_digamma(x: Value): Value {
    return this.unary(DIGAMMA, x);
  }
  /** Modified Bessel function of order 1 times exp(-|x|). */
  chlo_bessel_i1e(x: Value): Value {
    return this.unary(BESSEL_I1E, x);
  }
  chlo_is_inf(x: Value): Value {
    return this.unary(IS_INF, x, bool);
  }
  chlo_is_neg_inf(x: Value): Value {
    return this.unary(IS_NEG_INF, x, bool);
  }
  chlo_is_pos_inf(x: Value): Value {
    return this.unary(IS_POS_INF, x, bool);
  }
  /** The `n`-th derivative of digamma; `n` is a value of the type of `x`. */
  chlo_polygamma(n: Value, x: Value): Value {
    return this.binary(POLYGAMMA, n, x);
  }
  /** Hurwitz zeta function. */
  chlo_zeta(x: Value, q: Value): Value {
    return this.binary(ZETA, x, q);
  }
  /** The next number after `x` towards `y`. */
  chlo_next_after(x: Value, y: Value): Value {
    return this.binary(NEXT_AFTER, x, y);
  }

  /** The `k` largest elements along the last dimension, descending, and their positions (i32). */
  chlo_top_k(x: Value, k: number): [values: Value, indices: Value] {
    const op = "chlo_top_k";
    this.checkDType(
      op,
      x,
      x.dtype.kind === "float" || x.dtype.kind === "int" || x.dtype.kind === "uint",
      "integers or floats",
    );
    if (x.rank === 0) fail(op, "a value of rank 1 or more", formatType(x));
    const n = x.shape[x.rank - 1];
    if (!(Number.isInteger(k) && k >= 0 && k <= n)) fail(op, `k in [0,${n}] for ${formatType(x)}`, String(k));
    const shape = [...x.shape.slice(0, -1), k];
    const { results } = this.emit(
      op,
      TOP_K,
      [x],
      [
        { dtype: x.dtype, shape },
        { dtype: int32, shape },
      ],
      k,
    );
    return [results[0], results[1]];
  }

  /** Matrix products of groups of rows of `lhs` with one matrix of `rhs` each: mixture of experts. */
  chlo_ragged_dot(lhs: Value, rhs: Value, groupSizes: Value, options: RaggedDotOptions): Value {
    const op = "chlo_ragged_dot";
    const {
      lhsBatch = [],
      rhsBatch = [],
      lhsContract,
      rhsContract,
      lhsRagged,
      rhsGroup = [],
      outDtype = lhs.dtype,
    } = options;
    this.checkTensor(op, lhs);
    if (lhs.dtype !== rhs.dtype) fail(op, "operands of one element type", `${formatType(lhs)} and ${formatType(rhs)}`);
    checkDims(op, "lhsBatch and lhsContract dimensions", [...lhsBatch, ...lhsContract], lhs.rank);
    checkDims(
      op,
      "rhsBatch, rhsContract and rhsGroup dimensions",
      [...rhsBatch, ...rhsContract, ...rhsGroup],
      rhs.rank,
    );
    checkDims(op, "lhsRagged", [lhsRagged], lhs.rank);
    const sizes = (v: Value, dims: readonly number[]): string => list(dims.map((d) => v.shape[d]));
    for (const [what, l, r] of [
      ["batch", lhsBatch, rhsBatch],
      ["contracted", lhsContract, rhsContract],
    ] as const) {
      if (sizes(lhs, l) !== sizes(rhs, r)) fail(op, `equal ${what} sizes`, `${sizes(lhs, l)} and ${sizes(rhs, r)}`);
    }
    if (groupSizes.dtype.kind !== "int" || groupSizes.rank < 1)
      fail(op, "group sizes that are integers of rank 1 or more", formatType(groupSizes));
    const groups = groupSizes.shape[groupSizes.rank - 1];
    const contracted = lhsContract.includes(lhsRagged);
    const free = !contracted && !lhsBatch.includes(lhsRagged);
    if (rhsGroup.length !== (free ? 1 : 0))
      fail(op, free ? "one rhsGroup dimension" : "no rhsGroup dimension", list(rhsGroup));
    if (free && rhs.shape[rhsGroup[0]] !== groups)
      fail(op, `${groups} groups in dimension ${rhsGroup[0]} of rhs`, formatType(rhs));
    const shape = lhsBatch.map((d) => lhs.shape[d]);
    if (contracted) shape.unshift(groups);
    lhs.shape.forEach((n, d) => lhsBatch.includes(d) || lhsContract.includes(d) || shape.push(n));
    rhs.shape.forEach(
      (n, d) => rhsBatch.includes(d) || rhsContract.includes(d) || rhsGroup.includes(d) || shape.push(n),
    );
    return this.emit1(op, RAGGED_DOT, [lhs, rhs, groupSizes], outDtype, shape, { ...options });
  }
}
