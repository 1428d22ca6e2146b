/**
 * @file Operators whose results are not unique: what is compared instead of the elements. Everything that is unique
 * (singular values, shapes, types) is still compared as it is.
 */
import * as torch from "torch-tpu";
import type { Tensor } from "torch-tpu";
import { agree, difference, differenceOfElements, differenceOfType, elementsOf, onHost } from "./compare.js";
import {
  adjoint,
  columnPhases,
  columns,
  identity,
  matricesOf,
  multiply,
  relativeDistance,
  scaleColumns,
} from "./matrices.js";
import { toleranceFor } from "./tolerances.js";
import { HostTensor } from "./vectors.js";

export interface Invariant {
  readonly reason: string;
  /** Why the results are not equivalent to those recorded; null when they are. */
  differ(op: string, args: readonly unknown[], got: readonly HostTensor[], want: readonly HostTensor[]): string | null;
  /** Which results carry free signs in their columns (or rows): their cotangents turn with them. */
  readonly gauges?: (args: readonly unknown[]) => readonly Gauge[];
}

/** Result `result` has its columns (`along: -1`) or rows (`along: -2`) turned as the columns of result `like`. */
interface Gauge {
  readonly result: number;
  readonly along: -1 | -2;
  readonly like: number;
  readonly likeAlong: -1 | -2;
}

const limit = 2e-4;

const typesDiffer = (got: readonly HostTensor[], want: readonly HostTensor[]): string | null => {
  if (got.length !== want.length) return `got ${got.length} results, want ${want.length}`;
  for (let i = 0; i < want.length; i++) {
    const d = differenceOfType(got[i], want[i]);
    if (d) return `result ${i}: ${d}`;
  }
  return null;
};

function valuesDiffer(op: string, got: HostTensor, want: HostTensor, what: string): string | null {
  const d = differenceOfElements(
    elementsOf(got.bytes, got.dtype),
    elementsOf(want.bytes, want.dtype),
    toleranceFor(op, want.dtype),
  );
  return d && `${what}: ${d}`;
}

const matrixArgument = (args: readonly unknown[]): HostTensor => onHost(args[0] as Tensor);

function orthonormal(t: HostTensor, what: string): string | null {
  const bad = matricesOf(t).find((m) => relativeDistance(multiply(adjoint(m), m), identity(m.cols)) > limit);
  return bad ? `the columns of ${what} are not orthonormal` : null;
}

/** U, S, V (or Vh) multiply to the matrix; S is unique. */
function singularVectors(hasVh: boolean, matrix: (args: readonly unknown[]) => HostTensor): Invariant["differ"] {
  return (op, args, got, want) => {
    const [u, s, v] = got;
    const wrong = valuesDiffer(op, s, want[1], "singular values") ?? orthonormal(u, "U");
    if (wrong) return wrong;
    const a = matricesOf(matrix(args));
    const [us, ss, vs] = [matricesOf(u), matricesOf(s, true), matricesOf(v)];
    for (let b = 0; b < a.length; b++) {
      const k = ss[b].cols;
      const vh = hasVh ? vs[b] : adjoint(vs[b]);
      const right = columns(adjoint(vh), k);
      const product = multiply(scaleColumns(columns(us[b], k), ss[b]), adjoint(right));
      const distance = relativeDistance(product, a[b]);
      if (distance > limit) return `U S Vh is not the matrix: distance ${distance.toExponential(1)}`;
    }
    return null;
  };
}

/** Eigenvalues are the recorded ones, in any order unless sorted; A V = V diag(w). */
function eigenvectors(sorted: boolean): Invariant["differ"] {
  return (op, args, [w, v], [wantW]) => {
    const wrong = sorted ? valuesDiffer(op, w, wantW, "eigenvalues") : sameSet(op, w, wantW, "eigenvalues");
    if (wrong) return wrong;
    if (sorted) return orthonormal(v, "the eigenvectors") ?? eigenEquation(hermitian(args), w, v);
    return eigenEquation(matrixArgument(args), w, v);
  };
}

