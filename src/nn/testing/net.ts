/** @file A small module for tests, and short words for looking into modules. */
import * as torch from "torch-tpu";
import type { Tensor } from "torch-tpu";
import * as nn from "torch-tpu/nn";
import * as F from "torch-tpu/nn/functional";

/** Two layers, a buffer, and one that the state_dict leaves out. */
export class Net extends nn.Module {
  fc1 = new nn.Linear(2, 3);
  fc2 = new nn.Linear(3, 2, { bias: false });
  declare steps: Tensor;
  constructor() {
    super();
    this.register_buffer("steps", torch.zeros([1]));
    this.register_buffer("tmp", torch.zeros([2]), { persistent: false });
  }
  override forward(x: Tensor, scale = 1): Tensor {
    return this.fc2(F.relu(this.fc1(x))).mul(scale);
  }
}

export const names = (pairs: Iterable<readonly [string, unknown]>): string[] => [...pairs].map(([n]) => n);
export const loose = (m: nn.Module): Record<string, unknown> => m as unknown as Record<string, unknown>;
export const values = (t: Tensor | null): unknown => t!.tolist();
