/** @file Operations on the elements of values of one type: arithmetic, comparison, selection, conversion. */
import { bool, complex128, complex64, dtypes, float32, float64, type DType } from "../schema/dtype.js";
import { ConstantsBuilder } from "./constants.js";
import { fail, formatType, list, sameShape, type TensorType } from "./types.js";
import { signature } from "./print.js";
import type { OpDef, OpForm, Value } from "./value.js";

export type CompareDirection = "EQ" | "NE" | "LT" | "LE" | "GT" | "GE";
export type CompareType = "FLOAT" | "TOTALORDER" | "SIGNED" | "UNSIGNED";

const INT = 1;
const UINT = 2;
/** Floats of 16 bits or more. */
export const WIDE_FLOAT = 4;
const NARROW_FLOAT = 8;
export const FLOAT = WIDE_FLOAT | NARROW_FLOAT;
const COMPLEX = 16;
const BOOL = 32;
export const FLOAT_OR_COMPLEX = FLOAT | COMPLEX;
const ANY = INT | UINT | FLOAT | COMPLEX | BOOL;
const NUMBER = INT | UINT | FLOAT | COMPLEX;
const kindBits = dtypes.map(({ kind, bits }) => {
  if (kind === "float") return bits < 16 ? NARROW_FLOAT : WIDE_FLOAT;
  return { int: INT, uint: UINT, complex: COMPLEX, bool: BOOL }[kind];
});

const kindNames: Record<number, string> = {
  [ANY]: "a tensor",
  [NUMBER]: "integers, floats or complex numbers",
  [INT | UINT | FLOAT]: "integers or floats",
  [INT | UINT]: "integers",
  [INT | UINT | BOOL]: "integers or booleans",
  [INT | FLOAT | COMPLEX]: "signed integers, floats or complex numbers",
  [FLOAT]: "floats",
  [WIDE_FLOAT]: "floats of 16 bits or more",
  [FLOAT | COMPLEX]: "floats or complex numbers",
};

/** An elementwise operation with the kinds of elements that it takes. */
export interface ElementwiseDef extends OpDef<null> {
  readonly short: string;
  readonly kinds: number;
}

export const defineElementwise = (
  short: string,
  kinds: number,
  form: OpForm = "same",
  dialect = "stablehlo",
): ElementwiseDef => ({
  name: `${dialect}.${short}`,
  short: dialect === "stablehlo" ? short : `${dialect}_${short}`,
  form,
  kinds,
});

const ADD = defineElementwise("add", ANY);
const SUBTRACT = defineElementwise("subtract", NUMBER);
const MULTIPLY = defineElementwise("multiply", ANY);
const DIVIDE = defineElementwise("divide", NUMBER);
// StableHLO has complex remainders and cube roots; XLA dies on the first and refuses the second.
const REMAINDER = defineElementwise("remainder", INT | UINT | FLOAT);
const MAXIMUM = defineElementwise("maximum", ANY);
const MINIMUM = defineElementwise("minimum", ANY);
const POWER = defineElementwise("power", NUMBER);
const ATAN2 = defineElementwise("atan2", FLOAT | COMPLEX);
const AND = defineElementwise("and", INT | UINT | BOOL);
const OR = defineElementwise("or", INT | UINT | BOOL);
const XOR = defineElementwise("xor", INT | UINT | BOOL);
const SHIFT_LEFT = defineElementwise("shift_left", INT | UINT);
const SHIFT_RIGHT_ARITHMETIC = defineElementwise("shift_right_arithmetic", INT | UINT);
const SHIFT_RIGHT_LOGICAL = defineElementwise("shift_right_logical", INT | UINT);
const ABS = defineElementwise("abs", INT | FLOAT | COMPLEX, "function");
const NEGATE = defineElementwise("negate", NUMBER);
const SIGN = defineElementwise("sign", INT | FLOAT | COMPLEX);
const EXPONENTIAL = defineElementwise("exponential", FLOAT | COMPLEX);
const EXPONENTIAL_MINUS_ONE = defineElementwise("exponential_minus_one", FLOAT | COMPLEX);
const LOG = defineElementwise("log", FLOAT | COMPLEX);
const LOG_PLUS_ONE = defineElementwise("log_plus_one", FLOAT | COMPLEX);
const SQRT = defineElementwise("sqrt", FLOAT | COMPLEX);
const RSQRT = defineElementwise("rsqrt", FLOAT | COMPLEX);
const CBRT = defineElementwise("cbrt", FLOAT);
const COSINE = defineElementwise("cosine", FLOAT | COMPLEX);
const SINE = defineElementwise("sine", FLOAT | COMPLEX);
const TAN = defineElementwise("tan", FLOAT | COMPLEX);
const TANH = defineElementwise("tanh", FLOAT | COMPLEX);
const LOGISTIC = defineElementwise("logistic", FLOAT | COMPLEX);
const CEIL = defineElementwise("ceil", FLOAT);
const FLOOR = defineElementwise("floor", FLOAT);
const ROUND_AFZ = defineElementwise("round_nearest_afz", FLOAT);
const ROUND_EVEN = defineElementwise("round_nearest_even", FLOAT);
const IS_FINITE = defineElementwise("is_finite", FLOAT, "function");
const NOT = defineElementwise("not", INT | UINT | BOOL);
const POPCNT = defineElementwise("popcnt", INT | UINT);
const CLZ = defineElementwise("count_leading_zeros", INT | UINT);
const REAL = defineElementwise("real", FLOAT | COMPLEX, "function");
const IMAG = defineElementwise("imag", FLOAT | COMPLEX, "function");
const COMPLEX_OF = defineElementwise("complex", FLOAT, "function");
const CONVERT = defineElementwise("convert", ANY, "function");
const BITCAST_CONVERT = defineElementwise("bitcast_convert", ANY, "function");
const CLAMP = defineElementwise("clamp", ANY, "function");

