/**
 * @file Optimizer steps over all parameters as one program, which reuses their memory.
 *
 * PyTorch declares the hyperparameters as `float`, which would make them part of the program; here they are `Scalar`, so
 * that a scheduler never recompiles. `advanceSteps` is this library's: PyTorch counts `state_steps` up before the call,
 * here the same program can. Gradients are left as they are, also with `grad_scale`.
 */
import type { Builder, Value } from "../hlo/index.js";
import { float64 } from "../schema/index.js";
import { cast, computeType } from "./helpers.js";
import { notDifferentiable, op } from "./registry.js";
import type { ScalarValue } from "./scalar_value.js";

/** What all of these operators are told. */
interface Common {
  readonly self: readonly Value[];
  readonly grads: readonly Value[];
  readonly lr: Value;
  readonly weight_decay: ScalarValue;
  readonly maximize: boolean;
  readonly grad_scale: Value | null;
  readonly found_inf: Value | null;
}

/** A number of 64 bits as all elements of something like `x`. */
const like = (h: Builder, number: Value, x: Value): Value =>
  h.broadcast_in_dim(h.convert(number, x.dtype), x.shape, []);

const times = (h: Builder, x: Value, number: Value): Value => h.multiply(x, like(h, number, x));

const one = (h: Builder): Value => h.constant(1, float64);

/** The learning rate, or what else may be a number or a tensor of one element, as a 64-bit number. */
const wide = (h: Builder, x: Value): Value => h.convert(h.reshape(x, []), float64);

/** Whether a number is not zero. */
const isSet = (h: Builder, number: Value): Value => h.compare(number, h.constant(0, number.dtype), "NE");

/**
 * New values of a parameter and of its state. `update` sees real numbers, 16-bit floats as 32-bit ones; of complex
 * parameters it sees the real and the imaginary parts in turn.
 */
function updated(
  h: Builder,
  a: Common,
  grad: Value,
  state: readonly Value[],
  update: (grad: Value, state: readonly Value[]) => Value[],
): Value[] {
  const g = cast(h, grad, state[0].dtype);
  if (state[0].dtype.is_complex) {
    const part = (of: (x: Value) => Value): Value[] => updated(h, a, of(g), state.map(of), update);
    const re = part((x) => h.real(x));
    const im = part((x) => h.imag(x));
    return re.map((r, i) => h.complex(r, im[i]));
  }
  const compute = computeType(state[0].dtype);
  let ascent = cast(h, g, compute);
  if (a.grad_scale) ascent = h.divide(ascent, like(h, wide(h, a.grad_scale), ascent));
  if (a.maximize) ascent = h.negate(ascent);
  const next = update(
    ascent,
    state.map((s) => cast(h, s, compute)),
  );
  return next.map((v, i) => kept(h, a, state[i], cast(h, v, state[i].dtype)));
}

/** `after`, or `before` when the gradients of this step were found to overflow. */
function kept(h: Builder, { found_inf }: Common, before: Value, after: Value): Value {
  return found_inf ? h.select(isSet(h, wide(h, found_inf)), before, after) : after;
}

/** The gradient of the L2 penalty added. Nothing is added for zero, so that an infinite parameter makes no NaN. */
function penalized(h: Builder, a: Common, grad: Value, param: Value): Value {
  const decay = a.weight_decay.as(float64);
  return h.select(isSet(h, decay), h.add(grad, times(h, param, decay)), grad);
}

interface Counted extends Common {
  readonly state_steps: readonly Value[];
  readonly advanceSteps: boolean;
}

/** How many steps were made, this one included. */
function stepOf(h: Builder, a: Counted, i: number): Value {
  const step = a.state_steps[i];
  return a.advanceSteps ? h.add(step, h.splat(1, step.dtype, step.shape)) : step;
}

/** Lists of new values, one for each parameter, behind one another: as `mutates` names them. */
const columns = (rows: readonly (readonly Value[])[]): Value[] =>
  (rows[0] ?? []).flatMap((_, column) => rows.map((row) => row[column]));

interface AdamArguments extends Counted {
  readonly exp_avgs: readonly Value[];
  readonly exp_avg_sqs: readonly Value[];
  readonly max_exp_avg_sqs: readonly Value[];
  readonly beta1: ScalarValue;
  readonly beta2: ScalarValue;
  readonly eps: ScalarValue;
  readonly amsgrad: boolean;
}

