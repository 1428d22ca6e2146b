/** @file Matrix products. */
import type { Builder, Value } from "../hlo/index.js";
import { bool, TorchError, TorchIndexError, broadcastShapes, type DType } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast, computeType, scalarTypeName } from "./helpers.js";
import { op, type Torch } from "./registry.js";

function sameDtype(op: string, a: Value, b: Value): void {
  if (a.dtype !== b.dtype)
    throw new TorchError(
      `${op}(): expected m1 and m2 to have the same dtype, but got: ${scalarTypeName(a.dtype)} != ${scalarTypeName(b.dtype)}`,
    );
}

/** A product of matrices, accumulated in the compute type. */
export function product(
  h: Builder,
  a: Value,
  b: Value,
  dims: { lhsBatch: number[]; rhsBatch: number[]; lhsContract: number[]; rhsContract: number[] },
): Value {
  const wide: DType = computeType(a.dtype);
  if (a.dtype === bool) throw new TorchError(`"addmm_impl_cpu_" not implemented for 'Bool'`);
  return cast(h, h.dot_general(a, b, { ...dims, ...(wide === a.dtype ? {} : { outDtype: wide }) }), a.dtype);
}

const conjT = (t: Torch, x: Tensor): Tensor => t.conj(t.transpose(x, -2, -1));

op("mm(Tensor self, Tensor mat2) -> Tensor", {
  lower: (h, { self, mat2 }) => {
    if (self.rank !== 2) throw new TorchError("self must be a matrix");
    if (mat2.rank !== 2) throw new TorchError("mat2 must be a matrix");
    if (self.shape[1] !== mat2.shape[0])
      throw new TorchError(
        `mat1 and mat2 shapes cannot be multiplied (${self.shape.join("x")} and ${mat2.shape.join("x")})`,
      );
    sameDtype("mm", self, mat2);
    return product(h, self, mat2, { lhsBatch: [], rhsBatch: [], lhsContract: [1], rhsContract: [0] });
  },
  grad: (t, { self, mat2 }, dy) => ({ self: t.mm(dy, conjT(t, mat2)), mat2: t.mm(conjT(t, self), dy) }),
  doc: "The product of two matrices.",
});

op("bmm(Tensor self, Tensor mat2) -> Tensor", {
  lower: (h, { self, mat2 }) => {
    if (self.rank !== 3) throw new TorchError("batch1 must be a 3D tensor");
    if (mat2.rank !== 3) throw new TorchError("batch2 must be a 3D tensor");
    if (self.shape[0] !== mat2.shape[0] || self.shape[2] !== mat2.shape[1]) {
      throw new TorchError(
        `Expected size for first two dimensions of batch2 tensor to be: [${self.shape[0]}, ${self.shape[2]}] but got: [${mat2.shape[0]}, ${mat2.shape[1]}].`,
      );
    }
    if (self.dtype !== mat2.dtype)
      throw new TorchError(
        `expected scalar type ${scalarTypeName(self.dtype)} but found ${scalarTypeName(mat2.dtype)}`,
      );
    return product(h, self, mat2, { lhsBatch: [0], rhsBatch: [0], lhsContract: [2], rhsContract: [1] });
  },
  grad: (t, { self, mat2 }, dy) => ({ self: t.bmm(dy, conjT(t, mat2)), mat2: t.bmm(conjT(t, self), dy) }),
  doc: "Products of two batches of matrices.",
});

op("mv(Tensor self, Tensor vec) -> Tensor", {
  lower: (h, { self, vec }) => {
    if (self.rank !== 2 || vec.rank !== 1)
      throw new TorchError(`vector + matrix @ vector expected, got ${self.rank}, ${self.rank}, ${vec.rank}`);
    if (self.shape[1] !== vec.shape[0])
      throw new TorchError(
        `size mismatch, got input (${self.shape[0]}), mat (${self.shape.join("x")}), vec (${vec.shape[0]})`,
      );
    sameDtype("mv", self, vec);
    return product(h, self, vec, { lhsBatch: [], rhsBatch: [], lhsContract: [1], rhsContract: [0] });
  },
  grad: (t, { self, vec }, dy) => ({ self: t.outer(dy, t.conj(vec)), vec: t.mv(t.conj(t.t(self)), dy) }),
  doc: "The product of a matrix and a vector.",
});

op("dot(Tensor self, Tensor tensor) -> Tensor", {
  lower: (h, { self, tensor }) => {
    if (self.rank !== 1 || tensor.rank !== 1)
      throw new TorchError(`1D tensors expected, but got ${self.rank}D and ${tensor.rank}D tensors`);
    if (self.dtype !== tensor.dtype)
      throw new TorchError(
        `dot : expected both vectors to have same dtype, but found ${scalarTypeName(self.dtype)} and ${scalarTypeName(tensor.dtype)}`,
      );
    if (self.shape[0] !== tensor.shape[0])
      throw new TorchError(
        `inconsistent tensor size, expected tensor [${self.shape[0]}] and src [${tensor.shape[0]}] to have the same number of elements, but got ${self.shape[0]} and ${tensor.shape[0]} elements respectively`,
      );
    return product(h, self, tensor, { lhsBatch: [], rhsBatch: [], lhsContract: [0], rhsContract: [0] });
  },
  grad: (t, { self, tensor }, dy) => ({ self: t.mul(dy, t.conj(tensor)), tensor: t.mul(dy, t.conj(self)) }),
  doc: "The product of two vectors, summed.",
});
op("vdot(Tensor self, Tensor other) -> Tensor", { decompose: (t, { self, other }) => t.dot(t.conj(self), other) });
op("outer(Tensor self, Tensor vec2) -> Tensor", {
  decompose: (t, { self, vec2 }) => {
    if (self.ndim !== 1 || vec2.ndim !== 1)
      throw new TorchError(
        `outer: Expected 1-D argument ${self.ndim !== 1 ? "self" : "vec2"}, but got ${self.ndim !== 1 ? self.ndim : vec2.ndim}-D`,
      );
    return t.mul(t.unsqueeze(self, 1), vec2);
  },
  doc: "Every product of two vectors' elements.",
});
op("ger(Tensor self, Tensor vec2) -> Tensor", { decompose: (t, { self, vec2 }) => t.outer(self, vec2) });

