/** @file Recurrent layers and cells. */
import type { Tensor } from "../../tensor/index.js";
import { TorchError, TorchTypeError, TorchValueError } from "../../schema/index.js";
import { t } from "../aten.js";
import { linear } from "../functional/convolution.js";
import { dropout } from "../functional/dropout.js";
import * as init from "../init.js";
import { Module } from "../module.js";
import { Parameter } from "../parameter.js";
import { floatText, pythonText } from "../printing.js";
import { signature, type Args, type Bound } from "../signature.js";

/** How one step goes, from the input's part of the gates and the state. */
type Step = (gates: Tensor, state: readonly Tensor[], hiddenGates: Tensor) => Tensor[];

/** r, z, n gates: n = tanh(in_n + r · hid_n), h = (1 - z) · n + z · h. */
const gruStep: Step = (x, [h], hidden) => {
  const [xr, xz, xn] = x.chunk(3, -1);
  const [hr, hz, hn] = hidden.chunk(3, -1);
  const r = xr.add(hr).sigmoid();
  const z = xz.add(hz).sigmoid();
  const n = xn.add(r.mul(hn)).tanh();
  return [n.add(z.mul(h.sub(n)))];
};
/** i, f, g, o gates: c = f · c + i · g, h = o · tanh(c). */
const lstmStep: Step = (x, [, c], hidden) => {
  const [i, f, g, o] = x.add(hidden).chunk(4, -1);
  const cell = f.sigmoid().mul(c).add(i.sigmoid().mul(g.tanh()));
  return [o.sigmoid().mul(cell.tanh()), cell];
};

const modes: Record<string, { readonly gates: number; readonly step: Step }> = {
  RNN_TANH: { gates: 1, step: (x, _, hidden) => [x.add(hidden).tanh()] },
  RNN_RELU: { gates: 1, step: (x, _, hidden) => [t.relu(x.add(hidden))] },
  GRU: { gates: 3, step: gruStep },
  LSTM: { gates: 4, step: lstmStep },
};

const lstmArgs = signature(
  "LSTM.__init__(int input_size, int hidden_size, int num_layers=1, bool bias=True, bool batch_first=False, float dropout=0.0, bool bidirectional=False, int proj_size=0, Device? device=None, ScalarType? dtype=None)",
);
const gruArgs = signature(
  "GRU.__init__(int input_size, int hidden_size, int num_layers=1, bool bias=True, bool batch_first=False, float dropout=0.0, bool bidirectional=False, Device? device=None, ScalarType? dtype=None)",
);
const rnnArgs = signature(
  "RNN.__init__(int input_size, int hidden_size, int num_layers=1, str nonlinearity='tanh', bool bias=True, bool batch_first=False, float dropout=0.0, bool bidirectional=False, Device? device=None, ScalarType? dtype=None)",
);

function check(a: Bound<typeof lstmArgs.text>): void {
  if (!(a.dropout >= 0 && a.dropout <= 1))
    throw new TorchValueError(
      "dropout should be a number in range [0, 1] representing the probability of an element being zeroed",
    );
  if (typeof a.bias !== "boolean") throw new TorchTypeError(`bias should be of type bool, got: ${typeof a.bias}`);
  if (a.input_size <= 0) throw new TorchValueError("input_size must be greater than zero");
  if (a.hidden_size <= 0) throw new TorchValueError("hidden_size must be greater than zero");
  if (a.num_layers <= 0) throw new TorchValueError("num_layers must be greater than zero");
  if (a.proj_size < 0)
    throw new TorchValueError("proj_size should be a positive integer or zero to disable projections");
  if (a.proj_size >= a.hidden_size) throw new TorchValueError("proj_size has to be smaller than hidden_size");
}

const tupleText = (shape: readonly number[]): string => `(${shape.join(", ")})`;

/** What recurrent layers share. */
abstract class RNNBase extends Module {
  readonly input_size: number;
  readonly hidden_size: number;
  readonly num_layers: number;
  readonly bias: boolean;
  readonly batch_first: boolean;
  readonly dropout: number;
  readonly bidirectional: boolean;
  readonly proj_size: number;
  /** Names of the weights, by layer and direction. */
  private readonly names: string[][] = [];

