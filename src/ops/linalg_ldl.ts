/** @file Factorization of symmetric and Hermitian matrices as L D Lᵀ, by the pivoting of Bunch and Kaufman (1977). */
import type { Builder, Value } from "../hlo/index.js";
import { bool, broadcastShapes, int32, numelOf, TorchError, wrapDim } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast, scalarTypeName } from "./helpers.js";
import {
  batchOf,
  checkErrors,
  checkFloatingOrComplex,
  checkLapackType,
  checkSquare,
  columnsOf,
  rowsOf,
} from "./linalg_checks.js";
import { checkOldSolve, expandBatch } from "./linalg_triangular.js";
import { adjointOf, conjugate, diagonalOf, matrixIndex, realDiagonal, takeMatrixRows } from "./linalg_values.js";
import { op, type Torch } from "./registry.js";

const alpha = (1 + Math.sqrt(17)) / 8;
const one = (h: Builder): Value => h.constant(1, int32);
const zero = (h: Builder): Value => h.constant(0, int32);

/** How LAPACK compares elements. */
const sizeOf = (h: Builder, x: Value): Value =>
  x.dtype.is_complex ? h.add(h.abs(h.real(x)), h.abs(h.imag(x))) : h.abs(x);

/** Element `at` of each row of [b, n]: the same place, or one for each row. */
function elementAt(h: Builder, x: Value, at: Value): Value {
  const [b] = x.shape;
  if (at.rank === 0) return h.reshape(h.dynamic_slice(x, [zero(h), at], [b, 1]), [b]);
  const here = h.compare(h.iota(int32, x.shape, 1), h.broadcast_in_dim(at, x.shape, [0]), "EQ");
  return h.reduceWith(h.select(here, x, h.zerosLike(x)), h.constant(0, x.dtype), [1], "add");
}

const columnAt = (h: Builder, a: Value, j: Value): Value => {
  const [b, n] = a.shape;
  return h.reshape(h.dynamic_slice(a, [zero(h), zero(h), j], [b, n, 1]), [b, n]);
};

interface Pivot {
  /** The row that is exchanged with the last row of the block. */
  readonly row: Value;
  /** Whether the block is 2 by 2. */
  readonly isPair: Value;
  /** Whether the column is zero, or the diagonal NaN. */
  readonly isSingular: Value;
}

/** Bunch and Kaufman's choice in step `j` of a matrix whose trailing part is stored in full. */
function choosePivot(h: Builder, a: Value, j: Value, hermitian: boolean): Pivot {
  const [b, n] = a.shape;
  const column = columnAt(h, a, j);
  const index = h.iota(int32, column.shape, 1);
  const at = h.broadcastTo(j, column.shape);
  const largest = (x: Value): Value => h.reduceWith(x, h.constant(0, x.dtype), [1], "maximum");
  const diagonal = elementAt(h, column, j);
  const own = hermitian && a.dtype.is_complex ? h.abs(h.real(diagonal)) : sizeOf(h, diagonal);
  const sizes = sizeOf(h, column);
  const below = h.select(h.compare(index, at, "GT"), sizes, h.fullLike(sizes, -1));
  const colmax = largest(below);
  const hits = h.compare(below, h.broadcast_in_dim(colmax, below.shape, [0]), "EQ");
  const last = h.constant(n - 1, int32);
  const imax = h.reduceWith(h.select(hits, index, h.fullLike(index, n - 1)), last, [1], "minimum");
  const isRow = h.compare(matrixIndex(h, a.shape).row, h.broadcast_in_dim(imax, a.shape, [0]), "EQ");
  const row = h.reduceWith(h.select(isRow, a, h.zerosLike(a)), h.constant(0, a.dtype), [1], "add");
  const rowSizes = sizeOf(h, row);
  const others = h.and(h.compare(index, at, "GE"), h.compare(index, h.broadcast_in_dim(imax, index.shape, [0]), "NE"));
  const rowmax = largest(h.select(others, rowSizes, h.zerosLike(rowSizes)));
  const times = (x: Value): Value => h.multiply(h.fullLike(x, alpha), x);
  const here = h.broadcastTo(j, [b]);
  const isSingular = h.or(h.compare(h.maximum(own, colmax), h.zerosLike(own), "EQ"), h.compare(own, own, "NE"));
  const ratio = h.divide(colmax, h.select(h.compare(rowmax, h.zerosLike(rowmax), "EQ"), h.onesLike(rowmax), rowmax));
  const keeps = h.or(h.compare(own, times(colmax), "GE"), h.compare(own, h.multiply(times(colmax), ratio), "GE"));
  const stays = h.or(isSingular, keeps);
  const single = h.compare(elementAt(h, rowSizes, imax), times(rowmax), "GE");
  return { row: h.select(stays, here, imax), isPair: h.not(h.or(stays, single)), isSingular };
}

