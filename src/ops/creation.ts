/** @file Tensors made from no tensor: filled, counted, ones on a diagonal. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { get_default_dtype, TorchError, type DType, type Scalar } from "../schema/index.js";
import { scalarKind, toNumber } from "../schema/scalar.js";
import { cast } from "./helpers.js";
import { notDifferentiable, op } from "./registry.js";
import type { ScalarValue } from "./scalar_value.js";

function checkSize(name: string, size: readonly number[]): void {
  const bad = size.find((n) => n < 0);
  if (bad !== undefined)
    throw new TorchError(
      `${name}(): expected dimension sizes to be >= 0, got [${size.join(", ")}], which contains ${bad}`,
    );
}

const tail = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None";
const likeTail = `${tail}, MemoryFormat? memory_format=None` as const;

/** The dtype of a number's tensor when none is asked for. */
function dtypeOfFill(value: ScalarValue): DType {
  if (value.kind === "bool") return dt.bool;
  if (value.kind === "int") return dt.int64;
  return value.kind === "complex" ? get_default_dtype().to_complex() : get_default_dtype();
}

for (const [name, value, doc] of [
  ["zeros", 0, "Zeros."],
  ["ones", 1, "Ones."],
  ["empty", 0, "A tensor whose values are not defined; here, zeros."],
] as const) {
  const schema =
    name === "empty"
      ? (`empty.memory_format(SymInt[] size, *, ${likeTail}) -> Tensor` as const)
      : (`${name}(SymInt[] size, *, ${tail}) -> Tensor` as const);
  op(schema as `x(SymInt[] size, *, ScalarType? dtype=None) -> Tensor`, {
    lower: (h, { size, dtype }) => {
      checkSize(name, size);
      return h.splat(value, dtype ?? get_default_dtype(), size);
    },
    grad: notDifferentiable,
    factory: true,
    doc,
  });
  op(`${name}_like(Tensor self, *, ${likeTail}) -> Tensor`, {
    lower: (h, { self, dtype }) => h.splat(value, dtype ?? self.dtype, self.shape),
    grad: notDifferentiable,
    factory: true,
    shapeOnly: true,
    doc: `${doc.slice(0, -1)}, with the shape and type of another tensor.`,
  });
  op(
    `new_${name}(Tensor self, SymInt[] size, *, ${tail}) -> Tensor` as `x(Tensor self, SymInt[] size, *, ScalarType? dtype=None) -> Tensor`,
    {
      lower: (h, { self, size, dtype }) => {
        checkSize(`new_${name}`, size);
        return h.splat(value, dtype ?? self.dtype, size);
      },
      grad: notDifferentiable,
      factory: true,
      shapeOnly: true,
    },
  );
}

op(`full(SymInt[] size, Scalar fill_value, *, ${tail}) -> Tensor`, {
  lower: (h, { size, fill_value, dtype }) => {
    checkSize("full", size);
    return fill_value.fill(dtype ?? dtypeOfFill(fill_value), size);
  },
  grad: notDifferentiable,
  factory: true,
  doc: "One number in every element.",
});
op(`full_like(Tensor self, Scalar fill_value, *, ${likeTail}) -> Tensor`, {
  lower: (_h, { self, fill_value, dtype }) => fill_value.fill(dtype ?? self.dtype, self.shape),
  grad: notDifferentiable,
  factory: true,
  shapeOnly: true,
  doc: "One number in every element, with the shape and type of another tensor.",
});
op(`new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ${tail}) -> Tensor`, {
  lower: (_h, { self, size, fill_value, dtype }) => {
    checkSize("new_full", size);
    return fill_value.fill(dtype ?? self.dtype, size);
  },
  grad: notDifferentiable,
  factory: true,
  shapeOnly: true,
});
op(`empty_strided(SymInt[] size, SymInt[] stride, *, ${tail}) -> Tensor`, {
  lower: (h, { size, dtype }) => h.splat(0, dtype ?? get_default_dtype(), size),
  grad: notDifferentiable,
  factory: true,
});
op(`new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ${tail}) -> Tensor`, {
  lower: (h, { self, size, dtype }) => h.splat(0, dtype ?? self.dtype, size),
  grad: notDifferentiable,
  factory: true,
  shapeOnly: true,
});
op(`scalar_tensor(Scalar s, *, ${tail}) -> Tensor`, {
  lower: (_h, { s, dtype }) => s.as(dtype ?? get_default_dtype()),
  grad: notDifferentiable,
  factory: true,
});

const numberOf = (s: ScalarValue): number => toNumber(s.literal as Scalar);

