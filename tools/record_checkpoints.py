#!/usr/bin/env python3
"""Writes the checkpoints that src/serialization's tests read: `tools/record_checkpoints.py tests/checkpoints`, with torch."""
import sys
from collections import OrderedDict

import torch

folder = sys.argv[1]
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
model(torch.ones(4, 3)).sum().backward()
optimizer.step()
base = torch.arange(24, dtype=torch.float32)
every = [
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool, torch.complex64, torch.complex128, torch.uint16, torch.uint32, torch.uint64,
    torch.float8_e4m3fn, torch.float8_e5m2,
]  # fmt: skip
weight = torch.nn.Parameter(torch.tensor([1.5, -2.0]))
checkpoint = {
    "model": model.state_dict(),
    "optimizer": optimizer.state_dict(),
    "views": {
        "all": base,
        "row": base.view(4, 6)[1],
        "transposed": base.view(4, 6).t(),
        "strided": base.view(4, 6)[:, ::2],
        "expanded": base[3].expand(2, 2),
        "channels_last": torch.arange(24.0).view(1, 2, 3, 4).to(memory_format=torch.channels_last),
        "empty": torch.empty(0, 3),
    },
    "tied": [weight, weight],
    "frozen": torch.nn.Parameter(torch.ones(1), requires_grad=False),
    "leaf": torch.tensor([3.0], requires_grad=True),
    "dtypes": {str(d): torch.tensor([0, 1, 1, 0]).to(d) for d in every},
    "plain": [None, True, 3, -70000, 2**40, -(2**70), 0.5, "täxt", b"\x00\xff", (1, (2,)), {1, 2}, 1 + 2j],
    "torch": [torch.float32, torch.device("cpu"), torch.Size([2, 3])],
    "dicts": [{}, {"0": 1}, {0: 1}, {"a": 1, 2: 3}, OrderedDict([("0", 1), ("b", 2)])],
}
torch.save(checkpoint, f"{folder}/every_kind.pt")
torch.save({"views": checkpoint["views"], "tied": [weight, weight]}, f"{folder}/legacy.pt", _use_new_zipfile_serialization=False)
