/** @file Which elements are where: coordinates of flat positions, membership, segments. */
import { int64, sizeText, TorchError, wrapDim, type Scalar } from "../schema/index.js";
import { toNumber } from "../schema/scalar.js";
import type { Tensor } from "../tensor/index.js";
import { notDifferentiable, op, type Torch } from "./registry.js";

op("unravel_index(Tensor indices, SymInt[] shape) -> Tensor[]", {
  composite: (t, { indices, shape }) => {
    if (indices.dtype.is_differentiable || indices.dtype.kind === "bool")
      throw new TorchError(
        `unravel_index(): indices tensor must be of integer dtype, but got ${indices.dtype.toString()}`,
      );
    if (shape.some((n) => n < 0))
      throw new TorchError(`'shape' cannot have negative values, but got ${sizeText(shape)}`);
    let rest: Tensor = indices;
    const out: Tensor[] = [];
    for (let d = shape.length - 1; d >= 0; d--) {
      out.unshift(t.remainder(rest, shape[d]));
      rest = t.div(rest, shape[d], { rounding_mode: "floor" });
    }
    return out;
  },
  doc: "Flat positions as one coordinate for each dimension.",
});

interface Isin {
  readonly elements: Tensor;
  readonly tests: Tensor;
  readonly invert: boolean;
}

/** Whether each element is among the tested ones: by comparing with all, or by searching them sorted where they are many. */
function isin(t: Torch, { elements, tests, invert }: Isin): Tensor {
  const flat = t.reshape(tests, [-1]);
  const n = flat.numel();
  let found: Tensor;
  if (n === 0) found = t.zeros_like(elements, { dtype: t.eq(elements, 0).dtype });
  else if (n <= 64) found = t.any(t.eq(t.unsqueeze(elements, -1), flat), -1);
  else {
    const [sorted] = t.sort(flat);
    const at = t.clamp_max(t.searchsorted(sorted, elements), n - 1);
    found = t.eq(t.take(sorted, at), elements);
  }
  return invert ? t.logical_not(found) : found;
}

op(
  "isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
  {
    decompose: (t, { elements, test_elements, invert }) => isin(t, { elements, tests: test_elements, invert }),
    grad: notDifferentiable,
    doc: "Whether each element is among others.",
  },
);
op(
  "isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor",
  {
    composite: (t, { elements, test_element, invert }) =>
      invert ? t.ne(elements, test_element) : t.eq(elements, test_element),
  },
);
op(
  "isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
  {
    composite: (t, { element, test_elements, invert }) => {
      const any = t.any(t.eq(test_elements, element));
      return invert ? t.logical_not(any) : any;
    },
  },
);

const neutral: Record<string, number> = { sum: 0, mean: 0, prod: 1, max: -Infinity, min: Infinity };
const reducers: Record<string, string> = { sum: "sum", mean: "sum", prod: "prod", max: "amax", min: "amin" };

/** The segment of each position, from the segments' lengths along the last dimension. */
function segmentOf(t: Torch, lengths: Tensor, n: number): Tensor {
  const ends = t.cumsum(lengths, -1);
  const every = t.arange(0, n, { dtype: int64, device: lengths.device });
  return t.searchsorted(ends, t.expand(every, [...lengths.shape.slice(0, -1), n]).contiguous(), { right: true });
}

for (const name of ["segment_reduce", "_segment_reduce"] as const) {
  op(
    `${name}(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor` as "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
    {
      decompose: (t, { data, reduce, lengths, offsets, axis, initial }) => {
        const d = wrapDim(axis, data.ndim);
        if (lengths === null && offsets === null)
          throw new TorchError("segment_reduce(): Either lengths or offsets must be defined.");
        if (reducers[reduce] === undefined) throw new TorchError(`segment_reduce(): unsupported reduction ${reduce}`);
        const m = lengths === null ? offsets!.shape[d] : 0;
        const sizes = lengths ?? t.sub(t.slice(offsets!, d, 1, m, 1), t.slice(offsets!, d, 0, m - 1, 1));
        const segments = sizes.shape[d];
        const n = data.shape[d];
        const rest = data.shape.slice(d + 1);
        const wide = (x: Tensor): Tensor => t.reshape(x, [...x.shape, ...rest.map(() => 1)]);
        const index = t.expand(wide(segmentOf(t, sizes, n)), data.shape);
        const start = initial === null ? neutral[reduce] : toNumber(initial as Scalar);
        const shape = [...data.shape.slice(0, d), segments, ...rest];
        const base = t.new_full(data, shape, start);
        const out = n === 0 ? base : t.scatter_reduce(base, d, index, data, reducers[reduce]);
        if (reduce !== "mean") return out;
        const count = wide(sizes);
        const none = initial === null ? NaN : start;
        return t.where(t.eq(count, 0), t.new_full(data, [], none), t.div(out, t.clamp_min(count, 1)));
      },
      statics: ["initial"],
      doc: "Sums, means, products or extreme values of segments of a dimension.",
    },
  );
}