/** eigh reads one triangle: the other is its conjugate. */
function hermitian(args: readonly unknown[]): HostTensor {
  const options = args.at(-1);
  const upper = (typeof options === "string" ? options : (options as { UPLO?: string }).UPLO)?.toUpperCase() === "U";
  const a = args[0] as Tensor;
  const half = upper ? torch.triu(a.detach(), 1) : torch.tril(a.detach(), -1);
  const diagonal = torch.diag_embed(torch.diagonal(a.detach(), 0, -2, -1));
  const real = a.is_complex()
    ? torch.complex(torch.real(diagonal).contiguous(), torch.zeros_like(torch.real(diagonal).contiguous()))
    : diagonal;
  return onHost(half.add(half.mH).add(real));
}

function eigenEquation(a: HostTensor, w: HostTensor, v: HostTensor): string | null {
  const [as, ws, vs] = [matricesOf(a), matricesOf(w, true), matricesOf(v)];
  for (let b = 0; b < as.length; b++) {
    const distance = relativeDistance(multiply(as[b], vs[b]), scaleColumns(vs[b], ws[b]));
    if (distance > limit) return `A V is not V diag(w): distance ${distance.toExponential(1)}`;
  }
  return null;
}

/** The same numbers in any order, along the last dimension. */
function sameSet(op: string, got: HostTensor, want: HostTensor, what: string): string | null {
  const n = want.shape.at(-1) ?? 1;
  const tolerance = toleranceFor(op, want.dtype);
  const loose = { atol: tolerance.atol * 10, rtol: tolerance.rtol * 10 };
  const [gots, wants] = [elementsOf(got.bytes, got.dtype), elementsOf(want.bytes, want.dtype)];
  for (let start = 0; start < wants.length; start += n) {
    const left = gots.slice(start, start + n);
    for (const x of wants.slice(start, start + n)) {
      const at = left.findIndex((y) => agree(y, x, loose));
      if (at < 0) return `${what}: ${String(x)} is missing`;
      left.splice(at, 1);
    }
  }
  return null;
}

/** Q R is the matrix, Q has orthonormal columns, R is upper triangular. In mode "r" there is no Q. */
function qrFactors(_op: string, args: readonly unknown[], [q, r]: readonly HostTensor[]): string | null {
  const a = matricesOf(matrixArgument(args));
  const rs = matricesOf(r);
  for (const m of rs)
    for (let i = 0; i < m.rows; i++)
      for (let j = 0; j < Math.min(i, m.cols); j++)
        if (Math.hypot(m.re[i * m.cols + j], m.im[i * m.cols + j]) > limit) return "R is not upper triangular";
  if (q.bytes.length === 0 && a.some((m) => m.re.length > 0)) {
    const bad = a.findIndex(
      (m, b) => relativeDistance(multiply(adjoint(rs[b]), rs[b]), multiply(adjoint(m), m)) > limit,
    );
    return bad < 0 ? null : "Rh R is not Ah A";
  }
  const qs = matricesOf(q);
  const bad = a.findIndex((m, b) => relativeDistance(multiply(qs[b], rs[b]), m) > limit);
  return orthonormal(q, "Q") ?? (bad < 0 ? null : "Q R is not the matrix");
}

