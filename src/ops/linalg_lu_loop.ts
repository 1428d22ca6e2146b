/**
 * @file LU factorization with partial pivoting as loops over columns. Large matrices are factored in panels of columns,
 * and what is right of a panel is updated by matrix products.
 */
import type { Builder, Value } from "../hlo/index.js";
import { int32 } from "../schema/index.js";
import { diagonalOf, matrixIndex, takeMatrixRows } from "./linalg_values.js";

const panelWidth = 32;
/** Smaller matrices are one panel. */
const blockedFrom = 96;

/** A with L below the diagonal and U on and above it; rows exchanged in each step, from 1; the order of the rows. */
export interface Factors {
  readonly lu: Value;
  readonly pivots: Value;
  readonly order: Value;
}

/** How LAPACK compares the elements of a column. */
const sizeOf = (h: Builder, x: Value): Value =>
  x.dtype.is_complex ? h.add(h.abs(h.real(x)), h.abs(h.imag(x))) : h.abs(x);

/** The first row from `at` on where a column [b, m] is largest. */
function pivotRow(h: Builder, column: Value, at: Value): Value {
  const [b, m] = column.shape;
  const row = h.iota(int32, column.shape, 1);
  const size = sizeOf(h, column);
  const below = h.select(h.compare(row, h.broadcastTo(at, row.shape), "GE"), size, h.fullLike(size, -1));
  const largest = h.reduceWith(below, h.constant(-1, size.dtype), [1], "maximum");
  const hits = h.compare(below, h.broadcast_in_dim(largest, below.shape, [0]), "EQ");
  const none = h.fullLike(row, m);
  const found = h.reduceWith(h.select(hits, row, none), h.constant(m, int32), [1], "minimum");
  const own = h.broadcastTo(at, [b]);
  return h.select(h.compare(found, h.splat(m, int32, [b]), "EQ"), own, found); // a column with NaN has no largest
}

/** Rows `at` and `p[b]` of each matrix exchanged; and the new row `at`. */
function exchange(h: Builder, a: Value, at: Value, p: Value): [exchanged: Value, row: Value] {
  const [b, , n] = a.shape;
  const zero = h.constant(0, int32);
  const row = h.iota(int32, a.shape, 1);
  const isPivot = h.compare(row, h.broadcast_in_dim(p, a.shape, [0]), "EQ");
  const pivot = h.reduceWith(h.select(isPivot, a, h.zerosLike(a)), h.constant(0, a.dtype), [1], "add");
  const own = h.reshape(h.dynamic_slice(a, [zero, at, zero], [b, 1, n]), [b, n]);
  const moved = h.select(isPivot, h.broadcast_in_dim(own, a.shape, [0, 2]), a);
  const isOwn = h.compare(row, h.broadcastTo(at, a.shape), "EQ");
  return [h.select(isOwn, h.broadcast_in_dim(pivot, a.shape, [0, 2]), moved), pivot];
}

/** One step: the factors of column `j`, whose diagonal element is in row `at`, and the columns right of it updated. */
function eliminate(h: Builder, a: Value, j: Value, at: Value, pivot: Value): Value {
  const [b, m] = a.shape;
  const zero = h.constant(0, int32);
  const { row, column } = matrixIndex(h, a.shape);
  const current = h.reshape(h.dynamic_slice(a, [zero, zero, j], [b, m, 1]), [b, m]);
  const d = h.reshape(h.dynamic_slice(pivot, [zero, j], [b, 1]), [b]);
  const divisor = h.select(h.compare(d, h.zerosLike(d), "EQ"), h.onesLike(d), d);
  const factor = h.divide(current, h.broadcast_in_dim(divisor, current.shape, [0]));
  const below = h.compare(row, h.broadcastTo(at, a.shape), "GT");
  const wide = h.broadcast_in_dim(factor, a.shape, [0, 1]);
  const updated = h.subtract(a, h.multiply(wide, h.broadcast_in_dim(pivot, a.shape, [0, 2])));
  const here = h.broadcastTo(j, a.shape);
  const right = h.compare(column, here, "GT");
  const next = h.select(right, updated, h.select(h.compare(column, here, "EQ"), wide, a));
  return h.select(below, next, a);
}

/** Factors the first `steps` columns of [b, m, w], the diagonal of which begins in row `start`. */
function factorColumns(h: Builder, a: Value, start: Value, steps: Value, width: number): Factors {
  const [b, m] = a.shape;
  const zero = h.constant(0, int32);
  const order = h.iota(int32, [b, m, 1], 1);
  const [, lu, pivots, rows] = h.while(
    [zero, a, h.splat(0, int32, [b, width]), order],
    ([j]) => h.compare(j, steps, "LT"),
    ([j, x, found, places]) => {
      const at = h.add(start, j);
      const column = h.reshape(h.dynamic_slice(x, [zero, zero, j], [b, m, 1]), [b, m]);
      const p = pivotRow(h, column, at);
      const [exchanged, pivot] = exchange(h, x, at, p);
      const one = h.reshape(h.add(p, h.splat(1, int32, [b])), [b, 1]);
      return [
        h.add(j, h.constant(1, int32)),
        eliminate(h, exchanged, j, at, pivot),
        h.dynamic_update_slice(found, one, [zero, j]),
        exchange(h, places, at, p)[0],
      ];
    },
  );
  return { lu, pivots, order: h.reshape(rows, [b, m]) };
}

