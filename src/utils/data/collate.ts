/** @file Items as batches. */
import { from_typed_array, functional, tensor, type TypedArray } from "../../api/index.js";
import {
  bool,
  Complex,
  FloatScalar,
  float64,
  int64,
  TorchError,
  TorchTypeError,
  type Scalar,
} from "../../schema/index.js";
import { Tensor } from "../../tensor/index.js";

/** The type of a batch that default_collate makes of items of type T. */
export type Collated<T> = T extends Tensor | number | bigint | boolean | FloatScalar | Complex | TypedArray
  ? Tensor
  : T extends string
    ? string[]
    : T extends Map<infer K, infer V>
      ? Map<K, Collated<V>>
      : T extends object
        ? { -readonly [K in keyof T]: Collated<T[K]> }
        : unknown;

type Plain = Record<string, unknown>;

const isTyped = (x: unknown): x is TypedArray => ArrayBuffer.isView(x) && !(x instanceof DataView);

/** Whether a value is made of parts by name: an object with no class of its own. */
const isPlain = (x: unknown): x is Plain => {
  if (typeof x !== "object" || x === null) return false;
  const proto: unknown = Object.getPrototypeOf(x);
  return proto === Object.prototype || proto === null;
};

const isNumber = (x: unknown): x is Scalar =>
  typeof x === "number" || typeof x === "bigint" || x instanceof FloatScalar || x instanceof Complex;

const describe = (x: unknown): string =>
  x === null ? "null" : typeof x === "object" ? `an object of class ${x.constructor.name}` : typeof x;

function collateNumbers(items: readonly unknown[]): Tensor {
  if (!items.every(isNumber)) throw mixed(items, isNumber);
  if (items.some((i) => i instanceof Complex)) return tensor(items);
  const isInt = items.every((i) => typeof i === "bigint" || (Number.isInteger(i) && !Object.is(i, -0)));
  return tensor(items, { dtype: isInt ? int64 : float64 });
}

function collateTyped(items: readonly unknown[], first: TypedArray): Tensor {
  const same = (i: unknown): boolean => isTyped(i) && i.constructor === first.constructor;
  if (!items.every(same)) throw mixed(items, same);
  const rows = items as readonly TypedArray[];
  if (rows.some((r) => r.length !== first.length)) throw unequal();
  const all = new (first.constructor as new (n: number) => TypedArray)(items.length * first.length);
  rows.forEach((row, i) => all.set(row as never, i * first.length));
  return from_typed_array(all, [items.length, first.length]);
}

function collateArrays(items: readonly unknown[], first: readonly unknown[]): unknown[] {
  if (!items.every(Array.isArray)) throw mixed(items, Array.isArray);
  const rows = items as readonly (readonly unknown[])[];
  if (rows.some((r) => r.length !== first.length)) throw unequal();
  return first.map((_, k) => default_collate(rows.map((r) => r[k])));
}

function collateObjects(items: readonly unknown[], first: Plain): Plain {
  if (!items.every(isPlain)) throw mixed(items, isPlain);
  const part = (key: string): unknown =>
    default_collate(
      items.map((item) => {
        if (!Object.hasOwn(item, key))
          throw new TorchTypeError(`default_collate: expected the key '${key}' in every item, got one without`);
        return item[key];
      }),
    );
  return Object.fromEntries(Object.keys(first).map((key) => [key, part(key)]));
}

const unequal = (): TorchError => new TorchError("each element in list of batch should be of equal size");

function mixed(items: readonly unknown[], fits: (x: unknown) => boolean): TorchTypeError {
  const other = items.find((i) => !fits(i));
  return new TorchTypeError(
    `default_collate: expected items of one kind in a batch, got ${describe(items[0])} and ${describe(other)}`,
  );
}

/**
 * Items as one batch. Tensors are stacked. Numbers become a tensor: int64 if all are integers, else float64; booleans one of
 * bool. Typed arrays become rows of a tensor. Arrays, objects and Maps are taken apart and put together of batches; texts
 * stay a list. Throws TorchTypeError for anything else.
 * @see https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.default_collate
 */
export function default_collate(items: readonly unknown[]): unknown {
  const first = items[0];
  if (first instanceof Tensor) {
    if (!items.every((i) => i instanceof Tensor)) throw mixed(items, (i) => i instanceof Tensor);
    return functional.stack(items as readonly Tensor[]);
  }
  if (typeof first === "boolean") return tensor(items as readonly boolean[], { dtype: bool });
  if (isNumber(first)) return collateNumbers(items);
  if (typeof first === "string") return [...items];
  if (isTyped(first)) return collateTyped(items, first);
  if (Array.isArray(first)) return collateArrays(items, first);
  if (first instanceof Map) {
    const objects = items.map((m) => Object.fromEntries(m as Map<string, unknown>));
    return new Map(Object.entries(collateObjects(objects, objects[0])));
  }
  if (isPlain(first)) return collateObjects(items, first);
  throw new TorchTypeError(
    `default_collate: batch must contain tensors, typed arrays, numbers, strings, arrays or objects; found ${describe(first)}`,
  );
}

/**
 * One item when there are no batches: typed arrays become tensors, everything else stays.
 * @see https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.default_convert
 */
export function default_convert(item: unknown): unknown {
  if (isTyped(item)) return from_typed_array(item);
  if (Array.isArray(item)) return item.map(default_convert);
  if (isPlain(item)) return Object.fromEntries(Object.entries(item).map(([k, v]) => [k, default_convert(v)]));
  return item;
}
