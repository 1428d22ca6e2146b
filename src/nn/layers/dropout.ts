/** @file Dropout. Active in training mode only. */
import * as F from "../functional/dropout.js";
import { TorchValueError } from "../../schema/index.js";
import { pythonText } from "../printing.js";
import { functionLayer } from "./function_layer.js";

const shared = {
  check: ({ p }: { p: number }): void => {
    if (p < 0 || p > 1) throw new TorchValueError(`dropout probability has to be between 0 and 1, but got ${p}`);
  },
  repr: (m: { p: number; inplace: boolean }): string => `p=${pythonText(m.p)}, inplace=${pythonText(m.inplace)}`,
};

/** Zeros with probability p; the rest is scaled by 1 / (1 - p). */
export class Dropout extends functionLayer(
  "Dropout.__init__(float p=0.5, bool inplace=False)",
  (m, x) => F.dropout(x, m.p, m.training, m.inplace),
  shared,
) {}
/** Dropout of whole channels of (N, C, L). */
export class Dropout1d extends functionLayer(
  "Dropout1d.__init__(float p=0.5, bool inplace=False)",
  (m, x) => F.dropout1d(x, m.p, m.training, m.inplace),
  shared,
) {}
/** Dropout of whole channels of (N, C, H, W). */
export class Dropout2d extends functionLayer(
  "Dropout2d.__init__(float p=0.5, bool inplace=False)",
  (m, x) => F.dropout2d(x, m.p, m.training, m.inplace),
  shared,
) {}
/** Dropout of whole channels of (N, C, D, H, W). */
export class Dropout3d extends functionLayer(
  "Dropout3d.__init__(float p=0.5, bool inplace=False)",
  (m, x) => F.dropout3d(x, m.p, m.training, m.inplace),
  shared,
) {}
/** Dropout that keeps mean and variance, for networks with selu. */
export class AlphaDropout extends functionLayer(
  "AlphaDropout.__init__(float p=0.5, bool inplace=False)",
  (m, x) => F.alpha_dropout(x, m.p, m.training, m.inplace),
  shared,
) {}
/** Alpha dropout of whole channels. */
export class FeatureAlphaDropout extends functionLayer(
  "FeatureAlphaDropout.__init__(float p=0.5, bool inplace=False)",
  (m, x) => F.feature_alpha_dropout(x, m.p, m.training, m.inplace),
  shared,
) {}
