/** @file Comparisons, choices between elements, and what asks about values: NaN, infinite, close. */
import type { Builder, Value } from "../hlo/index.js";
import * as dt from "../schema/dtype.js";
import { get_default_dtype, TorchError, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { binary, comparison, logical } from "./families.js";
import { align, cast, fullLike, isTensorArgument, promotedType, scalarTypeName } from "./helpers.js";
import { isNan, isReal } from "./pointwise.js";
import { notDifferentiable, op, type Torch } from "./registry.js";

comparison("eq", "EQ", "Whether elements are equal.");
comparison("ne", "NE", "Whether elements differ.");
comparison("lt", "LT", "Whether elements of `self` are smaller.");
comparison("le", "LE", "Whether elements of `self` are smaller or equal.");
comparison("gt", "GT", "Whether elements of `self` are larger.");
comparison("ge", "GE", "Whether elements of `self` are larger or equal.");

logical("logical_and", "Whether both elements are nonzero.", (h, a, b) => h.and(a, b));
logical("logical_or", "Whether one element is nonzero.", (h, a, b) => h.or(a, b));
logical("logical_xor", "Whether exactly one element is nonzero.", (h, a, b) => h.xor(a, b));
op("logical_not(Tensor self) -> Tensor", {
  lower: (h, { self }) => h.not(cast(h, self, dt.bool)),
  grad: notDifferentiable,
  doc: "Whether elements are zero.",
});

/** Asks about each element; complex numbers are asked about both parts. */
function predicate(
  name: string,
  doc: string,
  float: (h: Builder, x: Value) => Value,
  options: { combine?: "and" | "or"; otherwise: boolean },
): void {
  op(`${name}(Tensor self) -> Tensor`, {
    lower: (h, { self }) => {
      if (self.dtype.is_complex) {
        if (!options.combine) throw new TorchError(`${name} does not support complex inputs.`);
        const [re, im] = [float(h, h.real(self)), float(h, h.imag(self))];
        return options.combine === "and" ? h.and(re, im) : h.or(re, im);
      }
      return self.dtype.is_floating_point ? float(h, self) : h.splat(options.otherwise, dt.bool, self.shape);
    },
    grad: notDifferentiable,
    doc,
  });
}
const isInfinite = (h: Builder, x: Value, value: number): Value => h.compare(x, fullLike(h, x, value), "EQ");
predicate("isnan", "Whether elements are NaN.", isNan, { combine: "or", otherwise: false });
predicate(
  "isinf",
  "Whether elements are infinite.",
  (h, x) => h.or(isInfinite(h, x, Infinity), isInfinite(h, x, -Infinity)),
  { combine: "or", otherwise: false },
);
predicate("isfinite", "Whether elements are neither infinite nor NaN.", (h, x) => h.is_finite(x), {
  combine: "and",
  otherwise: true,
});
predicate("isposinf", "Whether elements are +∞.", (h, x) => isInfinite(h, x, Infinity), { otherwise: false });
predicate("isneginf", "Whether elements are -∞.", (h, x) => isInfinite(h, x, -Infinity), { otherwise: false });

op(
  [
    "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    "where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
    "where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
    "where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
  ],
  {
    lower: (h, { condition, self, other }) => {
      if (condition.dtype !== dt.bool && condition.dtype !== dt.uint8)
        throw new TorchError(
          `where expected condition to be a boolean tensor, but got a tensor with dtype ${scalarTypeName(condition.dtype)}`,
        );
      const [mask, a, b] = alignWith(h, cast(h, condition, dt.bool), [self, other], promotedType(self, other));
      return h.select(mask, a, b);
    },
    grad: (t, { condition }, dy) => ({
      self: t.where(condition, dy, t.zeros_like(dy)),
      other: t.where(condition, t.zeros_like(dy), dy),
    }),
    numbers: ["self", "other"],
    doc: "`self` where the condition holds, `other` elsewhere.",
  },
);

/** A mask and values of `dtype`, all broadcast to one shape. */
function alignWith(h: Builder, mask: Value, xs: readonly Value[], dtype: DType): Value[] {
  const [m, ...rest] = align(h, [mask, ...xs.map((x) => cast(h, x, dtype))], dtype);
  return [h.broadcastTo(mask, m.shape), ...rest];
}

op("where(Tensor condition) -> Tensor[]", {
  composite: (t, { condition }) => t.unbind(t.nonzero(condition), 1),
  doc: "The indices of the nonzero elements, one tensor a dimension.",
});

/** Zero cotangent where the mask does not hold. */
export const keep = (t: Torch, mask: Tensor, dy: Tensor): Tensor => t.where(mask, dy, t.zeros_like(dy));

const halves = (t: Torch, self: Tensor, other: Tensor, dy: Tensor): Tensor =>
  t.where(t.eq(self, other), t.div(dy, 2), dy);

for (const [name, larger] of [
  ["maximum", true],
  ["minimum", false],
] as const) {
  binary(
    name,
    {
      lower: (h, a, b) => (larger ? h.maximum(a, b) : h.minimum(a, b)),
      grad: (t, { self, other }, dy) => {
        const half = halves(t, self, other, dy);
        return {
          self: keep(t, larger ? t.ge(self, other) : t.le(self, other), half),
          other: keep(t, larger ? t.le(self, other) : t.ge(self, other), half),
        };
      },
      accepts: (d) => isReal(d) || `${name} not implemented for complex tensors.`,
      exact: true,
      doc: `The ${larger ? "larger" : "smaller"} of two elements; NaN if one is.`,
    },
    [`${name}(Tensor self, Tensor other) -> Tensor`],
  );
  const fname = larger ? "fmax" : "fmin";
  binary(
    fname,
    {
      lower: (h, a, b) => {
        const best = larger ? h.maximum(a, b) : h.minimum(a, b);
        return h.select(isNan(h, a), b, h.select(isNan(h, b), a, best));
      },
      grad: (t, { self, other }, dy) => {
        const first = t.logical_or(larger ? t.ge(self, other) : t.le(self, other), t.isnan(other));
        return { self: keep(t, first, dy), other: keep(t, t.logical_not(first), dy) };
      },
      accepts: (d) => isReal(d) || `${fname} not implemented for complex tensors.`,
      exact: true,
      doc: `The ${larger ? "larger" : "smaller"} of two elements; the other one where one is NaN.`,
    },
    [`${fname}(Tensor self, Tensor other) -> Tensor`],
  );
}

/** `self` raised to `min` and lowered to `max`, where they are given. */
function clampValue(h: Builder, name: string, self: Value, min: Value | null, max: Value | null): Value {
  if (!min && !max) throw new TorchError("torch.clamp: At least one of 'min' or 'max' must not be None");
  const given = [self, min, max].filter((x) => x !== null);
  const dtype = promotedType(...given);
  if (dtype.is_complex) throw new TorchError("clamp is not supported for complex types");
  const [x, ...bounds] = align(h, given, dtype);
  void name;
  let y = x;
  if (min) y = h.maximum(y, bounds[0]);
  return max ? h.minimum(y, bounds[bounds.length - 1]) : y;
}

type Bound = Tensor | null;

function clampGrad(t: Torch, self: Tensor, min: Bound, max: Bound, dy: Tensor): Record<string, Tensor | null> {
  const above = min === null ? null : t.ge(self, min);
  const below = max === null ? null : t.le(self, max);
  const inside = above && below ? t.logical_and(above, below) : (above ?? below)!;
  const grads: Record<string, Tensor | null> = { self: keep(t, inside, dy) };
  if (isTensorArgument(min)) {
    const low = t.lt(self, min);
    grads.min = keep(t, max === null ? low : t.logical_and(low, t.lt(min, max)), dy);
  }
  if (isTensorArgument(max)) {
    const high = t.gt(self, max);
    grads.max = keep(t, min === null ? high : t.logical_or(high, t.gt(min, max)), dy);
  }
  return grads;
}

op(
  [
    "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
  ],
  {
    lower: (h, { self, min, max }) => clampValue(h, "clamp", self, min, max),
    grad: (t, { self, min, max }, dy) => clampGrad(t, self, min, max, dy),
    numbers: ["min", "max"],
    doc: "Keeps elements between `min` and `max`.",
  },
);
op(["clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", "clamp_min(Tensor self, Scalar min) -> Tensor"], {
  lower: (h, { self, min }) => clampValue(h, "clamp_min", self, min, null),
  grad: (t, { self, min }, dy) => clampGrad(t, self, min, null, dy),
  numbers: ["min"],
  doc: "Raises elements to `min`.",
});
op(["clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", "clamp_max(Tensor self, Scalar max) -> Tensor"], {
  lower: (h, { self, max }) => clampValue(h, "clamp_max", self, null, max),
  grad: (t, { self, max }, dy) => clampGrad(t, self, null, max, dy),
  numbers: ["max"],
  doc: "Lowers elements to `max`.",
});

op(
  "isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
  {
    lower: (h, { self, other, rtol, atol, equal_nan }) => {
      if (self.dtype !== other.dtype)
        throw new TorchError(`${scalarTypeName(self.dtype)} did not match ${scalarTypeName(other.dtype)}`);
      if (rtol < 0) throw new TorchError(`rtol must be greater than or equal to zero, but got ${rtol}`);
      if (atol < 0) throw new TorchError(`atol must be greater than or equal to zero, but got ${atol}`);
      const [a, b] = align(h, [self, other], self.dtype);
      let close = h.compare(a, b, "EQ");
      if (equal_nan && a.dtype.is_differentiable) close = h.or(close, h.and(isNan(h, a), isNan(h, b)));
      if (rtol === 0 && atol === 0) return close;
      const wide = a.dtype.is_differentiable ? a.dtype : get_default_dtype();
      const size = (x: Value): Value => (x.dtype.kind === "uint" ? x : h.abs(x));
      const difference = a.dtype === dt.bool ? cast(h, h.xor(a, b), wide) : cast(h, size(h.subtract(a, b)), wide);
      const real = wide.to_real();
      const error = cast(h, wide.is_complex && difference.dtype.is_complex ? h.real(difference) : difference, real);
      const reach = h.abs(h.multiply(fullLike(h, cast(h, b, wide), rtol), cast(h, b, wide)));
      const allowed = h.add(fullLike(h, reach, atol), reach);
      return h.or(close, h.and(h.is_finite(error), h.compare(error, allowed, "LE")));
    },
    grad: notDifferentiable,
    doc: "Whether |self - other| ≤ atol + rtol·|other|.",
  },
);
op(
  "allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> bool",
  {
    composite: (t, { self, other, rtol, atol, equal_nan }) =>
      t.all(t.isclose(self, other, rtol, atol, equal_nan)).item() as boolean,
    doc: "Whether every pair of elements is close; reads the value.",
  },
);
op("equal(Tensor self, Tensor other) -> bool", {
  composite: (t, { self, other }) => {
    if (self.shape.join() !== other.shape.join()) return false;
    return t.all(t.eq(self, other)).item() as boolean;
  },
  doc: "Whether shapes and all elements are equal; reads the value.",
});
