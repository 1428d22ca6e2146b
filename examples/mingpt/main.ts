/** @file `npm start`: trains a character-level GPT on Shakespeare and lets it write. */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { SingleBar } from "cli-progress";
import * as torch from "torch-tpu";
import { ensureAsset } from "torch-tpu/assets";
import { CharDataset, CharTokenizer } from "./dataset.js";
import { defaultConfig, GPT } from "./model.js";
import { defaultTrainer, Trainer } from "./trainer.js";

const usage = `usage: npm start -- [options]
  --max-iters N   training iterations (default ${defaultTrainer.max_iters})
  --device NAME   tpu or cpu (default tpu; virtual where there is no TPU)
  --seed N        seed of weights, batches and sampling (default ${defaultTrainer.seed})
  --resume        continue from the checkpoint in --out
  --out FOLDER    where checkpoints go (default out/mingpt)
  --text FILE     train on another text
  --batch-size N  sequences per batch (default ${defaultTrainer.batch_size})
  --block-size N  characters per sequence (default 64)
  --sample N      characters to write at the end (default 400)`;

function options(): {
  maxIters: number;
  device: string;
  seed: number;
  resume: boolean;
  out: string;
  text: string | undefined;
  batchSize: number;
  blockSize: number;
  sample: number;
} {
  const { values } = parseArgs({
    options: {
      "max-iters": { type: "string", default: String(defaultTrainer.max_iters) },
      device: { type: "string", default: "tpu" },
      seed: { type: "string", default: String(defaultTrainer.seed) },
      resume: { type: "boolean", default: false },
      out: { type: "string", default: "out/mingpt" },
      text: { type: "string" },
      "batch-size": { type: "string", default: String(defaultTrainer.batch_size) },
      "block-size": { type: "string", default: "64" },
      sample: { type: "string", default: "400" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    process.exit(0);
  }
  const count = (name: "max-iters" | "seed" | "batch-size" | "block-size" | "sample", least: number): number => {
    const n = Number(values[name]);
    if (!Number.isInteger(n) || n < least)
      throw new Error(`--${name}: expected an integer of at least ${least}, got '${values[name]}'`);
    return n;
  };
  return {
    maxIters: count("max-iters", 1),
    device: values.device,
    seed: count("seed", 0),
    resume: values.resume,
    out: values.out,
    text: values.text,
    batchSize: count("batch-size", 1),
    blockSize: count("block-size", 1),
    sample: count("sample", 0),
  };
}

async function main(): Promise<void> {
  const o = options();
  torch.manual_seed(o.seed);
  const text = readFileSync(o.text ?? (await ensureAsset("data")), "utf8");
  const tokenizer = CharTokenizer.of(text);
  const data = tokenizer.encode(text);
  const cut = Math.floor(data.length * 0.9);
  const train = new CharDataset(data.slice(0, cut), o.blockSize);
  const validation = new CharDataset(data.slice(cut), o.blockSize);
  const model = new GPT({ ...defaultConfig, vocab_size: tokenizer.vocab_size, block_size: o.blockSize });
  const trainer = new Trainer(
    { ...defaultTrainer, device: o.device, seed: o.seed, max_iters: o.maxIters, batch_size: o.batchSize },
    model,
    train,
    validation,
  );
  const resumed = o.resume && trainer.load(o.out);
  const parameters = [...model.parameters()].reduce((n, p) => n + p.numel(), 0);
  console.log(
    `minGPT: ${(parameters / 1e6).toFixed(2)} M parameters, ${tokenizer.vocab_size} characters, ${data.length} characters of text, device ${torch.device(o.device).toString()}`,
  );
  if (resumed) console.log(`resumed at iteration ${trainer.iteration} from ${o.out}`);

  const bar = new SingleBar({
    format: "training {bar} {value}/{total}  loss {loss}  {rate} tokens/s  {eta_formatted} left",
    noTTYOutput: false,
    hideCursor: true,
  });
  bar.start(o.maxIters, trainer.iteration, { loss: "-", rate: "-" });
  const interactive = process.stderr.isTTY;
  let valLoss = NaN;
  await trainer.run(({ iteration, loss, valLoss: evaluated, tokensPerSecond }) => {
    bar.update(iteration, { loss: loss.toFixed(4), rate: Math.round(tokensPerSecond) });
    if (!interactive && iteration % 50 === 0)
      console.log(
        `iteration ${iteration}/${o.maxIters}  loss ${loss.toFixed(4)}  ${Math.round(tokensPerSecond)} tokens/s`,
      );
    if (evaluated === null) return;
    valLoss = evaluated;
    if (!interactive) console.log(`iteration ${iteration}/${o.maxIters}  val loss ${evaluated.toFixed(4)}`);
    trainer.save(o.out);
  });
  bar.stop();
  if (Number.isNaN(valLoss)) valLoss = trainer.evaluate();

  model.eval();
  const start = torch.from_typed_array(tokenizer.encode("\n"), [1, 1], { device: o.device });
  const written = model.generate(start, o.sample, { temperature: 0.8, top_k: 20 });
  console.log(`val loss ${valLoss.toFixed(4)}`);
  console.log(`tokens/s ${Math.round(trainer.tokensPerSecond)}`);
  console.log(tokenizer.decode(written.at(0).tolist() as number[]).trimStart());
}

await main();