const SELECT: OpDef<null> = { name: "stablehlo.select", form: "function" };
const COMPARE: OpDef<{ direction: CompareDirection; type: CompareType | null }> = {
  name: "stablehlo.compare",
  form: "function",
  print: ({ direction, type }, op) => {
    const [a, b] = op.operands;
    const text = `stablehlo.compare ${direction}, ${a.ssa}, ${b.ssa}${type ? `, ${type}` : ""}`;
    return `${text} : ${signature(op)}`;
  },
};
const REDUCE_PRECISION: OpDef<{ exponentBits: number; mantissaBits: number }> = {
  name: "stablehlo.reduce_precision",
  form: "same",
  attributes: ({ exponentBits, mantissaBits }) => `, format = e${exponentBits}m${mantissaBits}`,
};
const directions = new Set<string>(["EQ", "NE", "LT", "LE", "GT", "GE"]);

export class ElementwiseBuilder extends ConstantsBuilder {
  protected unary(def: ElementwiseDef, x: Value, dtype?: DType): Value {
    this.checkDType(def.short, x, (def.kinds & kindBits[x.dtype.index]) !== 0, kindNames[def.kinds]);
    return this.emit1(def.short, def, [x], dtype ?? x.dtype, x.shape, null);
  }

  protected binary(def: ElementwiseDef, a: Value, b: Value): Value {
    this.checkSame(def.short, a, b);
    this.checkDType(def.short, a, (def.kinds & kindBits[a.dtype.index]) !== 0, kindNames[def.kinds]);
    return this.emit1(def.short, def, [a, b], a.dtype, a.shape, null);
  }

  /** Sum; logical or for booleans. */
  add(a: Value, b: Value): Value {
    return this.binary(ADD, a, b);
  }
  subtract(a: Value, b: Value): Value {
    return this.binary(SUBTRACT, a, b);
  }
  /** Product; logical and for booleans. */
  multiply(a: Value, b: Value): Value {
    return this.binary(MULTIPLY, a, b);
  }
  /** Quotient; integers round towards zero, and division by zero gives -1 (all ones). */
  divide(a: Value, b: Value): Value {
    return this.binary(DIVIDE, a, b);
  }
  /** Remainder of the division that rounds towards zero: the sign is the dividend's. */
  remainder(a: Value, b: Value): Value {
    return this.binary(REMAINDER, a, b);
  }
  maximum(a: Value, b: Value): Value {
    return this.binary(MAXIMUM, a, b);
  }
  minimum(a: Value, b: Value): Value {
    return this.binary(MINIMUM, a, b);
  }
  power(a: Value, b: Value): Value {
    return this.binary(POWER, a, b);
  }
  atan2(y: Value, x: Value): Value {
    return this.binary(ATAN2, y, x);
  }
  and(a: Value, b: Value): Value {
    return this.binary(AND, a, b);
  }
  or(a: Value, b: Value): Value {
    return this.binary(OR, a, b);
  }
  xor(a: Value, b: Value): Value {
    return this.binary(XOR, a, b);
  }
  shift_left(a: Value, bits: Value): Value {
    return this.binary(SHIFT_LEFT, a, bits);
  }
  shift_right_arithmetic(a: Value, bits: Value): Value {
    return this.binary(SHIFT_RIGHT_ARITHMETIC, a, bits);
  }
  shift_right_logical(a: Value, bits: Value): Value {
    return this.binary(SHIFT_RIGHT_LOGICAL, a, bits);
  }

