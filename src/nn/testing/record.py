"""Records what PyTorch computes for the layers of layers.test.ts: `python record.py > generated/expected.ts`.

Parameters and inputs are sines of their index, so that both sides make them without sharing files. Of every module are
recorded: its outputs; for the cotangent cos(k), the gradient of its first floating point input, and of every parameter
the sum of its gradient times sin(k + 1); and its buffers afterwards.
"""

import json
import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")


def wave(shape, step, start):
    n = torch.Size(shape).numel()
    return torch.sin(torch.arange(n, dtype=torch.float64) * step + start).float().reshape(shape)


def x(*shape, start=0.5):
    return wave(shape, 0.9, start).requires_grad_()


def ids(*rows):
    return torch.tensor(rows)


CASES = {
    "Linear": (nn.Linear(3, 4), [x(2, 3)]),
    "Linear without bias": (nn.Linear(3, 2, bias=False), [x(2, 2, 3)]),
    "Bilinear": (nn.Bilinear(2, 3, 2), [x(4, 2), x(4, 3)]),
    "PReLU": (nn.PReLU(3), [x(2, 3, 2)]),
    "GLU": (nn.GLU(1), [x(2, 4)]),
    "GELU": (nn.GELU(), [x(2, 4)]),
    "GELU tanh": (nn.GELU(approximate="tanh"), [x(2, 4)]),
    "Softmax": (nn.Softmax(), [x(2, 4)]),
    "LogSoftmax": (nn.LogSoftmax(-1), [x(2, 4)]),
    "Softmax2d": (nn.Softmax2d(), [x(1, 3, 2, 2)]),
    "Embedding": (nn.Embedding(5, 3, padding_idx=2), [ids([0, 2, 4], [4, 1, 2])]),
    "Embedding max_norm": (nn.Embedding(5, 3, max_norm=0.5), [ids([0, 2, 4])]),
    "EmbeddingBag": (nn.EmbeddingBag(5, 3), [ids([0, 2, 4], [4, 1, 2])]),
    "EmbeddingBag sum": (nn.EmbeddingBag(5, 3, mode="sum"), [torch.tensor([0, 2, 4, 1]), torch.tensor([0, 3])]),
    "LayerNorm": (nn.LayerNorm(4), [x(2, 4)]),
    "LayerNorm of two dimensions": (nn.LayerNorm([2, 3], bias=False), [x(2, 2, 3)]),
    "RMSNorm": (nn.RMSNorm(4), [x(2, 4)]),
    "GroupNorm": (nn.GroupNorm(2, 4), [x(2, 4, 3)]),
    "LocalResponseNorm": (nn.LocalResponseNorm(3), [x(1, 4, 2, 2)]),
    "BatchNorm1d": (nn.BatchNorm1d(3), [x(4, 3)]),
    "BatchNorm1d of sequences": (nn.BatchNorm1d(3, momentum=None), [x(2, 3, 4)]),
    "BatchNorm1d eval": (nn.BatchNorm1d(3).eval(), [x(2, 3)]),
    "BatchNorm1d without statistics": (nn.BatchNorm1d(3, track_running_stats=False).eval(), [x(4, 3)]),
    "BatchNorm2d": (nn.BatchNorm2d(2), [x(2, 2, 2, 3)]),
    "BatchNorm3d": (nn.BatchNorm3d(2, affine=False), [x(2, 2, 1, 2, 2)]),
    "InstanceNorm1d": (nn.InstanceNorm1d(2), [x(2, 2, 4)]),
    "InstanceNorm2d": (nn.InstanceNorm2d(2, affine=True, track_running_stats=True), [x(2, 2, 2, 2)]),
    "InstanceNorm2d unbatched": (nn.InstanceNorm2d(2), [x(2, 2, 3)]),
    "Conv1d": (nn.Conv1d(2, 3, 3, padding=1), [x(2, 2, 5)]),
    "Conv2d": (nn.Conv2d(2, 4, 3, stride=2, padding=1), [x(1, 2, 5, 4)]),
    "Conv2d grouped, dilated": (nn.Conv2d(4, 4, 2, dilation=2, groups=2, bias=False), [x(1, 4, 4, 3)]),
    "Conv2d same": (nn.Conv2d(1, 2, (2, 3), padding="same"), [x(1, 1, 3, 4)]),
    "Conv2d reflect": (nn.Conv2d(1, 2, 3, padding=1, padding_mode="reflect"), [x(1, 1, 3, 4)]),
    "Conv2d circular": (nn.Conv2d(1, 2, 3, padding=(1, 2), padding_mode="circular"), [x(1, 1, 3, 4)]),
    "Conv3d": (nn.Conv3d(1, 2, 2), [x(1, 1, 3, 2, 3)]),
    "ConvTranspose1d": (nn.ConvTranspose1d(2, 3, 3, stride=2), [x(1, 2, 3)]),
    "ConvTranspose2d": (nn.ConvTranspose2d(2, 2, 3, stride=2, padding=1, output_padding=1), [x(1, 2, 2, 3)]),
    "ConvTranspose2d output_size": (nn.ConvTranspose2d(1, 1, 3, stride=2, padding=1), [x(1, 1, 3, 2), [6, 4]]),
    "MaxPool1d": (nn.MaxPool1d(2), [x(1, 2, 5)]),
    "MaxPool2d": (nn.MaxPool2d(3, stride=2, padding=1), [x(1, 1, 5, 4)]),
    "MaxPool3d": (nn.MaxPool3d(2, stride=1), [x(1, 1, 2, 3, 3)]),
    "AvgPool1d": (nn.AvgPool1d(3, stride=2, padding=1), [x(1, 2, 5)]),
    "AvgPool2d": (nn.AvgPool2d(2, ceil_mode=True, count_include_pad=False), [x(1, 1, 3, 5)]),
    "AvgPool3d": (nn.AvgPool3d(2), [x(1, 1, 2, 4, 2)]),
    "AdaptiveAvgPool2d": (nn.AdaptiveAvgPool2d((2, None)), [x(1, 2, 5, 3)]),
    "AdaptiveMaxPool2d": (nn.AdaptiveMaxPool2d(2), [x(1, 1, 5, 3)]),
    "LPPool2d": (nn.LPPool2d(2, 2), [x(1, 1, 4, 4)]),
    "Flatten": (nn.Flatten(), [x(2, 2, 2)]),
    "Unflatten": (nn.Unflatten(1, (2, 2)), [x(1, 4)]),
    "PixelShuffle": (nn.PixelShuffle(2), [x(1, 4, 1, 2)]),
    "Upsample nearest": (nn.Upsample(scale_factor=2), [x(1, 1, 2, 2)]),
    "Upsample bilinear": (nn.Upsample(size=(3, 5), mode="bilinear"), [x(1, 1, 2, 3)]),
    "Fold": (nn.Fold((3, 3), 2), [x(1, 4, 4)]),
    "Unfold": (nn.Unfold(2), [x(1, 1, 3, 3)]),
    "ReflectionPad2d": (nn.ReflectionPad2d((1, 0, 1, 2)), [x(1, 1, 3, 3)]),
    "ReplicationPad1d": (nn.ReplicationPad1d(2), [x(1, 1, 3)]),
    "CircularPad2d": (nn.CircularPad2d(1), [x(1, 1, 2, 3)]),
    "ConstantPad1d": (nn.ConstantPad1d((1, 2), 3.5), [x(1, 2, 2)]),
    "RNN": (nn.RNN(3, 2, nonlinearity="relu", bias=False), [x(3, 2, 3)]),
    "GRU": (nn.GRU(3, 2, num_layers=2, batch_first=True), [x(2, 3, 3)]),
    "LSTM": (nn.LSTM(3, 2, num_layers=2, bidirectional=True), [x(3, 2, 3)]),
    "LSTM with a state": (nn.LSTM(3, 2), [x(3, 2, 3), (x(1, 2, 2, start=1.5), x(1, 2, 2, start=2.5))]),
    "LSTM projected, unbatched": (nn.LSTM(3, 4, proj_size=2), [x(3, 3)]),
    "RNNCell": (nn.RNNCell(3, 2), [x(2, 3)]),
    "GRUCell": (nn.GRUCell(3, 2), [x(2, 3), x(2, 2, start=1.5)]),
    "LSTMCell": (nn.LSTMCell(3, 2), [x(2, 3)]),
    "MultiheadAttention": (nn.MultiheadAttention(4, 2), [x(3, 2, 4), x(2, 2, 4, start=1.5), x(2, 2, 4, start=2.5)]),
    "MultiheadAttention with sizes and biases": (
        nn.MultiheadAttention(4, 2, kdim=3, vdim=2, add_bias_kv=True, add_zero_attn=True, batch_first=True),
        [x(2, 3, 4), x(2, 2, 3, start=1.5), x(2, 2, 2, start=2.5)],
    ),
    "TransformerEncoderLayer": (nn.TransformerEncoderLayer(4, 2, 3, dropout=0.0), [x(3, 2, 4)]),
    "TransformerEncoderLayer norm_first": (
        nn.TransformerEncoderLayer(4, 2, 3, dropout=0.0, activation="gelu", batch_first=True, norm_first=True),
        [x(2, 3, 4)],
    ),
    "TransformerDecoderLayer": (nn.TransformerDecoderLayer(4, 2, 3, dropout=0.0), [x(3, 2, 4), x(2, 2, 4, start=1.5)]),
    "Transformer": (nn.Transformer(4, 2, 1, 2, 3, dropout=0.0), [x(3, 2, 4), x(2, 2, 4, start=1.5)]),
    "Sequential": (nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), [x(2, 3)]),
    "CrossEntropyLoss": (nn.CrossEntropyLoss(), [x(3, 4), torch.tensor([1, 0, 3])]),
    "CrossEntropyLoss with options": (
        nn.CrossEntropyLoss(weight=torch.tensor([0.5, 1.0, 2.0, 1.5]), ignore_index=0, label_smoothing=0.1),
        [x(3, 4), torch.tensor([1, 0, 3])],
    ),
    "CrossEntropyLoss of probabilities": (nn.CrossEntropyLoss(reduction="sum"), [x(2, 3), x(2, 3, start=1.5)]),
    "NLLLoss": (nn.NLLLoss(reduction="none"), [x(3, 4), torch.tensor([1, 0, 3])]),
    "MSELoss": (nn.MSELoss(), [x(2, 3), x(2, 3, start=1.5)]),
    "L1Loss": (nn.L1Loss(reduction="sum"), [x(2, 3), x(2, 3, start=1.5)]),
    "SmoothL1Loss": (nn.SmoothL1Loss(beta=0.5), [x(2, 3), x(2, 3, start=1.5)]),
    "HuberLoss": (nn.HuberLoss(delta=0.5), [x(2, 3), x(2, 3, start=1.5)]),
    "BCEWithLogitsLoss": (
        nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 2.0, 3.0])),
        [x(2, 3), torch.tensor([[0.0, 1.0, 1.0], [1.0, 0.0, 0.5]])],
    ),
    "KLDivLoss": (nn.KLDivLoss(reduction="batchmean", log_target=True), [x(2, 3), x(2, 3, start=1.5)]),
    "GaussianNLLLoss": (nn.GaussianNLLLoss(full=True), [x(2, 3), x(2, 3, start=1.5), torch.tensor([[0.5], [2.0]])]),
    "MultiLabelSoftMarginLoss": (nn.MultiLabelSoftMarginLoss(), [x(2, 3), torch.tensor([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])]),
    "TripletMarginLoss": (nn.TripletMarginLoss(), [x(2, 3), x(2, 3, start=1.5), x(2, 3, start=2.5)]),
    "CosineSimilarity": (nn.CosineSimilarity(), [x(2, 3), x(2, 3, start=1.5)]),
    "PairwiseDistance": (nn.PairwiseDistance(), [x(2, 3), x(2, 3, start=1.5)]),
}


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in tensors(v)] if isinstance(value, (tuple, list)) else []


