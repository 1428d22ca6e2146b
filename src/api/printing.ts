/** @file Tensors as text, as PyTorch prints them. */
import type { Tensor } from "../tensor/index.js";

/** `tensor([1., 2.])` */
export function formatTensor(t: Tensor): string {
  if (t.is_meta) return `tensor(..., device='meta', size=(${t.shape.join(", ")}), dtype=${t.dtype.toString()})`;
  return `tensor(${JSON.stringify(t.detach().tolist(), (_k, v: unknown) => (typeof v === "bigint" ? Number(v) : v))})`;
}