  /** Absolute value; real for complex numbers. */
  abs(x: Value): Value {
    return this.unary(ABS, x, x.dtype.to_real());
  }
  negate(x: Value): Value {
    return this.unary(NEGATE, x);
  }
  /** -1, 0 or 1; x / |x| for complex numbers. */
  sign(x: Value): Value {
    return this.unary(SIGN, x);
  }
  exponential(x: Value): Value {
    return this.unary(EXPONENTIAL, x);
  }
  /** exp(x) - 1, accurate near 0. */
  exponential_minus_one(x: Value): Value {
    return this.unary(EXPONENTIAL_MINUS_ONE, x);
  }
  log(x: Value): Value {
    return this.unary(LOG, x);
  }
  /** log(1 + x), accurate near 0. */
  log_plus_one(x: Value): Value {
    return this.unary(LOG_PLUS_ONE, x);
  }
  sqrt(x: Value): Value {
    return this.unary(SQRT, x);
  }
  /** 1 / sqrt(x). */
  rsqrt(x: Value): Value {
    return this.unary(RSQRT, x);
  }
  /** Cube root. */
  cbrt(x: Value): Value {
    return this.unary(CBRT, x);
  }
  cosine(x: Value): Value {
    return this.unary(COSINE, x);
  }
  sine(x: Value): Value {
    return this.unary(SINE, x);
  }
  tan(x: Value): Value {
    return this.unary(TAN, x);
  }
  tanh(x: Value): Value {
    return this.unary(TANH, x);
  }
  /** 1 / (1 + exp(-x)). */
  logistic(x: Value): Value {
    return this.unary(LOGISTIC, x);
  }
  ceil(x: Value): Value {
    return this.unary(CEIL, x);
  }
  floor(x: Value): Value {
    return this.unary(FLOOR, x);
  }
  /** To the nearest integer, halves away from zero. */
  round_nearest_afz(x: Value): Value {
    return this.unary(ROUND_AFZ, x);
  }
  /** To the nearest integer, halves to even. */
  round_nearest_even(x: Value): Value {
    return this.unary(ROUND_EVEN, x);
  }
  /** Whether each element is neither infinite nor NaN. */
  is_finite(x: Value): Value {
    return this.unary(IS_FINITE, x, bool);
  }
  /** Complement of every bit; logical not for booleans. */
  not(x: Value): Value {
    return this.unary(NOT, x);
  }
  /** How many bits are set. */
  popcnt(x: Value): Value {
    return this.unary(POPCNT, x);
  }
  count_leading_zeros(x: Value): Value {
    return this.unary(CLZ, x);
  }
  real(x: Value): Value {
    return this.unary(REAL, x, x.dtype.to_real());
  }
  /** The imaginary part; 0 for floats. */
  imag(x: Value): Value {
    return this.unary(IMAG, x, x.dtype.to_real());
  }
  /** Complex numbers from their real and imaginary parts, f32 or f64. */
  complex(re: Value, im: Value): Value {
    this.checkSame("complex", re, im);
    this.checkDType("complex", re, re.dtype === float32 || re.dtype === float64, "f32 or f64");
    return this.emit1("complex", COMPLEX_OF, [re, im], re.dtype === float64 ? complex128 : complex64, re.shape, null);
  }