/** Indices into equal values: the values are the recorded ones, the indices lead to them and to each place once. */
function indicesOfTies(dimOf: (args: readonly unknown[]) => number, distinct: boolean): Invariant["differ"] {
  return (op, args, [values, indices], [wantValues]) => {
    const wrong = valuesDiffer(op, values, wantValues, "values");
    if (wrong) return wrong;
    const self = args[0] as Tensor;
    if (self.ndim === 0) return null;
    const dim = (dimOf(args) + self.ndim) % self.ndim;
    const shape = [...self.shape];
    const own = indices.shape.length === shape.length ? indices.shape : shape.map((n, i) => (i === dim ? 1 : n));
    const all = elementsOf(onHost(self).bytes, self.dtype);
    const [v, at] = [elementsOf(values.bytes, values.dtype), elementsOf(indices.bytes, indices.dtype).map(Number)];
    const inner = shape.slice(dim + 1).reduce((n, d) => n * d, 1);
    const seen = new Set<number>();
    for (let k = 0; k < at.length; k++) {
      const outer = Math.floor(k / (own[dim] * inner));
      const place = (outer * shape[dim] + at[k]) * inner + (k % inner);
      if (at[k] < 0 || at[k] >= shape[dim]) return `index ${at[k]} at ${k} is out of range`;
      if (!agree(all[place], v[k], { atol: 0, rtol: 0 })) return `index ${at[k]} at ${k} does not lead to the value`;
      if (distinct && seen.has(place)) return `index ${at[k]} appears twice`;
      seen.add(place);
    }
    return null;
  };
}

const option = (args: readonly unknown[], name: string, position: number, otherwise: number): number => {
  const last = args.at(-1);
  const keywords =
    typeof last === "object" && last !== null && last.constructor === Object ? (last as Record<string, unknown>) : {};
  const positional = args.length > position && typeof args[position] === "number" ? args[position] : undefined;
  return (keywords[name] as number | undefined) ?? (positional as number | undefined) ?? otherwise;
};

/** Unsorted distinct elements: the set, and where each element went. */
function distinctElements(
  _op: string,
  args: readonly unknown[],
  got: readonly HostTensor[],
  want: readonly HostTensor[],
): string | null {
  const rowsOf = (t: HostTensor): string[] => elementsOf(t.bytes, t.dtype).map(String);
  const [g, w] = [rowsOf(got[0]), rowsOf(want[0])];
  if ([...g].sort().join() !== [...w].sort().join()) return "the distinct elements are others";
  for (let i = 1; i < want.length; i++) {
    const wide = want[i].shape.join() !== want[0].shape.join();
    const [a, b] = [rowsOf(got[i]), rowsOf(want[i])];
    const same = wide
      ? a.every((x, k) => g[Number(x)] === w[Number(b[k])])
      : g.every((x, k) => a[k] === b[w.indexOf(x)]);
    if (!same) return `result ${i} does not belong to the distinct elements`;
  }
  return null;
}

const product = (args: readonly unknown[]): HostTensor =>
  onHost(torch.matmul((args[0] as Tensor).detach(), (args[1] as Tensor).detach().mT));
const withV = (like: number): Gauge[] => [
  { result: 0, along: -1, like, likeAlong: -1 },
  { result: 2, along: -1, like, likeAlong: -1 },
];
const withVh: readonly Gauge[] = [
  { result: 0, along: -1, like: 0, likeAlong: -1 },
  { result: 2, along: -2, like: 0, likeAlong: -1 },
];
const free = "singular vectors are free in sign (in phase for complex matrices) and within equal singular values";
const ties = "which of equal values comes first is not defined";

