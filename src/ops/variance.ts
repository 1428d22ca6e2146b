/** @file Variance and standard deviation. */
import type { Builder, Value } from "../hlo/index.js";
import { TorchError, wrapDims, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast, computeType, scalarTypeName } from "./helpers.js";
import { reduceDims, spread } from "./reduction.js";
import { op, type Torch } from "./registry.js";
import type { ScalarArgument } from "./schema_types.js";
import type { ScalarValue } from "./scalar_value.js";

type Dims = readonly number[] | null;

/** How many elements are reduced into one. */
const countOf = (shape: readonly number[], dims: readonly number[]): number => dims.reduce((n, d) => n * shape[d], 1);

interface Moments {
  readonly variance: Value;
  readonly mean: Value;
}

/** Variance (always real) and mean over dimensions; the sum of squares is divided by their number less `correction`. */
function moments(
  h: Builder,
  name: string,
  self: Value,
  dim: Dims,
  correction: ScalarValue | null,
  keepdim: boolean,
): Moments {
  if (!self.dtype.is_differentiable) throw new TorchError(`${name} only support floating point and complex dtypes`);
  const dims = wrapDims(dim, self.rank);
  const type = computeType(self.dtype);
  const x = cast(h, self, type);
  const count = countOf(self.shape, dims);
  const sum = (v: Value): Value =>
    reduceDims(h, v, dims, false, (y, d) => h.reduceWith(y, h.constant(0, y.dtype), d, "add"));
  const total = sum(x);
  const mean = h.divide(total, h.splat(count, type, total.shape));
  const kept = x.shape.map((_, i) => i).filter((i) => !dims.includes(i));
  const centred = h.subtract(x, h.broadcast_in_dim(mean, x.shape, kept));
  const square = type.is_complex
    ? h.add(h.multiply(h.real(centred), h.real(centred)), h.multiply(h.imag(centred), h.imag(centred)))
    : h.multiply(centred, centred);
  const squares = sum(square);
  const real = square.dtype;
  const less = correction === null ? h.constant(1, real) : correction.as(real);
  const degrees = h.maximum(h.subtract(h.constant(count, real), less), h.constant(0, real));
  const variance = h.divide(squares, h.broadcast_in_dim(degrees, squares.shape, []));
  const shape = keepdim ? self.shape.map((n, i) => (dims.includes(i) ? 1 : n)) : mean.shape;
  return { variance: h.reshape(variance, shape), mean: h.reshape(mean, shape) };
}

const realOf = (dtype: DType): DType => dtype.to_real();

/** The cotangent of the input of a variance. */
function varianceGrad(
  t: Torch,
  self: Tensor,
  dim: Dims,
  correction: ScalarArgument | null,
  keepdim: boolean,
  dy: Tensor,
): Tensor {
  const dims = wrapDims(dim, self.ndim);
  const degrees = t.clamp_min(t.sub(t.new_full(dy, [], countOf(self.shape, dims)), correction ?? 1), 0);
  const centred = t.sub(self, self.ndim === 0 ? self : t.mean(self, dims, true));
  return t.mul(spread(t, t.div(t.mul(dy, 2), degrees), self, dim, keepdim), centred);
}

/** The cotangent of a deviation as one of the variance; none where the deviation is zero. */
const throughRoot = (t: Torch, dy: Tensor, out: Tensor): Tensor =>
  t.masked_fill(t.div(dy, t.mul(out, 2)), t.eq(out, 0), 0);

function meanGrad(t: Torch, self: Tensor, dim: Dims, keepdim: boolean, dy: Tensor): Tensor {
  return t.div(spread(t, dy, self, dim, keepdim), Math.max(1, countOf(self.shape, wrapDims(dim, self.ndim))));
}

for (const [name, isRoot, word] of [
  ["var", false, "variance"],
  ["std", true, "standard deviation"],
] as const) {
  op(`${name}(Tensor self, bool unbiased=True) -> Tensor` as "var(Tensor self, bool unbiased=True) -> Tensor", {
    composite: (t, { self, unbiased }) => t[name](self, null, { correction: unbiased ? 1 : 0 }),
    doc: `The ${word}, of all elements or along dimensions; the sum of squares is divided by their number less \`correction\`.`,
  });
  op(
    `${name}.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor` as "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
    {
      lower: (h, { self, dim, correction, keepdim }) => {
        const { variance } = moments(h, name, self, dim, correction, keepdim);
        return cast(h, isRoot ? h.sqrt(variance) : variance, realOf(self.dtype));
      },
      grad: (t, { self, dim, correction, keepdim }, dy, out) => ({
        self: varianceGrad(t, self, dim, correction, keepdim, isRoot ? throughRoot(t, dy, out) : dy),
      }),
    },
  );
  op(
    `${name}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor` as "var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
    {
      composite: (t, { self, dim, unbiased, keepdim }) => t[name](self, dim, { correction: unbiased ? 1 : 0, keepdim }),
    },
  );
  const both = `${name}_mean` as const;
  op(
    `${both}(Tensor self, bool unbiased=True) -> (Tensor, Tensor)` as "var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
    {
      composite: (t, { self, unbiased }) => t[both](self, null, { correction: unbiased ? 1 : 0 }),
      doc: `The ${word} and the mean.`,
    },
  );
  op(
    `${both}.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)` as "var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
    {
      lower: (h, { self, dim, correction, keepdim }) => {
        const { variance, mean } = moments(h, both, self, dim, correction, keepdim);
        return [cast(h, isRoot ? h.sqrt(variance) : variance, realOf(self.dtype)), cast(h, mean, self.dtype)];
      },
      grad: (t, { self, dim, correction, keepdim }, [dv, dm], [out]) => ({
        self: t.add(
          varianceGrad(t, self, dim, correction, keepdim, isRoot ? throughRoot(t, dv, out) : dv),
          meanGrad(t, self, dim, keepdim, dm),
        ),
      }),
    },
  );
  op(
    `${both}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)` as "var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
    {
      composite: (t, { self, dim, unbiased, keepdim }) => t[both](self, dim, { correction: unbiased ? 1 : 0, keepdim }),
    },
  );
}

