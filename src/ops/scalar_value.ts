/** @file A number inside a lowering: a constant of the program, or one of its inputs. */
import type { Builder, Value } from "../hlo/index.js";
import {
  bool,
  Complex,
  FloatScalar,
  scalarDtype,
  scalarKind,
  toNumber,
  type DType,
  type PromotionOperand,
  type Scalar,
  type ScalarKind,
} from "../schema/index.js";

const wrapped = new WeakMap<Value, ScalarKind>();

/** A Scalar argument of a lowering. */
export class ScalarValue {
  constructor(
    private readonly h: Builder,
    readonly kind: ScalarKind,
    /** The number, when it is part of the program. */
    readonly literal: Scalar | null,
    /** The program's input, when it is not. */
    private readonly input: Value | null,
  ) {}

  static literal(h: Builder, value: Scalar): ScalarValue {
    return new ScalarValue(h, scalarKind(value), value, null);
  }

  /** Whether the number is known to be `value` while compiling. */
  is(value: number): boolean {
    return this.literal !== null && !(this.literal instanceof Complex) && toNumber(this.literal) === value;
  }

  /** The number as a 0-dim value of this type. */
  as(dtype: DType): Value {
    if (this.input) return convertScalar(this.h, this.input, dtype);
    return this.h.constant(constantOf(this.literal!, dtype), dtype);
  }

  /** The number in every element of `shape`. */
  fill(dtype: DType, shape: readonly number[]): Value {
    return this.h.broadcast_in_dim(this.as(dtype), shape, []);
  }

  /** The number as a 0-dim value that promotes like a number, not like a tensor. */
  wrapped(): Value {
    const value = this.as(scalarDtype(this.kind));
    wrapped.set(value, this.kind);
    return value;
  }
}

function constantOf(value: Scalar, dtype: DType): number | bigint | boolean | [number, number] {
  if (dtype.is_complex) return value instanceof Complex ? [value.re, value.im] : [toNumber(value), 0];
  if (typeof value === "bigint" && !dtype.is_floating_point) return dtype === bool ? value !== 0n : value;
  const n = value instanceof FloatScalar ? value.value : toNumber(value);
  if (dtype === bool) return n !== 0;
  return dtype.is_floating_point ? n : Math.trunc(n);
}

/** A real scalar to any type; `bool` asks whether it is not zero, as everywhere in PyTorch. */
function convertScalar(h: Builder, x: Value, dtype: DType): Value {
  if (x.dtype === dtype) return x;
  if (dtype === bool) return h.compare(x, h.splat(0, x.dtype, x.shape), "NE");
  if (dtype.is_complex && !x.dtype.is_complex) {
    const part = h.convert(x, dtype.to_real());
    return h.complex(part, h.splat(0, dtype.to_real(), x.shape));
  }
  return h.convert(x, dtype);
}

/** How a value counts in type promotion. */
export function operandOf(x: Value): PromotionOperand {
  const kind = wrapped.get(x);
  return kind ? { kind } : { dtype: x.dtype, rank: x.rank };
}
