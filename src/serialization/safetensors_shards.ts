/**
 * @file Safetensors in several files, with an index that says which tensor is in which, as models on the Hub have them:
 * `model.safetensors.index.json` beside `model-00001-of-00002.safetensors` and so on.
 */
import { mkdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Tensor } from "../tensor/index.js";
import type { DeviceLike } from "../tensor/index.js";
import { SafetensorError, SafetensorsFile, save_file, type SafetensorsReader, type TensorInfo } from "./safetensors.js";
import { openSource, writeWhole, type FileLike } from "./source.js";

/** The Python library's own bound on headers; an index is smaller. */
const maxIndexBytes = 100_000_000;

interface Index {
  readonly weights: ReadonlyMap<string, string>;
  readonly metadata: Readonly<Record<string, string>>;
}

const isObject = (x: unknown): x is Record<string, unknown> => typeof x === "object" && x !== null && !Array.isArray(x);

function readIndex(path: string): Index {
  using source = openSource(path);
  const bad = (expected: string, got: string): never => {
    throw new SafetensorError(`safe_open(): expected ${expected} in '${path}', got ${got}`);
  };
  if (source.size > maxIndexBytes) bad(`an index of at most ${maxIndexBytes} bytes`, String(source.size));
  let json: unknown;
  try {
    json = JSON.parse(source.read(0, source.size).toString("utf8"));
  } catch (error) {
    bad("a JSON index", (error as Error).message);
  }
  const map = isObject(json) ? json.weight_map : undefined;
  if (!isObject(map)) return bad("a weight_map", typeof map);
  const weights = new Map<string, string>();
  for (const [name, file] of Object.entries(map)) {
    if (typeof file !== "string" || file !== basename(file) || file === "" || file === ".." || file === ".")
      bad(`the name of a file in the same folder for '${name}'`, JSON.stringify(file));
    weights.set(name, file as string);
  }
  const metadata = isObject(json) && isObject(json.metadata) ? json.metadata : {};
  return { weights, metadata: Object.fromEntries(Object.entries(metadata).map(([k, v]) => [k, String(v)])) };
}

/** Shards behind one index, opened when the first of their tensors is asked for. */
export class ShardedSafetensors implements SafetensorsReader {
  private readonly index: Index;
  private readonly open = new Map<string, SafetensorsFile>();

  constructor(readonly path: string) {
    this.index = readIndex(path);
  }

  private shardOf(name: string): SafetensorsFile {
    const file = this.index.weights.get(name);
    if (file === undefined)
      throw new SafetensorError(`get_tensor(): expected the name of a tensor in '${this.path}', got '${name}'`);
    let found = this.open.get(file);
    if (!found) this.open.set(file, (found = new SafetensorsFile(join(dirname(this.path), file))));
    return found;
  }

  /** Names of the tensors, in the order of the index. */
  keys(): string[] {
    return [...this.index.weights.keys()];
  }
  /** The files, each once. */
  shards(): string[] {
    return [...new Set(this.index.weights.values())];
  }
  metadata(): Readonly<Record<string, string>> {
    return this.index.metadata;
  }
  info(name: string): TensorInfo {
    return this.shardOf(name).info(name);
  }
  get_tensor(name: string, device: DeviceLike = "cpu"): Tensor {
    return this.shardOf(name).get_tensor(name, device);
  }
  get_bytes(name: string): Uint8Array {
    return this.shardOf(name).get_bytes(name);
  }
  close(): void {
    for (const file of this.open.values()) file.close();
    this.open.clear();
  }
  [Symbol.dispose](): void {
    this.close();
  }
}

/**
 * Opens a safetensors file, or the index of a sharded one, to read some of its tensors: one at a time, when asked for.
 * Close it, or use `using`.
 *
 * @example
 * using file = safe_open("model.safetensors.index.json");
 * for (const name of file.keys()) console.log(name, file.info(name).shape);
 */
export function safe_open(file: FileLike): SafetensorsReader {
  return typeof file === "string" && file.endsWith(".json") ? new ShardedSafetensors(file) : new SafetensorsFile(file);
}

/** Every tensor of a file or of an index's shards, on a device. Throws SafetensorError for a file that is damaged. */
export function load_file(path: FileLike, device: DeviceLike = "cpu"): Record<string, Tensor> {
  using file = safe_open(path);
  return Object.fromEntries(file.keys().map((name) => [name, file.get_tensor(name, device)]));
}

/**
 * Writes tensors to `folder` as `model.safetensors`, or as shards of at most `max_shard_size` bytes with an index.
 * Returns the path of what `safe_open` and `load_file` take.
 */
export function save_sharded(
  tensors: Readonly<Record<string, Tensor>>,
  folder: string,
  options: { max_shard_size?: number; metadata?: Readonly<Record<string, string>>; name?: string } = {},
): string {
  const { max_shard_size = 5e9, metadata = { format: "pt" }, name = "model" } = options;
  mkdirSync(folder, { recursive: true });
  const shards: Record<string, Tensor>[] = [{}];
  let filled = 0;
  for (const [key, t] of Object.entries(tensors)) {
    if (filled > 0 && filled + t.nbytes > max_shard_size) {
      shards.push({});
      filled = 0;
    }
    shards[shards.length - 1][key] = t;
    filled += t.nbytes;
  }
  const whole = join(folder, `${name}.safetensors`);
  if (shards.length === 1) {
    save_file(tensors, whole, metadata);
    return whole;
  }
  const number = (n: number): string => String(n).padStart(5, "0");
  const weight_map: Record<string, string> = {};
  shards.forEach((shard, i) => {
    const file = `${name}-${number(i + 1)}-of-${number(shards.length)}.safetensors`;
    save_file(shard, join(folder, file), metadata);
    for (const key of Object.keys(shard)) weight_map[key] = file;
  });
  const total_size = Object.values(tensors).reduce((sum, t) => sum + t.nbytes, 0);
  writeWhole(`${whole}.index.json`, [Buffer.from(JSON.stringify({ metadata: { total_size }, weight_map }, null, 2))]);
  return `${whole}.index.json`;
}
