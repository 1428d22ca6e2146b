/** @file The training loop: batches, loss, backward, clip, step; evaluation; checkpoints. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as torch from "torch-tpu";
import * as nn from "torch-tpu/nn";
import * as optim from "torch-tpu/optim";
import { load_file, save_file } from "torch-tpu/serialization";
import { DataLoader, RandomSampler } from "torch-tpu/utils/data";
import type { Tensor } from "torch-tpu";
import type { CharDataset } from "./dataset.js";
import type { GPT } from "./model.js";

export interface TrainerConfig {
  device: string;
  max_iters: number;
  batch_size: number;
  learning_rate: number;
  betas: [number, number];
  weight_decay: number;
  grad_norm_clip: number;
  /** Iterations over which the learning rate rises to its value; afterwards it falls as a cosine. */
  warmup_iters: number;
  /** Iterations between evaluations. */
  eval_interval: number;
  /** Batches of each evaluation. */
  eval_batches: number;
  seed: number;
}

export const defaultTrainer: Omit<TrainerConfig, "device"> = {
  max_iters: 400,
  batch_size: 32,
  learning_rate: 2e-3,
  betas: [0.9, 0.95],
  weight_decay: 0.1,
  grad_norm_clip: 1,
  warmup_iters: 30,
  eval_interval: 200,
  eval_batches: 10,
  seed: 3407,
};

/** What a trainer tells after each iteration. */
export interface Progress {
  iteration: number;
  /** The last loss that was read from the device, and when evaluated the validation loss. */
  loss: number;
  valLoss: number | null;
  tokensPerSecond: number;
}

export class Trainer {
  readonly optimizer: optim.AdamW;
  private readonly schedule: optim.lr_scheduler.LambdaLR;
  iteration = 0;
  /** Tokens trained on and the seconds that took, compilation of the first iterations left out. */
  private tokens = 0;
  private seconds = 0;

  constructor(
    readonly config: TrainerConfig,
    readonly model: GPT,
    readonly train: CharDataset,
    readonly validation: CharDataset,
  ) {
    model.to(config.device);
    this.optimizer = new optim.AdamW(model.parameterGroups(config.weight_decay), {
      lr: config.learning_rate,
      betas: config.betas,
    });
    this.schedule = new optim.lr_scheduler.LambdaLR(this.optimizer, (i) => this.learningRateFactor(i));
  }

  private learningRateFactor(i: number): number {
    const { warmup_iters, max_iters } = this.config;
    if (i < warmup_iters) return (i + 1) / (warmup_iters + 1);
    const done = Math.min(1, (i - warmup_iters) / Math.max(1, max_iters - warmup_iters));
    return 0.1 + 0.45 * (1 + Math.cos(Math.PI * done));
  }

  /** Batches for the iterations that are left: those that the whole run would have seen. */
  private batches(): DataLoader<[Tensor, Tensor]> {
    const { batch_size, max_iters, seed } = this.config;
    const generator = new torch.Generator("cpu").manual_seed(seed);
    const sampler = new RandomSampler(this.train, {
      replacement: true,
      num_samples: max_iters * batch_size,
      generator,
    });
    const left = [...sampler].slice(this.iteration * batch_size);
    return new DataLoader(this.train, { batch_size, sampler: left, prefetch_factor: 4 });
  }

  /** One training step on one batch; the loss stays on the device. */
  step(x: Tensor, y: Tensor): Tensor {
    const loss = this.model(x, y).loss!;
    this.optimizer.zero_grad();
    loss.backward();
    nn.utils.clip_grad_norm_(this.model.parameters(), this.config.grad_norm_clip);
    this.optimizer.step();
    this.schedule.step();
    this.iteration++;
    return loss;
  }

  /** Trains to max_iters. `report` is called after every iteration; reading the loss is what waits for the device. */
  async run(report: (progress: Progress) => void): Promise<void> {
    const { device, max_iters, batch_size, eval_interval } = this.config;
    const warm = this.iteration + 3;
    for await (const [xs, ys] of this.batches()) {
      const start = performance.now();
      const loss = this.step(xs.to(device), ys.to(device)).item() as number;
      if (this.iteration > warm) {
        this.seconds += (performance.now() - start) / 1000;
        this.tokens += batch_size * this.train.block_size;
      }
      const evaluates = this.iteration % eval_interval === 0 || this.iteration === max_iters;
      report({
        iteration: this.iteration,
        loss,
        valLoss: evaluates ? this.evaluate() : null,
        tokensPerSecond: this.tokensPerSecond,
      });
    }
  }

  get tokensPerSecond(): number {
    return this.seconds === 0 ? 0 : this.tokens / this.seconds;
  }

  /** Mean loss on evenly spaced batches of the validation text. */
  evaluate(): number {
    const { device, batch_size, eval_batches } = this.config;
    this.model.eval();
    const stride = Math.floor(this.validation.length / (eval_batches * batch_size));
    const losses = torch.no_grad(() =>
      Array.from({ length: eval_batches }, (_, b) => {
        const items = Array.from({ length: batch_size }, (_, i) => this.validation.get((b * batch_size + i) * stride));
        const stacked = (k: 0 | 1): Tensor => torch.stack(items.map((item) => item[k])).to(device);
        return this.model(stacked(0), stacked(1)).loss!.item() as number;
      }),
    );
    this.model.train();
    return losses.reduce((a, b) => a + b, 0) / losses.length;
  }

  /** Writes the model, the optimizer's state and where the run stands. A killed save leaves the last one. */
  save(folder: string): void {
    mkdirSync(folder, { recursive: true });
    const { state, param_groups } = this.optimizer.state_dict();
    const tensors: Record<string, Tensor> = {};
    for (const [i, s] of Object.entries(state))
      for (const [k, v] of Object.entries(s)) if (v instanceof torch.Tensor) tensors[`${i}.${k}`] = v;
    save_file(this.model.state_dict(), join(folder, "model.safetensors"));
    save_file(tensors, join(folder, "optimizer.safetensors"));
    const text = JSON.stringify(
      {
        iteration: this.iteration,
        param_groups,
        scheduler: this.schedule.state_dict(),
        model: this.model.config,
        trainer: this.config,
      },
      null,
      1,
    );
    writeFileSync(join(folder, "state.json.new"), text);
    renameSync(join(folder, "state.json.new"), join(folder, "state.json"));
  }

  /** Continues from what save() wrote. Returns false when there is nothing. */
  load(folder: string): boolean {
    const path = join(folder, "state.json");
    if (!existsSync(path)) return false;
    const saved = JSON.parse(readFileSync(path, "utf8")) as {
      iteration: number;
      param_groups: never[];
      scheduler: never;
    };
    this.model.load_state_dict(load_file(join(folder, "model.safetensors")));
    const state: Record<number, Record<string, Tensor>> = {};
    for (const [key, value] of Object.entries(load_file(join(folder, "optimizer.safetensors")))) {
      const [index, name] = key.split(".");
      (state[Number(index)] ??= {})[name] = value;
    }
    this.optimizer.load_state_dict({ state, param_groups: saved.param_groups });
    this.schedule.load_state_dict(saved.scheduler);
    this.iteration = saved.iteration;
    return true;
  }
}
