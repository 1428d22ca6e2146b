/** @file Results that are not unique: what must hold of them instead of equality with the recording. */
import * as torch from "torch-tpu";
import type { Tensor } from "torch-tpu";
import { differenceOfTensors } from "./compare.js";

type Check = (
  op: string,
  args: readonly unknown[],
  kwargs: Readonly<Record<string, unknown>>,
  got: readonly Tensor[],
  want: readonly Tensor[],
) => string | null;

const detached = (xs: readonly Tensor[]): Tensor[] => xs.map((x) => x.detach());

/** Among equal elements any index will do: what the indices point at must be the values. */
const indicesOfValues: Check = (op, args, _kwargs, got, want) => {
  const self = (args[0] as Tensor).detach();
  const [values, indices] = detached(got);
  const wrong = differenceOfTensors(op, values, want[0]);
  if (wrong || self.ndim === 0) return wrong;
  const dim = self.shape.findIndex((n, d) => n !== (indices.shape[d] ?? 1));
  const aligned = indices.ndim === self.ndim ? indices : null;
  if (!aligned) return null;
  const dims = dim < 0 ? self.shape.map((_, d) => d) : [dim];
  const fits = dims.some((d) => differenceOfTensors(op, torch.gather(self, d, aligned), values) === null);
  return fits ? null : "the indices do not point at the values";
};

/** A product of the results (its factors are unique up to signs and phases only). */
const product =
  (compose: (parts: Tensor[]) => Tensor): Check =>
  (op, _args, _kwargs, got, want) => {
    const shapes = got.findIndex((g, i) => g.shape.join() !== want[i].shape.join() || g.dtype !== want[i].dtype);
    if (shapes >= 0)
      return `result ${shapes}: got ${got[shapes].dtype.name}[${got[shapes].shape.join()}], want ${want[shapes].dtype.name}[${want[shapes].shape.join()}]`;
    if (got.some((g) => g.numel() === 0)) return null;
    return differenceOfTensors(op, compose(detached(got)), compose([...want]));
  };

const scaledBy = (columns: Tensor, factors: Tensor): Tensor => columns.mul(factors.unsqueeze(-2).to(columns.dtype));

/** Keyed by recorded operator; the reason is the same for each: the decomposition, or the order of ties, is not unique. */
export const invariants: Readonly<Record<string, Check>> = {
  topk: indicesOfValues,
  sort: indicesOfValues,
  kthvalue: indicesOfValues,
  "linalg.qr": product(([q, r]) => (q.shape[q.ndim - 1] === 0 ? r : torch.matmul(q, r))),
  qr: product(([q, r]) => torch.matmul(q, r)),
  svd: product(([u, s, v]) => torch.matmul(scaledBy(u.narrow(-1, 0, s.size(-1)), s), v.narrow(-1, 0, s.size(-1)).mH)),
  "linalg.svd": product(([u, s, vh]) =>
    torch.matmul(scaledBy(u.narrow(-1, 0, s.size(-1)), s), vh.narrow(-2, 0, s.size(-1))),
  ),
  "linalg.eigh": product(([w, v]) => torch.matmul(scaledBy(v, w), v.mH)),
};