def numbers(t):
    return [float(f"{v:.7g}") for v in t.detach().double().flatten().tolist()]


def weights(n, start):
    return torch.sin(torch.arange(n, dtype=torch.float64) + start)


def record(module, inputs):
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(0.5 * wave(p.shape, 0.7, 1.3 * i + 1))
    outputs = tensors(module(*inputs))
    made = {"outputs": [[list(o.shape), numbers(o)] for o in outputs]}
    loss = sum((o.flatten() * torch.cos(torch.arange(o.numel(), dtype=torch.float64)).float()).sum() for o in outputs)
    loss.backward()
    first = next((t for t in tensors(inputs) if t.requires_grad), None)
    made["input"] = None if first is None else numbers(first.grad)
    made["parameters"] = {
        n: float(f"{(p.grad.double().flatten() * weights(p.numel(), 1)).sum().item():.7g}")
        for n, p in module.named_parameters()
        if p.grad is not None
    }
    made["buffers"] = {n: numbers(b) for n, b in module.named_buffers()}
    return made


print("/** @file Recorded from PyTorch 2.13 by record.py. Do not edit. */")
print("""
export interface Expected {
  /** Shape and values of every output. */
  readonly outputs: readonly (readonly [readonly number[], readonly number[]])[];
  /** The gradient of the first input that has one. */
  readonly input: readonly number[] | null;
  /** A projection of every parameter's gradient. */
  readonly parameters: Readonly<Record<string, number>>;
  readonly buffers: Readonly<Record<string, readonly number[]>>;
}
""")
print("export const expected: Readonly<Record<string, Expected>> = {")
for name, (module, inputs) in CASES.items():
    print(f"  {json.dumps(name)}: {json.dumps(record(module, inputs))},")
print("};")