/** Adam (Kingma and Ba 2015), or AdamW (Loshchilov and Hutter 2019) when the decay is decoupled. */
function adam(h: Builder, a: AdamArguments, decoupled: boolean): Value[] {
  const lr = wide(h, a.lr);
  const [beta1, beta2, eps] = [a.beta1.as(float64), a.beta2.as(float64), a.eps.as(float64)];
  const [rest1, rest2] = [h.subtract(one(h), beta1), h.subtract(one(h), beta2)];
  const decay = h.subtract(one(h), h.multiply(lr, a.weight_decay.as(float64)));
  const rows = a.self.map((param, i) => {
    const step = stepOf(h, a, i);
    const correction = (beta: Value): Value => h.subtract(one(h), h.power(beta, wide(h, step)));
    const stepSize = h.divide(lr, correction(beta1));
    const root2 = h.sqrt(correction(beta2));
    const state = [param, a.exp_avgs[i], a.exp_avg_sqs[i], ...(a.amsgrad ? [a.max_exp_avg_sqs[i]] : [])];
    const next = updated(h, a, a.grads[i], state, (grad, [p, mean, square, largest]) => {
      const g = decoupled ? grad : penalized(h, a, grad, p);
      const m = h.add(mean, times(h, h.subtract(g, mean), rest1));
      const v = h.add(times(h, square, beta2), times(h, h.multiply(g, g), rest2));
      const top = largest ? h.maximum(largest, v) : v;
      const denominator = h.add(h.divide(h.sqrt(top), like(h, root2, g)), like(h, eps, g));
      const from = decoupled ? times(h, p, decay) : p;
      const to = h.subtract(from, times(h, h.divide(m, denominator), stepSize));
      return largest ? [to, m, v, top] : [to, m, v];
    });
    return [...next, kept(h, a, a.state_steps[i], step)];
  });
  return columns(rows);
}

const adamLists =
  "Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] exp_avgs, Tensor(c!)[] exp_avg_sqs, Tensor(d!)[] max_exp_avg_sqs, Tensor(e!)[] state_steps";
const overflow = "Tensor? grad_scale=None, Tensor? found_inf=None";
const adamNumbers = `Scalar beta1, Scalar beta2, Scalar weight_decay, Scalar eps, bool amsgrad, bool maximize, ${overflow}, bool advanceSteps=False`;
const adamMutates = ["self", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs", "state_steps"];

for (const [name, decoupled] of [
  ["_fused_adam_", false],
  ["_fused_adamw_", true],
] as const) {
  op(
    [
      `${name}.tensor_lr(${adamLists}, *, Tensor lr, ${adamNumbers}) -> ()` as "adam() -> ()",
      `${name}(${adamLists}, *, Scalar lr, ${adamNumbers}) -> ()`,
    ],
    {
      lower: (h, args) => adam(h, args as AdamArguments, decoupled),
      numbers: ["lr"],
      mutates: adamMutates,
      grad: notDifferentiable,
      doc: `One step of Adam${decoupled ? "W" : ""} for all parameters.`,
    },
  );
}

const sgdLists =
  "Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] momentum_buffer_list, *, Scalar weight_decay, Scalar momentum";
const sgdNumbers = `Scalar dampening, bool nesterov, bool maximize, bool is_first_step, ${overflow}` as const;

op(
  [
    `_fused_sgd_.tensor_lr(${sgdLists}, Tensor lr, ${sgdNumbers}) -> ()`,
    `_fused_sgd_(${sgdLists}, Scalar lr, ${sgdNumbers}) -> ()`,
  ],
  {
    lower: (h, a) => {
      const lr = wide(h, a.lr);
      const momentum = a.momentum.as(float64);
      const fresh = h.subtract(one(h), a.dampening.as(float64));
      const rows = a.self.map((param, i) => {
        const state = [param, ...(a.momentum_buffer_list.length > 0 ? [a.momentum_buffer_list[i]] : [])];
        return updated(h, a, a.grads[i], state, (grad, [p, before]) => {
          const g = penalized(h, a, grad, p);
          const descend = (by: Value): Value => h.subtract(p, times(h, by, lr));
          if (!before) return [descend(g)];
          const buffer = a.is_first_step ? g : h.add(times(h, before, momentum), times(h, g, fresh));
          return [descend(a.nesterov ? h.add(g, times(h, buffer, momentum)) : buffer), buffer];
        });
      });
      return columns(rows);
    },
    numbers: ["lr"],
    mutates: ["self", "momentum_buffer_list"],
    grad: notDifferentiable,
    doc: "One step of stochastic gradient descent for all parameters.",
  },
);

const adagradLists = "Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] state_sums, Tensor(c!)[] state_steps, *";
const adagradNumbers =
  `Scalar lr_decay, Scalar weight_decay, Scalar eps, bool maximize, ${overflow}, bool advanceSteps=False` as const;

op(
  [
    `_fused_adagrad_.tensor_lr(${adagradLists}, Tensor lr, ${adagradNumbers}) -> ()`,
    `_fused_adagrad_(${adagradLists}, Scalar lr, ${adagradNumbers}) -> ()`,
  ],
  {
    lower: (h, a) => {
      const lr = wide(h, a.lr);
      const rows = a.self.map((param, i) => {
        const step = stepOf(h, a, i);
        const before = h.subtract(wide(h, step), one(h));
        const rate = h.divide(lr, h.add(one(h), h.multiply(before, a.lr_decay.as(float64))));
        const next = updated(h, a, a.grads[i], [param, a.state_sums[i]], (grad, [p, sum]) => {
          const g = penalized(h, a, grad, p);
          const total = h.add(sum, h.multiply(g, g));
          const denominator = h.add(h.sqrt(total), like(h, a.eps.as(float64), g));
          return [h.subtract(p, times(h, h.divide(g, denominator), rate)), total];
        });
        return [...next, kept(h, a, a.state_steps[i], step)];
      });
      return columns(rows);
    },
    numbers: ["lr"],
    mutates: ["self", "state_sums", "state_steps"],
    grad: notDifferentiable,
    doc: "One step of Adagrad for all parameters.",
  },
);
