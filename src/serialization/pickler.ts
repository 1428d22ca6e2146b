/** @file Writes pickles of protocol 2 with the instructions that `torch.load(weights_only=True)` reads. */
import { Parameter } from "../nn/index.js";
import { rootSpec } from "../ops/view_spec.js";
import { Complex, DType, FloatScalar, TorchTypeError, type DType as Type } from "../schema/index.js";
import { Device, Tensor, type Storage } from "../tensor/index.js";
import { deepest, isIndexText } from "./plain.js";
import { storageClasses } from "./torch_globals.js";

/** A storage that is written beside the pickle. */
export interface SavedStorage {
  readonly key: string;
  readonly dtype: Type;
  readonly nbytes: number;
  bytes(): Uint8Array;
}

const classOf = new Map(storageClasses.map(([name, dtype]) => [dtype, name]));

/** Whether PyTorch can say where the view's elements lie in its storage. */
function isStrided(t: Tensor): boolean {
  const { steps } = t.spec;
  let aval = t.spec.base;
  let { strides } = { strides: [] as readonly number[] };
  strides = new Tensor(t.storageRef, rootSpec(aval)).stride();
  let at = 0;
  for (const step of steps) {
    const next = step.strides(aval, strides, step.hasOffset ? t.offsets[at++] : 0);
    if (next === null || next.strides.some((n) => n < 0)) return false;
    ({ strides } = next);
    aval = step.apply(aval);
  }
  return true;
}

/** Puts one object after another, and remembers the storages that they need. */
export class Pickler {
  readonly storages: SavedStorage[] = [];
  private readonly parts: Buffer[] = [Buffer.from([0x80, 2])];
  private readonly memo = new Map<unknown, number>();
  private readonly saved = new Map<Storage, SavedStorage>();
  private nextMemo = 0;

  /** The pickle of one object. Throws TypeError for what a checkpoint cannot hold, with the path to it. */
  dump(value: unknown): Buffer {
    this.write(value, "", 0);
    this.code(".");
    return Buffer.concat(this.parts);
  }

  private code(code: string): void {
    this.parts.push(Buffer.from(code, "latin1"));
  }
  private number(code: string, size: number, put: (b: Buffer) => void): void {
    const out = Buffer.alloc(1 + size);
    out.write(code, 0, "latin1");
    put(out);
    this.parts.push(out);
  }
  private text(text: string): void {
    const bytes = Buffer.from(text, "utf8");
    this.number("X", 4, (b) => b.writeUInt32LE(bytes.length, 1));
    this.parts.push(bytes);
  }
  private global(module: string, name: string): void {
    if (this.recall(`${module} ${name}`)) return;
    this.code(`c${module}\n${name}\n`);
    this.remember(`${module} ${name}`);
  }
  /** Keys are objects by identity, and globals by their text with a space; plain texts are not remembered. */
  private remember(value: unknown): void {
    const index = this.nextMemo++;
    this.memo.set(value, index);
    if (index < 256) this.number("q", 1, (b) => b.writeUInt8(index, 1));
    else this.number("r", 4, (b) => b.writeUInt32LE(index, 1));
  }
  private recall(value: unknown): boolean {
    const index = this.memo.get(value);
    if (index === undefined) return false;
    if (index < 256) this.number("h", 1, (b) => b.writeUInt8(index, 1));
    else this.number("j", 4, (b) => b.writeUInt32LE(index, 1));
    return true;
  }

  private int(value: number | bigint): void {
    const n = Number(value);
    if (n >= 0 && n < 256) this.number("K", 1, (b) => b.writeUInt8(n, 1));
    else if (n >= 0 && n < 65536) this.number("M", 2, (b) => b.writeUInt16LE(n, 1));
    else if (n >= -(2 ** 31) && n < 2 ** 31) this.number("J", 4, (b) => b.writeInt32LE(n, 1));
    else this.long(BigInt(value));
  }
  private long(value: bigint): void {
    let size = 1;
    while (BigInt.asIntN(8 * size, value) !== value) size++;
    if (size > 255) throw new TorchTypeError(`save(): expected an integer of at most 255 bytes, got one of ${size}`);
    this.number("\x8a", 1 + size, (b) => {
      b.writeUInt8(size, 1);
      for (let i = 0; i < size; i++) b[2 + i] = Number((value >> BigInt(8 * i)) & 255n);
    });
  }
  private float(value: number): void {
    this.number("G", 8, (b) => b.writeDoubleBE(value, 1));
  }

