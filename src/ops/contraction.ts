/** @file Products summed over chosen dimensions: einsum, tensordot, inner, kron, cross and their kin. */
import { broadcastShapes, TorchError, wrapDim, wrapDims } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { op, type Torch } from "./registry.js";

interface Operand {
  readonly x: Tensor;
  /** A label for each dimension: letters, and numbers for those of the ellipsis. */
  readonly labels: readonly string[];
}

const sizeBy = (operands: readonly Operand[]): Map<string, number> => {
  const sizes = new Map<string, number>();
  for (const { x, labels } of operands)
    labels.forEach((l, i) => {
      const have = sizes.get(l) ?? 1;
      if (have === 1) sizes.set(l, x.shape[i]);
    });
  return sizes;
};

/** Takes the diagonal where one label names several dimensions. */
function withoutRepeats(t: Torch, { x, labels }: Operand): Operand {
  const again = labels.findIndex((l, i) => labels.indexOf(l) !== i);
  if (again < 0) return { x, labels };
  const first = labels.indexOf(labels[again]);
  if (x.shape[first] !== x.shape[again])
    throw new TorchError(
      `einsum(): subscript ${labels[again]} is repeated for operand but the sizes don't match, ${x.shape[again]} != ${x.shape[first]}`,
    );
  const rest = labels.filter((_, i) => i !== first && i !== again);
  return withoutRepeats(t, { x: t.diagonal(x, 0, first, again), labels: [...rest, labels[again]] });
}

function sumOut(t: Torch, { x, labels }: Operand, keep: (label: string) => boolean): Operand {
  const drop = labels.flatMap((l, i) => (keep(l) ? [] : [i]));
  return drop.length === 0 ? { x, labels } : { x: t.sum(x, drop), labels: labels.filter(keep) };
}

const product = (xs: readonly number[]): number => xs.reduce((a, b) => a * b, 1);

/** Multiplies two operands and sums over the labels that are not kept: one batched product of matrices. */
function contract(t: Torch, left: Operand, right: Operand, keep: (label: string) => boolean): Operand {
  const inRight = new Set(right.labels);
  const inLeft = new Set(left.labels);
  const a = sumOut(t, left, (l) => keep(l) || inRight.has(l));
  const b = sumOut(t, right, (l) => keep(l) || inLeft.has(l));
  const sizes = sizeBy([a, b]);
  const size = (l: string): number => sizes.get(l)!;
  const both = a.labels.filter((l) => b.labels.includes(l));
  const batch = both.filter(keep);
  const summed = both.filter((l) => !keep(l));
  const own = (o: Operand): string[] => o.labels.filter((l) => !both.includes(l));
  const [rows, columns] = [own(a), own(b)];
  // a dimension of size one stands for any size
  const full = (o: Operand, order: readonly string[]): Tensor => {
    const moved = t.permute(
      o.x,
      order.map((l) => o.labels.indexOf(l)),
    );
    return t.expand(moved, order.map(size));
  };
  const at = (ls: readonly string[]): number => product(ls.map(size));
  const x = t.reshape(full(a, [...batch, ...rows, ...summed]), [at(batch), at(rows), at(summed)]);
  const y = t.reshape(full(b, [...batch, ...summed, ...columns]), [at(batch), at(summed), at(columns)]);
  const labels = [...batch, ...rows, ...columns];
  const out = summed.length === 0 ? t.mul(x, y) : t.bmm(x, y);
  return { x: t.reshape(out, labels.map(size)), labels };
}