op("cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor", {
  composite: (t, { self, correction, fweights, aweights }) => {
    if (self.ndim > 2)
      throw new TorchError(
        `cov(): expected input to have two or fewer dimensions but got an input with ${self.ndim} dimensions`,
      );
    if (self.dtype.name === "bool") throw new TorchError("cov(): bool dtype is not supported for input");
    const n = self.ndim === 0 ? 1 : self.shape[self.ndim - 1];
    for (const [name, w, kind] of [
      ["fweights", fweights, "integral"],
      ["aweights", aweights, "floating point"],
    ] as const) {
      if (!w) continue;
      if (w.ndim > 1)
        throw new TorchError(
          `cov(): expected ${name} to have one or fewer dimensions but got ${name} with ${w.ndim} dimensions`,
        );
      const ok = kind === "integral" ? w.dtype.kind === "int" || w.dtype.kind === "uint" : w.is_floating_point();
      if (!ok)
        throw new TorchError(
          `cov(): expected ${name} to have ${kind} dtype but got ${name} with ${scalarTypeName(w.dtype)} dtype`,
        );
      if (w.numel() !== n)
        throw new TorchError(
          `cov(): expected ${name} to have the same numel as there are observations in the input but got ${w.numel()} != ${n}`,
        );
      if (n > 0 && w.storageRef.traced === null && t.any(t.lt(w.detach(), 0)).item() === true)
        throw new TorchError(`cov(): ${name} cannot be negative`);
    }
    return t._cov(self, correction, fweights, aweights);
  },
  doc: "The covariance of variables (rows) over observations (columns), which may have frequencies and weights.",
});

op("_cov(Tensor self, int correction, Tensor? fweights, Tensor? aweights) -> Tensor", {
  decompose: (t, { self, correction, fweights, aweights }) => {
    const x = self.ndim < 2 ? t.reshape(self, [1, -1]) : self;
    const n = x.shape[1];
    let w: Tensor | null = fweights;
    if (aweights) w = w ? t.mul(w, aweights) : aweights;
    if (w) w = t.reshape(w, [-1]);
    const total = w ? t.sum(w) : null;
    const mean = w
      ? t.div(t.sum(t.mul(x, w), 1), total!)
      : t.mean(x.dtype.is_differentiable ? x : t._to_copy(x, { dtype: t.div(x, 1).dtype }), 1);
    let norm: Tensor | number = n - correction;
    if (w && aweights && correction !== 0) {
      const each = fweights ? t.sum(t.mul(w, aweights)) : t.sum(t.mul(w, w));
      norm = t.sub(total!, t.div(t.mul(fweights ? each : each, correction), total!));
    } else if (w) norm = t.sub(total!, correction);
    const centred = t.sub(x, t.unsqueeze(mean, 1));
    const weighted = w ? t.mul(centred, w) : centred;
    const product = t.mm(centred, t.conj(t.transpose(weighted, 0, 1)));
    const divisor = typeof norm === "number" ? Math.max(0, norm) : t.clamp_min(norm, 0);
    const out = t.div(product, divisor);
    return self.ndim < 2 ? t.reshape(out, []) : t.squeeze(out);
  },
  doc: "`cov` without the checks of its weights.",
});

op("corrcoef(Tensor self) -> Tensor", {
  decompose: (t, { self }) => {
    if (self.ndim > 2)
      throw new TorchError(
        `corrcoef(): expected input to have two or fewer dimensions but got an input with ${self.ndim} dimensions`,
      );
    const c = t._cov(self, 1, null, null);
    if (c.ndim === 0) return t.div(c, c);
    const d = t.diagonal(c);
    const deviation = t.sqrt(c.is_complex() ? t.real(d) : d);
    const out = t.div(t.div(c, t.unsqueeze(deviation, 1)), t.unsqueeze(deviation, 0));
    if (!out.is_complex()) return t.clamp(out, -1, 1);
    return t.complex(t.clamp(t.real(out), -1, 1), t.clamp(t.imag(out), -1, 1));
  },
  doc: "The correlation of variables (rows) over observations (columns).",
});
