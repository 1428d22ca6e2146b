/** @file Reads recorded calls: JSON with the arguments, safetensors with the elements. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as torch from "torch-tpu";
import type { DType, Tensor } from "torch-tpu";
import { tensorFromBytes } from "../../src/api/factories.js";

export type Encoded = null | boolean | number | string | Encoded[] | { [key: string]: Encoded };

/** A recorded call. */
export interface Case {
  readonly dtype?: string;
  readonly args: Encoded[];
  readonly kwargs: Record<string, Encoded>;
  readonly output?: Encoded;
  /** Only shapes and types of the results are defined. */
  readonly random?: boolean;
  readonly output_like?: { shape: number[]; dtype: string }[];
  readonly cotangents?: Encoded[];
  readonly grads?: Encoded[];
  /** aten: the tensor arguments after the call. */
  readonly mutated?: Encoded[];
}

/** A call that must fail. */
export interface ErrorCase {
  readonly args: Encoded[];
  readonly kwargs: Record<string, Encoded>;
  readonly error: string;
  readonly message: string;
}

/** What one file holds. */
export interface Recording {
  readonly op: string;
  readonly variant: string;
  readonly method: boolean;
  readonly inplace: boolean;
  readonly cases: readonly Case[];
  readonly errors: readonly ErrorCase[];
  readonly schema?: string;
}

/** A recorded tensor that stays on the host: results are compared with it. */
export class HostTensor {
  constructor(
    readonly dtype: DType,
    readonly shape: readonly number[],
    /** Row-major. */
    readonly bytes: Uint8Array,
  ) {}
}

/** A value that has no counterpart on XLA, such as a quantized type. */
export class Undecodable extends Error {}

const tuples = new WeakSet<object>();

/** Whether a decoded array was a tuple in Python. */
export const isTuple = (x: unknown): boolean => Array.isArray(x) && tuples.has(x);

interface TensorReference {
  readonly $tensor: string;
  readonly dtype: string;
  readonly shape: number[];
  readonly requires_grad?: boolean;
}

function dtypeOf(name: string): DType {
  try {
    return torch.dtypeFromName(name);
  } catch {
    throw new Undecodable(`dtype ${name} does not exist on XLA`);
  }
}

function numberOf(text: string): number | torch.FloatScalar {
  const n = { inf: Infinity, "-inf": -Infinity, nan: NaN }[text] ?? Number(text);
  return Number.isInteger(n) ? new torch.FloatScalar(n) : n;
}

type MakeTensor = (reference: TensorReference) => unknown;

/** One operator's recorded calls and their tensors. */
export class Vectors {
  readonly recording: Recording;
  private readonly data: Uint8Array;
  private readonly at = new Map<string, readonly [number, number]>();

  constructor(
    folder: string,
    readonly name: string,
    private readonly device: string,
  ) {
    const json = JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")) as Partial<Recording>;
    this.recording = { op: name, variant: "", method: false, inplace: false, errors: [], cases: [], ...json };
    // Read here and not with the library's own reader, which is not what is tested.
    const file = readFileSync(join(folder, `${name}.safetensors`));
    const headerSize = Number(file.readBigUInt64LE(0));
    const header = JSON.parse(file.toString("utf8", 8, 8 + headerSize)) as Record<
      string,
      { data_offsets: [number, number] }
    >;
    this.data = file.subarray(8 + headerSize);
    for (const [key, entry] of Object.entries(header)) if (key !== "__metadata__") this.at.set(key, entry.data_offsets);
  }

  private host({ $tensor, dtype, shape }: TensorReference): HostTensor {
    const range = this.at.get($tensor);
    if (!range) throw new Error(`${this.name}.safetensors: expected tensor ${$tensor}, got none`);
    return new HostTensor(dtypeOf(dtype), shape, Uint8Array.from(this.data.subarray(...range)));
  }

  /** An argument. Tensors that require gradients are added to `leaves`; without `leaves` they require none. */
  decode(v: Encoded, leaves: Tensor[] | null = null): unknown {
    return this.read(v, (reference) => {
      const { dtype, shape, bytes } = this.host(reference);
      const t = deviceTensor(dtype, shape, bytes, this.device);
      if (reference.requires_grad && leaves) leaves.push(t.requires_grad_());
      return t;
    });
  }

  /** A result, with its tensors on the host. */
  expected(v: Encoded): unknown {
    return this.read(v, (reference) => this.host(reference));
  }

  private read(v: Encoded, tensor: MakeTensor): unknown {
    if (Array.isArray(v)) return v.map((x) => this.read(x, tensor));
    if (typeof v !== "object" || v === null) return v;
    if ("$tensor" in v) return tensor(v as unknown as TensorReference);
    const [[kind, x]] = Object.entries(v);
    switch (kind) {
      case "$dtype":
        return dtypeOf(x as string);
      case "$device":
        return x === "cpu" ? this.device : x;
      case "$float":
        return numberOf(x as string);
      case "$complex":
        return new torch.Complex(...(x as [number, number]));
      case "$int":
        return BigInt(x as string);
      case "$slice":
        return new torch.Slice(...(this.read(x, tensor) as [number | null, number | null, number | null]));
      case "$ellipsis":
        return "...";
      case "$tuple": {
        const items = this.read(x, tensor) as unknown[];
        tuples.add(items);
        return items;
      }
      case "$dict":
        return mapValues(x as Record<string, Encoded>, (e) => this.read(e, tensor));
      default:
        return x; // $size, $layout, $memory_format
    }
  }

  /** The arguments of a call. */
  decodeAll(
    of: { args: Encoded[]; kwargs: Record<string, Encoded> },
    leaves: Tensor[] | null = null,
  ): { args: unknown[]; kwargs: Record<string, unknown> } {
    const args = of.args.map((a) => this.decode(a, leaves));
    return { args, kwargs: mapValues(of.kwargs, (a) => this.decode(a, leaves)) };
  }
}

const mapValues = <A, B>(of: Record<string, A>, fn: (a: A) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(of).map(([k, a]) => [k, fn(a)]));

/** Uploads bytes as they are: no program has to be compiled for it. */
function deviceTensor(dtype: DType, shape: readonly number[], bytes: Uint8Array, device: string): Tensor {
  return tensorFromBytes(bytes, dtype, shape, torch.device(device));
}