  private write(x: unknown, path: string, depth: number): void {
    if (depth > deepest) throw new TorchTypeError(`save(): expected at most ${deepest} levels of containers, got more`);
    if (x === null) this.code("N");
    else if (typeof x === "boolean") this.code(x ? "\x88" : "\x89");
    else if (typeof x === "bigint") this.int(x);
    else if (typeof x === "number") {
      if (Number.isSafeInteger(x) && !Object.is(x, -0)) this.int(x);
      else this.float(x);
    } else if (typeof x === "string") this.text(x);
    else if (x instanceof FloatScalar) this.float(x.value);
    else if (x instanceof DType) this.global("torch", x.name);
    else if (typeof x !== "object") this.refuse(x, path);
    else if (!this.recall(x)) this.object(x, path, depth);
  }

  private refuse(x: unknown, path: string): never {
    const what = typeof x === "object" && x !== null ? x.constructor.name : typeof x;
    throw new TorchTypeError(
      `save(): expected tensors, numbers, texts and plain containers of them${path && ` under '${path.slice(1)}'`}, got ${what}. Save a module's state_dict().`,
    );
  }

  private object(x: object, path: string, depth: number): void {
    if (x instanceof Tensor) this.tensor(x);
    else if (Array.isArray(x)) this.array(x, path, depth);
    else if (x instanceof Set) this.set(x, path, depth);
    else if (x instanceof Map) this.dict(x, [...(x as Map<unknown, unknown>)], path, depth);
    else if (x instanceof Uint8Array) this.bytes(x);
    else if (x instanceof Complex) this.complex(x);
    else if (x instanceof Device) this.device(x);
    else if (Object.getPrototypeOf(x) === Object.prototype || Object.getPrototypeOf(x) === null)
      this.plainObject(x, path, depth);
    else this.refuse(x, path);
  }

  private array(x: readonly unknown[], path: string, depth: number): void {
    const items = (): void => x.forEach((item, i) => this.write(item, `${path}.${i}`, depth + 1));
    if (Object.isFrozen(x)) {
      if (x.length === 0) return this.code(")");
      this.code("(");
      items();
      this.code("t");
      return this.remember(x);
    }
    this.code("]");
    this.remember(x);
    if (x.length === 0) return;
    this.code("(");
    items();
    this.code("e");
  }

  private set(x: ReadonlySet<unknown>, path: string, depth: number): void {
    this.global("__builtin__", "set");
    this.code("](");
    for (const item of x) this.write(item, path, depth + 1);
    this.code("e\x85R");
    this.remember(x);
  }

  private plainObject(x: object, path: string, depth: number): void {
    const entries = Object.entries(x);
    if (!("_metadata" in x)) {
      const counts = entries.length > 0 && entries.every(([k]) => isIndexText(k));
      return this.dict(x, counts ? entries.map(([k, v]) => [Number(k), v]) : entries, path, depth);
    }
    this.orderedDict(x, entries.filter(([k]) => k !== "_metadata"), path, depth); // prettier-ignore
  }

  private dict(x: object, entries: readonly (readonly [unknown, unknown])[], path: string, depth: number): void {
    this.code("}");
    this.remember(x);
    this.items(entries, path, depth);
  }

  /** As `state_dict()` has it: ordered, with the versions of the modules beside the entries. */
  private orderedDict(x: object, entries: readonly (readonly [unknown, unknown])[], path: string, depth: number): void {
    this.global("collections", "OrderedDict");
    this.code(")R");
    this.remember(x);
    this.items(entries, path, depth);
    const metadata = (x as { _metadata?: unknown })._metadata;
    if (typeof metadata !== "object" || metadata === null || Object.keys(metadata).length === 0) return;
    this.code("}(");
    this.text("_metadata");
    this.global("collections", "OrderedDict");
    this.code(")R");
    this.items(Object.entries(metadata), `${path}._metadata`, depth + 1);
    this.code("ub");
  }

