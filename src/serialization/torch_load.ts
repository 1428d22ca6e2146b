/** @file `torch.load`: checkpoints of PyTorch (`.pt`, `.pth`), zip archives and the older pickles, without running code. */
import { TorchError, TorchValueError, type DType } from "../schema/index.js";
import type { MapLocation } from "./map_location.js";
import { restoreLocation } from "./map_location.js";
import { toPlain } from "./plain.js";
import { openSource, type FileLike, type Source } from "./source.js";
import { CheckpointStorage } from "./storages.js";
import { allowedGlobals, StorageClass } from "./torch_globals.js";
import { Unpickler, UnpicklingError } from "./unpickler.js";
import { ZipReader } from "./zip.js";

export interface LoadOptions {
  /** Where tensors go; without it, where the file says they were. */
  map_location?: MapLocation | null;
  /** Only `true` is possible: this library runs no code of a file. */
  weights_only?: boolean;
  /** Accepted. Storages are always read one at a time, when they are needed. */
  mmap?: boolean;
}

interface StorageId {
  readonly key: string;
  readonly dtype: DType;
  readonly location: string;
  readonly nbytes: number;
  /** Legacy: a storage that is a part of another. */
  readonly part: unknown;
}

function storageId(id: unknown): StorageId {
  const [, type, key, location, count, part] = id as readonly unknown[];
  const name = typeof key === "number" ? String(key) : key;
  if (!(type instanceof StorageClass) || typeof name !== "string" || typeof location !== "string")
    throw new UnpicklingError("expected a storage with a type, a key and a location: the checkpoint is damaged");
  if (typeof count !== "number" || !Number.isSafeInteger(count * type.dtype.itemsize) || count < 0)
    throw new UnpicklingError(`expected a count of elements for storage '${name}', got ${String(count)}`);
  return { key: name, dtype: type.dtype, location, nbytes: count * type.dtype.itemsize, part };
}

/** One object per storage and element type, made from the bytes that `read` gives. */
function storageTable(
  options: LoadOptions,
  check: (id: StorageId) => void,
  read: (id: StorageId) => Uint8Array,
): (id: unknown) => CheckpointStorage {
  const known = new Map<string, CheckpointStorage>();
  return (persistent) => {
    const id = storageId(persistent);
    const found = known.get(id.key);
    if (found?.dtype === id.dtype && found.nbytes === id.nbytes) return found;
    if (found && found.nbytes === id.nbytes) return found.as(id.dtype);
    check(id);
    const device = restoreLocation(id.location, options.map_location);
    const storage = new CheckpointStorage(id.key, id.dtype, id.nbytes, device, () => read(id));
    known.set(id.key, storage);
    return storage;
  };
}

/** Turns big-endian elements around. */
function toLittleEndian(bytes: Buffer, dtype: DType): Buffer {
  const part = dtype.is_complex ? dtype.itemsize / 2 : dtype.itemsize;
  if (part === 2) return bytes.swap16();
  if (part === 4) return bytes.swap32();
  return part === 8 ? bytes.swap64() : bytes;
}

function loadZip(source: Source, options: LoadOptions): unknown {
  const zip = new ZipReader(source);
  const pickle = zip.names().find((name) => /^[^/]*\/data\.pkl$/.test(name));
  if (pickle === undefined)
    throw new TorchError(
      `load(): expected a checkpoint with data.pkl in '${source.name}', got an archive without it. A .pt2 file is read by torch.export.load().`,
    );
  const root = pickle.slice(0, -"data.pkl".length);
  if (zip.has(`${root}constants.pkl`))
    throw new TorchError(
      `load(): expected a checkpoint in '${source.name}', got a TorchScript archive. Save its state_dict with torch.save, or export it with torch.export.`,
    );
  const big = zip.has(`${root}byteorder`) && zip.read(`${root}byteorder`).toString("latin1") === "big";
  const record = (id: StorageId): string => `${root}data/${id.key}`;
  const persistent = storageTable(
    options,
    (id) => {
      const size = zip.sizeOf(record(id));
      if (size !== id.nbytes)
        throw new UnpicklingError(
          `load(): expected ${id.nbytes} bytes for storage '${id.key}' in '${source.name}', got ${size}`,
        );
    },
    (id) => (big ? toLittleEndian(zip.read(record(id)), id.dtype) : zip.read(record(id))),
  );
  return toPlain(new Unpickler(zip.read(pickle), { globals: allowedGlobals(options.map_location), persistent }).load());
}

