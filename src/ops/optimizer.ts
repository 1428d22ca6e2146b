/**
 * @file Optimizer steps over all parameters as one program, their memory reused.
 *
 * PyTorch declares the hyperparameters as `float`, which would make them part of the program; here they are `Scalar`, so
 * that a scheduler never recompiles.
 */
import type { Builder, Value } from "../hlo/index.js";
import { float64, type DType } from "../schema/index.js";
import { cast, fullLike } from "./helpers.js";
import { notDifferentiable, op } from "./registry.js";
import type { ScalarValue } from "./scalar_value.js";

interface AdamArguments {
  readonly self: readonly Value[];
  readonly grads: readonly Value[];
  readonly exp_avgs: readonly Value[];
  readonly exp_avg_sqs: readonly Value[];
  readonly max_exp_avg_sqs: readonly Value[];
  readonly state_steps: readonly Value[];
  readonly lr: ScalarValue;
  readonly beta1: ScalarValue;
  readonly beta2: ScalarValue;
  readonly weight_decay: ScalarValue;
  readonly eps: ScalarValue;
  readonly amsgrad: boolean;
  readonly maximize: boolean;
}

/** One minus a number, in the precision of the host's double. */
const oneMinus = (h: Builder, s: ScalarValue, dtype: DType): Value => {
  const wide = s.as(float64);
  return h.convert(h.subtract(h.constant(1, float64), wide), dtype);
};

const like = (h: Builder, scalar: Value, x: Value): Value => h.broadcast_in_dim(scalar, x.shape, []);

/** Adam (Kingma and Ba 2015), or AdamW (Loshchilov and Hutter 2019) when the decay is decoupled. */
function adam(h: Builder, a: AdamArguments, decoupled: boolean): Value[] {
  const params: Value[] = [];
  const avgs: Value[] = [];
  const squares: Value[] = [];
  const largest: Value[] = [];
  const steps: Value[] = [];
  a.self.forEach((param, i) => {
    const { dtype } = param;
    const lr = a.lr.as(dtype);
    const step = h.add(a.state_steps[i], h.constant(1, a.state_steps[i].dtype));
    let p = param;
    let g = cast(h, a.grads[i], dtype);
    if (a.maximize) g = h.negate(g);
    if (!a.weight_decay.is(0)) {
      const decay = a.weight_decay.as(dtype);
      if (decoupled) p = h.multiply(p, like(h, h.subtract(h.constant(1, dtype), h.multiply(lr, decay)), p));
      else g = h.add(g, h.multiply(p, like(h, decay, p)));
    }
    const m = h.add(a.exp_avgs[i], h.multiply(h.subtract(g, a.exp_avgs[i]), like(h, oneMinus(h, a.beta1, dtype), g)));
    const v = h.add(h.multiply(a.exp_avg_sqs[i], like(h, a.beta2.as(dtype), g)), h.multiply(h.multiply(g, g), like(h, oneMinus(h, a.beta2, dtype), g)));
    const wideStep = h.convert(step, float64);
    const correction = (beta: ScalarValue): Value => h.subtract(h.constant(1, float64), h.power(beta.as(float64), wideStep));
    const stepSize = h.convert(h.divide(a.lr.as(float64), correction(a.beta1)), dtype);
    const root2 = h.convert(h.sqrt(correction(a.beta2)), dtype);
    let denominatorOf = v;
    if (a.amsgrad) {
      denominatorOf = h.maximum(a.max_exp_avg_sqs[i], v);
      largest.push(denominatorOf);
    }
    const denominator = h.add(h.divide(h.sqrt(denominatorOf), like(h, root2, g)), like(h, a.eps.as(dtype), g));
    params.push(h.subtract(p, h.multiply(like(h, stepSize, g), h.divide(m, denominator))));
    avgs.push(m);
    squares.push(v);
    steps.push(step);
  });
  return [...params, ...avgs, ...squares, ...largest, ...steps];
}

const adamMutates = ["self", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs", "state_steps"];
const adamTail = "Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] exp_avgs, Tensor(c!)[] exp_avg_sqs, Tensor(d!)[] max_exp_avg_sqs, Tensor(e!)[] state_steps, *, Scalar lr, Scalar beta1, Scalar beta2, Scalar weight_decay, Scalar eps, bool amsgrad, bool maximize";

op(`_fused_adam_(${adamTail}) -> ()` as `x(${typeof adamTail}) -> ()`, {
  lower: (h, args) => adam(h, args as AdamArguments, false),
  mutates: adamMutates,
  grad: notDifferentiable,
});
op(`_fused_adamw_(${adamTail}) -> ()` as `x(${typeof adamTail}) -> ()`, {
  lower: (h, args) => adam(h, args as AdamArguments, true),
  mutates: adamMutates,
  grad: notDifferentiable,
});

op(
  "_fused_sgd_(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] momentum_buffer_list, *, Scalar weight_decay, Scalar momentum, Scalar lr, Scalar dampening, bool nesterov, bool maximize, bool is_first_step) -> ()",
  {
    lower: (h, a) => {
      const params: Value[] = [];
      const buffers: Value[] = [];
      a.self.forEach((p, i) => {
        const { dtype } = p;
        let g = cast(h, a.grads[i], dtype);
        if (a.maximize) g = h.negate(g);
        if (!a.weight_decay.is(0)) g = h.add(g, h.multiply(p, a.weight_decay.fill(dtype, p.shape)));
        if (a.momentum_buffer_list.length > 0) {
          const momentum = a.momentum.fill(dtype, p.shape);
          const fresh = h.subtract(fullLike(h, p, 1), a.dampening.fill(dtype, p.shape));
          const buffer = a.is_first_step ? g : h.add(h.multiply(a.momentum_buffer_list[i], momentum), h.multiply(g, fresh));
          buffers.push(buffer);
          g = a.nesterov ? h.add(g, h.multiply(buffer, momentum)) : buffer;
        }
        params.push(h.subtract(p, h.multiply(g, a.lr.fill(dtype, p.shape))));
      });
      return [...params, ...buffers];
    },
    mutates: ["self", "momentum_buffer_list"],
    grad: notDifferentiable,
  },
);