/** A panel at column and row `start`, and what is right of it. */
function factorPanel(h: Builder, a: Value, start: Value, steps: Value): Factors {
  const [b, m, n] = a.shape;
  const w = panelWidth;
  const zero = h.constant(0, int32);
  const panel = factorColumns(h, h.dynamic_slice(a, [zero, zero, start], [b, m, w]), start, steps, w);
  const moved = h.dynamic_update_slice(takeMatrixRows(h, a, panel.order), panel.lu, [zero, zero, start]);
  const rows = h.dynamic_slice(moved, [zero, start, zero], [b, w, n]);
  const corner = h.dynamic_slice(panel.lu, [zero, start, zero], [b, w, w]);
  const solved = h.triangular_solve(corner, rows, { lower: true, unitDiagonal: true });
  const end = h.add(start, h.constant(w, int32));
  const isRight = (shape: readonly number[]): Value =>
    h.compare(matrixIndex(h, shape).column, h.broadcastTo(end, shape), "GE");
  const upper = h.select(isRight(rows.shape), solved, rows);
  const withUpper = h.dynamic_update_slice(moved, upper, [zero, start, zero]);
  const update = h.dot_general(panel.lu, upper, {
    lhsBatch: [0],
    rhsBatch: [0],
    lhsContract: [2],
    rhsContract: [1],
    precision: "HIGHEST",
  });
  const isBelow = h.compare(matrixIndex(h, a.shape).row, h.broadcastTo(end, a.shape), "GE");
  const rest = h.and(isBelow, isRight(a.shape));
  const lu = h.select(rest, h.subtract(withUpper, update), withUpper);
  return { lu, pivots: panel.pivots, order: panel.order };
}

function factorBlocked(h: Builder, a: Value): Factors {
  const [b, m, n] = a.shape;
  const k = Math.min(m, n);
  const w = panelWidth;
  const padded = Math.ceil(k / w) * w;
  const more = [0, Math.max(0, padded - m), Math.max(0, padded - n)];
  const none = [0, 0, 0];
  const wide = h.pad(a, h.constant(0, a.dtype), none, more);
  const zero = h.constant(0, int32);
  const count = h.constant(k, int32);
  const [, lu, pivots, order] = h.while(
    [zero, wide, h.splat(0, int32, [b, padded]), h.iota(int32, [b, m + more[1]], 1)],
    ([start]) => h.compare(start, count, "LT"),
    ([start, x, found, places]) => {
      const steps = h.minimum(h.constant(w, int32), h.subtract(count, start));
      const panel = factorPanel(h, x, start, steps);
      const moved = takeMatrixRows(h, h.reshape(places, [...places.shape, 1]), panel.order);
      return [
        h.add(start, h.constant(w, int32)),
        panel.lu,
        h.dynamic_update_slice(found, panel.pivots, [zero, start]),
        h.reshape(moved, places.shape),
      ];
    },
  );
  return {
    lu: h.slice(lu, none, a.shape),
    pivots: h.slice(pivots, [0, 0], [b, k]),
    order: h.slice(order, [0, 0], [b, m]),
  };
}

/** Factors matrices [b, m, n]. */
export function factorLu(h: Builder, a: Value): Factors {
  const [, m, n] = a.shape;
  const k = Math.min(m, n);
  if (k >= blockedFrom) return factorBlocked(h, a);
  return factorColumns(h, a, h.constant(0, int32), h.constant(k, int32), k);
}

/** The number, from 1, of the first zero on the diagonal of U; 0 when there is none. */
export function firstZeroPivot(h: Builder, lu: Value): Value {
  const [b, m, n] = lu.shape;
  const k = Math.min(m, n);
  const d = diagonalOf(h, h.slice(lu, [0, 0, 0], [b, k, k]));
  const none = h.splat(k + 1, int32, d.shape);
  const place = h.add(h.iota(int32, d.shape, 1), h.splat(1, int32, d.shape));
  const zeros = h.select(h.compare(d, h.zerosLike(d), "EQ"), place, none);
  const first = h.reduceWith(zeros, h.constant(k + 1, int32), [1], "minimum");
  return h.select(h.compare(first, h.splat(k + 1, int32, [b]), "EQ"), h.splat(0, int32, [b]), first);
}

/** The order of the rows after the exchanges [b, k] that LAPACK's pivots say. */
export function orderOfPivots(h: Builder, pivots: Value, m: number): Value {
  const [b, k] = pivots.shape;
  const zero = h.constant(0, int32);
  const [, order] = h.while(
    [zero, h.iota(int32, [b, m, 1], 1)],
    ([j]) => h.compare(j, h.constant(k, int32), "LT"),
    ([j, places]) => {
      const p = h.subtract(h.reshape(h.dynamic_slice(pivots, [zero, j], [b, 1]), [b]), h.splat(1, int32, [b]));
      return [h.add(j, h.constant(1, int32)), exchange(h, places, j, p)[0]];
    },
  );
  return h.reshape(order, [b, m]);
}
