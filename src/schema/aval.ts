/** @file Abstract values: what a program knows of a tensor before it runs. Interned: equal avals are the same object. */
import type { DType } from "./dtype.js";

export class Aval {
  readonly numel: number;
  constructor(
    readonly dtype: DType,
    readonly shape: readonly number[],
  ) {
    this.numel = shape.reduce((n, d) => n * d, 1);
  }
  get rank(): number {
    return this.shape.length;
  }
  /** Bytes of the value on the host. */
  get nbytes(): number {
    return this.numel * this.dtype.itemsize;
  }
  toString(): string {
    return `${this.dtype.name}[${this.shape.join(",")}]`;
  }
}

const interned = new Map<string, Aval>();

/** The one aval of this type and shape. */
export function aval(dtype: DType, shape: readonly number[]): Aval {
  const key = `${dtype.index}:${shape.join()}`;
  let found = interned.get(key);
  if (!found) interned.set(key, (found = new Aval(dtype, Object.freeze([...shape]))));
  return found;
}

/** Strides of a row-major tensor of this shape, in elements. Dimensions of size 0 count as 1, as in PyTorch. */
export function contiguousStrides(shape: readonly number[]): number[] {
  const strides = new Array<number>(shape.length);
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = step;
    step *= Math.max(1, shape[i]);
  }
  return strides;
}
