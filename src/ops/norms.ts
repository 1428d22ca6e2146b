/** @file Norms of vectors and matrices, and distances. */
import type { Builder, Value } from "../hlo/index.js";
import { TorchError, wrapDim, wrapDims, type DType, type Scalar } from "../schema/index.js";
import { toNumber } from "../schema/scalar.js";
import type { Tensor } from "../tensor/index.js";
import { cast, computeType, scalarTypeName } from "./helpers.js";
import { reduceDims, spread } from "./reduction.js";
import { op, type Torch } from "./registry.js";
import type { ScalarArgument } from "./schema_types.js";

const numberOf = (s: ScalarArgument): number => toNumber(s as Scalar);

/** A reduction of absolute values to their norm of order `p`. */
function normOf(h: Builder, x: Value, p: number, dims: readonly number[], keepdim: boolean): Value {
  const size = h.abs(x);
  const reduce = (v: Value, init: number, kind: "add" | "maximum" | "minimum"): Value =>
    reduceDims(h, v, dims, keepdim, (y, d) => h.reduceWith(y, h.constant(init, y.dtype), d, kind));
  if (p === Infinity) return reduce(size, 0, "maximum");
  if (p === -Infinity) return reduce(size, Infinity, "minimum");
  if (p === 0) return reduce(cast(h, h.compare(size, h.zerosLike(size), "NE"), size.dtype), 0, "add");
  if (p === 1) return reduce(size, 0, "add");
  if (p === 2) return h.sqrt(reduce(h.multiply(size, size), 0, "add"));
  const sum = reduce(h.power(size, h.fullLike(size, p)), 0, "add");
  return h.power(sum, h.fullLike(sum, 1 / p));
}

/** The cotangent of a norm's input, as PyTorch defines it where the norm is zero or has several largest elements. */
function normGrad(
  t: Torch,
  self: Tensor,
  p: number,
  dim: readonly number[] | null,
  keepdim: boolean,
  dy: Tensor,
  out: Tensor,
): Tensor {
  const g = spread(t, dy, self, dim, keepdim);
  const norm = spread(t, out, self, dim, keepdim);
  const noNorm = t.eq(norm, 0);
  if (p === 0) return t.zeros_like(self);
  if (p === 1) return t.mul(t.sgn(self), g);
  if (p === 2) return t.mul(self, t.masked_fill(t.div(g, norm), noNorm, 0));
  const size = t.abs(self);
  if (!Number.isFinite(p)) {
    const hits = t._to_copy(t.logical_or(t.eq(size, norm), t.logical_and(t.isnan(size), t.isnan(norm))), {
      dtype: norm.dtype,
    });
    const dims = wrapDims(dim, self.ndim);
    const count = dims.length === 0 ? hits : t.sum(hits, dims, true);
    return t.mul(t.sgn(self), t.mul(t.div(g, count), hits));
  }
  if (p < 1) {
    const part = t.masked_fill(t.mul(t.sgn(self), t.pow(size, p - 1)), t.eq(self, 0), 0);
    return t.mul(part, t.mul(g, t.pow(norm, 1 - p)));
  }
  const scale = t.masked_fill(t.div(g, t.pow(norm, p - 1)), noNorm, 0);
  const part = p < 2 ? t.mul(t.sgn(self), t.pow(size, p - 1)) : t.mul(self, t.pow(size, p - 2));
  return t.mul(part, scale);
}

function normType(name: string, self: DType, asked: DType | null): DType {
  if (!self.is_differentiable)
    throw new TorchError(`${name}: Expected a floating point or complex tensor as input. Got ${scalarTypeName(self)}`);
  if (asked === null) return self;
  if (self.is_complex !== asked.is_complex)
    throw new TorchError(
      `${name}: dtype should be ${self.is_complex ? "complex" : "real"} for ${self.is_complex ? "complex" : "real"} inputs, but got ${scalarTypeName(asked)}`,
    );
  return asked;
}

