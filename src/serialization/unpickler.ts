/**
 * @file Reads the pickles of checkpoints: the instructions and names that `torch.load(weights_only=True)` allows, no others.
 * Nothing is imported and no code of the file runs: a global is a row of a table here, or an error that names it.
 */
import { TorchError } from "../schema/index.js";

/** A pickle that asks for what is not allowed, or that is damaged (Python's `pickle.UnpicklingError`). */
export class UnpicklingError extends TorchError {
  override name = "UnpicklingError";
}

/** A dict while it is read. Keys are JavaScript's; entries keep their order. */
export class PickledDict {
  readonly entries = new Map<unknown, unknown>();
  attributes: PickledDict | null = null;
  constructor(readonly ordered: boolean) {}
}

/** A tuple while it is read: content that does not change any more. */
export class PickledTuple {
  constructor(readonly items: readonly unknown[]) {}
}

/** A callable of the table: what a REDUCE of it gives. */
export interface PickledFunction {
  readonly path: string;
  call(args: readonly unknown[]): unknown;
}

export interface UnpicklerOptions {
  /** The value or function of a global; undefined where it is not allowed. */
  readonly globals: (path: string) => unknown;
  /** The storage that a persistent id names. */
  readonly persistent: (id: unknown) => unknown;
}

/** Python 2's names, as protocol 2 writes them. */
const renamedModules: ReadonlyMap<string, string> = new Map([
  ["__builtin__", "builtins"],
  ["copy_reg", "copyreg"],
]);
const blocked: ReadonlySet<string> = new Set(["sys", "os", "posix", "nt"]);

const mark = Symbol("mark");

const isFunction = (x: unknown): x is PickledFunction =>
  typeof x === "object" && x !== null && typeof (x as PickledFunction).call === "function";

/** Python's name of a value's class, for messages. */
export function pythonType(x: unknown): string {
  if (x === null) return "NoneType";
  if (x instanceof PickledDict) return x.ordered ? "OrderedDict" : "dict";
  if (x instanceof PickledTuple) return "tuple";
  if (Array.isArray(x)) return "list";
  if (typeof x === "boolean") return "bool";
  if (typeof x === "bigint") return "int";
  if (typeof x === "number") return Number.isInteger(x) ? "int" : "float";
  if (typeof x === "string") return "str";
  return isFunction(x) ? x.path : ((x as object | undefined)?.constructor.name ?? typeof x);
}

/** Reads pickles that follow each other in one buffer. */
export class Unpickler {
  private stack: unknown[] = [];
  private memo = new Map<number, unknown>();

  constructor(
    private readonly bytes: Buffer,
    private readonly options: UnpicklerOptions,
    /** Where the next instruction is. */
    public at = 0,
  ) {}

  private take(length: number): Buffer {
    if (this.at + length > this.bytes.length)
      throw new UnpicklingError(`pickle data was truncated: ${length} bytes at ${this.at} of ${this.bytes.length}`);
    return this.bytes.subarray(this.at, (this.at += length));
  }
  private byte(): number {
    return this.take(1)[0];
  }
  private line(): string {
    const end = this.bytes.indexOf(10, this.at);
    if (end < 0) throw new UnpicklingError("pickle data was truncated: a name without an end");
    const text = this.bytes.toString("utf8", this.at, end);
    this.at = end + 1;
    return text;
  }
  private pop(): unknown {
    if (this.stack.length === 0 || this.stack[this.stack.length - 1] === mark)
      throw new UnpicklingError("unexpected end of the stack: the pickle is damaged");
    return this.stack.pop();
  }
  private top(): unknown {
    const value = this.pop();
    this.stack.push(value);
    return value;
  }
  private popMark(): unknown[] {
    const at = this.stack.lastIndexOf(mark);
    if (at < 0) throw new UnpicklingError("could not find MARK: the pickle is damaged");
    const items = this.stack.splice(at);
    items.shift();
    return items;
  }
  private tuple(size: number): void {
    const items: unknown[] = [];
    for (let i = 0; i < size; i++) items.unshift(this.pop());
    this.stack.push(new PickledTuple(items));
  }

  /** The next object. */
  load(): unknown {
    this.stack = [];
    this.memo = new Map();
    for (;;) {
      const code = this.byte();
      if (code === 0x2e /* STOP */) return this.pop();
      const instruction = instructions.get(code);
      if (!instruction) throw new UnpicklingError(`Unsupported operand ${code}`);
      instruction(this);
    }
  }

  private global(): void {
    const first = this.line();
    const name = this.line();
    const module = renamedModules.get(first) ?? first;
    let path = `${module}.${name}`;
    if (blocked.has(module))
      throw new UnpicklingError(
        `Trying to load unsupported GLOBAL ${path} whose module ${module} is blocked. Unsupported global: GLOBAL ${path}`,
      );
    const value = this.options.globals(path);
    if (value === undefined) {
      path = path.replace(/^builtins\./, "");
      throw new UnpicklingError(
        `Unsupported global: GLOBAL ${path} was not an allowed global by default. ` +
          "A checkpoint may hold tensors, numbers, texts and plain containers of them; save a state_dict rather than the object.",
      );
    }
    this.stack.push(value);
  }

