/** @file Families: the operators that differ in one formula. A family owns promotion, broadcasting and compute types. */
import type { Builder, Value } from "../hlo/index.js";
import { bool, TorchError, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { align, cast, computeType, inComputeType, promotedType, requireDtype, toFloatType } from "./helpers.js";
import { notDifferentiable, op, type OpEntry, type Torch } from "./registry.js";

type UnaryGrad = ((t: Torch, self: Tensor, dy: Tensor, out: Tensor) => Tensor) | typeof notDifferentiable;

export type Accepts = (dtype: DType) => boolean | string;

/** Throws, in PyTorch's words, when the operator is not defined on the type of `x`. */
export function checkAccepts(x: Value, accepts: Accepts | undefined, name: string): void {
  const answer = accepts?.(x.dtype) ?? true;
  if (typeof answer === "string") throw new TorchError(answer);
  requireDtype(x, answer, name);
}

export interface UnaryOptions {
  /** StableHLO of one element, in the compute type. */
  lower(h: Builder, x: Value): Value;
  grad?: UnaryGrad;
  /** Integers and bool are computed as the default float type (PyTorch's int-to-float promotion). */
  float?: boolean;
  /** The types that PyTorch defines it on; a string says in PyTorch's words why not. */
  accepts?: Accepts;
  /** 16-bit floats are computed as they are: for operators that do not round. */
  exact?: boolean;
  doc?: string;
}

/** An operator on every element of one tensor, which PyTorch calls `argument`. */
export function unary(name: string, options: UnaryOptions, argument: "self" | "x" = "self"): OpEntry {
  const { accepts, lower, grad, exact, float, doc } = options;
  return op(`${name}(Tensor ${argument}) -> Tensor` as "f(Tensor self) -> Tensor", {
    lower: (h, args) => {
      const self = (args as unknown as Record<string, Value>)[argument];
      checkAccepts(self, accepts, name);
      const x = float ? cast(h, self, toFloatType(self.dtype)) : self;
      return exact ? lower(h, x) : inComputeType(h, [x], (v) => lower(h, v));
    },
    grad: typeof grad === "function" ? (t, { self }, dy, out) => ({ self: grad(t, self, dy, out) }) : grad,
    doc,
  });
}

type BinaryGrad =
  | ((
      t: Torch,
      args: { self: Tensor; other: Tensor },
      dy: Tensor,
      out: Tensor,
    ) => { self?: Tensor | null; other?: Tensor | null })
  | typeof notDifferentiable;

export interface BinaryOptions {
  /** StableHLO of one pair of elements, both of the promoted type. */
  lower(h: Builder, a: Value, b: Value): Value;
  grad?: BinaryGrad;
  float?: boolean;
  accepts?: Accepts;
  exact?: boolean;
  /** A number may stand for either tensor, even for both. */
  wrapsNumbers?: boolean;
  doc?: string;
}

/** Operands promoted to one type and broadcast to one shape. */
export function promotedPair(h: Builder, self: Value, other: Value, float = false): [Value, Value] {
  const promoted = promotedType(self, other);
  const [a, b] = align(h, [self, other], float ? toFloatType(promoted) : promoted);
  return [a, b];
}

/**
 * `f` of the operands in the compute type of the promoted type, which the result is cast to. As in PyTorch's arithmetic,
 * a single element as `other` is not rounded to a 16-bit float first.
 */
export function computedPair(
  h: Builder,
  self: Value,
  other: Value,
  float: boolean | undefined,
  f: (a: Value, b: Value, dtype: DType) => Value,
): Value {
  const promoted = promotedType(self, other);
  const dtype = float ? toFloatType(promoted) : promoted;
  const wide = computeType(dtype);
  const single = other.rank === 0 && wide !== dtype && !other.dtype.is_complex;
  const operands = [cast(h, self, dtype), single ? other : cast(h, other, dtype)];
  const [a, b] = align(h, operands, wide);
  return cast(h, f(a, b, dtype), dtype);
}

/** An operator on pairs of elements, with broadcasting and type promotion. Either operand may be a number. */
export function binary(
  name: string,
  options: BinaryOptions,
  schemas: readonly [string, ...string[]] = [`${name}.Tensor(Tensor self, Tensor other) -> Tensor`],
): OpEntry {
  const { accepts, lower, grad, exact, float, wrapsNumbers, doc } = options;
  const numbers = ["self", "other"].filter((n) => wrapsNumbers || schemas.some((s) => s.includes(`Scalar ${n}`)));
  return op(schemas as readonly ["x(Tensor self, Tensor other) -> Tensor"], {
    lower: (h, { self, other }) => {
      if (!exact) {
        return computedPair(h, self, other, float, (x, y, dtype) => {
          checkAccepts({ dtype } as Value, accepts, name);
          return lower(h, x, y);
        });
      }
      const [a, b] = promotedPair(h, self, other, float);
      checkAccepts(a, accepts, name);
      return lower(h, a, b);
    },
    grad,
    numbers,
    wrapsNumbers,
    doc,
  });
}

export type Direction = "EQ" | "NE" | "LT" | "LE" | "GT" | "GE";

/** A comparison: promotes its operands, gives bool. */
export function comparison(name: string, direction: Direction, doc: string): OpEntry {
  const schemas = [
    `${name}.Tensor(Tensor self, Tensor other) -> Tensor`,
    `${name}.Scalar(Tensor self, Scalar other) -> Tensor`,
  ] as const;
  return op(schemas as unknown as readonly ["x(Tensor self, Tensor other) -> Tensor"], {
    lower: (h, { self, other }) => {
      const [a, b] = promotedPair(h, self, other);
      requireDtype(a, !a.dtype.is_complex || direction === "EQ" || direction === "NE", name);
      return h.compare(a, b, direction);
    },
    grad: notDifferentiable,
    numbers: ["other"],
    doc,
  });
}

/** Logical operators see their operands as "not zero". */
export function logical(name: string, doc: string, lower: (h: Builder, a: Value, b: Value) => Value): OpEntry {
  return op(`${name}(Tensor self, Tensor other) -> Tensor`, {
    lower: (h, { self, other }) => {
      const [a, b] = align(h, [cast(h, self, bool), cast(h, other, bool)], bool);
      return lower(h, a, b);
    },
    grad: notDifferentiable,
    doc,
  });
}