function parse(equation: string, operands: readonly Tensor[]): { inputs: string[][]; output: string[] } {
  const text = equation.replace(/ /g, "");
  const arrow = text.indexOf("->");
  const left = (arrow < 0 ? text : text.slice(0, arrow)).split(",");
  if (left.length !== operands.length)
    throw new TorchError(
      left.length < operands.length
        ? "einsum(): more operands were provided than specified in the equation"
        : "einsum(): fewer operands were provided than specified in the equation",
    );
  let ellipsis = 0;
  const inputs = left.map((part, k) => {
    const dots = part.indexOf("...");
    const letters = part.replace("...", "");
    if (!/^[A-Za-z]*$/.test(letters))
      throw new TorchError(
        `einsum(): invalid subscript given at index ${letters.search(/[^A-Za-z]/)} in the equation string, subscripts must be in [a-zA-Z]`,
      );
    const rank = operands[k].ndim;
    const covered = rank - letters.length;
    if (dots < 0 ? covered !== 0 : covered < 0)
      throw new TorchError(
        `einsum(): the number of subscripts in the equation (${letters.length}) does not match the number of dimensions (${rank}) for operand ${k}${dots < 0 ? " and no ellipsis was given" : ""}`,
      );
    ellipsis = Math.max(ellipsis, covered);
    return {
      before: dots < 0 ? letters : part.slice(0, dots),
      covered,
      after: dots < 0 ? "" : part.slice(dots + 3),
      dots,
    };
  });
  const batch = (n: number): string[] => Array.from({ length: n }, (_, i) => `#${ellipsis - n + i}`);
  const labelled = inputs.map((p) => [...p.before, ...(p.dots < 0 ? [] : batch(p.covered)), ...p.after]);
  if (arrow >= 0) {
    const right = text.slice(arrow + 2);
    const dots = right.indexOf("...");
    const labels = dots < 0 ? [...right] : [...right.slice(0, dots), ...batch(ellipsis), ...right.slice(dots + 3)];
    labels.forEach((l, i) => {
      if (labels.indexOf(l) !== i)
        throw new TorchError(`einsum(): output subscript ${l} appears more than once in the output`);
      if (!labelled.some((x) => x.includes(l)) && !l.startsWith("#"))
        throw new TorchError(`einsum(): output subscript ${l} does not appear in the equation for any input operand`);
    });
    return { inputs: labelled, output: labels };
  }
  const all = labelled.flat().filter((l) => !l.startsWith("#"));
  const once = [...new Set(all)].filter((l) => all.indexOf(l) === all.lastIndexOf(l)).sort();
  return { inputs: labelled, output: [...batch(ellipsis), ...once] };
}

op("einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", {
  decompose: (t, { equation, tensors }) => {
    if (tensors.length === 0) throw new TorchError("einsum(): must provide at least one operand");
    const { inputs, output } = parse(equation, tensors);
    const operands = tensors.map((x, i) => withoutRepeats(t, { x, labels: inputs[i] }));
    const sizes = sizeBy(operands);
    operands.forEach(({ x, labels }, k) =>
      labels.forEach((l, i) => {
        if (x.shape[i] !== 1 && x.shape[i] !== sizes.get(l))
          throw new TorchError(
            `einsum(): subscript ${l} has size ${x.shape[i]} for operand ${k} which does not broadcast with previously seen size ${sizes.get(l)}`,
          );
      }),
    );
    let [result] = operands;
    operands.slice(1).forEach((next, i) => {
      const later = new Set([...output, ...operands.slice(i + 2).flatMap((o) => o.labels)]);
      result = contract(t, result, next, (l) => later.has(l));
    });
    result = sumOut(t, result, (l) => output.includes(l));
    const missing = output.filter((l) => !result.labels.includes(l));
    const wide = missing.reduce((x) => t.unsqueeze(x, 0), result.x);
    const labels = [...missing.reverse(), ...result.labels];
    return t.permute(
      wide,
      output.map((l) => labels.indexOf(l)),
    );
  },
  variadic: true,
  doc: "Products of tensors summed over the subscripts that the output lacks.",
});