  constructor(
    readonly mode: string,
    a: Bound<typeof lstmArgs.text>,
  ) {
    super();
    check(a);
    this.input_size = a.input_size;
    this.hidden_size = a.hidden_size;
    this.num_layers = a.num_layers;
    this.bias = a.bias;
    this.batch_first = a.batch_first;
    this.dropout = a.dropout;
    this.bidirectional = a.bidirectional;
    this.proj_size = a.proj_size;
    const { device, dtype } = a;
    const rows = modes[mode].gates * a.hidden_size;
    for (let layer = 0; layer < a.num_layers; layer++) {
      const inputs = layer === 0 ? a.input_size : this.outputSize * this.directions;
      for (let direction = 0; direction < this.directions; direction++) {
        const end = `_l${layer}${direction === 1 ? "_reverse" : ""}`;
        const shapes: [string, number[]][] = [
          [`weight_ih${end}`, [rows, inputs]],
          [`weight_hh${end}`, [rows, this.outputSize]],
        ];
        if (a.bias) shapes.push([`bias_ih${end}`, [rows]], [`bias_hh${end}`, [rows]]);
        if (a.proj_size > 0) shapes.push([`weight_hr${end}`, [a.proj_size, a.hidden_size]]);
        for (const [name, shape] of shapes)
          this.register_parameter(name, new Parameter(t.empty(shape, { device, dtype })));
        this.names.push(shapes.map(([name]) => name));
      }
    }
    this.reset_parameters();
  }
  private get directions(): number {
    return this.bidirectional ? 2 : 1;
  }
  /** The size of h: that of the projection, where there is one. */
  private get outputSize(): number {
    return this.proj_size > 0 ? this.proj_size : this.hidden_size;
  }
  /** The weights, by layer and direction. */
  get all_weights(): Parameter[][] {
    return this.names.map((names) => names.map((n) => this.get_parameter(n)));
  }
  /** Nothing to do here: weights need no particular place in memory. */
  flatten_parameters(): void {}
  reset_parameters(): void {
    const bound = 1 / Math.sqrt(this.hidden_size);
    for (const p of this.parameters()) init.uniform_(p, -bound, bound);
  }

  /** One layer in one direction: input (T, N, …), state (N, …) each. */
  private runLayer(
    input: Tensor,
    state: Tensor[],
    weights: readonly Parameter[],
    reverse: boolean,
  ): { output: Tensor; state: Tensor[] } {
    const [w_ih, w_hh, b_ih, b_hh] = this.bias ? weights : [weights[0], weights[1], null, null];
    const w_hr = this.proj_size > 0 ? weights[weights.length - 1] : null;
    const { step } = modes[this.mode];
    const steps = t.unbind(linear(input, w_ih, b_ih), 0);
    const outputs = new Array<Tensor>(steps.length);
    for (let i = 0; i < steps.length; i++) {
      const at = reverse ? steps.length - 1 - i : i;
      state = step(steps[at], state, linear(state[0], w_hh, b_hh));
      if (w_hr) state = [linear(state[0], w_hr), ...state.slice(1)];
      outputs[at] = state[0];
    }
    return { output: t.stack(outputs), state };
  }

  /** Every layer: input (T, N, …), states (layers · directions, N, …) each. */
  private run(input: Tensor, states: readonly Tensor[]): { output: Tensor; states: Tensor[] } {
    const weights = this.all_weights;
    const last: Tensor[][] = states.map(() => []);
    let x = input;
    for (let layer = 0; layer < this.num_layers; layer++) {
      const outputs: Tensor[] = [];
      for (let direction = 0; direction < this.directions; direction++) {
        const at = layer * this.directions + direction;
        const done = this.runLayer(
          x,
          states.map((s) => s.select(0, at)),
          weights[at],
          direction === 1,
        );
        outputs.push(done.output);
        done.state.forEach((s, i) => last[i].push(s));
      }
      x = outputs.length === 1 ? outputs[0] : t.cat(outputs, -1);
      if (this.dropout > 0 && layer < this.num_layers - 1) x = dropout(x, this.dropout, this.training);
    }
    return { output: x, states: last.map((s) => t.stack(s)) };
  }

