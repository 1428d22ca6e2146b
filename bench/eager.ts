/** @file The eager benchmark's own side: measures and prints one JSON object. Run by main.ts in a process of its own. */
import * as torch from "torch-tpu";
import * as nn from "torch-tpu/nn";
import * as optim from "torch-tpu/optim";
import { median, repeated, type Figures } from "./measure.js";

const device = { device: "tpu" };

function smallOperators(figures: Figures): void {
  const a = torch.ones(4, 4, device);
  const b = torch.ones(4, 4, device);
  const leaf = torch.ones(4, 4, { ...device, requires_grad: true });
  const wait = (t: torch.Tensor): unknown => t.numpy();
  figures.add = repeated("us", 2000, () => a.add(b), wait);
  figures.add_grad = repeated(
    "us",
    2000,
    () => leaf.add(b),
    (t) => wait(t.detach()),
  );
  figures.add_read = repeated("us", 300, () => a.add(b).numpy());
  figures.chain10_read = repeated("us", 100, () => {
    let x = a;
    for (let i = 0; i < 10; i++) x = x.add(b);
    return x.numpy();
  });
}

function matmul(figures: Figures): void {
  const a = torch.rand(1024, 1024, device);
  figures.matmul_1024 = repeated("ms", 3, () => torch.matmul(a, a).at(0, 0).item());
}

function mlpStep(figures: Figures): void {
  torch.manual_seed(0);
  const model = new nn.Sequential(
    new nn.Linear(256, 512),
    new nn.ReLU(),
    new nn.Linear(512, 512),
    new nn.ReLU(),
    new nn.Linear(512, 10),
  ).to("tpu");
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.01 });
  const x = torch.rand(64, 256, device);
  const y = torch.zeros([64], { ...device, dtype: torch.int64 });
  figures.mlp_step = repeated("ms", 20, () => {
    optimizer.zero_grad();
    const loss = nn.functional.cross_entropy(model(x), y);
    loss.backward();
    optimizer.step();
    return loss.item();
  });
}

/** First use of an operator on a shape that no program was compiled for. */
function firstUse(figures: Figures): void {
  const times = Array.from({ length: 9 }, (_, i) => {
    const x = torch.from_typed_array(new Float32Array(7 * (11 + i)), [7, 11 + i], device);
    const start = performance.now();
    x.mul(x).numpy();
    return performance.now() - start;
  });
  figures.first_use = { unit: "ms", median: median(times), min: Math.min(...times) };
}

const figures: Figures = {};
firstUse(figures);
smallOperators(figures);
matmul(figures);
mlpStep(figures);
console.log(JSON.stringify(figures));
