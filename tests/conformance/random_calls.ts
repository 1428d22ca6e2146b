/** @file Calls whose results depend on drawn numbers although the recording does not mark them so. */
import type { Case } from "./vectors.js";

const positive = (x: unknown): boolean =>
  typeof x === "number" ? x > 0 : typeof x === "object" && x !== null && "$float" in x && Number(x.$float) > 0;

const without =
  (keyword: string) =>
  (c: Case): boolean =>
    (c.kwargs[keyword] ?? null) === null;

const draws: Readonly<Record<string, (c: Case) => boolean>> = {
  "nn.functional.scaled_dot_product_attention": (c) => positive(c.kwargs.dropout_p ?? c.args[4]),
  "nn.functional.multi_head_attention_forward": (c) =>
    positive(c.kwargs.dropout_p ?? c.args[10]) && c.kwargs.training !== false,
  "nn.functional.fractional_max_pool2d": without("_random_samples"),
  "nn.functional.fractional_max_pool3d": without("_random_samples"),
};

/** Whether only shapes and types of this call's results are defined. */
export const drawsNumbers = (op: string, c: Case): boolean => draws[op]?.(c) ?? false;