/** start + i · step, computed wide enough that the last element is right. */
function counted(h: Builder, count: number, start: number, step: number, dtype: DType): Value {
  const wide = dtype.is_floating_point ? (dtype === dt.float64 ? dt.float64 : dt.float64) : dt.int64;
  const index = h.iota(wide, [count], 0);
  const value = h.add(h.multiply(index, h.splat(step, wide, [count])), h.splat(start, wide, [count]));
  return cast(h, value, dtype);
}

function rangeDtype(numbers: readonly ScalarValue[]): DType {
  return numbers.some((s) => scalarKind(s.literal as Scalar) === "float") ? get_default_dtype() : dt.int64;
}

op(
  [
    `arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ${tail}) -> Tensor`,
    `arange.start(Scalar start, Scalar end, *, ${tail}) -> Tensor`,
  ],
  {
    lower: (h, { start, end, step, dtype }) => {
      const [a, b, s] = [start, end, step].map(numberOf);
      if (s === 0) throw new TorchError("step must be nonzero");
      if (!Number.isFinite(a) || !Number.isFinite(b)) throw new TorchError(`unsupported range: ${a} -> ${b}`);
      if ((s > 0 && a > b) || (s < 0 && a < b))
        throw new TorchError("upper bound and lower bound inconsistent with step sign");
      return counted(h, Math.ceil((b - a) / s), a, s, dtype ?? rangeDtype([start, end, step]));
    },
    statics: ["start", "end", "step"],
    grad: notDifferentiable,
    factory: true,
    doc: "Numbers from `start` up to, not including, `end`, `step` apart.",
  },
);
op(`arange(Scalar end, *, ${tail}) -> Tensor`, {
  composite: (t, { end, dtype, device }) =>
    t.arange(0, end, {
      dtype: dtype ?? (scalarKind(end) === "float" ? get_default_dtype() : dt.int64),
      device: device as string,
    }),
  factory: true,
});

op(`linspace(Scalar start, Scalar end, int steps, *, ${tail}) -> Tensor`, {
  lower: (h, { start, end, steps, dtype }) => {
    if (steps < 0) throw new TorchError("number of steps must be non-negative");
    const out =
      dtype ??
      (start.kind === "complex" || end.kind === "complex" ? get_default_dtype().to_complex() : get_default_dtype());
    const wide = out.is_complex ? dt.complex128 : dt.float64;
    const index = h.iota(dt.float64, [steps], 0);
    const half = h.compare(index, h.splat(steps / 2, dt.float64, [steps]), "LT");
    const a = start.fill(wide, [steps]);
    const b = end.fill(wide, [steps]);
    if (steps === 1) return cast(h, a, out);
    const step = h.divide(h.subtract(b, a), h.splat(Math.max(1, steps - 1), wide, [steps]));
    const i = cast(h, index, wide);
    const back = h.subtract(h.splat(steps - 1, wide, [steps]), i);
    return cast(h, h.select(half, h.add(a, h.multiply(step, i)), h.subtract(b, h.multiply(step, back))), out);
  },
  grad: notDifferentiable,
  factory: true,
  doc: "`steps` numbers from `start` to `end`, both included.",
});

op([`eye.m(SymInt n, SymInt m, *, ${tail}) -> Tensor`], {
  lower: (h, { n, m, dtype }) => {
    checkSize("eye", [n, m]);
    const out = dtype ?? get_default_dtype();
    return cast(h, h.compare(h.iota(dt.int64, [n, m], 0), h.iota(dt.int64, [n, m], 1), "EQ"), out);
  },
  grad: notDifferentiable,
  factory: true,
  doc: "Ones on the diagonal.",
});
op(`eye(SymInt n, *, ${tail}) -> Tensor`, {
  composite: (t, { n, dtype, device }) => t.eye(n, n, { dtype: dtype ?? undefined, device: device as string }),
  factory: true,
});

function triangle(name: "tril" | "triu"): void {
  op(`${name}(Tensor self, SymInt diagonal=0) -> Tensor`, {
    lower: (h, { self, diagonal }) => {
      if (self.rank < 2) throw new TorchError(`${name}: input tensor must have at least 2 dimensions`);
      const row = h.add(h.iota(dt.int64, self.shape, self.rank - 2), h.splat(diagonal, dt.int64, self.shape));
      const keep = h.compare(h.iota(dt.int64, self.shape, self.rank - 1), row, name === "tril" ? "LE" : "GE");
      return h.select(keep, self, h.splat(0, self.dtype, self.shape));
    },
    grad: (t, { diagonal }, dy) => ({ self: t[name](dy, diagonal) }),
    doc: `The ${name === "tril" ? "lower" : "upper"} triangle of matrices, zeros elsewhere.`,
  });
}
triangle("tril");
triangle("triu");

export { checkSize };
