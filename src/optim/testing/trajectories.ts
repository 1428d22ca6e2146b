/** @file Trajectories recorded with PyTorch 2.13, and the parameters and gradients that they start from. */
import { readFileSync } from "node:fs";
import * as torch from "../../index.js";

export interface Trajectory {
  readonly name: string;
  readonly options: Record<string, unknown>;
  readonly steps: number;
  /** Parameter and step of the gradients that are missing. */
  readonly skip: readonly (readonly [number, number])[];
  readonly params: readonly (readonly number[])[];
  readonly state: readonly Record<string, readonly number[] | number>[];
}

export interface LbfgsTrajectory {
  readonly options: Record<string, unknown>;
  readonly losses: readonly number[];
  readonly params: readonly (readonly number[])[];
  readonly func_evals: number;
  readonly n_iter: number;
}

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"));

export const { steps: trajectories, lbfgs } = read("./trajectories.json") as {
  steps: Trajectory[];
  lbfgs: LbfgsTrajectory[];
};

const shapes = [[2, 3], [4], [1]];
const numel = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

export const parameters = (dtype = torch.float32, device = "cpu"): torch.Tensor[] =>
  shapes.map((shape, seed) => {
    const data = Array.from({ length: numel(shape) }, (_, k) => (((k * 5 + seed) % 7) - 3) / 4);
    return torch.tensor(data, { dtype, device }).reshape(shape).detach().requires_grad_();
  });

/** The gradient of parameter `seed` at `step`. */
export function gradient(p: torch.Tensor, seed: number, step: number): torch.Tensor {
  const data = Array.from({ length: p.numel() }, (_, k) => (((k * 7 + step * 3 + seed) % 11) - 5) / 8);
  return torch
    .tensor(data, { dtype: p.dtype, device: p.device })
    .reshape(p.shape as number[])
    .detach();
}
