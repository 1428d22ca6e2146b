/** @file Recurrent layers as operators, as exported programs call them: `lstm`, `gru`, `rnn_tanh`, `rnn_relu`. */
import type { Tensor } from "../tensor/tensor.js";
import { TorchError } from "../schema/index.js";
import { op, type Torch } from "./registry.js";

/** The next state from the input's part of the gates, the hidden state's part, and the state. */
type Cell = (t: Torch, x: Tensor, hidden: Tensor, state: readonly Tensor[]) => Tensor[];

const plainCell =
  (activation: "tanh" | "relu"): Cell =>
  (t, x, hidden) => [t[activation](t.add(x, hidden))];

/** Gates r, z, n. */
const gruCell: Cell = (t, x, hidden, [h]) => {
  const [xr, xz, xn] = t.chunk(x, 3, -1);
  const [hr, hz, hn] = t.chunk(hidden, 3, -1);
  const r = t.sigmoid(t.add(xr, hr));
  const z = t.sigmoid(t.add(xz, hz));
  const n = t.tanh(t.add(xn, t.mul(r, hn)));
  return [t.add(n, t.mul(z, t.sub(h, n)))];
};

/** Gates i, f, g, o. */
const lstmCell: Cell = (t, x, hidden, [, c]) => {
  const [i, f, g, o] = t.chunk(t.add(x, hidden), 4, -1);
  const cell = t.add(t.mul(t.sigmoid(f), c), t.mul(t.sigmoid(i), t.tanh(g)));
  return [t.mul(t.sigmoid(o), t.tanh(cell)), cell];
};

interface Layers {
  readonly params: readonly Tensor[];
  readonly has_biases: boolean;
  readonly num_layers: number;
  readonly dropout: number;
  readonly train: boolean;
  readonly bidirectional: boolean;
  readonly batch_first: boolean;
}

/** One layer in one direction: input (T, N, …), state (N, …) each. */
function runLayer(
  t: Torch,
  cell: Cell,
  input: Tensor,
  first: Tensor[],
  weights: readonly Tensor[],
  reverse: boolean,
  biased: boolean,
): { output: Tensor; state: Tensor[] } {
  const [w_ih, w_hh] = weights;
  const [b_ih, b_hh] = biased ? weights.slice(2) : [null, null];
  const projection = weights[biased ? 4 : 2] as Tensor | undefined;
  const steps = t.unbind(t.linear(input, w_ih, b_ih), 0);
  const outputs = new Array<Tensor>(steps.length);
  let state = first;
  for (let i = 0; i < steps.length; i++) {
    const at = reverse ? steps.length - 1 - i : i;
    state = cell(t, steps[at], t.linear(state[0], w_hh, b_hh), state);
    if (projection) state = [t.linear(state[0], projection), ...state.slice(1)];
    outputs[at] = state[0];
  }
  return { output: t.stack(outputs, 0), state };
}

/** All layers: the outputs, then the last states of every layer and direction. */
function run(t: Torch, cell: Cell, input: Tensor, states: readonly Tensor[], a: Layers): Tensor[] {
  const directions = a.bidirectional ? 2 : 1;
  const perLayer = a.params.length / (a.num_layers * directions);
  if (!Number.isInteger(perLayer) || perLayer < (a.has_biases ? 4 : 2))
    throw new TorchError(
      `expected weights of ${a.num_layers * directions} layers and directions, got ${a.params.length}`,
    );
  let x = a.batch_first ? t.transpose(input, 0, 1) : input;
  const last: Tensor[][] = states.map(() => []);
  for (let layer = 0; layer < a.num_layers; layer++) {
    const outputs: Tensor[] = [];
    for (let direction = 0; direction < directions; direction++) {
      const at = layer * directions + direction;
      const first = states.map((s) => t.select(s, 0, at));
      const weights = a.params.slice(at * perLayer, (at + 1) * perLayer);
      const done = runLayer(t, cell, x, first, weights, direction === 1, a.has_biases);
      outputs.push(done.output);
      done.state.forEach((s, i) => last[i].push(s));
    }
    x = outputs.length === 1 ? outputs[0] : t.cat(outputs, -1);
    if (a.dropout > 0 && a.train && layer < a.num_layers - 1) x = t.dropout(x, a.dropout, true);
  }
  return [a.batch_first ? t.transpose(x, 0, 1) : x, ...last.map((s) => t.stack(s, 0))];
}

op(
  "lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
  { composite: (t, { input, hx, ...layers }) => run(t, lstmCell, input, hx, layers), doc: "`torch.nn.LSTM`." },
);
op(
  "gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
  { composite: (t, { input, hx, ...layers }) => run(t, gruCell, input, [hx], layers), doc: "`torch.nn.GRU`." },
);
op(
  "rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
  {
    composite: (t, { input, hx, ...layers }) => run(t, plainCell("tanh"), input, [hx], layers),
    doc: "`torch.nn.RNN`.",
  },
);
op(
  "rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
  { composite: (t, { input, hx, ...layers }) => run(t, plainCell("relu"), input, [hx], layers), doc: "`torch.nn.RNN` with relu." }, // prettier-ignore
);
