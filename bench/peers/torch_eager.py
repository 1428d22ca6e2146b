"""The eager benchmark on PyTorch's CPU device, or with "tpu" on TorchTPU: "tpu fused" in its mode that defers operators."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
on_tpu = len(sys.argv) > 1 and sys.argv[1] == "tpu"
if on_tpu:
    import on_cpu  # noqa: F401  (loads TorchTPU on XLA's CPU plugin)
import torch
import torch.nn as nn
from measure import repeated, summary

device = "tpu" if on_tpu else "cpu"
if on_tpu:
    from torch_tpu._internal import execution_mode

    mode = execution_mode.EagerMode
    execution_mode.eager_mode = mode.DEFER_AND_FUSE if "fused" in sys.argv else mode.DEFER_NEVER
figures = {}
times = []
for i in range(9):
    x = torch.zeros(7, 11 + i, device=device)
    start = time.perf_counter()
    (x * x).cpu()
    times.append((time.perf_counter() - start) * 1e3)
figures["first_use"] = summary("ms", times)

a, b = torch.ones(4, 4, device=device), torch.ones(4, 4, device=device)
leaf = torch.ones(4, 4, device=device, requires_grad=True)
wait = lambda t: t.cpu()
figures["add"] = repeated("us", 2000, lambda: a + b, wait)
figures["add_grad"] = repeated("us", 2000, lambda: leaf + b, lambda t: wait(t.detach()))
figures["add_read"] = repeated("us", 300, lambda: (a + b).cpu())


def chain():
    x = a
    for _ in range(10):
        x = x + b
    return x.cpu()


figures["chain10_read"] = repeated("us", 100, chain)
m = torch.rand(1024, 1024, device=device)
figures["matmul_1024"] = repeated("ms", 3, lambda: (m @ m)[0, 0].item())

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.rand(64, 256).to(device), torch.zeros(64, dtype=torch.int64).to(device)


def step():
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


figures["mlp_step"] = repeated("ms", 20, step)
print(json.dumps(figures))