op("tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor", {
  decompose: (t, { self, other, dims_self, dims_other }) => {
    if (dims_self.length !== dims_other.length) throw new TorchError("both dimension lists should have same length");
    if (self.dtype !== other.dtype) throw new TorchError("tensordot: both inputs should have same dtype");
    const a = wrapDims(dims_self, self.ndim, false);
    const b = wrapDims(dims_other, other.ndim, false);
    let [x, y] = [self, other];
    a.forEach((d, i) => {
      const [n, m] = [self.shape[d], other.shape[b[i]]];
      if (n === m) return;
      if (n !== 1 && m !== 1)
        throw new TorchError(
          `contracted dimensions need to match, but first has size ${n} in dim ${d} and second has size ${m} in dim ${b[i]}`,
        );
      if (m === 1) x = t.sum(x, [d], true);
      else y = t.sum(y, [b[i]], true);
    });
    const rows = x.shape.map((_, i) => i).filter((i) => !a.includes(i));
    const columns = y.shape.map((_, i) => i).filter((i) => !b.includes(i));
    const size = (v: Tensor, ds: readonly number[]): number => product(ds.map((d) => v.shape[d]));
    const left = t.reshape(t.permute(x, [...rows, ...a]), [size(x, rows), size(x, a)]);
    const right = t.reshape(t.permute(y, [...b, ...columns]), [size(y, b), size(y, columns)]);
    return t.reshape(t.mm(left, right), [...rows.map((d) => x.shape[d]), ...columns.map((d) => y.shape[d])]);
  },
  doc: "Products summed over pairs of dimensions.",
});
op("tensordot.python(Tensor self, Tensor other, int[] dims=[-1]) -> Tensor", {
  composite: (t, { self, other, dims }) => tensordotBy(t, self, other, dims),
});
op("tensordot.python_int(Tensor self, Tensor other, int dims=2) -> Tensor", {
  composite: (t, { self, other, dims }) => tensordotBy(t, self, other, dims),
});
op("tensordot.python_lists(Tensor self, Tensor other, Any dims) -> Tensor", {
  composite: (t, { self, other, dims }) => {
    const given = dims instanceof Object && "tolist" in dims ? ((dims as Tensor).tolist() as unknown) : dims;
    return tensordotBy(t, self, other, given);
  },
});

/** dims as Python gives them: how many of the last and first dimensions, or a list for each tensor. */
function tensordotBy(t: Torch, self: Tensor, other: Tensor, dims: unknown): Tensor {
  if (typeof dims === "number") {
    if (dims < 0) throw new TorchError(`tensordot expects dims >= 0, but got dims=${dims}`);
    if (dims > Math.min(self.ndim, other.ndim))
      throw new TorchError(`tensordot expects dims < ndim_a or ndim_b, but got dims=${dims}`);
    const count = Array.from({ length: dims }, (_, i) => i);
    return t.tensordot(
      self,
      other,
      count.map((i) => i - dims),
      count,
    );
  }
  const [a, b] = dims as [number | number[], number | number[]];
  return t.tensordot(
    self,
    other,
    typeof a === "number" ? [a] : a.map(Number),
    typeof b === "number" ? [b] : b.map(Number),
  );
}

op("inner(Tensor self, Tensor other) -> Tensor", {
  decompose: (t, { self, other }) => {
    if (self.ndim === 0 || other.ndim === 0) return t.mul(self, other);
    if (self.shape[self.ndim - 1] !== other.shape[other.ndim - 1])
      throw new TorchError(
        `inner() the last dimension must match on both input tensors but got shapes [${self.shape.join(", ")}] and [${other.shape.join(", ")}]`,
      );
    return t.tensordot(self, other, [-1], [-1]);
  },
  doc: "Products summed over the last dimensions.",
});

op("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", {
  decompose: (t, { x, y, dim }) => {
    if (x.dtype !== y.dtype) throw new TorchError("linalg.vecdot: Expected x and y to have the same dtype");
    return t.sum(t.mul(t.conj(x), y), [dim], false);
  },
  doc: "Products of vectors along a dimension, summed; the first is conjugated.",
});

op("kron(Tensor self, Tensor other) -> Tensor", {
  decompose: (t, { self, other }) => {
    const rank = Math.max(self.ndim, other.ndim);
    const pad = (x: Tensor): number[] => [...new Array<number>(rank - x.ndim).fill(1), ...x.shape];
    const [a, b] = [pad(self), pad(other)];
    const x = t.reshape(
      self,
      a.flatMap((n) => [n, 1]),
    );
    const y = t.reshape(
      other,
      b.flatMap((n) => [1, n]),
    );
    return t.reshape(
      t.mul(x, y),
      a.map((n, i) => n * b[i]),
    );
  },
  doc: "Each element of the first times the whole second: the Kronecker product.",
});

