/** @file The names that a checkpoint may use, and what each of them makes. */
import { functional } from "../api/index.js";
import { Parameter } from "../nn/index.js";
import { Complex, dtypes, numelOf, type DType } from "../schema/index.js";
import * as dt from "../schema/dtype.js";
import { Tensor } from "../tensor/index.js";
import { restoreLocation, type MapLocation } from "./map_location.js";
import { CheckpointStorage } from "./storages.js";
import { PickledDict, PickledTuple, UnpicklingError, type PickledFunction } from "./unpickler.js";

/** PyTorch's class of a storage, by the type of its elements. */
export const storageClasses: readonly (readonly [string, DType])[] = [
  ["FloatStorage", dt.float32],
  ["DoubleStorage", dt.float64],
  ["HalfStorage", dt.float16],
  ["BFloat16Storage", dt.bfloat16],
  ["LongStorage", dt.int64],
  ["IntStorage", dt.int32],
  ["ShortStorage", dt.int16],
  ["CharStorage", dt.int8],
  ["ByteStorage", dt.uint8],
  ["BoolStorage", dt.bool],
  ["ComplexFloatStorage", dt.complex64],
  ["ComplexDoubleStorage", dt.complex128],
];

/** What stands for a class of storages while a pickle is read. */
export class StorageClass {
  constructor(readonly dtype: DType) {}
}

const bad = (fn: string, expected: string): never => {
  throw new UnpicklingError(`${fn}: expected ${expected}: the checkpoint is damaged`);
};

/** A list of sizes or strides. */
function ints(x: unknown, fn: string): readonly number[] {
  const items =
    x instanceof PickledTuple ? x.items : Array.isArray(x) ? (x as unknown[]) : bad(fn, "a tuple of integers");
  return items.every((n): n is number => typeof n === "number" && Number.isSafeInteger(n))
    ? items
    : bad(fn, "integers");
}

function rebuild(fn: string, args: readonly unknown[], dtype?: unknown): Tensor {
  const [storage, offset, size, stride, requires_grad] = args;
  if (!(storage instanceof CheckpointStorage) || typeof offset !== "number") return bad(fn, "a storage and an offset");
  const type = dtype === undefined ? storage.dtype : dtype instanceof dt.DType ? dtype : bad(fn, "a dtype");
  const out = storage.view(type, offset, ints(size, fn), ints(stride, fn));
  return requires_grad === true ? out.requires_grad_() : out;
}

function rebuildMeta([dtype, size, _stride, requires_grad]: readonly unknown[]): Tensor {
  const fn = "_rebuild_meta_tensor_no_storage";
  if (!(dtype instanceof dt.DType)) return bad(fn, "a dtype");
  const shape = ints(size, fn);
  if (shape.some((n) => n < 0) || !Number.isSafeInteger(numelOf(shape) * dtype.itemsize)) return bad(fn, "a shape");
  const out = functional.empty(shape, { dtype, device: "meta" });
  return requires_grad === true ? out.requires_grad_() : out;
}

function rebuildParameter([data, requires_grad]: readonly unknown[]): Parameter {
  if (!(data instanceof Tensor)) return bad("_rebuild_parameter", "a tensor");
  return new Parameter(data, requires_grad !== false);
}

/** `_codecs.encode(text, "latin1")` is how protocol 2 writes bytes. */
function encode([text, codec]: readonly unknown[]): Uint8Array {
  if (typeof text !== "string" || (codec !== "latin1" && codec !== "utf-8"))
    return bad("_codecs.encode", "a text and latin1");
  return new Uint8Array(Buffer.from(text, codec));
}

const itemsOf = (x: unknown, fn: string): readonly unknown[] =>
  x === undefined ? [] : x instanceof PickledTuple ? x.items : Array.isArray(x) ? x : bad(fn, "a list");

/** Pairs, for OrderedDict. */
function orderedDict([pairs]: readonly unknown[]): PickledDict {
  const out = new PickledDict(true);
  for (const pair of itemsOf(pairs, "OrderedDict")) {
    const items = itemsOf(pair, "OrderedDict");
    if (items.length !== 2) return bad("OrderedDict", "pairs");
    out.entries.set(items[0], items[1]);
  }
  return out;
}

function deviceFrom(args: readonly unknown[], map: MapLocation | null | undefined): unknown {
  const [type, index] = args;
  if (typeof type !== "string") return bad("torch.device", "a name");
  return restoreLocation(typeof index === "number" && type !== "cpu" ? `${type}:${index}` : type, map);
}

/** Every allowed global by its full name. */
export function allowedGlobals(map: MapLocation | null | undefined): (path: string) => unknown {
  const functions: Record<string, (args: readonly unknown[]) => unknown> = {
    "collections.OrderedDict": orderedDict,
    "torch._utils._rebuild_tensor": (a) => rebuild("_rebuild_tensor", a.slice(0, 4)),
    "torch._utils._rebuild_tensor_v2": (a) => rebuild("_rebuild_tensor_v2", a),
    "torch._utils._rebuild_tensor_v3": (a) => rebuild("_rebuild_tensor_v3", a, a[6] ?? null),
    "torch._utils._rebuild_parameter": rebuildParameter,
    "torch._utils._rebuild_parameter_with_state": rebuildParameter,
    "torch._utils._rebuild_meta_tensor_no_storage": rebuildMeta,
    "torch.nn.parameter.Parameter": rebuildParameter,
    "torch.Size": (a) => new PickledTuple(ints(a[0] ?? [], "torch.Size")),
    "torch.device": (a) => deviceFrom(a, map),
    "torch.serialization._get_layout": (a) =>
      a[0] === "torch.strided" ? "strided" : bad("_get_layout", "torch.strided"),
    "_codecs.encode": encode,
    "builtins.bytearray": (a) => (a[0] instanceof Uint8Array ? a[0] : encode(a)),
    "builtins.set": (a) => new Set(itemsOf(a[0], "set")),
    "builtins.complex": ([re, im]) => new Complex(Number(re), Number(im)),
  };
  const table = new Map<string, unknown>();
  for (const [path, call] of Object.entries(functions)) table.set(path, { path, call } satisfies PickledFunction);
  for (const [name, dtype] of storageClasses) table.set(`torch.${name}`, new StorageClass(dtype));
  table.set("torch.storage.UntypedStorage", new StorageClass(dt.uint8));
  for (const dtype of dtypes) table.set(`torch.${dtype.name}`, dtype);
  return (path) => table.get(path);
}