/** Rows `p` and `q` exchanged, in order [b, n]. */
function exchanged(h: Builder, b: number, n: number, p: Value, q: Value): Value {
  const index = h.iota(int32, [b, n], 1);
  const [wideP, wideQ] = [p, q].map((x) => h.broadcast_in_dim(x, index.shape, [0]));
  return h.select(h.compare(index, wideP, "EQ"), wideQ, h.select(h.compare(index, wideQ, "EQ"), wideP, index));
}

/** What a block gives: its columns of the result from row j on, and the trailing matrix without it. */
interface Step {
  readonly first: Value;
  readonly second: Value;
  readonly rest: Value;
}

/** Eliminates one column, or two together, of which the diagonal block is in place. */
function eliminate(h: Builder, a: Value, j: Value, { isPair, isSingular }: Pivot, hermitian: boolean): Step {
  const [b, n] = a.shape;
  const next = h.minimum(h.add(j, one(h)), h.constant(n - 1, int32));
  const [c0, c1] = [columnAt(h, a, j), columnAt(h, a, next)];
  const [d0, e, d1] = [elementAt(h, c0, j), elementAt(h, c0, next), elementAt(h, c1, next)];
  const wide = (x: Value): Value => h.broadcast_in_dim(x, [b, n], [0]);
  const nonzero = (x: Value, ok: Value): Value => h.select(ok, x, h.onesLike(x));
  const star = (x: Value): Value => (hermitian ? conjugate(h, x) : x);
  const x = h.divide(c0, wide(nonzero(d0, h.not(isSingular))));
  // [c0 c1] D⁻¹ for D = [[d0, e*], [e, d1]], scaled by e as LAPACK does
  const scale = nonzero(e, isPair);
  const p = h.divide(d1, scale);
  const q = h.divide(d0, star(scale));
  const det = h.subtract(h.multiply(p, q), h.onesLike(p));
  const safe = nonzero(det, isPair);
  const w0 = h.divide(h.subtract(h.multiply(wide(p), c0), c1), wide(h.multiply(safe, star(scale))));
  const w1 = h.divide(h.subtract(h.multiply(wide(q), c1), c0), wide(h.multiply(safe, scale)));
  const index = h.iota(int32, [b, n], 1);
  const beyond = (k: Value): Value => h.compare(index, h.broadcastTo(k, index.shape), "GT");
  const pair = wide(isPair);
  const first = h.select(pair, h.select(beyond(next), w0, c0), h.select(beyond(j), x, c0));
  const second = h.select(beyond(next), w1, c1);
  const outer = (u: Value, v: Value): Value =>
    h.multiply(h.broadcast_in_dim(u, a.shape, [0, 1]), h.broadcast_in_dim(star(v), a.shape, [0, 2]));
  const none = h.zerosLike(a);
  const spread = (m: Value): Value => h.broadcast_in_dim(m, a.shape, [0]);
  const one2 = h.add(outer(w0, c0), outer(w1, c1));
  const update = h.select(spread(isSingular), none, h.select(spread(isPair), one2, outer(x, c0)));
  return { first, second, rest: h.subtract(a, update) };
}

