/** @file Scans: running combinations of elements, in a logarithmic number of steps. */
import type { Builder, Value } from "../hlo/index.js";

type Combine = (earlier: readonly Value[], later: readonly Value[]) => readonly Value[];

const withSize = (shape: readonly number[], dim: number, size: number): number[] =>
  shape.map((n, i) => (i === dim ? size : n));

/** Elements `from` to `to` of dimension `dim`. */
export function range(h: Builder, x: Value, dim: number, from: number, to: number, step = 1): Value {
  return h.slice(
    x,
    x.shape.map((_, i) => (i === dim ? from : 0)),
    withSize(x.shape, dim, to),
    x.shape.map((_, i) => (i === dim ? step : 1)),
  );
}

/** `x` moved `by` places up a dimension; `fill` enters below. */
function shifted(h: Builder, x: Value, dim: number, by: number, fill: Value): Value {
  const low = x.shape.map((_, i) => (i === dim ? by : 0));
  return h.pad(
    range(h, x, dim, 0, x.shape[dim] - by),
    fill,
    low,
    x.shape.map(() => 0),
  );
}

/** Rows that are scanned by doubling; longer ones are cut into blocks of this many. */
const block = 16;

/**
 * Inclusive scan along `dim` of values that are combined together. `identities` are 0-dim values that leave any other
 * unchanged. Short rows double the reach of each element step by step; long ones are cut into blocks, whose totals are
 * scanned and added: about six passes over the elements, whatever their number.
 */
export function scan(
  h: Builder,
  xs: readonly Value[],
  dim: number,
  identities: readonly Value[],
  combine: Combine,
): readonly Value[] {
  const { shape } = xs[0];
  const n = shape[dim];
  if (n <= 1 || shape.includes(0)) return xs;
  if (n <= 2 * block) return doubling(h, xs, dim, identities, combine);
  const blocks = Math.ceil(n / block);
  const none = shape.map(() => 0);
  const high = withSize(none, dim, blocks * block - n);
  const cut = [...shape.slice(0, dim), blocks, block, ...shape.slice(dim + 1)];
  const padded = xs.map((x, i) => h.reshape(h.pad(x, identities[i], none, high), cut));
  const inner = doubling(h, padded, dim + 1, identities, combine);
  const rows = withSize(shape, dim, blocks);
  const totals = inner.map((x) => h.reshape(range(h, x, dim + 1, block - 1, block), rows));
  const before = scan(h, totals, dim, identities, combine).map((x, i) => shifted(h, x, dim, 1, identities[i]));
  const dims = rows.map((_, i) => (i <= dim ? i : i + 1));
  const spread = before.map((x) => h.broadcast_in_dim(x, cut, dims));
  return combine(spread, inner).map((x) => range(h, h.reshape(x, withSize(shape, dim, blocks * block)), dim, 0, n));
}

function doubling(
  h: Builder,
  xs: readonly Value[],
  dim: number,
  identities: readonly Value[],
  combine: Combine,
): readonly Value[] {
  let out = xs;
  for (let reach = 1; reach < xs[0].shape[dim]; reach *= 2) {
    const earlier = out.map((x, i) => shifted(h, x, dim, reach, identities[i]));
    out = combine(earlier, out);
  }
  return out;
}