/** alpha·product + beta·self, where a beta of zero ignores self even when it is NaN. */
function addTo(
  name: string,
  rank: number,
  multiply: (t: Torch, a: Tensor, b: Tensor) => Tensor,
  second: readonly [string, string],
): void {
  const [a, b] = second;
  op(
    `${name}(Tensor self, Tensor ${a}, Tensor ${b}, *, Scalar beta=1, Scalar alpha=1) -> Tensor` as "x(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    {
      decompose: (t, args) => {
        const { self, beta, alpha } = args;
        const x = (args as unknown as Record<string, Tensor>)[a];
        const y = (args as unknown as Record<string, Tensor>)[b];
        if (self.dtype !== x.dtype)
          throw new TorchError(
            `${name}(): expected self and ${a} to have the same dtype, but got: ${self.dtype.name} and ${x.dtype.name}`,
          );
        const wide = computeType(x.dtype);
        const widen = (v: Tensor): Tensor => (v.dtype === wide ? v : t._to_copy(v, { dtype: wide }));
        // numbers are cast to the element type first, as in PyTorch: 0.6 is 0 beside integers
        const factor = (s: typeof alpha): Tensor => t.scalar_tensor(s, { dtype: wide, device: x.device });
        let out = multiply(t, widen(x), widen(y));
        if (self.ndim > rank)
          throw new TorchError(
            `expand(${out.dtype.toString()}{[${self.shape.join(", ")}]}, size=[${out.shape.join(", ")}]): the number of sizes provided (${out.ndim}) must be greater or equal to the number of dimensions in the tensor (${self.ndim})`,
          );
        if (alpha !== 1) out = t.mul(out, factor(alpha));
        if (beta !== 0) {
          const added = widen(t.expand(self, out.shape));
          out = t.add(out, beta === 1 ? added : t.mul(added, factor(beta)));
        }
        return out.dtype === self.dtype ? out : t._to_copy(out, { dtype: self.dtype });
      },
      statics: ["beta"],
      doc: `The product of ${a} and ${b}, added to self.`,
    },
  );
}
addTo("addmm", 2, (t, a, b) => t.mm(a, b), ["mat1", "mat2"]);
addTo("addmv", 1, (t, a, b) => t.mv(a, b), ["mat", "vec"]);
addTo("addr", 2, (t, a, b) => t.outer(a, b), ["vec1", "vec2"]);
addTo("baddbmm", 3, (t, a, b) => t.bmm(a, b), ["batch1", "batch2"]);
addTo("addbmm", 2, (t, a, b) => t.sum(t.bmm(a, b), 0), ["batch1", "batch2"]);

/** PyTorch's matmul: vectors count as rows and columns, leading dimensions broadcast. */
function matmul(t: Torch, a: Tensor, b: Tensor): Tensor {
  if (a.ndim === 0 || b.ndim === 0)
    throw new TorchError(`both arguments to matmul need to be at least 1D, but they are ${a.ndim}D and ${b.ndim}D`);
  if (a.ndim === 1 && b.ndim === 1) return t.dot(a, b);
  if (a.ndim === 2 && b.ndim === 1) return t.mv(a, b);
  if (a.ndim === 1 && b.ndim === 2) return t.squeeze(t.mm(t.unsqueeze(a, 0), b), 0);
  if (a.ndim === 2 && b.ndim === 2) return t.mm(a, b);
  if (a.ndim === 1) return t.squeeze(matmul(t, t.unsqueeze(a, 0), b), -2);
  if (b.ndim === 1) return t.squeeze(matmul(t, a, t.unsqueeze(b, 1)), -1);
  const [n, k] = a.shape.slice(-2);
  const [k2, m] = b.shape.slice(-2);
  if (b.ndim === 2) {
    if (k !== k2)
      throw new TorchError(
        `mat1 and mat2 shapes cannot be multiplied (${a.numel() / Math.max(1, k)}x${k} and ${k2}x${m})`,
      );
    const rows = a.shape.slice(0, -1);
    return t.reshape(t.mm(t.reshape(a, [rows.reduce((x, y) => x * y, 1), k]), b), [...rows, m]);
  }
  const batch = broadcastShapes(a.shape.slice(0, -2), b.shape.slice(0, -2));
  const count = batch.reduce((x, y) => x * y, 1);
  const flat = (x: Tensor, rows: number, columns: number): Tensor =>
    t.reshape(t.expand(x, [...batch, rows, columns]), [count, rows, columns]);
  return t.reshape(t.bmm(flat(a, n, k), flat(b, k2, m)), [...batch, n, m]);
}

op("matmul(Tensor self, Tensor other) -> Tensor", {
  decompose: (t, { self, other }) => matmul(t, self, other),
  doc: "The product of vectors, matrices or batches of matrices.",
});

op("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", {
  decompose: (t, { input, weight, bias }) => {
    if (weight.ndim > 2 || weight.ndim < 1)
      throw new TorchIndexError(`linear(): expected weight to have 1 or 2 dimensions, got ${weight.ndim}`);
    const y = t.matmul(input, t.t(weight));
    return bias === null ? y : t.add(y, bias);
  },
  doc: "input · weightᵀ + bias.",
});