/** Column `j` of `x` from row `from` on replaced where `where` holds. */
function putColumn(h: Builder, x: Value, column: Value, j: Value, from: Value, where: Value): Value {
  const old = columnAt(h, x, j);
  const below = h.compare(h.iota(int32, old.shape, 1), h.broadcastTo(from, old.shape), "GE");
  const put = h.and(below, h.broadcast_in_dim(where, old.shape, [0]));
  const value = h.reshape(h.select(put, column, old), [...old.shape, 1]);
  return h.dynamic_update_slice(x, value, [zero(h), zero(h), j]);
}

/** Where `isSecond`, the column belongs to a block that is done. */
function factorStep(h: Builder, j: Value, state: Value[], hermitian: boolean): Value[] {
  const [a, out, pivots, info, isSecond] = state;
  const [b, n] = a.shape;
  const found = choosePivot(h, a, j, hermitian);
  const active = h.not(isSecond);
  const isPair = h.and(found.isPair, active);
  const next = h.minimum(h.add(j, one(h)), h.constant(n - 1, int32));
  const last = h.select(isPair, h.broadcastTo(next, [b]), h.broadcastTo(j, [b]));
  const order = exchanged(h, b, n, last, h.select(active, found.row, last));
  const flip = (x: Value): Value => h.transpose(x, [0, 2, 1]);
  const moved = flip(takeMatrixRows(h, flip(takeMatrixRows(h, a, order)), order));
  const step = eliminate(h, moved, j, { ...found, isPair }, hermitian);
  const withFirst = putColumn(h, out, step.first, j, j, active);
  const place = h.add(found.row, h.splat(1, int32, [b]));
  const signed = h.select(isPair, h.negate(place), place);
  const put = (x: Value, value: Value, at: Value, where: Value): Value => {
    const old = elementAt(h, x, at);
    return h.dynamic_update_slice(x, h.reshape(h.select(where, value, old), [b, 1]), [zero(h), at]);
  };
  const failed = h.and(h.and(active, found.isSingular), h.compare(info, h.zerosLike(info), "EQ"));
  return [
    h.select(h.broadcast_in_dim(active, a.shape, [0]), step.rest, a),
    putColumn(h, withFirst, step.second, next, next, isPair),
    put(put(pivots, signed, j, active), signed, next, isPair),
    h.select(failed, h.broadcastTo(h.add(j, one(h)), [b]), info),
    isPair,
  ];
}

function ldlFactor(h: Builder, self: Value, hermitian: boolean): Value[] {
  const n = rowsOf(self);
  const batch = batchOf(self);
  if (self.numel === 0) return [self, h.splat(0, int32, [...batch, n]), h.splat(0, int32, batch)];
  const b = numelOf(batch);
  const x = h.reshape(self, [b, n, n]);
  const { row, column } = matrixIndex(h, x.shape);
  const turned = hermitian ? adjointOf(h, x) : h.transpose(x, [0, 2, 1]);
  const full = h.select(h.compare(row, column, "GE"), x, turned);
  const start = [
    zero(h),
    hermitian ? realDiagonal(h, full) : full,
    h.zerosLike(x),
    h.splat(0, int32, [b, n]),
    h.splat(0, int32, [b]),
    h.splat(false, bool, [b]),
  ];
  const [, , ld, pivots, info] = h.while(
    start,
    ([j]) => h.compare(j, h.constant(n, int32), "LT"),
    ([j, ...state]) => [h.add(j, one(h)), ...factorStep(h, j, state, hermitian)],
  );
  return [h.reshape(ld, self.shape), h.reshape(pivots, [...batch, n]), h.reshape(info, batch)];
}

