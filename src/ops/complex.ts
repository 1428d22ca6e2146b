/** @file Complex numbers: made of parts, taken apart. */
import * as dt from "../schema/dtype.js";
import { TorchError } from "../schema/index.js";
import { align, cast, fullLike, scalarTypeName, toFloatType } from "./helpers.js";
import { isNan } from "./pointwise.js";
import { notDifferentiable, op } from "./registry.js";

/** The types that complex numbers can be made of. */
function checkParts(name: string, a: dt.DType, b: dt.DType): void {
  const ok = (d: dt.DType): boolean => d === dt.float32 || d === dt.float64 || d === dt.float16;
  if (!ok(a) || !ok(b))
    throw new TorchError(
      `Expected both inputs to be Half, Float or Double tensors but got ${scalarTypeName(a)} and ${scalarTypeName(b)}`,
    );
  if (a !== b)
    throw new TorchError(
      `Expected object of scalar type ${scalarTypeName(a)} but got scalar type ${scalarTypeName(b)} for second argument`,
    );
  void name;
}

op("complex(Tensor real, Tensor imag) -> Tensor", {
  lower: (h, { real, imag }) => {
    checkParts("complex", real.dtype, imag.dtype);
    const [a, b] = align(h, [real, imag], real.dtype === dt.float64 ? dt.float64 : dt.float32);
    return h.complex(a, b);
  },
  grad: (t, _, dy) => ({ real: t.real(dy), imag: t.imag(dy) }),
  exactOut: true,
  doc: "real + i·imag.",
});
op("polar(Tensor abs, Tensor angle) -> Tensor", {
  lower: (h, { abs, angle }) => {
    checkParts("polar", abs.dtype, angle.dtype);
    const [r, a] = align(h, [abs, angle], abs.dtype === dt.float64 ? dt.float64 : dt.float32);
    return h.complex(h.multiply(r, h.cosine(a)), h.multiply(r, h.sine(a)));
  },
  grad: (t, { angle }, dy, y) => {
    const unit = t.complex(t.cos(angle), t.sin(angle));
    return {
      abs: t.real(t.mul(t.conj(dy), unit)),
      angle: t.neg(t.imag(t.mul(t.conj(dy), y))),
    };
  },
  exactOut: true,
  doc: "A complex number from its absolute value and angle.",
});

op("_conj_physical(Tensor self) -> Tensor", {
  lower: (h, { self }) => (self.dtype.is_complex ? h.complex(h.real(self), h.negate(h.imag(self))) : self),
  grad: (t, _, dy) => ({ self: t.conj(dy) }),
  doc: "Complex conjugate, as new values.",
});
op("conj_physical(Tensor self) -> Tensor", {
  lower: (h, { self }) => (self.dtype.is_complex ? h.complex(h.real(self), h.negate(h.imag(self))) : self),
  grad: (t, _, dy) => ({ self: t.conj(dy) }),
  doc: "Complex conjugate, as new values.",
});
op("_conj(Tensor(a) self) -> Tensor(a)", {
  composite: (t, { self }) => t.conj(self),
  doc: "Complex conjugate.",
});
for (const name of ["resolve_conj", "resolve_neg"] as const) {
  op(`${name}(Tensor(a) self) -> Tensor(a)`, {
    composite: (_t, { self }) => self,
    doc: "The tensor itself: conjugates and negatives are computed at once here.",
  });
}

op("angle(Tensor self) -> Tensor", {
  lower: (h, { self }) => {
    if (self.dtype.is_complex) return h.atan2(h.imag(self), h.real(self));
    const x = cast(h, self, toFloatType(self.dtype));
    const zero = fullLike(h, x, 0);
    const half = h.select(h.compare(x, zero, "LT"), fullLike(h, x, Math.PI), zero);
    return h.select(isNan(h, x), x, half);
  },
  grad: (t, { self }, dy) => {
    if (!self.is_complex()) return { self: t.zeros_like(dy) };
    const [re, im] = [t.real(self), t.imag(self)];
    const size = t.add(t.mul(re, re), t.mul(im, im));
    const scale = t.where(t.eq(size, 0), 0, t.div(dy, size));
    return { self: t.complex(t.neg(t.mul(scale, im)), t.mul(scale, re)) };
  },
  doc: "The angle of a complex number; 0 or π of a real one.",
});
op("isreal(Tensor self) -> Tensor", {
  lower: (h, { self }) => {
    if (!self.dtype.is_complex) return h.splat(true, dt.bool, self.shape);
    const im = h.imag(self);
    return h.compare(im, fullLike(h, im, 0), "EQ");
  },
  grad: notDifferentiable,
  doc: "Whether the imaginary part is zero.",
});
