/** @file scatter_reduce and index_reduce: many elements reduced into the places that an index gives. */
import type { Builder, Value } from "../hlo/index.js";
import { TorchError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { cast, computeType } from "./helpers.js";
import { joinRows } from "./index_writes.js";
import { highest, lowest } from "./order_values.js";
import { op, type Torch } from "./registry.js";
import { scatter, type Join } from "./scatter.js";

const joins: Record<string, Join> = { sum: "add", prod: "multiply", mean: "add", amax: "maximum", amin: "minimum" };

/** Writes `src` at the index into `base`. */
type Write = (base: Value, src: Value, join: Join) => Value;

function identityOf(h: Builder, join: Join, like: Value): Value {
  if (join === "add") return h.constant(0, like.dtype);
  if (join === "multiply") return h.constant(1, like.dtype);
  return join === "maximum" ? lowest(h, like.dtype) : highest(h, like.dtype);
}

/** The quotient of sums and counts; integers round down. */
function average(h: Builder, sum: Value, count: Value): Value {
  const n = h.maximum(count, h.splat(1, count.dtype, count.shape));
  if (!sum.dtype.is_floating_point && sum.dtype.kind === "int") {
    const q = h.divide(sum, n);
    const r = h.subtract(sum, h.multiply(q, n));
    const down = h.compare(r, h.zerosLike(r), "LT");
    return h.select(down, h.subtract(q, h.onesLike(q)), q);
  }
  return h.divide(sum, n);
}

function reduceInto(
  h: Builder,
  name: string,
  self: Value,
  src: Value,
  reduce: string,
  includeSelf: boolean,
  write: Write,
): Value {
  const join = joins[reduce];
  if (join === undefined)
    throw new TorchError(`${name}: reduce argument must be either ${Object.keys(joins).join(", ")}, got ${reduce}`);
  if (self.dtype !== src.dtype) throw new TorchError(`${name}(): Expected self.dtype to be equal to src.dtype`);
  const type = join === "add" || join === "multiply" ? computeType(self.dtype) : self.dtype;
  const x = cast(h, self, type);
  const elements = cast(h, src, type);
  const identity = identityOf(h, join, x);
  const start = includeSelf ? x : write(x, h.broadcast_in_dim(identity, elements.shape, []), "replace");
  const out = write(start, elements, join);
  if (reduce !== "mean") return cast(h, out, self.dtype);
  const ones = h.splat(1, type, elements.shape);
  const before = h.splat(includeSelf ? 1 : 0, type, x.shape);
  return cast(h, average(h, out, write(before, ones, "add")), self.dtype);
}

/** How a gradient reads and writes at an index: elements for scatter_reduce, rows for index_reduce. */
interface At {
  read(x: Tensor): Tensor;
  add(x: Tensor, src: Tensor): Tensor;
  clear(x: Tensor): Tensor;
  reduce(x: Tensor, src: Tensor): Tensor;
}

/** The cotangents of the tensor and of the elements reduced into it, as PyTorch defines them. */
function reduceGrad(
  t: Torch,
  at: At,
  args: { self: Tensor; src: Tensor; reduce: string; include_self: boolean },
  dy: Tensor,
  out: Tensor,
): { self: Tensor; src: Tensor } {
  const { self, src, reduce, include_self } = args;
  const like = (mask: Tensor): Tensor => t._to_copy(mask, { dtype: dy.dtype });
  const done = (ds: Tensor, dsrc: Tensor): { self: Tensor; src: Tensor } => ({
    self: include_self ? ds : at.clear(ds),
    src: dsrc,
  });
  if (reduce === "sum") return done(dy, at.read(dy));
  if (reduce === "mean") {
    const start = include_self ? t.ones_like(dy) : t.zeros_like(dy);
    const count = t.clamp_min(at.add(start, t.ones_like(src)), 1);
    const each = t.div(dy, count);
    return done(each, at.read(each));
  }
  if (reduce === "prod") {
    const selfZero = t.eq(self, 0);
    const withoutSelf = at.reduce(t.masked_fill(self, selfZero, 1), src);
    const ds = t.div(t.mul(dy, withoutSelf), t.masked_fill(self, selfZero, 1));
    const srcZero = t.eq(src, 0);
    const zeros = at.read(at.add(t.zeros_like(self), like(srcZero)));
    const single = t.logical_and(srcZero, t.eq(zeros, 1));
    const withoutZero = at.reduce(self, t.masked_fill(src, single, 1));
    const others = t.div(at.read(t.mul(dy, out)), t.masked_fill(src, srcZero, 1));
    return done(ds, t.where(single, at.read(t.mul(dy, withoutZero)), others));
  }
  const selfHits = like(t.eq(self, out));
  const srcHits = like(t.eq(src, at.read(out)));
  const each = t.div(dy, at.add(selfHits, srcHits));
  return done(t.mul(selfHits, each), t.mul(srcHits, at.read(each)));
}

op(
  "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
  {
    lower: (h, { self, dim, index, src, reduce, include_self }) => {
      if (index.numel === 0) return self;
      const write: Write = (base, elements, join) => scatter(h, "scatter", base, dim, index, elements, null, join);
      return reduceInto(h, "scatter_reduce", self, src, reduce, include_self, write);
    },
    grad: (t, args, dy, out) => {
      const { self, dim, index, src, reduce, include_self } = args;
      if (index.numel() === 0) return { self: dy, src: t.zeros_like(src) };
      const at: At = {
        read: (x) => t.gather(x, dim, index),
        add: (x, s) => t.scatter_add(x, dim, index, s),
        clear: (x) => t.scatter(x, dim, index, 0),
        reduce: (x, s) => t.scatter_reduce(x, dim, index, s, reduce, { include_self }),
      };
      return { ...reduceGrad(t, at, { self, src, reduce, include_self }, dy, out) };
    },
    doc: "Reduces elements of `src` (sum, prod, mean, amax, amin) into the places that an index gives.",
  },
);

op("index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor", {
  lower: (h, { self, dim, index, source, reduce, include_self }) => {
    const write: Write = (base, rows, join) => joinRows(h, "index_reduce", base, dim, index, rows, join);
    return reduceInto(h, "index_reduce", self, source, reduce, include_self, write);
  },
  grad: (t, args, dy, out) => {
    const { self, dim, index, source, reduce, include_self } = args;
    const rows = (x: Tensor): Tensor => (self.ndim === 0 ? t.reshape(x, [1]) : x);
    const at: At = {
      read: (x) => t.reshape(t.index_select(rows(x), dim, index), source.shape),
      add: (x, s) => t.index_add(x, dim, index, s),
      clear: (x) => t.index_fill(x, dim, index, 0),
      reduce: (x, s) => t.index_reduce(x, dim, index, s, reduce, { include_self }),
    };
    const found = reduceGrad(t, at, { self, src: source, reduce, include_self }, dy, out);
    return { self: found.self, source: found.src };
  },
  doc: "Reduces rows of `source` (prod, mean, amax, amin) into the rows at the positions of a vector.",
});