op("_ldl_factor(Tensor self, bool hermitian) -> (Tensor LD, Tensor pivots, Tensor info)", {
  lower: (h, { self, hermitian }) => ldlFactor(h, self, hermitian),
  doc: "`linalg.ldl_factor_ex` of checked matrices.",
});

function factorize(t: Torch, self: Tensor, hermitian: boolean, checkedAs: string | null): Tensor[] {
  checkSquare(self, "torch.linalg.ldl_factor_ex");
  checkFloatingOrComplex(self, "torch.linalg.ldl_factor_ex");
  checkLapackType(self, "ldl_factor_kernel_cpu");
  const [ld, pivots, info] = t._ldl_factor(self, hermitian);
  if (checkedAs !== null) checkErrors(t, info, checkedAs, self.ndim === 2);
  return [ld, pivots, info];
}

op(
  "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)",
  {
    composite: (t, { self, hermitian, check_errors }) =>
      factorize(t, self, hermitian, check_errors ? "torch.linalg.ldl_factor_ex" : null),
    doc: "The LDL factorization as LAPACK stores it; `info` says where D has a zero.",
  },
);
op("linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)", {
  composite: (t, { self, hermitian }) => factorize(t, self, hermitian, "torch.linalg.ldl_factor").slice(0, 2),
  doc: "The LDL factorization of symmetric or Hermitian matrices as LAPACK stores it.",
});

interface Unpacked {
  /** L with the rows where all exchanges leave them. */
  readonly l: Value;
  readonly order: Value;
  /** Where a 2 by 2 block of D begins. */
  readonly begins: Value;
}

/** What the exchanges, each of which LAPACK applied only to what was right of it, do to L and to the order of rows. */
function unpackLdl(h: Builder, ld: Value, pivots: Value): Unpacked {
  const [b, n] = ld.shape;
  const { row, column } = matrixIndex(h, ld.shape);
  const none = h.splat(false, bool, [b]);
  const [, l, order, begins] = h.while(
    [zero(h), ld, h.iota(int32, [b, n, 1], 1), h.splat(false, bool, [b, n]), none],
    ([j]) => h.compare(j, h.constant(n, int32), "LT"),
    ([j, x, places, pairs, isSecond]) => {
      const pivot = elementAt(h, pivots, j);
      const isFirst = h.and(h.not(isSecond), h.compare(pivot, h.zerosLike(pivot), "LT"));
      const at = h.broadcastTo(j, [b]);
      const last = h.add(at, h.convert(isFirst, int32));
      const target = h.subtract(h.abs(pivot), h.splat(1, int32, [b]));
      const swap = exchanged(h, b, n, last, h.select(isSecond, last, target));
      const left = h.compare(column, h.broadcastTo(j, x.shape), "LT");
      return [
        h.add(j, one(h)),
        h.select(left, takeMatrixRows(h, x, swap), x),
        takeMatrixRows(h, places, swap),
        h.dynamic_update_slice(pairs, h.reshape(isFirst, [b, 1]), [zero(h), j]),
        isFirst,
      ];
    },
  );
  const inBlock = h.and(
    h.compare(row, h.add(column, h.splat(1, int32, row.shape)), "EQ"),
    h.broadcast_in_dim(begins, ld.shape, [0, 2]),
  );
  return { l: h.select(inBlock, h.zerosLike(l), l), order: h.reshape(order, [b, n]), begins };
}

