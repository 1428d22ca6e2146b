/** @file Values and gradients of layers against PyTorch's, recorded by testing/record.py. */
import { expect, test } from "vitest";
import * as torch from "torch-tpu";
import * as nn from "torch-tpu/nn";
import { Tensor } from "torch-tpu";
import { expected, type Expected } from "./testing/generated/expected.js";

function wave(shape: readonly number[], step: number, start: number): Tensor {
  const n = shape.reduce((a, b) => a * b, 1);
  return torch.from_typed_array(
    Float32Array.from({ length: n }, (_, k) => Math.sin(k * step + start)),
    shape,
  );
}
const x = (...shape: number[]): Tensor => wave(shape, 0.9, 0.5).requires_grad_();
const y = (...shape: number[]): Tensor => wave(shape, 0.9, 1.5).requires_grad_();
const z = (...shape: number[]): Tensor => wave(shape, 0.9, 2.5).requires_grad_();
const ids = (...rows: number[][]): Tensor => torch.tensor(rows);
const floats = (data: number[] | number[][]): Tensor => torch.tensor(data, { dtype: torch.float32 });

/** The modules and inputs of record.py. */
const cases: Record<string, () => [nn.Module, ...unknown[]]> = {
  Linear: () => [new nn.Linear(3, 4), x(2, 3)],
  "Linear without bias": () => [new nn.Linear(3, 2, { bias: false }), x(2, 2, 3)],
  Bilinear: () => [new nn.Bilinear(2, 3, 2), x(4, 2), x(4, 3)],
  PReLU: () => [new nn.PReLU(3), x(2, 3, 2)],
  GLU: () => [new nn.GLU(1), x(2, 4)],
  GELU: () => [new nn.GELU(), x(2, 4)],
  "GELU tanh": () => [new nn.GELU({ approximate: "tanh" }), x(2, 4)],
  Softmax: () => [new nn.Softmax(), x(2, 4)],
  LogSoftmax: () => [new nn.LogSoftmax(-1), x(2, 4)],
  Softmax2d: () => [new nn.Softmax2d(), x(1, 3, 2, 2)],
  Embedding: () => [new nn.Embedding(5, 3, { padding_idx: 2 }), ids([0, 2, 4], [4, 1, 2])],
  "Embedding max_norm": () => [new nn.Embedding(5, 3, { max_norm: 0.5 }), ids([0, 2, 4])],
  EmbeddingBag: () => [new nn.EmbeddingBag(5, 3), ids([0, 2, 4], [4, 1, 2])],
  "EmbeddingBag sum": () => [
    new nn.EmbeddingBag(5, 3, { mode: "sum" }),
    torch.tensor([0, 2, 4, 1]),
    torch.tensor([0, 3]),
  ],
  LayerNorm: () => [new nn.LayerNorm(4), x(2, 4)],
  "LayerNorm of two dimensions": () => [new nn.LayerNorm([2, 3], { bias: false }), x(2, 2, 3)],
  RMSNorm: () => [new nn.RMSNorm(4), x(2, 4)],
  GroupNorm: () => [new nn.GroupNorm(2, 4), x(2, 4, 3)],
  LocalResponseNorm: () => [new nn.LocalResponseNorm(3), x(1, 4, 2, 2)],
  BatchNorm1d: () => [new nn.BatchNorm1d(3), x(4, 3)],
  "BatchNorm1d of sequences": () => [new nn.BatchNorm1d(3, { momentum: null }), x(2, 3, 4)],
  "BatchNorm1d eval": () => [new nn.BatchNorm1d(3).eval(), x(2, 3)],
  "BatchNorm1d without statistics": () => [new nn.BatchNorm1d(3, { track_running_stats: false }).eval(), x(4, 3)],
  BatchNorm2d: () => [new nn.BatchNorm2d(2), x(2, 2, 2, 3)],
  BatchNorm3d: () => [new nn.BatchNorm3d(2, { affine: false }), x(2, 2, 1, 2, 2)],
  InstanceNorm1d: () => [new nn.InstanceNorm1d(2), x(2, 2, 4)],
  InstanceNorm2d: () => [new nn.InstanceNorm2d(2, { affine: true, track_running_stats: true }), x(2, 2, 2, 2)],
  "InstanceNorm2d unbatched": () => [new nn.InstanceNorm2d(2), x(2, 2, 3)],
  Conv1d: () => [new nn.Conv1d(2, 3, 3, { padding: 1 }), x(2, 2, 5)],
  Conv2d: () => [new nn.Conv2d(2, 4, 3, { stride: 2, padding: 1 }), x(1, 2, 5, 4)],
  "Conv2d grouped, dilated": () => [new nn.Conv2d(4, 4, 2, { dilation: 2, groups: 2, bias: false }), x(1, 4, 4, 3)],
  "Conv2d same": () => [new nn.Conv2d(1, 2, [2, 3], { padding: "same" }), x(1, 1, 3, 4)],
  "Conv2d reflect": () => [new nn.Conv2d(1, 2, 3, { padding: 1, padding_mode: "reflect" }), x(1, 1, 3, 4)],
  "Conv2d circular": () => [new nn.Conv2d(1, 2, 3, { padding: [1, 2], padding_mode: "circular" }), x(1, 1, 3, 4)],
  Conv3d: () => [new nn.Conv3d(1, 2, 2), x(1, 1, 3, 2, 3)],
  ConvTranspose1d: () => [new nn.ConvTranspose1d(2, 3, 3, { stride: 2 }), x(1, 2, 3)],
  ConvTranspose2d: () => [new nn.ConvTranspose2d(2, 2, 3, { stride: 2, padding: 1, output_padding: 1 }), x(1, 2, 2, 3)],
  "ConvTranspose2d output_size": () => [
    new nn.ConvTranspose2d(1, 1, 3, { stride: 2, padding: 1 }),
    x(1, 1, 3, 2),
    [6, 4],
  ],
  MaxPool1d: () => [new nn.MaxPool1d(2), x(1, 2, 5)],
  MaxPool2d: () => [new nn.MaxPool2d(3, { stride: 2, padding: 1 }), x(1, 1, 5, 4)],
  MaxPool3d: () => [new nn.MaxPool3d(2, { stride: 1 }), x(1, 1, 2, 3, 3)],
  AvgPool1d: () => [new nn.AvgPool1d(3, { stride: 2, padding: 1 }), x(1, 2, 5)],
  AvgPool2d: () => [new nn.AvgPool2d(2, { ceil_mode: true, count_include_pad: false }), x(1, 1, 3, 5)],
  AvgPool3d: () => [new nn.AvgPool3d(2), x(1, 1, 2, 4, 2)],
  AdaptiveAvgPool2d: () => [new nn.AdaptiveAvgPool2d([2, null]), x(1, 2, 5, 3)],
  AdaptiveMaxPool2d: () => [new nn.AdaptiveMaxPool2d(2), x(1, 1, 5, 3)],
  LPPool2d: () => [new nn.LPPool2d(2, 2), x(1, 1, 4, 4)],
  Flatten: () => [new nn.Flatten(), x(2, 2, 2)],
  Unflatten: () => [new nn.Unflatten(1, [2, 2]), x(1, 4)],
  PixelShuffle: () => [new nn.PixelShuffle(2), x(1, 4, 1, 2)],
  "Upsample nearest": () => [new nn.Upsample({ scale_factor: 2 }), x(1, 1, 2, 2)],
  "Upsample bilinear": () => [new nn.Upsample({ size: [3, 5], mode: "bilinear" }), x(1, 1, 2, 3)],
  Fold: () => [new nn.Fold([3, 3], 2), x(1, 4, 4)],
  Unfold: () => [new nn.Unfold(2), x(1, 1, 3, 3)],
  ReflectionPad2d: () => [new nn.ReflectionPad2d([1, 0, 1, 2]), x(1, 1, 3, 3)],
  ReplicationPad1d: () => [new nn.ReplicationPad1d(2), x(1, 1, 3)],
  CircularPad2d: () => [new nn.CircularPad2d(1), x(1, 1, 2, 3)],
  ConstantPad1d: () => [new nn.ConstantPad1d([1, 2], 3.5), x(1, 2, 2)],
  RNN: () => [new nn.RNN(3, 2, { nonlinearity: "relu", bias: false }), x(3, 2, 3)],
  GRU: () => [new nn.GRU(3, 2, { num_layers: 2, batch_first: true }), x(2, 3, 3)],
  LSTM: () => [new nn.LSTM(3, 2, { num_layers: 2, bidirectional: true }), x(3, 2, 3)],
  "LSTM with a state": () => [new nn.LSTM(3, 2), x(3, 2, 3), [y(1, 2, 2), z(1, 2, 2)]],
  "LSTM projected, unbatched": () => [new nn.LSTM(3, 4, { proj_size: 2 }), x(3, 3)],
  RNNCell: () => [new nn.RNNCell(3, 2), x(2, 3)],
  GRUCell: () => [new nn.GRUCell(3, 2), x(2, 3), y(2, 2)],
  LSTMCell: () => [new nn.LSTMCell(3, 2), x(2, 3)],
  MultiheadAttention: () => [new nn.MultiheadAttention(4, 2), x(3, 2, 4), y(2, 2, 4), z(2, 2, 4)],
  "MultiheadAttention with sizes and biases": () => [
    new nn.MultiheadAttention(4, 2, { kdim: 3, vdim: 2, add_bias_kv: true, add_zero_attn: true, batch_first: true }),
    x(2, 3, 4),
    y(2, 2, 3),
    z(2, 2, 2),
  ],
  TransformerEncoderLayer: () => [new nn.TransformerEncoderLayer(4, 2, 3, { dropout: 0 }), x(3, 2, 4)],
  "TransformerEncoderLayer norm_first": () => [
    new nn.TransformerEncoderLayer(4, 2, 3, { dropout: 0, activation: "gelu", batch_first: true, norm_first: true }),
    x(2, 3, 4),
  ],
  TransformerDecoderLayer: () => [new nn.TransformerDecoderLayer(4, 2, 3, { dropout: 0 }), x(3, 2, 4), y(2, 2, 4)],
  Transformer: () => [new nn.Transformer(4, 2, 1, 2, 3, { dropout: 0 }), x(3, 2, 4), y(2, 2, 4)],
  Sequential: () => [new nn.Sequential(new nn.Linear(3, 4), new nn.ReLU(), new nn.Linear(4, 2)), x(2, 3)],
  CrossEntropyLoss: () => [new nn.CrossEntropyLoss(), x(3, 4), torch.tensor([1, 0, 3])],
  "CrossEntropyLoss with options": () => [
    new nn.CrossEntropyLoss({ weight: floats([0.5, 1, 2, 1.5]), ignore_index: 0, label_smoothing: 0.1 }),
    x(3, 4),
    torch.tensor([1, 0, 3]),
  ],
  "CrossEntropyLoss of probabilities": () => [new nn.CrossEntropyLoss({ reduction: "sum" }), x(2, 3), y(2, 3)],
  NLLLoss: () => [new nn.NLLLoss({ reduction: "none" }), x(3, 4), torch.tensor([1, 0, 3])],
  MSELoss: () => [new nn.MSELoss(), x(2, 3), y(2, 3)],
  L1Loss: () => [new nn.L1Loss({ reduction: "sum" }), x(2, 3), y(2, 3)],
  SmoothL1Loss: () => [new nn.SmoothL1Loss({ beta: 0.5 }), x(2, 3), y(2, 3)],
  HuberLoss: () => [new nn.HuberLoss({ delta: 0.5 }), x(2, 3), y(2, 3)],
  BCEWithLogitsLoss: () => [
    new nn.BCEWithLogitsLoss({ pos_weight: floats([1, 2, 3]) }),
    x(2, 3),
    floats([
      [0, 1, 1],
      [1, 0, 0.5],
    ]),
  ],
  KLDivLoss: () => [new nn.KLDivLoss({ reduction: "batchmean", log_target: true }), x(2, 3), y(2, 3)],
  GaussianNLLLoss: () => [new nn.GaussianNLLLoss({ full: true }), x(2, 3), y(2, 3), floats([[0.5], [2]])],
  MultiLabelSoftMarginLoss: () => [
    new nn.MultiLabelSoftMarginLoss(),
    x(2, 3),
    floats([
      [0, 1, 1],
      [1, 0, 0],
    ]),
  ],
  TripletMarginLoss: () => [new nn.TripletMarginLoss(), x(2, 3), y(2, 3), z(2, 3)],
  CosineSimilarity: () => [new nn.CosineSimilarity(), x(2, 3), y(2, 3)],
  PairwiseDistance: () => [new nn.PairwiseDistance(), x(2, 3), y(2, 3)],
};

