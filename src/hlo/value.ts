/** @file What a builder records: values, the operations that make them, and the regions that hold operations. */
import type { DType } from "../schema/dtype.js";
import { formatType, numelOf, type TensorType } from "./types.js";

/** A value of a program under construction: the result of an operation, or a parameter of a region or function. */
export class Value implements TensorType {
  /** SSA name while its function is printed. */
  ssa = "";
  /** The print during which it was found to be used. */
  live = 0;
  constructor(
    readonly dtype: DType,
    readonly shape: readonly number[],
    /** Where it was made; it can be read there and in regions inside. */
    readonly region: Region,
    /** The operation that makes it; null for parameters. */
    readonly op: Op | null,
    readonly elements: readonly TensorType[] | null = null,
  ) {}

  get rank(): number {
    return this.shape.length;
  }
  get numel(): number {
    return numelOf(this.shape);
  }
  /** `f32[2,3]`. */
  toString(): string {
    return formatType(this);
  }
}

/** How an operation's text is laid out. */
export type OpForm =
  /** `op %a, %b<attributes> : T`: operands and result share their type. */
  | "same"
  /** `op %a, %b<attributes> : (A, B) -> R`. */
  | "function"
  /** `op %a, %b<attributes> : A, B -> R`. */
  | "arrow"
  /** `"op"(%a, %b) <{attributes}> ({regions}) : (A, B) -> R`. */
  | "generic";

/** What printing needs to know of one kind of operation. `A` is what its operations store as attributes. */
export interface OpDef<A> {
  readonly name: string;
  readonly form: OpForm;
  /** The text of the attributes; absent when the operation has none. */
  attributes?(attrs: A, op: Op): string;
  /** Attributes that are not the operation's own; "generic" form only. */
  extraAttributes?(attrs: A): string;
  /** Replaces the form: the text after `%results = `. */
  print?(attrs: A, op: Op): string;
  /** Names of the module's functions that the operation refers to. */
  functions?(attrs: A): readonly string[];
  /** Whether the operation must be kept even when its results are unused. */
  readonly effects?: boolean;
}

/** A source location: a name, or a place in a file. */
export type Location = string | { readonly file: string; readonly line: number; readonly column: number };

/** A recorded operation. Nothing of its text exists before the module is printed. */
export class Op {
  readonly results: Value[];
  /** Whether it must be kept even when its results are unused. */
  readonly effects: boolean;
  constructor(
    readonly def: OpDef<never>,
    readonly operands: readonly Value[],
    types: readonly TensorType[],
    readonly attrs: unknown,
    readonly regions: readonly Region[] | null,
    readonly location: Location | null,
    region: Region,
    effects: boolean,
  ) {
    this.effects = effects;
    const results = new Array<Value>(types.length);
    for (let i = 0; i < types.length; i++) {
      const t = types[i];
      results[i] = new Value(t.dtype, t.shape, region, this, t.elements ?? null);
    }
    this.results = results;
  }
}

export interface RegionOptions {
  /** The operation that ends the block. Default: `stablehlo.return`. */
  readonly terminator?: string;
  /** Whether the block can read its parameters only, not values from outside. */
  readonly closed?: boolean;
}

/** A block: parameters, operations in order, and what it returns. A function's body and an operation's regions are such. */
export class Region {
  readonly params: Value[];
  readonly ops: Op[] = [];
  readonly terminator: string;
  readonly closed: boolean;
  /** What the block returns; null until it ends. */
  results: readonly Value[] | null = null;
  /** Whether an operation in it has effects. */
  effects = false;
  constructor(
    readonly parent: Region | null,
    types: readonly TensorType[],
    { terminator = "stablehlo.return", closed = false }: RegionOptions = {},
  ) {
    this.terminator = terminator;
    this.closed = closed;
    this.params = types.map((t) => new Value(t.dtype, t.shape, this, null, t.elements ?? null));
  }

  /** Why `inner` cannot read this region's values: the closed region in between, or its outermost region. Null: it can. */
  barrierTo(inner: Region): Region | null {
    let r = inner;
    while (r !== this) {
      if (r.closed || r.parent === null) return r;
      r = r.parent;
    }
    return null;
  }
}