  /** Whether each pair stands in the relation. Floats compare as IEEE says unless `type` is TOTALORDER. */
  compare(a: Value, b: Value, direction: CompareDirection, type: CompareType | null = null): Value {
    this.checkSame("compare", a, b);
    this.checkTensor("compare", a);
    if (!directions.has(direction)) fail("compare", "EQ, NE, LT, LE, GT or GE", String(direction));
    const { kind } = a.dtype;
    if (kind === "complex" && direction !== "EQ" && direction !== "NE")
      fail("compare", "EQ or NE for complex numbers", direction);
    if (type !== null) {
      const fits =
        kind === "int"
          ? ["SIGNED"]
          : kind === "uint" || kind === "bool"
            ? ["UNSIGNED"]
            : kind === "complex"
              ? ["FLOAT"]
              : ["FLOAT", "TOTALORDER"];
      if (!fits.includes(type)) fail("compare", `${fits.join(" or ")} for ${a.dtype.hlo}`, type);
    }
    return this.emit1("compare", COMPARE, [a, b], bool, a.shape, { direction, type });
  }

  /** Elements of `a` where `pred` is true, of `b` elsewhere. `pred` may have rank 0. */
  select(pred: Value, a: Value, b: Value): Value {
    this.checkSame("select", a, b);
    this.checkTensor("select", a);
    const ok = pred.dtype === bool && (pred.rank === 0 || sameShape(pred.shape, a.shape));
    if (!ok) fail("select", `a predicate i1[${a.shape.join(",")}] or i1[]`, formatType(pred));
    return this.emit1("select", SELECT, [pred, a, b], a.dtype, a.shape, null);
  }

  /** `x` limited to [min, max]. The bounds may have rank 0. */
  clamp(min: Value, x: Value, max: Value): Value {
    this.checkTensor("clamp", x);
    for (const bound of [min, max]) {
      const ok = bound.dtype === x.dtype && (bound.rank === 0 || sameShape(bound.shape, x.shape));
      if (!ok) fail("clamp", `bounds of type ${formatType(x)} or ${x.dtype.hlo}[]`, formatType(bound));
    }
    return this.emit1("clamp", CLAMP, [min, x, max], x.dtype, x.shape, null);
  }

  /** The elements as another type. Floats to integers round towards zero. */
  convert(x: Value, dtype: DType): Value {
    this.checkTensor("convert", x);
    if (dtype.index < 0) fail("convert", "an element type", dtype.name);
    return x.dtype === dtype ? x : this.emit1("convert", CONVERT, [x], dtype, x.shape, null);
  }

  /**
   * The bits as another type. To a type `n` times narrower a dimension of size `n` is added at the end; to a wider one
   * the last dimension, of size `n`, goes away.
   */
  bitcast_convert(x: Value, dtype: DType): Value {
    this.checkTensor("bitcast_convert", x);
    if ((x.dtype.kind === "complex") !== (dtype.kind === "complex")) {
      fail(
        "bitcast_convert",
        `a ${x.dtype.kind === "complex" ? "complex" : "real"} type for ${formatType(x)}`,
        dtype.hlo,
      );
    }
    if (x.dtype === dtype) return x;
    const from = storedBits(x);
    const to = storedBits({ dtype, shape: [] });
    let shape = x.shape;
    if (from > to) shape = [...shape, from / to];
    if (from < to) {
      if (shape[shape.length - 1] !== to / from)
        fail("bitcast_convert", `a last dimension of size ${to / from} for ${dtype.hlo}`, formatType(x));
      shape = shape.slice(0, -1);
    }
    return this.emit1("bitcast_convert", BITCAST_CONVERT, [x], dtype, shape, null);
  }

  /** Rounds to the precision of a float with this many bits, keeping the type. */
  reduce_precision(x: Value, exponentBits: number, mantissaBits: number): Value {
    this.checkDType("reduce_precision", x, x.dtype.kind === "float", "floats");
    if (!(exponentBits >= 1 && mantissaBits >= 0))
      fail("reduce_precision", "exponentBits >= 1 and mantissaBits >= 0", list([exponentBits, mantissaBits]));
    return this.emit1("reduce_precision", REDUCE_PRECISION, [x], x.dtype, x.shape, { exponentBits, mantissaBits });
  }
}

/** Bits as StableHLO counts them: a boolean is one bit. */
const storedBits = (t: TensorType): number => (t.dtype === bool ? 1 : t.dtype.bits);