const tensors = (value: unknown): Tensor[] =>
  value instanceof Tensor ? [value] : Array.isArray(value) ? value.flatMap(tensors) : [];
const numbers = (t: Tensor): number[] =>
  Array.from(t.detach().contiguous().numpy() as ArrayLike<number | bigint>, Number);

function expectClose(got: readonly number[], want: readonly number[], what: string): void {
  expect(got.length, what).toBe(want.length);
  const worst = got.findIndex((g, i) => !(Math.abs(g - want[i]) <= 2e-5 + 2e-5 * Math.abs(want[i])));
  expect(worst < 0 ? null : { what, index: worst, got: got[worst], want: want[worst] }).toBe(null);
}

/** Makes the parameters that record.py makes. */
function setParameters(module: nn.Module): void {
  torch.no_grad(() => {
    [...module.parameters()].forEach((p, i) => p.copy_(wave(p.shape, 0.7, 1.3 * i + 1).mul(0.5)));
  });
}

function check(module: nn.Module, inputs: readonly unknown[], want: Expected): void {
  setParameters(module);
  const outputs = tensors((module as unknown as (...args: unknown[]) => unknown)(...inputs));
  expect(outputs.map((o) => o.shape)).toEqual(want.outputs.map(([shape]) => shape));
  outputs.forEach((o, i) => expectClose(numbers(o), want.outputs[i][1], `output ${i}`));
  const cosines = (o: Tensor): Tensor => floats(Array.from({ length: o.numel() }, (_, k) => Math.cos(k)));
  const terms = outputs.map((o) => o.flatten().mul(cosines(o)).sum());
  terms.reduce((a, b) => a.add(b)).backward();
  const first = tensors(inputs).find((t) => t.requires_grad);
  if (want.input && first) expectClose(numbers(first.grad!), want.input, "gradient of the input");
  for (const [name, p] of module.named_parameters()) {
    expect(p.grad !== null, `gradient of ${name}`).toBe(name in want.parameters);
    if (!p.grad) continue;
    const projection = numbers(p.grad).reduce((sum, g, k) => sum + g * Math.sin(k + 1), 0);
    expectClose([projection], [want.parameters[name]], `gradient of ${name}`);
  }
  for (const [name, b] of module.named_buffers()) expectClose(numbers(b), want.buffers[name], `buffer ${name}`);
}

test("the recorded cases are those of this file", () => {
  expect(Object.keys(cases)).toEqual(Object.keys(expected));
});

test.each(Object.keys(cases))("%s", (name) => {
  const [module, ...inputs] = cases[name]();
  check(module, inputs, expected[name]);
});