  private items(entries: readonly (readonly [unknown, unknown])[], path: string, depth: number): void {
    if (entries.length === 0) return;
    this.code("(");
    for (const [key, value] of entries) {
      this.write(key, path, depth + 1);
      this.write(value, `${path}.${String(key)}`, depth + 1);
    }
    this.code("u");
  }

  private bytes(x: Uint8Array): void {
    this.global("_codecs", "encode");
    this.text(Buffer.from(x).toString("latin1"));
    this.text("latin1");
    this.code("\x86R");
    this.remember(x);
  }
  private complex(x: Complex): void {
    this.global("__builtin__", "complex");
    this.float(x.re);
    this.float(x.im);
    this.code("\x86R");
  }
  private device(x: Device): void {
    this.global("torch", "device");
    this.text(x.type === "meta" ? "meta" : "cpu");
    this.code("\x85R");
  }
  private ints(values: readonly number[]): void {
    if (values.length > 3) this.code("(");
    for (const n of values) this.int(n);
    this.code(values.length > 3 ? "t" : [")", "\x85", "\x86", "\x87"][values.length]);
  }
  private emptyOrderedDict(): void {
    this.global("collections", "OrderedDict");
    this.code(")R");
  }

  private tensor(t: Tensor): void {
    if (t instanceof Parameter) {
      this.global("torch._utils", "_rebuild_parameter");
      this.plainTensor(t, false);
      this.code(t.requires_grad ? "\x88" : "\x89");
      this.emptyOrderedDict();
      this.code("\x87R");
    } else this.plainTensor(t, t.requires_grad && t.is_leaf);
    this.remember(t);
  }

  private plainTensor(given: Tensor, requires_grad: boolean): void {
    if (given.is_meta) return this.metaTensor(given, requires_grad);
    const [t, storage] = this.placed(given);
    const typed = classOf.has(t.dtype);
    this.global("torch._utils", typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    this.code("(");
    this.storage(storage, typed ? classOf.get(t.dtype)! : null);
    this.int(t.storage_offset());
    this.ints(t.shape);
    this.ints(t.stride());
    this.code(requires_grad ? "\x88" : "\x89");
    this.emptyOrderedDict();
    if (!typed) this.global("torch", t.dtype.name);
    this.code("tR");
  }

  private metaTensor(t: Tensor, requires_grad: boolean): void {
    this.global("torch._utils", "_rebuild_meta_tensor_no_storage");
    this.code("(");
    this.global("torch", t.dtype.name);
    this.ints(t.shape);
    this.ints(t.stride());
    this.code(requires_grad ? "\x88tR" : "\x89tR");
  }

  /** The tensor and its storage; a copy where PyTorch could not show the storage so. */
  private placed(given: Tensor): [Tensor, SavedStorage] {
    const t = given.detach();
    const known = this.saved.get(t.storageRef);
    if (!isStrided(t) || (known && known.dtype !== t.dtype)) {
      const copy = t.clone();
      return [copy, this.add(copy)];
    }
    return [t, known ?? this.add(t)];
  }

  private add(t: Tensor): SavedStorage {
    const { storageRef } = t;
    const saved: SavedStorage = {
      key: String(this.storages.length),
      dtype: t.dtype,
      nbytes: storageRef.aval.nbytes,
      bytes: () => new Tensor(storageRef, rootSpec(storageRef.aval)).toBytes(),
    };
    this.saved.set(storageRef, saved);
    this.storages.push(saved);
    return saved;
  }

  /** All tensors are written as ones of the CPU: Python, which may have no such device, reads them anywhere. */
  private storage({ key, dtype, nbytes }: SavedStorage, typed: string | null): void {
    this.code("(");
    this.text("storage");
    if (typed !== null) this.global("torch", typed);
    else this.global("torch.storage", "UntypedStorage");
    this.text(key);
    this.text("cpu");
    this.int(typed === null ? nbytes : nbytes / dtype.itemsize);
    this.code("tQ");
  }
}