/** D⁻¹ y, D of blocks of size 1 and 2. */
function solveBlocks(h: Builder, ld: Value, begins: Value, y: Value, hermitian: boolean): Value {
  const [b, n, m] = y.shape;
  const shifted = (x: Value, by: number): Value => {
    const low = x.shape.map((_, i) => (i === 1 ? Math.max(by, 0) : 0));
    const from = x.shape.map((_, i) => (i === 1 ? Math.max(-by, 0) : 0));
    const to = x.shape.map((s, i) => (i === 1 ? s - Math.max(by, 0) : s));
    const high = x.shape.map((_, i) => (i === 1 ? Math.max(-by, 0) : 0));
    return h.pad(h.slice(x, from, to), h.constant(0, x.dtype), low, high);
  };
  const star = (x: Value): Value => (hermitian ? conjugate(h, x) : x);
  const { row, column } = matrixIndex(h, ld.shape);
  const below = h.select(h.compare(row, h.add(column, h.splat(1, int32, row.shape)), "EQ"), ld, h.zerosLike(ld));
  const sub = h.reduceWith(below, h.constant(0, ld.dtype), [1], "add");
  const d = diagonalOf(h, ld);
  const isFirst = begins;
  const isSecond = h.convert(shifted(h.convert(begins, int32), 1), bool);
  const other = h.select(isFirst, shifted(d, -1), shifted(d, 1));
  const e = h.select(isFirst, sub, shifted(sub, 1));
  const inPair = h.or(isFirst, isSecond);
  const det = h.subtract(h.multiply(d, other), h.multiply(e, star(e)));
  const cross = h.select(isFirst, star(e), e);
  const wide = (x: Value): Value => h.broadcast_in_dim(x, [b, n, m], [0, 1]);
  const neighbour = h.select(wide(isFirst), shifted(y, -1), shifted(y, 1));
  const top = h.subtract(h.multiply(wide(other), y), h.multiply(wide(cross), neighbour));
  const pair = h.divide(top, wide(h.select(inPair, det, h.onesLike(det))));
  return h.select(wide(inPair), pair, h.divide(y, wide(d)));
}

op("_ldl_solve(Tensor LD, Tensor pivots, Tensor B, bool hermitian) -> Tensor", {
  lower: (h, { LD, pivots, B, hermitian }) => {
    if (B.numel === 0) return B;
    const b = numelOf(batchOf(LD));
    const n = rowsOf(LD);
    const ld = h.reshape(LD, [b, n, n]);
    const { l, order, begins } = unpackLdl(h, ld, cast(h, h.reshape(pivots, [b, n]), int32));
    const side = takeMatrixRows(h, h.reshape(B, [b, n, columnsOf(B)]), order);
    const unit = { lower: true, unitDiagonal: true } as const;
    const middle = solveBlocks(h, ld, begins, h.triangular_solve(l, side, unit), hermitian);
    const x = h.triangular_solve(l, middle, { ...unit, transposeA: hermitian ? "ADJOINT" : "TRANSPOSE" });
    const [, inverse] = h.sort([order, h.iota(int32, order.shape, 1)], 1, true, (p, q) => h.compare(p, q, "LT"));
    return h.reshape(takeMatrixRows(h, x, inverse), B.shape);
  },
  doc: "`linalg.ldl_solve` of checked arguments with equal batch dimensions.",
});

op("linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor", {
  decompose: (t, { LD, pivots, B, hermitian }) => {
    const name = "torch.linalg.ldl_solve";
    checkSquare(LD, name);
    checkFloatingOrComplex(LD, name);
    wrapDim(-2, B.ndim); // PyTorch looks there first
    checkOldSolve(B, LD, name);
    if (pivots.shape.join() !== LD.shape.slice(0, -1).join())
      throw new TorchError(
        `${name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape [${pivots.shape.join(", ")}] instead`,
      );
    if (pivots.dtype.is_differentiable || pivots.dtype === bool)
      throw new TorchError(`${name}: Expected pivots to be integers. Got ${scalarTypeName(pivots.dtype)}`);
    checkLapackType(LD, "ldl_solve_kernel_cpu");
    const batch = broadcastShapes(batchOf(B), batchOf(LD));
    const places = t.expand(pivots, [...batch, columnsOf(LD)]);
    return t._ldl_solve(expandBatch(t, LD, batch), places, expandBatch(t, B, batch), hermitian);
  },
  doc: "Solves AX = B from the LDL factorization of A.",
});