/** By operator, without its variant. */
export const invariants: Readonly<Record<string, Invariant>> = {
  svd: { reason: free, differ: singularVectors(false, matrixArgument), gauges: () => withV(0) },
  "linalg.svd": { reason: free, differ: singularVectors(true, matrixArgument), gauges: () => withVh },
  svd_lowrank: { reason: free, differ: singularVectors(false, product), gauges: () => withV(0) },
  pca_lowrank: { reason: `${free}; the approximation is random`, differ: lowRank, gauges: () => withV(0) },
  "linalg.eigh": {
    reason: "eigenvectors are free in sign or phase",
    differ: eigenvectors(true),
    gauges: () => [{ result: 1, along: -1, like: 1, likeAlong: -1 }],
  },
  "linalg.eig": { reason: "eigenvalues come in any order, eigenvectors in any phase", differ: eigenvectors(false) },
  "linalg.eigvals": {
    reason: "eigenvalues come in any order",
    differ: (op, _args, [got], [want]) => sameSet(op, got, want, "eigenvalues"),
  },
  qr: { reason: "columns of Q are free in sign or phase", differ: qrFactors },
  "linalg.qr": { reason: "columns of Q are free in sign or phase", differ: qrFactors },
  unique: { reason: "unsorted distinct elements come in any order", differ: distinctElements },
  topk: { reason: ties, differ: indicesOfTies((args) => option(args, "dim", 2, -1), true) },
  kthvalue: { reason: ties, differ: indicesOfTies((args) => option(args, "dim", 2, -1), false) },
  mode: { reason: ties, differ: indicesOfTies((args) => option(args, "dim", 1, -1), false) },
  sort: {
    reason: ties,
    differ: indicesOfTies((args) => (typeof args[1] === "boolean" ? -1 : option(args, "dim", 1, -1)), true),
  },
  median: { reason: ties, differ: indicesOfTies((args) => option(args, "dim", 1, -1), false) },
  nanmedian: { reason: ties, differ: indicesOfTies((args) => option(args, "dim", 1, -1), false) },
};

/** Principal components: the singular values are those recorded, U and V orthonormal. */
function lowRank(
  op: string,
  _args: readonly unknown[],
  got: readonly HostTensor[],
  want: readonly HostTensor[],
): string | null {
  return valuesDiffer(op, got[1], want[1], "singular values") ?? orthonormal(got[0], "U") ?? orthonormal(got[2], "V");
}

const invariantOf = (op: string): Invariant | undefined => invariants[op] ?? invariants[op.replace(/\.\w+$/, "")];

const tensorsOf = (x: unknown): Tensor[] =>
  x instanceof torch.Tensor ? [x] : Array.isArray(x) ? x.flatMap(tensorsOf) : [];
const hostTensorsOf = (x: unknown): HostTensor[] =>
  x instanceof HostTensor ? [x] : Array.isArray(x) ? x.flatMap(hostTensorsOf) : [];

/** Why results are not the recorded ones: as they are, or through what is invariant in them. */
export function differenceUpToFreedom(
  op: string,
  args: readonly unknown[],
  got: unknown,
  want: unknown,
): string | null {
  const plain = difference(op, got, want);
  const invariant = invariantOf(op);
  if (!plain || !invariant) return plain;
  const [gots, wants] = [tensorsOf(got).map(onHost), hostTensorsOf(want)];
  return typesDiffer(gots, wants) ?? invariant.differ(op, args, gots, wants);
}

/** Cotangents turned as the results are, so that the gradient is the recorded one whatever signs were chosen. */
export function alignCotangents(
  op: string,
  args: readonly unknown[],
  got: readonly Tensor[],
  want: readonly HostTensor[],
  cotangents: readonly Tensor[],
): Tensor[] {
  const gauges = invariantOf(op)?.gauges?.(args);
  if (!gauges || got.length !== want.length || cotangents.length !== want.length) return [...cotangents];
  const out = [...cotangents];
  for (const g of gauges) {
    const signs = phases(onHost(got[g.like]), want[g.like], got[g.result].shape.at(g.along)!);
    if (signs === null) continue;
    const factor = torch.tensor(signs, { dtype: got[g.result].dtype, device: got[g.result].device });
    const shape = [...got[g.result].shape.slice(0, -2), ...(g.along === -1 ? [1, -1] : [-1, 1])];
    out[g.result] = out[g.result].mul(factor.reshape(shape));
  }
  return out;
}

/** Signs of the columns of `got` beside those of `want`, as many as `count` a matrix; null for complex ones. */
function phases(got: HostTensor, want: HostTensor, count: number): number[] | null {
  if (want.dtype.is_complex || want.bytes.length === 0) return null;
  const wants = matricesOf(want);
  return matricesOf(got).flatMap((m, b) => {
    const all = columnPhases(m, wants[b]).map((p) => (p.re < 0 ? -1 : 1));
    return Array.from({ length: count }, (_, j) => all[j] ?? 1);
  });
}
