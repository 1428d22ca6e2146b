/** @file Operators on sizes and other plain numbers of a graph: what Python's `operator` and `math` do to ints and floats. */
type Value = number | boolean;
const bit = (x: Value): number => Number(x);

/** Towards minus infinity, as in Python. */
const floordiv = (a: number, b: number): number => {
  if (b === 0) throw new RangeError("integer division or modulo by zero");
  return Math.floor(a / b);
};
/** The sign of the divisor, as in Python. */
const mod = (a: number, b: number): number => a - b * floordiv(a, b);

/** To the nearest, ties to even. */
function round(x: number): number {
  const low = Math.floor(x);
  if (x - low !== 0.5) return Math.round(x);
  return low % 2 === 0 ? low : low + 1;
}

const table: Record<string, (...args: never[]) => Value> = {
  add: (a: number, b: number) => a + b,
  sub: (a: number, b: number) => a - b,
  mul: (a: number, b: number) => a * b,
  truediv: (a: number, b: number) => a / b,
  floordiv,
  mod,
  pow: (a: number, b: number) => a ** b,
  neg: (a: number) => -a,
  pos: (a: number) => a,
  eq: (a: Value, b: Value) => bit(a) === bit(b),
  ne: (a: Value, b: Value) => bit(a) !== bit(b),
  lt: (a: number, b: number) => a < b,
  le: (a: number, b: number) => a <= b,
  gt: (a: number, b: number) => a > b,
  ge: (a: number, b: number) => a >= b,
  and_: (a: Value, b: Value) => (typeof a === "boolean" && typeof b === "boolean" ? a && b : bit(a) & bit(b)),
  or_: (a: Value, b: Value) => (typeof a === "boolean" && typeof b === "boolean" ? a || b : bit(a) | bit(b)),
  lshift: (a: number, b: number) => a * 2 ** b,
  rshift: (a: number, b: number) => Math.floor(a / 2 ** b),
  trunc: (a: number) => Math.trunc(a),
  ceil: (a: number) => Math.ceil(a),
  floor: (a: number) => Math.floor(a),
  round: (a: number) => round(a),
  sqrt: (a: number) => Math.sqrt(a),
  sym_sqrt: (a: number) => Math.sqrt(a),
  sym_int: (a: number) => Math.trunc(a),
  sym_float: (a: number) => a,
  sym_not: (a: Value) => !a,
  sym_max: (a: number, b: number) => Math.max(a, b),
  sym_min: (a: number, b: number) => Math.min(a, b),
  sym_sum: (a: readonly number[]) => a.reduce((x, y) => x + y, 0),
  sym_ite: (a: Value, b: Value, c: Value) => (a ? b : c),
};

/** The function of a target such as `_operator.floordiv`, `math.trunc` or `torch.sym_max`; undefined for others. */
export function symbolicFunction(target: string): ((...args: unknown[]) => unknown) | undefined {
  const m = /^(?:_operator|operator|math|builtins|torch|torch\._sym_\w+|torch\.fx\.experimental\.\w+)\.(\w+)$/.exec(
    target,
  );
  return m && Object.hasOwn(table, m[1]) ? (table[m[1]] as (...args: unknown[]) => unknown) : undefined;
}