/** 0x1950a86a20f9469cfc6c: how the format before PyTorch 1.6 begins. */
const legacyMagic = 119547037146038801333356n;

/** Pickles that follow each other (magic, version, system, object, keys of storages), then the storages. */
function loadLegacy(source: Source, options: LoadOptions): unknown {
  const bytes = source.read(0, source.size);
  const places = new Map<string, { at: number; nbytes: number }>();
  const waiting: CheckpointStorage[] = [];
  const table = storageTable(
    options,
    (id) => {
      if (id.part !== null && id.part !== undefined)
        throw new UnpicklingError(
          `load(): expected whole storages in '${source.name}', got a part of one; save it anew`,
        );
      if (id.nbytes > bytes.length)
        throw new UnpicklingError(`load(): expected ${id.nbytes} bytes for storage '${id.key}', got ${bytes.length}`);
    },
    (id) => {
      const place = places.get(id.key)!;
      return bytes.subarray(place.at, place.at + place.nbytes);
    },
  );
  // Objects come before the bytes of their storages: find where these are with a first pass that makes no tensors.
  const dry = allowedGlobals("meta");
  const first = new Unpickler(bytes, { globals: dry, persistent: (id) => (waiting.push(probe(id)), waiting.at(-1)) });
  if (first.load() !== legacyMagic) throw new UnpicklingError("Invalid magic number; corrupt file?");
  if (first.load() !== 1001) throw new UnpicklingError("Invalid protocol version");
  first.load();
  const objectAt = first.at;
  first.load();
  const keys = first.load();
  if (!Array.isArray(keys)) throw new UnpicklingError("expected the keys of the storages: the checkpoint is damaged");
  let { at } = first;
  const sizes = new Map(waiting.map((s) => [s.key, s]));
  for (const key of keys as unknown[]) {
    const storage = sizes.get(String(key));
    if (!storage || at + 8 + storage.nbytes > bytes.length)
      throw new UnpicklingError(`expected storage '${String(key)}' in '${source.name}': it is truncated or damaged`);
    const count = bytes.readBigInt64LE(at);
    if (count * BigInt(storage.dtype.itemsize) !== BigInt(storage.nbytes))
      throw new UnpicklingError(`expected ${storage.nbytes} bytes for storage '${storage.key}', got ${count} elements`);
    places.set(storage.key, { at: at + 8, nbytes: storage.nbytes });
    at += 8 + storage.nbytes;
  }
  const known = (id: unknown): CheckpointStorage => {
    const { key } = storageId(id);
    if (!places.has(key)) throw new UnpicklingError(`expected the bytes of storage '${key}', got none`);
    return table(id);
  };
  return toPlain(
    new Unpickler(bytes, { globals: allowedGlobals(options.map_location), persistent: known }, objectAt).load(),
  );
}

function probe(persistent: unknown): CheckpointStorage {
  const id = storageId(persistent);
  return new CheckpointStorage(
    id.key,
    id.dtype,
    id.nbytes,
    restoreLocation("meta", null),
    () => new Uint8Array(id.nbytes),
  );
}

/**
 * `torch.load`: what `torch.save` wrote, here or in Python: tensors, numbers, texts and plain containers (see
 * `plain.ts` for which Python type becomes what). Tensors that shared a storage share it again.
 * Throws UnpicklingError, naming the global, for a file that holds anything else.
 *
 * @example
 * model.load_state_dict(torch.load("model.pt", { map_location: "cpu" }) as StateDict);
 *
 * @see https://docs.pytorch.org/docs/stable/generated/torch.load.html
 */
export function load(f: FileLike, options: LoadOptions = {}): unknown {
  if (options.weights_only === false)
    throw new TorchValueError(
      "load(): expected weights_only=True, got False: objects of Python's classes cannot be made here",
    );
  using source = openSource(f);
  const start = source.read(0, Math.min(8, source.size));
  if (start.length >= 4 && start.readUInt32LE(0) === 0x04034b50) return loadZip(source, options);
  if (start[0] === 0x80) return loadLegacy(source, options);
  if (source.size > 262 && source.read(257, 5).toString("latin1") === "ustar")
    throw new TorchError(
      `load(): expected a zip archive or a pickle in '${source.name}', got a tar archive of PyTorch before 0.1.10: load it in Python and save it anew`,
    );
  throw new TorchError(
    `load(): expected a checkpoint that torch.save wrote in '${source.name}', got a file that begins with ${start.toString("hex")}` +
      (start.length === 8 && start.readUInt32LE(4) === 0 ? ". A safetensors file is read by load_file()." : ""),
  );
}