  private reduce(): void {
    const args = this.pop();
    const fn = this.pop();
    if (!isFunction(fn)) throw new UnpicklingError(`Trying to call reduce for unrecognized function ${pythonType(fn)}`);
    if (!(args instanceof PickledTuple))
      throw new UnpicklingError("expected a tuple of arguments: the pickle is damaged");
    this.stack.push(fn.call(args.items));
  }

  private build(): void {
    const state = this.pop();
    const target = this.top();
    if (!(target instanceof PickledDict) || !target.ordered || !(state instanceof PickledDict))
      throw new UnpicklingError(
        `Can only build Tensor, Parameter, OrderedDict or types allowlisted via \`add_safe_globals\`, but got ${pythonType(target)}`,
      );
    target.attributes = state;
  }

  private extend(items: readonly unknown[]): void {
    const list = this.top();
    if (!Array.isArray(list)) throw new UnpicklingError(`Can only extend lists, but got ${pythonType(list)}`);
    for (const item of items) list.push(item);
  }

  private setItems(items: readonly unknown[]): void {
    const dict = this.top();
    if (!(dict instanceof PickledDict))
      throw new UnpicklingError(`Can only set items of dicts, but got ${pythonType(dict)}`);
    if (items.length % 2 !== 0) throw new UnpicklingError("odd number of items for SETITEMS");
    for (let i = 0; i < items.length; i += 2) dict.entries.set(items[i], items[i + 1]);
  }

  private recall(index: number): void {
    if (!this.memo.has(index)) throw new UnpicklingError(`Memo value not found at index ${index}`);
    this.stack.push(this.memo.get(index));
  }

  private persistentId(): void {
    const id = this.pop();
    if (!(id instanceof PickledTuple))
      throw new UnpicklingError(`persistent_load id must be tuple or int, but got ${pythonType(id)}`);
    if (id.items[0] !== "storage")
      throw new UnpicklingError(`Only persistent_load of storage is allowed, but got ${pythonType(id.items[0])}`);
    this.stack.push(this.options.persistent(id.items));
  }

  /** A two's complement integer of any length up to 255 bytes. */
  private long(): void {
    const bytes = this.take(this.byte());
    let value = 0n;
    for (let i = bytes.length - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[i]);
    const signed = BigInt.asIntN(8 * bytes.length, value);
    this.stack.push(Number.isSafeInteger(Number(signed)) ? Number(signed) : signed);
  }

  /** @internal Instructions by their byte. */
  static table(): Map<number, (u: Unpickler) => void> {
    const push =
      (make: (u: Unpickler) => unknown) =>
      (u: Unpickler): void =>
        void u.stack.push(make(u));
    const table: Record<string, (u: Unpickler) => void> = {
      "\x80": (u) => void u.byte(),
      c: (u) => u.global(),
      R: (u) => u.reduce(),
      "\x81": (u) => u.reduce(),
      b: (u) => u.build(),
      a: (u) => u.extend([u.pop()]),
      e: (u) => u.extend(u.popMark()),
      s: (u) => {
        const value = u.pop();
        u.setItems([u.pop(), value]);
      },
      u: (u) => u.setItems(u.popMark()),
      "(": push(() => mark),
      t: (u) => u.stack.push(new PickledTuple(u.popMark())),
      ")": push(() => new PickledTuple([])),
      "\x85": (u) => u.tuple(1),
      "\x86": (u) => u.tuple(2),
      "\x87": (u) => u.tuple(3),
      N: push(() => null),
      "\x88": push(() => true),
      "\x89": push(() => false),
      "]": push(() => []),
      "}": push(() => new PickledDict(false)),
      "\x8f": push(() => new Set()),
      J: push((u) => u.take(4).readInt32LE()),
      K: push((u) => u.byte()),
      M: push((u) => u.take(2).readUInt16LE()),
      G: push((u) => u.take(8).readDoubleBE()),
      X: push((u) => u.take(u.take(4).readUInt32LE()).toString("utf8")),
      U: push((u) => u.take(u.byte()).toString("latin1")),
      Q: (u) => u.persistentId(),
      h: (u) => u.recall(u.byte()),
      j: (u) => u.recall(u.take(4).readUInt32LE()),
      q: (u) => void u.memo.set(u.byte(), u.top()),
      r: (u) => void u.memo.set(u.take(4).readUInt32LE(), u.top()),
      "\x8a": (u) => u.long(),
    };
    return new Map(Object.entries(table).map(([c, f]) => [c.charCodeAt(0), f]));
  }
}

const instructions = Unpickler.table();