op("linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", {
  decompose: (t, { self, other, dim }) => {
    if (self.ndim !== other.ndim) throw new TorchError(`linalg.cross: inputs must have the same number of dimensions.`);
    const d = wrapDim(dim, self.ndim);
    if (self.shape[d] !== 3 || other.shape[d] !== 3)
      throw new TorchError(
        `linalg.cross: inputs dimension ${dim} must have length 3. Got ${self.shape[d]} and ${other.shape[d]}`,
      );
    const shape = broadcastShapes(self.shape, other.shape);
    const [a, b] = [t.expand(self, shape), t.expand(other, shape)];
    const part = (x: Tensor, i: number): Tensor => t.slice(x, d, i % 3, (i % 3) + 1, 1);
    const parts = [0, 1, 2].map((i) =>
      t.sub(t.mul(part(a, i + 1), part(b, i + 2)), t.mul(part(a, i + 2), part(b, i + 1))),
    );
    return t.cat(parts, d);
  },
  doc: "The cross product of vectors of three elements.",
});
op("cross(Tensor self, Tensor other, int? dim=None) -> Tensor", {
  composite: (t, { self, other, dim }) => {
    if (dim !== null) return t.linalg_cross(self, other, { dim });
    const d = self.shape.findIndex((n, i) => n === 3 && other.shape[i] === 3);
    if (d < 0) throw new TorchError("no dimension of size 3 in input");
    return t.linalg_cross(self, other, { dim: d });
  },
  doc: "The cross product along the first dimension of three elements, or a given one.",
});

/** Powers of each element as a new last dimension. */
function powers(t: Torch, x: Tensor, n: number, increasing: boolean): Tensor {
  const type = x.dtype.is_differentiable ? x : t._to_copy(x, { dtype: x.dtype });
  if (n <= 0) return t.new_empty(type, [...x.shape, 0]);
  const ones = t.unsqueeze(t.ones_like(type), -1);
  if (n === 1) return ones;
  const repeated = t.expand(t.unsqueeze(type, -1), [...x.shape, n - 1]);
  const rising = t.cat([ones, t.cumprod(repeated, -1)], -1);
  return increasing ? rising : t.flip(rising, [-1]);
}

op("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", {
  decompose: (t, { x, N, increasing }) => {
    if (x.ndim !== 1) throw new TorchError("x must be a one-dimensional tensor.");
    if (N !== null && N < 0) throw new TorchError("N must be non-negative.");
    return powers(t, x, N ?? x.shape[0], increasing);
  },
  doc: "Powers of each element as rows, from the highest down.",
});
op("linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", {
  decompose: (t, { x, N }) => {
    if (x.dtype.name === "bool") throw new TorchError("linalg.vander(): expected x to be a non-boolean tensor");
    if (N !== null && N <= 1) throw new TorchError("linalg.vander: N must be greater than 1.");
    const rows = x.ndim === 0 ? t.reshape(x, [1]) : x;
    return powers(t, rows, N ?? rows.shape[rows.ndim - 1], true);
  },
  doc: "Powers of each element as rows, from the lowest up.",
});

/** The order of products of a chain of matrices that costs least, by dynamic programming; then the product. */
function chain(t: Torch, xs: readonly Tensor[]): Tensor {
  const n = xs.length;
  const p = [...xs.map((x) => x.shape[0]), xs[n - 1].shape[1]];
  const cost = xs.map(() => new Array<number>(n).fill(0));
  const cut = xs.map(() => new Array<number>(n).fill(0));
  for (let length = 2; length <= n; length++)
    for (let i = 0; i + length <= n; i++) {
      const j = i + length - 1;
      cost[i][j] = Infinity;
      for (let k = i; k < j; k++) {
        const c = cost[i][k] + cost[k + 1][j] + p[i] * p[k + 1] * p[j + 1];
        if (c < cost[i][j]) [cost[i][j], cut[i][j]] = [c, k];
      }
    }
  const multiply = (i: number, j: number): Tensor =>
    i === j ? xs[i] : t.mm(multiply(i, cut[i][j]), multiply(cut[i][j] + 1, j));
  return multiply(0, n - 1);
}

