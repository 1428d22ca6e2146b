/** @file torch.gradient: derivatives of samples by central differences. */
import { TorchError, wrapDims } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { op, type Torch } from "./registry.js";
import type { ScalarArgument } from "./schema_types.js";

type Spacing = ScalarArgument | Tensor;

const isTensor = (x: Spacing): x is Tensor => typeof x === "object" && "storageRef" in x;

/** Central differences along one dimension; at the ends, one-sided ones of the given order. */
function derivative(t: Torch, f: Tensor, dim: number, spacing: Spacing, order: number): Tensor {
  const n = f.shape[dim];
  const at = (from: number, to: number): Tensor => t.slice(f, dim, from, to, 1);
  if (!isTensor(spacing)) {
    const inner = t.div(t.sub(at(2, n), at(0, n - 2)), t.mul(t.scalar_tensor(2, { device: f.device }), spacing));
    const step = t.scalar_tensor(spacing, { device: f.device });
    const edge = (a: Tensor, b: Tensor, c: Tensor | null): Tensor => {
      if (c === null) return t.div(t.sub(b, a), step);
      return t.div(t.add(t.add(t.mul(a, -1.5), t.mul(b, 2)), t.mul(c, -0.5)), step);
    };
    const first = order === 1 ? edge(at(0, 1), at(1, 2), null) : edge(at(0, 1), at(1, 2), at(2, 3));
    const last =
      order === 1
        ? edge(at(n - 2, n - 1), at(n - 1, n), null)
        : t.neg(edge(at(n - 1, n), at(n - 2, n - 1), at(n - 3, n - 2)));
    return t.cat([first, t._to_copy(inner, { dtype: first.dtype }), last], dim);
  }
  const gaps = t.sub(t.slice(spacing, 0, 1, n, 1), t.slice(spacing, 0, 0, n - 1, 1));
  const shape = f.shape.map((_, i) => (i === dim ? -1 : 1));
  const gap = (from: number, to: number): Tensor => t.reshape(t.slice(gaps, 0, from, to, 1), shape);
  const weigh = (a: Tensor, b: Tensor, c: Tensor, x: Tensor, y: Tensor, z: Tensor): Tensor =>
    t.add(t.add(t.mul(a, x), t.mul(b, y)), t.mul(c, z));
  const [before, after] = [gap(0, n - 2), gap(1, n - 1)];
  const both = t.add(before, after);
  const inner = weigh(
    t.neg(t.div(after, t.mul(before, both))),
    t.div(t.sub(after, before), t.mul(before, after)),
    t.div(before, t.mul(after, both)),
    at(0, n - 2),
    at(1, n - 1),
    at(2, n),
  );
  if (order === 1) {
    const first = t.div(t.sub(at(1, 2), at(0, 1)), gap(0, 1));
    const last = t.div(t.sub(at(n - 1, n), at(n - 2, n - 1)), gap(n - 2, n - 1));
    return t.cat([first, inner, last], dim);
  }
  const start = (a: Tensor, b: Tensor): [Tensor, Tensor, Tensor] => {
    const sum = t.add(a, b);
    return [
      t.neg(t.div(t.add(t.mul(a, 2), b), t.mul(a, sum))),
      t.div(sum, t.mul(a, b)),
      t.neg(t.div(a, t.mul(b, sum))),
    ];
  };
  const first = weigh(...start(gap(0, 1), gap(1, 2)), at(0, 1), at(1, 2), at(2, 3));
  const [c, b, a] = start(gap(n - 2, n - 1), gap(n - 3, n - 2)).map((w) => t.neg(w));
  const last = weigh(a, b, c, at(n - 3, n - 2), at(n - 2, n - 1), at(n - 1, n));
  return t.cat([first, inner, last], dim);
}

function gradient(
  t: Torch,
  self: Tensor,
  spacing: readonly Spacing[] | Spacing | null,
  dim: readonly number[] | number | null,
  order: number,
): Tensor[] {
  if (order !== 1 && order !== 2) throw new TorchError("torch.gradient only supports edge_order=1 and edge_order=2.");
  const dims = wrapDims(dim, self.ndim);
  const list = Array.isArray(spacing) ? (spacing as Spacing[]) : null;
  if (list !== null && list.length !== dims.length)
    throw new TorchError(
      dim === null
        ? `torch.gradient expected spacing to be unspecified, a scalar or a list of length equal to 'self.dim() = ${self.ndim}', since dim argument was not given, but got a list of length ${list.length}`
        : `torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same length, but got a spacing argument of length ${list.length} and a dim argument of length ${dims.length}.`,
    );
  for (const d of dims)
    if (self.shape[d] < order + 1)
      throw new TorchError("torch.gradient expected each dimension size to be at least edge_order+1");
  return dims.map((d, i) => derivative(t, self, d, list ? list[i] : ((spacing as Spacing | null) ?? 1), order));
}

const result = "Tensor[]";
for (const schema of [
  `gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> ${result}`,
  `gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> ${result}`,
  `gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> ${result}`,
  `gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> ${result}`,
  `gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> ${result}`,
  `gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> ${result}`,
  `gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> ${result}`,
] as const) {
  op(
    schema as "gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]",
    {
      composite: (t, { self, spacing, dim, edge_order }) => gradient(t, self, spacing, dim, edge_order),
      doc: "Derivatives of samples along dimensions, by central differences.",
    },
  );
}