op(
  "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
  {
    lower: (h, { self, ord, dim, keepdim, dtype }) => {
      const type = normType("linalg.vector_norm", self.dtype, dtype);
      const p = numberOf(ord.literal!);
      const dims = wrapDims(dim, self.rank);
      const empty = self.numel === 0 && dims.some((d) => self.shape[d] === 0);
      if (empty && (p < 0 || p === Infinity))
        throw new TorchError(
          `linalg.vector_norm cannot compute the ${ordText(p)} norm on an empty tensor because the operation does not have an identity`,
        );
      const out = normOf(h, cast(h, self, computeType(type)), p, dims, keepdim);
      return cast(h, out, type.to_real());
    },
    grad: (t, { self, ord, dim, keepdim }, dy, out) => {
      const x =
        self.dtype.to_real() === out.dtype
          ? self
          : t._to_copy(self, { dtype: self.is_complex() ? out.dtype.to_complex() : out.dtype });
      return { self: normGrad(t, x, numberOf(ord), dim, keepdim, dy, out) };
    },
    statics: ["ord"],
    doc: "The norm of order `ord` of vectors: all elements, or along dimensions.",
  },
);

const ordText = (p: number): string => (p === Infinity ? "inf" : p === -Infinity ? "-inf" : String(p));

type Ord = ScalarArgument | string | null;

/** `torch.norm`: the vector norm of all elements or of dimensions; or, by name, a matrix norm. */
function norm(
  t: Torch,
  self: Tensor,
  p: Ord,
  dim: readonly number[] | null,
  keepdim: boolean,
  dtype: DType | null,
): Tensor {
  if (p === "nuc") {
    const x = dtype ? t._to_copy(self, { dtype }) : self;
    return matrixNorm(t, x, "nuc", dim ?? [-2, -1], keepdim);
  }
  if (typeof p === "string" && p !== "fro") throw new TorchError(`unsupported norm ${p}`);
  if (!self.dtype.is_differentiable && dtype === null)
    throw new TorchError(
      `norm(): input dtype should be either floating point or complex. Got ${scalarTypeName(self.dtype)} instead.`,
    );
  const ord = typeof p === "string" || p === null ? 2 : p;
  const x = dtype !== null && !self.dtype.is_differentiable ? t._to_copy(self, { dtype }) : self;
  return t.linalg_vector_norm(x, ord, dim, keepdim, { dtype });
}

op("norm.python(Tensor self, str p, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", {
  composite: (t, { self, p, dim, keepdim, dtype }) => norm(t, self, p, dim, keepdim, dtype),
  doc: "The norm of all elements or along dimensions; `p` may be 'fro' or 'nuc'.",
});
op("norm.Scalar(Tensor self, Scalar p=2) -> Tensor", {
  composite: (t, { self, p }) => norm(t, self, p, null, false, null),
});
op("norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor", {
  composite: (t, { self, p, dim, keepdim }) => norm(t, self, p, dim, keepdim, null),
});
op("norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor", {
  composite: (t, { self, p, dim, keepdim, dtype }) => norm(t, self, p, dim, keepdim, dtype),
});
op("norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor", {
  composite: (t, { self, p, dtype }) => norm(t, self, p, null, false, dtype),
});
op(
  "norm.python_scalar(Tensor self, Scalar? p=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
  {
    composite: (t, { self, p, dim, keepdim, dtype }) => norm(t, self, p, dim, keepdim, dtype),
  },
);
op("frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", {
  composite: (t, { self, dim, keepdim }) => norm(t, self, 2, dim, keepdim, null),
  doc: "The square root of the sum of squares.",
});

