/** @file Reads recorded calls: JSON with the arguments, safetensors with the elements. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as torch from "torch-tpu";
import { SafetensorsFile } from "torch-tpu/serialization";
import type { Tensor } from "torch-tpu";

export type Encoded = null | boolean | number | string | Encoded[] | { [key: string]: Encoded };

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

export interface ErrorCase {
  readonly args: Encoded[];
  readonly kwargs: Record<string, Encoded>;
  readonly error: string;
  readonly message: string;
}

export interface Recording {
  readonly file: string;
  readonly op: string;
  readonly variant: string;
  readonly method: boolean;
  readonly inplace: boolean;
  readonly cases: readonly Case[];
  readonly errors: readonly ErrorCase[];
  readonly schema?: string;
}

const tuples = new WeakSet<object>();

/** Whether a decoded array was a tuple in Python. */
export const isTuple = (x: unknown): boolean => Array.isArray(x) && tuples.has(x);

/** One operator's recorded calls and their tensors. */
export class Vectors {
  readonly recording: Recording;
  private readonly file: SafetensorsFile;
  constructor(
    folder: string,
    readonly name: string,
    private readonly device: string,
  ) {
    const json = JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")) as Partial<Recording>;
    this.recording = {
      file: name,
      op: name,
      variant: "",
      method: false,
      inplace: false,
      errors: [],
      cases: [],
      ...json,
    };
    this.file = new SafetensorsFile(join(folder, `${name}.safetensors`));
  }

  close(): void {
    this.file.close();
  }

  private tensor(v: { $tensor: string; dtype: string; shape: number[]; requires_grad?: boolean }): Tensor {
    const stored = this.file.get_tensor(v.$tensor, this.device);
    const value =
      v.dtype.startsWith("complex") && !stored.is_complex() ? torch.view_as_complex(stored).clone() : stored;
    return value.reshape(v.shape).detach();
  }

  /** The value that was recorded. Tensors that require gradients are added to `leaves`. */
  decode(v: Encoded, leaves: Tensor[] = []): unknown {
    if (Array.isArray(v)) return v.map((x) => this.decode(x, leaves));
    if (typeof v !== "object" || v === null) return v;
    if ("$tensor" in v) {
      const t = this.tensor(v as never);
      if (v.requires_grad) leaves.push(t.requires_grad_());
      return t;
    }
    const [[kind, x]] = Object.entries(v);
    switch (kind) {
      case "$dtype":
        return torch.dtypeFromName(x as string);
      case "$device":
        return x === "cpu" ? this.device : x;
      case "$float": {
        const n = { inf: Infinity, "-inf": -Infinity, nan: NaN }[x as string] ?? Number(x);
        return Number.isInteger(n) ? new torch.FloatScalar(n) : n;
      }
      case "$complex":
        return new torch.Complex(...(x as [number, number]));
      case "$int":
        return BigInt(x as string);
      case "$slice":
        return new torch.Slice(...(this.decode(x, leaves) as [number | null, number | null, number | null]));
      case "$ellipsis":
        return "...";
      case "$tuple": {
        const items = this.decode(x, leaves) as unknown[];
        tuples.add(items);
        return items;
      }
      case "$dict":
        return Object.fromEntries(
          Object.entries(x as Record<string, Encoded>).map(([k, e]) => [k, this.decode(e, leaves)]),
        );
      default:
        return x; // $size, $layout, $memory_format
    }
  }

  decodeAll(
    of: { args: Encoded[]; kwargs: Record<string, Encoded> },
    leaves: Tensor[] = [],
  ): { args: unknown[]; kwargs: Record<string, unknown> } {
    const args = of.args.map((a) => this.decode(a, leaves));
    const kwargs = Object.fromEntries(Object.entries(of.kwargs).map(([k, a]) => [k, this.decode(a, leaves)]));
    return { args, kwargs };
  }
}
