/** @file Batch normalization. */
import { ChloBuilder } from "./chlo.js";
import { checkDim, fail, formatType } from "./types.js";
import type { OpDef, Value } from "./value.js";

interface BatchNorm {
  readonly epsilon: number;
  readonly featureIndex: number;
}

const define = (name: string): OpDef<BatchNorm> => ({
  name: `stablehlo.${name}`,
  form: "generic",
  attributes: ({ epsilon, featureIndex }) => {
    const [digits, exponent] = epsilon.toExponential().split("e");
    return `epsilon = ${digits.includes(".") ? digits : `${digits}.0`}e${exponent} : f32, feature_index = ${featureIndex} : i64`;
  },
});
const TRAINING = define("batch_norm_training");
const INFERENCE = define("batch_norm_inference");
const GRAD = define("batch_norm_grad");

export class NormalizationBuilder extends ChloBuilder {
  private checkBatchNorm(
    op: string,
    x: Value,
    perFeature: readonly Value[],
    featureIndex: number,
    epsilon: number,
  ): void {
    this.checkDType(op, x, x.dtype.kind === "float", "floats");
    checkDim(op, featureIndex, x.rank);
    if (!Number.isFinite(epsilon)) fail(op, "a finite epsilon", String(epsilon));
    const n = x.shape[featureIndex];
    for (const v of perFeature) {
      if (v.dtype !== x.dtype || v.rank !== 1 || v.shape[0] !== n)
        fail(op, `values for each feature, ${x.dtype.hlo}[${n}]`, formatType(v));
    }
  }

  /** Normalizes over all dimensions but the feature's: [result, mean, variance]. */
  batch_norm_training(
    x: Value,
    scale: Value,
    offset: Value,
    epsilon: number,
    featureIndex: number,
  ): [Value, Value, Value] {
    const op = "batch_norm_training";
    this.checkBatchNorm(op, x, [scale, offset], featureIndex, epsilon);
    const { results } = this.emit(op, TRAINING, [x, scale, offset], [x, scale, scale], { epsilon, featureIndex });
    return [results[0], results[1], results[2]];
  }

  /** Normalizes with a given mean and variance. */
  batch_norm_inference(
    x: Value,
    scale: Value,
    offset: Value,
    mean: Value,
    variance: Value,
    epsilon: number,
    featureIndex: number,
  ): Value {
    const op = "batch_norm_inference";
    this.checkBatchNorm(op, x, [scale, offset, mean, variance], featureIndex, epsilon);
    return this.emit1(op, INFERENCE, [x, scale, offset, mean, variance], x.dtype, x.shape, { epsilon, featureIndex });
  }

  /** Cotangents of batch_norm_training: [x, scale, offset]. */
  batch_norm_grad(
    x: Value,
    scale: Value,
    mean: Value,
    variance: Value,
    gradOutput: Value,
    epsilon: number,
    featureIndex: number,
  ): [Value, Value, Value] {
    const op = "batch_norm_grad";
    this.checkBatchNorm(op, x, [scale, mean, variance], featureIndex, epsilon);
    this.checkSame(op, x, gradOutput);
    const { results } = this.emit(op, GRAD, [x, scale, mean, variance, gradOutput], [x, scale, scale], {
      epsilon,
      featureIndex,
    });
    return [results[0], results[1], results[2]];
  }
}
