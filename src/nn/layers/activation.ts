/** @file Activations. @see https://docs.pytorch.org/docs/stable/nn.html#non-linear-activations-weighted-sum-nonlinearity */
import type { Tensor } from "../../tensor/index.js";
import { t } from "../aten.js";
import * as F from "../functional/activation.js";
import * as init from "../init.js";
import { Module } from "../module.js";
import { Parameter } from "../parameter.js";
import { floatText, pythonText } from "../printing.js";
import { signature, type Args } from "../signature.js";
import { functionLayer } from "./function_layer.js";

const inplaceText = (m: { inplace: boolean }): string => (m.inplace ? "inplace=True" : "");
const withInplace = (text: string, m: { inplace: boolean }): string => (m.inplace ? `${text}, inplace=True` : text);

/** max(x, 0). */
export class ReLU extends functionLayer("ReLU.__init__(bool inplace=False)", (m, x) => F.relu(x, m.inplace), {
  repr: inplaceText,
}) {}
/** min(max(x, 0), 6). */
export class ReLU6 extends functionLayer("ReLU6.__init__(bool inplace=False)", (m, x) => F.relu6(x, m.inplace), {
  repr: inplaceText,
}) {
  readonly min_val = 0;
  readonly max_val = 6;
}
/** x · sigmoid(x). */
export class SiLU extends functionLayer("SiLU.__init__(bool inplace=False)", (m, x) => F.silu(x, m.inplace), {
  repr: inplaceText,
}) {}
/** x · tanh(softplus(x)). */
export class Mish extends functionLayer("Mish.__init__(bool inplace=False)", (m, x) => F.mish(x, m.inplace), {
  repr: inplaceText,
}) {}
/** Self-normalizing elu. */
export class SELU extends functionLayer("SELU.__init__(bool inplace=False)", (m, x) => F.selu(x, m.inplace), {
  repr: inplaceText,
}) {}
/** relu6(x + 3) / 6. */
export class Hardsigmoid extends functionLayer("Hardsigmoid.__init__(bool inplace=False)", (m, x) =>
  F.hardsigmoid(x, m.inplace),
) {}
/** x · relu6(x + 3) / 6. */
export class Hardswish extends functionLayer("Hardswish.__init__(bool inplace=False)", (m, x) =>
  F.hardswish(x, m.inplace),
) {}
/** x above 0, alpha · (exp(x) - 1) below. */
export class ELU extends functionLayer(
  "ELU.__init__(float alpha=1.0, bool inplace=False)",
  (m, x) => F.elu(x, m.alpha, m.inplace),
  { repr: (m) => withInplace(`alpha=${floatText(m.alpha)}`, m) },
) {}
/** elu that is smooth at 0 for every alpha. */
export class CELU extends functionLayer(
  "CELU.__init__(float alpha=1.0, bool inplace=False)",
  (m, x) => F.celu(x, m.alpha, m.inplace),
  { repr: (m) => withInplace(`alpha=${floatText(m.alpha)}`, m) },
) {}
/** x above 0, x · negative_slope below. */
export class LeakyReLU extends functionLayer(
  "LeakyReLU.__init__(float negative_slope=0.01, bool inplace=False)",
  (m, x) => F.leaky_relu(x, m.negative_slope, m.inplace),
  { repr: (m) => withInplace(`negative_slope=${pythonText(m.negative_slope)}`, m) },
) {}
/** leaky_relu with random slopes while training. */
export class RReLU extends functionLayer(
  "RReLU.__init__(float lower=0.125, float upper=0.3333333333333333, bool inplace=False)",
  (m, x) => F.rrelu(x, m.lower, m.upper, m.training, m.inplace),
  { repr: (m) => withInplace(`lower=${pythonText(m.lower)}, upper=${pythonText(m.upper)}`, m) },
) {}
/** x between min_val and max_val, the nearer of them elsewhere. */
export class Hardtanh extends functionLayer(
  "Hardtanh.__init__(float min_val=-1.0, float max_val=1.0, bool inplace=False)",
  (m, x) => F.hardtanh(x, m.min_val, m.max_val, m.inplace),
  { repr: (m) => withInplace(`min_val=${floatText(m.min_val)}, max_val=${floatText(m.max_val)}`, m) },
) {}
/** x above the threshold, value elsewhere. */
export class Threshold extends functionLayer(
  "Threshold.__init__(float threshold, float value, bool inplace=False)",
  (m, x) => F.threshold(x, m.threshold, m.value, m.inplace),
  { repr: (m) => withInplace(`threshold=${pythonText(m.threshold)}, value=${pythonText(m.value)}`, m) },
) {}
/** x · Φ(x); with approximate "tanh", the formula that GPT-2 uses. */
export class GELU extends functionLayer(
  "GELU.__init__(str approximate='none')",
  (m, x) => F.gelu(x, { approximate: m.approximate }),
  { repr: (m) => `approximate='${m.approximate}'` },
) {}
/** The first half of a dimension times the sigmoid of the second. */
export class GLU extends functionLayer("GLU.__init__(int dim=-1)", (m, x) => F.glu(x, m.dim), {
  repr: (m) => `dim=${m.dim}`,
}) {}
/** x, or 0 within lambd of 0. */
export class Hardshrink extends functionLayer(
  "Hardshrink.__init__(float lambd=0.5)",
  (m, x) => F.hardshrink(x, m.lambd),
  { repr: (m) => pythonText(m.lambd) },
) {}
/** x moved towards 0 by lambd. */
export class Softshrink extends functionLayer(
  "Softshrink.__init__(float lambd=0.5)",
  (m, x) => F.softshrink(x, m.lambd),
  { repr: (m) => pythonText(m.lambd) },
) {}
/** log(1 + exp(beta · x)) / beta, and x above the threshold. */
export class Softplus extends functionLayer(
  "Softplus.__init__(float beta=1.0, float threshold=20.0)",
  (m, x) => F.softplus(x, m.beta, m.threshold),
  { repr: (m) => `beta=${floatText(m.beta)}, threshold=${floatText(m.threshold)}` },
) {}
/** 1 / (1 + exp(-x)). */
export class Sigmoid extends functionLayer("Sigmoid.__init__()", (_, x) => F.sigmoid(x)) {}
/** The logarithm of sigmoid. */
export class LogSigmoid extends functionLayer("LogSigmoid.__init__()", (_, x) => F.logsigmoid(x)) {}
/** The hyperbolic tangent. */
export class Tanh extends functionLayer("Tanh.__init__()", (_, x) => F.tanh(x)) {}
/** x - tanh(x). */
export class Tanhshrink extends functionLayer("Tanhshrink.__init__()", (_, x) => F.tanhshrink(x)) {}
/** x / (1 + |x|). */
export class Softsign extends functionLayer("Softsign.__init__()", (_, x) => F.softsign(x)) {}

