/**
 * @file Copies a small, representative part of recorded vectors into tests/vectors: two cases and one must-fail call of
 * the operators below, as far as they pass here. `node dist/tools/copy_vectors.js DIR`.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SafetensorsFile, save_file } from "torch-tpu/serialization";
import type { Tensor } from "torch-tpu";
import { replayOpinfo } from "../tests/conformance/replay.js";

/** Some of every family. */
const operators =
  `add sub mul div remainder pow exp log sqrt rsqrt tanh sigmoid sin abs sign round clamp where eq lt logical_and bitwise_and
  maximum atan2 lerp addcmul floor_divide neg reciprocal erf sum mean prod amax argmax any std var logsumexp max.reduction_with_dim softmax
  log_softmax cumsum sort topk gather scatter index_select masked_fill index_put __getitem__ take_along_dim nonzero cat stack split chunk
  permute transpose reshape view expand squeeze unsqueeze select narrow diagonal unfold as_strided flip roll tril triu repeat unbind
  mm bmm matmul addmm mv dot outer einsum linalg.norm nn.functional.linear nn.functional.conv2d nn.functional.max_pool2d
  nn.functional.avg_pool2d nn.functional.layer_norm nn.functional.batch_norm nn.functional.group_norm nn.functional.embedding
  nn.functional.cross_entropy nn.functional.mse_loss nn.functional.relu nn.functional.gelu nn.functional.silu
  nn.functional.scaled_dot_product_attention nn.functional.dropout zeros ones full arange linspace eye zeros_like rand_like
  real view_as_real conj polygamma.polygamma_n_1 cdist fft.fft linalg.cholesky linalg.qr`.split(/\s+/);

const largestTensor = 512;

type Json = null | boolean | number | string | Json[] | { [k: string]: Json };

function tensorNames(v: Json): { name: string; numel: number }[] {
  if (Array.isArray(v)) return v.flatMap(tensorNames);
  if (typeof v !== "object" || v === null) return [];
  if (typeof v.$tensor === "string")
    return [{ name: v.$tensor, numel: (v.shape as number[]).reduce((a, b) => a * b, 1) }];
  return Object.values(v).flatMap(tensorNames);
}

const isSmall = (c: Json): boolean => tensorNames(c).every((t) => t.numel <= largestTensor);

interface Recording {
  cases: Json[];
  errors: Json[];
}

const dtypeOf = (c: Json): string => (c as { dtype: string }).dtype;

/** Two float32 cases, one of another type, one call that must fail. */
function choose(recording: Recording): Recording {
  const small = recording.cases.filter(isSmall);
  const floats = small.filter((c) => dtypeOf(c) === "float32");
  const others = small.filter((c) => dtypeOf(c) !== "float32");
  return {
    cases: [...floats.slice(1, 3), ...others.slice(0, 1)],
    errors: recording.errors.filter(isSmall).slice(0, 1),
  };
}

function write(from: string, to: string, name: string, recording: Recording): void {
  using file = new SafetensorsFile(join(from, `${name}.safetensors`));
  const tensors: Record<string, Tensor> = {};
  for (const t of tensorNames([...recording.cases, ...recording.errors])) tensors[t.name] = file.get_tensor(t.name);
  writeFileSync(join(to, `${name}.json`), `${JSON.stringify(recording)}\n`);
  save_file(tensors, join(to, `${name}.safetensors`));
}

/** Copies what passes here, so that the everyday tests are green; the full replay shows the rest. Returns how many. */
function copy(from: string, to: string, name: string): number {
  const recording = JSON.parse(readFileSync(join(from, `${name}.json`), "utf8")) as Recording;
  const chosen = choose(recording);
  write(from, to, name, { ...recording, ...chosen });
  const { skipped, failures } = replayOpinfo(to, name, "cpu");
  if (skipped > 0) {
    console.log(`${name} is not implemented`);
    for (const ending of ["json", "safetensors"]) rmSync(join(to, `${name}.${ending}`));
    return 0;
  }
  if (failures.length === 0) return chosen.cases.length + chosen.errors.length;
  for (const f of failures) console.log(`${name} ${f.form} ${f.index}: ${f.message}`);
  const passes = (index: number, isError: boolean): boolean =>
    failures.every((f) => f.index !== index || (f.form === "error") !== isError);
  const kept = {
    cases: chosen.cases.filter((_, i) => passes(i, false)),
    errors: chosen.errors.filter((_, i) => passes(i, true)),
  };
  write(from, to, name, { ...recording, ...kept });
  return kept.cases.length + kept.errors.length;
}

/** A name of the list, or its first variant. */
function recorded(folder: string, name: string): string {
  const files = readdirSync(folder).filter(
    (f) => f === `${name}.json` || (f.startsWith(`${name}.`) && f.endsWith(".json")),
  );
  if (files.length === 0) throw new Error(`copy_vectors: expected vectors of ${name} in ${folder}, got none`);
  return (files.includes(`${name}.json`) ? `${name}.json` : files.sort()[0]).slice(0, -".json".length);
}

const [source] = process.argv.slice(2);
if (!source) {
  console.error("copy_vectors: expected the folder of the full vectors");
  process.exit(2);
}
const target = "tests/vectors/opinfo";
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const counts = operators.map((name) => copy(join(source, "opinfo"), target, recorded(join(source, "opinfo"), name)));
console.log(`copied ${counts.reduce((a, b) => a + b, 0)} calls of ${operators.length} operators`);
