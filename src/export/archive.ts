/** @file The .pt2 archive: the program's JSON, and its weights and constants, made into tensors. */
import type { Device, Tensor } from "../tensor/index.js";
import { dtypeFromName, type DType } from "../schema/index.js";
import { CheckpointStorage, load, openSource, ZipReader, type FileLike } from "../serialization/index.js";
import { checkTensorMeta, ExportError, parseProgram, type ProgramJson, type TensorMeta, type Union } from "./schema.js";

/** The numbers of `torch/_export/serde/schema.py`'s ScalarType. */
const scalarTypes: Readonly<Record<number, string>> = {
  1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64", 10: "complex64",
  11: "complex128", 12: "bool", 13: "bfloat16", 28: "uint16", 29: "float8_e4m3fn", 30: "float8_e5m2",
  31: "float8_e4m3fnuz", 32: "float8_e5m2fnuz", 33: "float8_e8m0fnu", 34: "uint32", 35: "uint64",
}; // prettier-ignore

/** The dtype of a number in the file. */
export function dtypeOf(number: unknown): DType {
  const name = typeof number === "number" ? scalarTypes[number] : undefined;
  if (name === undefined) throw new ExportError(`torch.export.load(): expected a known dtype, got ${String(number)}`);
  return dtypeFromName(name);
}

interface Payload {
  readonly path_name: string;
  readonly use_pickle?: boolean;
  readonly tensor_meta: TensorMeta | null;
}

/** What a .pt2 file holds. */
export interface Archive {
  readonly program: ProgramJson;
  /** Parameters and persistent buffers, then constants and other buffers, by name. Tied ones are the same object. */
  readonly tensors: ReadonlyMap<string, Tensor>;
}

const sizeOf = (x: Union): number => {
  const n = x.as_int;
  if (typeof n !== "number")
    throw new ExportError("torch.export.load(): expected a weight with sizes that are numbers");
  return n;
};

/** Tensors of one folder of the archive. */
class Payloads {
  private readonly storages = new Map<string, CheckpointStorage>();
  private readonly made = new Map<string, Tensor>();

  constructor(
    private readonly zip: ZipReader,
    private readonly folder: string,
    private readonly device: Device,
  ) {}

  readAll(config: string, into: Map<string, Tensor>): void {
    if (!this.zip.has(this.folder + config)) return;
    const json = parseJson(this.zip.read(this.folder + config).toString("utf8")) as {
      config?: Record<string, Payload>;
    };
    for (const [name, payload] of Object.entries(json.config ?? {})) into.set(name, this.tensor(name, payload));
  }

  private tensor(name: string, { path_name, use_pickle, tensor_meta }: Payload): Tensor {
    if (use_pickle === true)
      return load(this.zip.read(this.folder + path_name), { map_location: this.device }) as Tensor;
    checkTensorMeta(tensor_meta, `'${name}'`);
    const meta = tensor_meta as TensorMeta;
    const key = JSON.stringify([path_name, meta.dtype, meta.sizes, meta.strides, meta.storage_offset]);
    let found = this.made.get(key);
    if (!found) {
      const dtype = dtypeOf(meta.dtype);
      found = this.storage(path_name, dtype).view(
        dtype,
        sizeOf(meta.storage_offset),
        meta.sizes.map(sizeOf),
        meta.strides.map(sizeOf),
      );
      this.made.set(key, found);
    }
    return found;
  }

  private storage(path: string, dtype: DType): CheckpointStorage {
    const record = this.folder + path;
    let found = this.storages.get(path);
    if (!found) {
      found = new CheckpointStorage(path, dtype, this.zip.sizeOf(record), this.device, () => this.zip.read(record));
      this.storages.set(path, found);
    }
    return found;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ExportError(`torch.export.load(): expected JSON, got ${(error as Error).message}`);
  }
}

/** Files of PyTorch 2.5 to 2.7: the tensors are checkpoints. */
function readOld(zip: ZipReader, device: Device): Archive {
  const program = parseProgram(zip.read("serialized_exported_program.json").toString("utf8"));
  const tensors = new Map<string, Tensor>();
  for (const name of ["serialized_state_dict.pt", "serialized_constants.pt"]) {
    if (!zip.has(name) || zip.sizeOf(name) === 0) continue;
    const saved = load(zip.read(name), { map_location: device }) as Record<string, Tensor>;
    for (const [key, t] of Object.entries(saved)) tensors.set(key, t);
  }
  return { program, tensors };
}

/** Reads a .pt2 file, with its tensors on a device. */
export function readArchive(f: FileLike, device: Device): Archive {
  using source = openSource(f);
  const zip = new ZipReader(source);
  if (zip.has("serialized_exported_program.json")) return readOld(zip, device);
  const models = zip.names().filter((name) => /^[^/]+\/models\/[^/]+\.json$/.test(name));
  if (models.length === 0)
    throw new ExportError(
      `torch.export.load(): expected a program in '${source.name}', got an archive without one. A checkpoint is read by torch.load().`,
    );
  const path = models.find((name) => name.endsWith("/models/model.json")) ?? models[0];
  const program = parseProgram(zip.read(path).toString("utf8"));
  const [root, , file] = path.split("/");
  const model = file.slice(0, -".json".length);
  const tensors = new Map<string, Tensor>();
  for (const kind of ["weights", "constants"])
    new Payloads(zip, `${root}/data/${kind}/`, device).readAll(`${model}_${kind}_config.json`, tensors);
  return { program, tensors };
}