/** exp(x) over the sum of exp(x) along dim. */
export class Softmax extends functionLayer("Softmax.__init__(int? dim=None)", (m, x) => F.softmax(x, m.dim), {
  repr: (m) => `dim=${pythonText(m.dim)}`,
}) {}
/** softmax of -x. */
export class Softmin extends functionLayer("Softmin.__init__(int? dim=None)", (m, x) => F.softmin(x, m.dim), {
  repr: (m) => `dim=${pythonText(m.dim)}`,
}) {}
/** The logarithm of softmax. */
export class LogSoftmax extends functionLayer("LogSoftmax.__init__(int? dim=None)", (m, x) => F.log_softmax(x, m.dim), {
  repr: (m) => `dim=${pythonText(m.dim)}`,
}) {}
/** softmax over the channels of (N, C, H, W) or (C, H, W). */
export class Softmax2d extends functionLayer("Softmax2d.__init__()", (_, x) => F.softmax(x, -3)) {}

const prelu = signature(
  "PReLU.__init__(int num_parameters=1, float init=0.25, Device? device=None, ScalarType? dtype=None)",
);
/** leaky_relu whose slope is learned, one for all channels or one each. */
export class PReLU extends Module {
  readonly num_parameters: number;
  readonly init: number;
  weight: Parameter;
  constructor(...args: Args<typeof prelu.text>) {
    super();
    const { num_parameters, init: slope, device, dtype } = prelu.bind(args);
    this.num_parameters = num_parameters;
    this.init = slope;
    this.weight = new Parameter(t.empty([num_parameters], { device, dtype }));
    this.reset_parameters();
  }
  reset_parameters(): void {
    init.constant_(this.weight, this.init);
  }
  override forward(input: Tensor): Tensor {
    return F.prelu(input, this.weight);
  }
  override extra_repr(): string {
    return `num_parameters=${this.num_parameters}`;
  }
}