op("linalg_multi_dot(Tensor[] tensors) -> Tensor", {
  decompose: (t, { tensors }) => {
    if (tensors.length < 2)
      throw new TorchError("multi_dot(): expected at least 2 tensors but got " + String(tensors.length));
    const [first] = tensors;
    const last = tensors[tensors.length - 1];
    const xs = tensors.map((x, i) => {
      if (i === 0 && x.ndim === 1) return t.unsqueeze(x, 0);
      if (i === tensors.length - 1 && x.ndim === 1) return t.unsqueeze(x, 1);
      if (x.ndim !== 2) throw new TorchError(`multi_dot(): tensor ${i} must be 2D but got ${x.ndim}D`);
      return x;
    });
    xs.forEach((x, i) => {
      if (x.dtype !== first.dtype) throw new TorchError("multi_dot(): all tensors must have be the same dtype");
      if (i > 0 && xs[i - 1].shape[1] !== x.shape[0])
        throw new TorchError(
          `multi_dot(): tensors ${i - 1} and ${i} with shapes [${xs[i - 1].shape.join(", ")}] and [${x.shape.join(", ")}] cannot be multiplied`,
        );
    });
    let out = chain(t, xs);
    if (first.ndim === 1) out = t.squeeze(out, 0);
    if (last.ndim === 1) out = t.squeeze(out, -1);
    return out;
  },
  doc: "The product of several matrices, in the order that costs least.",
});
op("chain_matmul(Tensor[] matrices) -> Tensor", {
  composite: (t, { matrices }) => {
    matrices.forEach((x) => {
      if (x.ndim !== 2) throw new TorchError(`Tensor with dimension ${x.ndim} cannot be in chain_matmul`);
    });
    return matrices.length === 1 ? matrices[0] : t.linalg_multi_dot(matrices);
  },
  variadic: true,
  doc: "The product of several matrices, in the order that costs least.",
});

op("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", {
  decompose: (t, { input1, input2, weight, bias }) => {
    if (input1.ndim !== input2.ndim)
      throw new TorchError(`bilinear(): input dimensions do not match: got ${input1.ndim} and ${input2.ndim}`);
    input1.shape.slice(0, -1).forEach((n, i) => {
      if (n !== input2.shape[i])
        throw new TorchError(
          `bilinear(): input batch dimensions do not match at dim ${i}: got ${n} and ${input2.shape[i]}`,
        );
    });
    const [out, in1, in2] = weight.shape;
    if (input1.shape[input1.ndim - 1] !== in1)
      throw new TorchError(
        `bilinear(): input1 size does not match weight size: got ${input1.shape[input1.ndim - 1]} but expected ${in1}`,
      );
    if (input2.shape[input2.ndim - 1] !== in2)
      throw new TorchError(
        `bilinear(): input2 size does not match weight size: got ${input2.shape[input2.ndim - 1]} but expected ${in2}`,
      );
    const lead = input1.shape.slice(0, -1);
    const rows = product(lead);
    const a = t.reshape(input1, [rows, in1]);
    const b = t.reshape(input2, [rows, in2]);
    const half = t.reshape(t.mm(a, t.reshape(t.permute(weight, [1, 0, 2]), [in1, out * in2])), [rows, out, in2]);
    const y = t.reshape(t.squeeze(t.bmm(half, t.unsqueeze(b, 2)), -1), [...lead, out]);
    return bias ? t.add(y, bias) : y;
  },
  doc: "A form that is linear in each of two inputs.",
});

op(
  "_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor",
  {
    decompose: (t, { i1, i2, i3, expand1, expand2, expand3, sumdim }) => {
      const wide = (x: Tensor, dims: readonly number[]): Tensor =>
        [...dims].sort((a, b) => a - b).reduce((y, d) => t.unsqueeze(y, d), x);
      const all = t.mul(t.mul(wide(i1, expand1), wide(i2, expand2)), wide(i3, expand3));
      return sumdim.length === 0 ? all : t.sum(all, sumdim);
    },
    doc: "The product of three tensors, with dimensions added, summed over others.",
  },
);
