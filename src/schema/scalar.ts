/** @file Numbers given to operators. JavaScript has one number type where Python has int and float. */
import { bool, complex128, float64, int64, type DType } from "./dtype.js";

/** A complex number. */
export class Complex {
  constructor(
    readonly re: number,
    readonly im: number,
  ) {}
  toString(): string {
    const im = Object.is(this.im, -0) || this.im < 0 ? `${this.im}` : `+${this.im}`;
    return `${this.re}${im}j`;
  }
}

/** A number that counts as a Python float although its value is an integer: see `torch.asFloat`. */
export class FloatScalar {
  constructor(readonly value: number) {}
  valueOf(): number {
    return this.value;
  }
}

/** What an operator accepts as a number. A JavaScript number with an integer value counts as an int. */
export type Scalar = number | bigint | boolean | Complex | FloatScalar;

export type ScalarKind = "bool" | "int" | "float" | "complex";

/** Marks a scalar of a program whose value is known only when the program runs. */
export class SymScalar {
  constructor(
    readonly kind: ScalarKind,
    /** Which of the program's scalar inputs it is. */
    readonly index: number,
  ) {}
}

export const isScalar = (x: unknown): x is Scalar | SymScalar =>
  typeof x === "number" ||
  typeof x === "bigint" ||
  typeof x === "boolean" ||
  x instanceof FloatScalar ||
  x instanceof Complex ||
  x instanceof SymScalar;

/** Which Python type the number stands for. */
export function scalarKind(x: Scalar | SymScalar): ScalarKind {
  if (typeof x === "number") return Number.isInteger(x) ? "int" : "float";
  if (typeof x === "boolean") return "bool";
  if (typeof x === "bigint") return "int";
  if (x instanceof FloatScalar) return "float";
  return x instanceof Complex ? "complex" : x.kind;
}

const kindDtype: Record<ScalarKind, DType> = { bool, int: int64, float: float64, complex: complex128 };

/** The type in which a number of this kind enters a program. */
export const scalarDtype = (kind: ScalarKind): DType => kindDtype[kind];

/** The number itself; throws for a complex one with an imaginary part. */
export function toNumber(x: Scalar): number {
  if (typeof x === "number") return x;
  if (x instanceof Complex) {
    if (x.im !== 0) throw new TypeError(`toNumber(): expected a real number, got ${x.toString()}`);
    return x.re;
  }
  return x instanceof FloatScalar ? x.value : Number(x);
}
