/** @file The order of elements: the ends of each type, NaN, and comparisons that put NaN above every number. */
import type { Builder, Value } from "../hlo/index.js";
import { int32, int64, type DType } from "../schema/index.js";

/** The smallest value of a type, as a 0-dim value; minus infinity for floats. */
export function lowest(h: Builder, dtype: DType): Value {
  if (dtype.is_floating_point) return h.constant(-Infinity, dtype);
  if (dtype.kind !== "int") return h.constant(0, dtype);
  return h.constant(-(2n ** BigInt(dtype.bits - 1)), dtype);
}

/** The largest value of a type, as a 0-dim value; infinity for floats. */
export function highest(h: Builder, dtype: DType): Value {
  if (dtype.is_floating_point) return h.constant(Infinity, dtype);
  if (dtype.kind === "bool") return h.constant(true, dtype);
  return h.constant(2n ** BigInt(dtype.kind === "int" ? dtype.bits - 1 : dtype.bits) - 1n, dtype);
}

/** Where `x` is NaN; null for types that have none. */
export const nanMask = (h: Builder, x: Value): Value | null =>
  x.dtype.is_floating_point ? h.compare(x, x, "NE") : null;

/** Whether `a` comes strictly before `b`; NaN counts as the greatest number. */
export function isBefore(h: Builder, a: Value, b: Value, descending: boolean): Value {
  const [low, high] = descending ? [b, a] : [a, b];
  const less = h.compare(low, high, "LT");
  const nan = nanMask(h, high);
  return nan === null ? less : h.or(less, h.and(nan, h.compare(low, low, "EQ")));
}

/** The type for positions in a dimension of this size. */
export const positionType = (size: number): DType => (size < 2 ** 31 ? int32 : int64);

/**
 * A reduction body on (value, position) that keeps the extreme value. NaN wins over numbers; among equal values the
 * first position wins, or the last one with `lastEqual`; among NaNs the first too, or the last one with `lastNan`.
 */
export function extremeBody(
  h: Builder,
  largest: boolean,
  lastNan = false,
  lastEqual = false,
): (accumulators: Value[], elements: Value[]) => Value[] {
  return ([a, ia], [b, ib]) => {
    const better = h.compare(a, b, largest ? "GT" : "LT");
    let takeA = h.or(better, h.and(h.compare(a, b, "EQ"), h.compare(ia, ib, lastEqual ? "GE" : "LE")));
    const nanA = nanMask(h, a);
    if (nanA !== null) {
      const nanB = nanMask(h, b)!;
      const both = h.and(nanA, h.compare(ia, ib, lastNan ? "GE" : "LE"));
      takeA = h.select(nanB, both, h.or(takeA, nanA));
    }
    return [h.select(takeA, a, b), h.select(takeA, ia, ib)];
  };
}

/** The extreme value along a dimension and its position (int64). The dimension disappears. */
export function extremeAlong(h: Builder, x: Value, dim: number, largest: boolean): [value: Value, index: Value] {
  const type = positionType(x.shape[dim]);
  const [value, index] = h.reduce(
    [x, h.iota(type, x.shape, dim)],
    [largest ? lowest(h, x.dtype) : highest(h, x.dtype), highest(h, type)],
    [dim],
    extremeBody(h, largest),
  );
  return [value, h.convert(index, int64)];
}