  /** Checks and completes input and states, runs, and gives the results the input's layout. */
  protected recur(input: Tensor, given: readonly Tensor[] | null): { output: Tensor; states: Tensor[] } {
    const name = this.mode.split("_")[0];
    if (input.ndim !== 2 && input.ndim !== 3)
      throw new TorchValueError(`${name}: Expected input to be 2D or 3D, got ${input.ndim}D tensor instead`);
    const batched = input.ndim === 3;
    const wrong = given?.find((s) => s.ndim !== input.ndim);
    if (wrong)
      throw new TorchError(
        `For ${batched ? "batched 3-D" : "unbatched 2-D"} input, hx should also be ${input.ndim}-D but got ${wrong.ndim}-D tensor`,
      );
    const batchDim = this.batch_first ? 0 : 1;
    const x = batched ? input : input.unsqueeze(batchDim);
    this.checkInput(x);
    const shapes = this.stateSizes.map((size) => [this.num_layers * this.directions, x.shape[batchDim], size]);
    const states =
      given?.map((s) => (batched ? s : s.unsqueeze(1))) ??
      shapes.map((shape) => t.zeros(shape, { dtype: x.dtype, device: x.device }));
    states.forEach((s, i) => {
      const which = states.length === 1 ? "hidden size" : `hidden[${i}] size`;
      if (s.shape.join() !== shapes[i].join())
        throw new TorchError(`Expected ${which} ${tupleText(shapes[i])}, got [${s.shape.join(", ")}]`);
    });
    const turn = (y: Tensor): Tensor => (this.batch_first ? y.transpose(0, 1) : y);
    const done = this.run(turn(x), states);
    const output = turn(done.output);
    return batched
      ? { output, states: done.states }
      : { output: output.squeeze(batchDim), states: done.states.map((s) => s.squeeze(1)) };
  }
  private checkInput(input: Tensor): void {
    const weight = this.get_parameter("weight_ih_l0");
    if (input.dtype !== weight.dtype)
      throw new TorchValueError(
        `RNN input dtype (${input.dtype.toString()}) does not match weight dtype (${weight.dtype.toString()}). Convert input: input.to(${weight.dtype.toString()}), or convert model: model.to(${input.dtype.toString()})`,
      );
    if (input.size(-1) !== this.input_size)
      throw new TorchError(
        `input.size(-1) must be equal to input_size. Expected ${this.input_size}, got ${input.size(-1)}`,
      );
  }
  /** The sizes of the states: of h, and in an LSTM of c. */
  private get stateSizes(): number[] {
    return this.mode === "LSTM" ? [this.outputSize, this.hidden_size] : [this.hidden_size];
  }
  override extra_repr(): string {
    const parts = [`${this.input_size}, ${this.hidden_size}`];
    if (this.proj_size !== 0) parts.push(`proj_size=${this.proj_size}`);
    if (this.num_layers !== 1) parts.push(`num_layers=${this.num_layers}`);
    if (!this.bias) parts.push("bias=False");
    if (this.batch_first) parts.push("batch_first=True");
    if (this.dropout !== 0) parts.push(`dropout=${floatText(this.dropout)}`);
    if (this.bidirectional) parts.push("bidirectional=True");
    return parts.join(", ");
  }
}

/** h = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.RNN.html */
export class RNN extends RNNBase {
  readonly nonlinearity: string;
  constructor(...args: Args<typeof rnnArgs.text>) {
    const { nonlinearity, ...rest } = rnnArgs.bind(args);
    if (nonlinearity !== "tanh" && nonlinearity !== "relu")
      throw new TorchValueError(`Unknown nonlinearity '${nonlinearity}'. Select from 'tanh' or 'relu'.`);
    super(nonlinearity === "tanh" ? "RNN_TANH" : "RNN_RELU", { ...rest, proj_size: 0 });
    this.nonlinearity = nonlinearity;
  }
  /** The outputs of all steps, and the last state. */
  override forward(input: Tensor, hx: Tensor | null = null): [Tensor, Tensor] {
    const { output, states } = this.recur(input, hx && [hx]);
    return [output, states[0]];
  }
}
/** Gated recurrent units. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.GRU.html */
export class GRU extends RNNBase {
  constructor(...args: Args<typeof gruArgs.text>) {
    super("GRU", { ...gruArgs.bind(args), proj_size: 0 });
  }
  /** The outputs of all steps, and the last state. */
  override forward(input: Tensor, hx: Tensor | null = null): [Tensor, Tensor] {
    const { output, states } = this.recur(input, hx && [hx]);
    return [output, states[0]];
  }
}
/** Long short-term memory. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html */
export class LSTM extends RNNBase {
  constructor(...args: Args<typeof lstmArgs.text>) {
    super("LSTM", lstmArgs.bind(args));
  }
  /** The outputs of all steps, and the last h and c. */
  override forward(input: Tensor, hx: readonly [Tensor, Tensor] | null = null): [Tensor, [Tensor, Tensor]] {
    const { output, states } = this.recur(input, hx);
    return [output, states as [Tensor, Tensor]];
  }
}

const cellArgs = signature(
  "Cell.__init__(int input_size, int hidden_size, bool bias=True, Device? device=None, ScalarType? dtype=None)",
);
const rnnCellArgs = signature(
  "RNNCell.__init__(int input_size, int hidden_size, bool bias=True, str nonlinearity='tanh', Device? device=None, ScalarType? dtype=None)",
);

