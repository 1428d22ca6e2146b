/** @file Distances between rows. */
import { broadcastShapes, TorchError } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { op, type Torch } from "./registry.js";

function pairwise(t: Torch, x1: Tensor, x2: Tensor, p: number): Tensor {
  if (x1.ndim < 2 || x2.ndim < 2)
    throw new TorchError(`cdist only supports at least 2D tensors, X1 got: ${x1.ndim}D, X2 got: ${x2.ndim}D`);
  const m = x1.shape[x1.ndim - 1];
  if (m !== x2.shape[x2.ndim - 1])
    throw new TorchError(`X1 and X2 must have the same number of columns. X1: ${m} X2: ${x2.shape[x2.ndim - 1]}`);
  if (p < 0) throw new TorchError("cdist only supports non-negative p values");
  const [rows, columns] = [x1.shape[x1.ndim - 2], x2.shape[x2.ndim - 2]];
  const batch = broadcastShapes(x1.shape.slice(0, -2), x2.shape.slice(0, -2));
  if (m === 0) return t.new_zeros(x1, [...batch, rows, columns]);
  return t.linalg_vector_norm(t.sub(t.unsqueeze(x1, -2), t.unsqueeze(x2, -3)), p, [-1]);
}

for (const [, schema] of [
  ["cdist", "cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor"],
  ["_cdist_forward", "_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor"],
] as const) {
  op(schema as "cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor", {
    decompose: (t, { x1, x2, p }) => pairwise(t, x1, x2, p),
    doc: "The distance of order `p` between every row of one matrix and every row of another.",
  });
}
op("cdist.python(Tensor x1, Tensor x2, float p=2., str compute_mode='use_mm_for_euclid_dist_if_necessary') -> Tensor", {
  composite: (t, { x1, x2, p }) => t.cdist(x1, x2, p),
});

for (const schema of [
  "pdist(Tensor self, float p=2.) -> Tensor",
  "_pdist_forward(Tensor self, float p=2.) -> Tensor",
] as const) {
  op(schema as "pdist(Tensor self, float p=2.) -> Tensor", {
    decompose: (t, { self, p }) => {
      if (self.ndim !== 2) throw new TorchError(`pdist only supports 2D tensors, got: ${self.ndim}D`);
      if (!self.is_floating_point()) throw new TorchError("pdist only supports floating-point dtypes");
      if (p < 0) throw new TorchError("pdist only supports non-negative p values");
      const [n, m] = self.shape;
      const first: number[] = [];
      const second: number[] = [];
      for (let i = 0; i < n; i++)
        for (let j = i + 1; j < n; j++) {
          first.push(i);
          second.push(j);
        }
      if (m === 0) return t.new_zeros(self, [first.length]);
      const rows = (at: number[]): Tensor => t.index_select(self, 0, t._int_vector(at, { device: self.device }));
      return t.linalg_vector_norm(t.sub(rows(first), rows(second)), p, [-1]);
    },
    doc: "The distances of order `p` between every two rows.",
  });
}