/** Largest or smallest sums of absolute values along one dimension of a matrix, or what its singular values give. */
function matrixNorm(
  t: Torch,
  x: Tensor,
  ord: number | "fro" | "nuc",
  dim: readonly number[],
  keepdim: boolean,
): Tensor {
  if (dim.length !== 2) throw new TorchError(`linalg.matrix_norm: dim must be a 2-tuple. Got ${dim.join(", ")}`);
  const [row, column] = dim.map((d) => wrapDim(d, x.ndim));
  if (row === column) throw new TorchError(`linalg.matrix_norm: dims must be different. Got (${dim.join(", ")})`);
  if (ord === "fro") return t.linalg_vector_norm(x, 2, [row, column], keepdim);
  if (typeof ord === "number" && [1, Infinity].includes(Math.abs(ord))) {
    const along = Math.abs(ord) === 1 ? row : column;
    const across = along === row ? column : row;
    const sums = t.linalg_vector_norm(x, 1, [along], true);
    const out = ord > 0 ? t.amax(sums, [across], true) : t.amin(sums, [across], true);
    return keepdim ? out : t.squeeze(out, [row, column]);
  }
  if (ord !== "nuc" && Math.abs(ord) !== 2) throw new TorchError(`linalg.matrix_norm: Order ${ord} not supported.`);
  const svdvals = (t as unknown as Record<string, (a: Tensor) => Tensor>).linalg_svdvals;
  const s = svdvals(t.movedim(x, [row, column], [-2, -1]));
  const out = ord === "nuc" ? t.sum(s, [-1], true) : ord > 0 ? t.amax(s, [-1], true) : t.amin(s, [-1], true);
  if (!keepdim) return t.squeeze(out, -1);
  const wide = t.unsqueeze(out, -1);
  return t.movedim(wide, [-2, -1], [row, column]);
}

function checkMatrix(self: Tensor, dtype: DType | null): void {
  if (self.ndim < 2) throw new TorchError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.");
  normType("linalg.matrix_norm", self.dtype, dtype);
}

op(
  "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
  {
    composite: (t, { self, ord, dim, keepdim, dtype }) => {
      checkMatrix(self, dtype);
      return matrixNorm(t, dtype ? t._to_copy(self, { dtype }) : self, numberOf(ord), dim, keepdim);
    },
    doc: "The norm of matrices: sums of absolute values (1, inf), singular values (2, 'nuc'), or squares ('fro').",
  },
);
op(
  "linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
  {
    composite: (t, { self, ord, dim, keepdim, dtype }) => {
      checkMatrix(self, dtype);
      if (ord !== "fro" && ord !== "nuc") throw new TorchError(`linalg.matrix_norm: Order ${ord} not supported.`);
      return matrixNorm(t, dtype ? t._to_copy(self, { dtype }) : self, ord, dim, keepdim);
    },
  },
);

op(
  "linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
  {
    composite: (t, { self, ord, dim, keepdim, dtype }) => {
      if (dim !== null && dim.length !== 1 && dim.length !== 2)
        throw new TorchError(`linalg.norm: If dim is specified, it must be of length 1 or 2. Got [${dim.join(", ")}]`);
      if (ord !== null && dim === null && self.ndim !== 1 && self.ndim !== 2)
        throw new TorchError(
          "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got " + `${self.ndim}D.`,
        );
      if (ord !== null && (dim !== null ? dim.length === 2 : self.ndim === 2))
        return t.linalg_matrix_norm(self, ord, dim ?? [0, 1], keepdim, { dtype });
      if (ord !== null || dim !== null) return t.linalg_vector_norm(self, ord ?? 2, dim, keepdim, { dtype });
      return t.linalg_vector_norm(self, 2, null, keepdim, { dtype });
    },
    doc: "The norm of vectors or matrices, as `dim` and the input's rank say.",
  },
);
op(
  "linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
  {
    composite: (t, { self, ord, dim, keepdim, dtype }) => {
      if (dim === null && self.ndim !== 2)
        throw new TorchError(
          `linalg.norm: The input tensor must be 2D if ord is a string and dim is None. Got ${self.ndim}D.`,
        );
      return t.linalg_matrix_norm(self, ord, dim ?? [0, 1], keepdim, { dtype });
    },
  },
);
op("nuclear_norm(Tensor self, bool keepdim=False) -> Tensor", {
  composite: (t, { self, keepdim }) => matrixNorm(t, self, "nuc", [0, 1], keepdim),
  doc: "The sum of a matrix's singular values.",
});
op("nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor", {
  composite: (t, { self, dim, keepdim }) => matrixNorm(t, self, "nuc", dim, keepdim),
});

op("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", {
  decompose: (t, { self, other, p }) => t.linalg_vector_norm(t.sub(self, other), p),
  statics: ["p"],
  doc: "The norm of the difference.",
});