/** One step of a recurrent layer. */
abstract class CellBase extends Module {
  readonly input_size: number;
  readonly hidden_size: number;
  readonly bias: boolean;
  weight_ih: Parameter;
  weight_hh: Parameter;
  bias_ih: Parameter | null;
  bias_hh: Parameter | null;
  constructor(
    private readonly mode: string,
    { input_size, hidden_size, bias, device, dtype }: Bound<typeof cellArgs.text>,
  ) {
    super();
    const rows = modes[mode].gates * hidden_size;
    this.input_size = input_size;
    this.hidden_size = hidden_size;
    this.bias = bias;
    this.weight_ih = new Parameter(t.empty([rows, input_size], { device, dtype }));
    this.weight_hh = new Parameter(t.empty([rows, hidden_size], { device, dtype }));
    this.bias_ih = bias ? new Parameter(t.empty([rows], { device, dtype })) : null;
    this.bias_hh = bias ? new Parameter(t.empty([rows], { device, dtype })) : null;
    if (!bias) for (const name of ["bias_ih", "bias_hh"]) this.register_parameter(name, null);
    this.reset_parameters();
  }
  reset_parameters(): void {
    const bound = 1 / Math.sqrt(this.hidden_size);
    for (const p of this.parameters()) init.uniform_(p, -bound, bound);
  }
  /** The next states from an input (N, …) or (…) and the states before, zeros unless given. */
  protected next(input: Tensor, given: readonly Tensor[] | null): Tensor[] {
    const name = this._get_name();
    if (input.ndim !== 1 && input.ndim !== 2)
      throw new TorchValueError(`${name}: Expected input to be 1D or 2D, got ${input.ndim}D instead`);
    const bad = given?.findIndex((s) => s.ndim !== 1 && s.ndim !== 2) ?? -1;
    if (bad >= 0)
      throw new TorchValueError(
        `${name}: Expected ${given!.length > 1 ? `hx[${bad}]` : "hidden"} to be 1D or 2D, got ${given![bad].ndim}D instead`,
      );
    const batched = input.ndim === 2;
    const x = batched ? input : input.unsqueeze(0);
    const zeros = (): Tensor => t.zeros([x.shape[0], this.hidden_size], { dtype: x.dtype, device: x.device });
    const states =
      given?.map((s) => (batched ? s : s.unsqueeze(0))) ?? (this.mode === "LSTM" ? [zeros(), zeros()] : [zeros()]);
    const gates = linear(x, this.weight_ih, this.bias_ih);
    const out = modes[this.mode].step(gates, states, linear(states[0], this.weight_hh, this.bias_hh));
    return batched ? out : out.map((s) => s.squeeze(0));
  }
  override extra_repr(): string {
    return `${this.input_size}, ${this.hidden_size}${this.bias ? "" : `, bias=${pythonText(this.bias)}`}`;
  }
}

/** One step of an RNN. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.RNNCell.html */
export class RNNCell extends CellBase {
  readonly nonlinearity: string;
  constructor(...args: Args<typeof rnnCellArgs.text>) {
    const { nonlinearity, ...rest } = rnnCellArgs.bind(args);
    if (nonlinearity !== "tanh" && nonlinearity !== "relu")
      throw new TorchError(`Unknown nonlinearity: ${nonlinearity}`);
    super(nonlinearity === "tanh" ? "RNN_TANH" : "RNN_RELU", rest);
    this.nonlinearity = nonlinearity;
  }
  override forward(input: Tensor, hx: Tensor | null = null): Tensor {
    return this.next(input, hx && [hx])[0];
  }
  override extra_repr(): string {
    return `${super.extra_repr()}${this.nonlinearity === "tanh" ? "" : `, nonlinearity=${this.nonlinearity}`}`;
  }
}
/** One step of a GRU. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.GRUCell.html */
export class GRUCell extends CellBase {
  constructor(...args: Args<typeof cellArgs.text>) {
    super("GRU", cellArgs.bind(args, "GRUCell.__init__"));
  }
  override forward(input: Tensor, hx: Tensor | null = null): Tensor {
    return this.next(input, hx && [hx])[0];
  }
}
/** One step of an LSTM: the next h and c. @see https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTMCell.html */
export class LSTMCell extends CellBase {
  constructor(...args: Args<typeof cellArgs.text>) {
    super("LSTM", cellArgs.bind(args, "LSTMCell.__init__"));
  }
  override forward(input: Tensor, hx: readonly [Tensor, Tensor] | null = null): [Tensor, Tensor] {
    return this.next(input, hx) as [Tensor, Tensor];
  }
}
