/**
 * @file Python signatures for functions and constructors: arguments in order, or by name in a last object.
 * The text of a signature is its single truth: names, order and defaults are read from it at run time, the types from it
 * by the compiler. `"relu(Tensor input, bool inplace=False)"` can be called as `relu(x)`, `relu(x, true)`,
 * `relu(x, { inplace: true })` and `relu({ input: x })`.
 */
import type { DType, Scalar } from "../schema/index.js";
import { TorchTypeError } from "../schema/index.js";
import type { DeviceLike, Generator, Tensor } from "../tensor/index.js";
import type { Module } from "./module.js";
import type { FanMode, Nonlinearity } from "./init.js";

/** How a loss is reduced. */
export type Reduction = "none" | "mean" | "sum";

/** How a convolution or a pad continues its input beyond the border. */
export type PaddingMode = "zeros" | "reflect" | "replicate" | "circular";

/** What the type names in signatures stand for. A `?` behind a name adds null. */
interface TypeNames {
  Tensor: Tensor;
  Tensors: readonly Tensor[];
  int: number;
  float: number;
  bool: boolean;
  str: string;
  Scalar: Scalar;
  /** A size for every dimension, or one for all; null: that of the input. */
  sizes: number | readonly (number | null)[];
  /** One number for every dimension, or one each. */
  ints: number | readonly number[];
  floats: number | readonly number[];
  ScalarType: DType;
  Device: DeviceLike;
  Generator: Generator;
  FanMode: FanMode;
  Nonlinearity: Nonlinearity;
  Reduction: Reduction;
  BatchReduction: Reduction | "batchmean";
  TensorOrNumber: Tensor | number;
  TensorOrInts: Tensor | readonly number[];
  PaddingMode: PaddingMode;
  /** Amounts, or "valid" or "same". */
  Padding: number | readonly number[] | "valid" | "same";
  Distance: (a: Tensor, b: Tensor) => Tensor;
  /** "relu", "gelu", or any function or module from a tensor to a tensor. */
  Activation: "relu" | "gelu" | ((x: Tensor) => Tensor);
  Module: Module;
}

interface Param {
  name: string;
  type: unknown;
  optional: boolean;
}

type TypeOf<T extends string> = T extends `${infer E}?`
  ? TypeOf<E> | null
  : T extends keyof TypeNames
    ? TypeNames[T]
    : unknown;

type ParamOf<A extends string> = A extends `${infer T} ${infer N}=${string}`
  ? { name: N; type: TypeOf<T>; optional: true }
  : A extends `${infer T} ${infer N}`
    ? { name: N; type: TypeOf<T>; optional: false }
    : never;

type ParamsOf<A extends string> = A extends ""
  ? []
  : A extends `${infer H}, ${infer R}`
    ? [ParamOf<H>, ...ParamsOf<R>]
    : [ParamOf<A>];

type Params<S extends string> = S extends `${string}(${infer A})` ? ParamsOf<A> : never;

type Flat<T> = { [K in keyof T]: T[K] };

type Keywords<P extends readonly Param[]> = Flat<
  { [K in P[number] as K["optional"] extends true ? K["name"] : never]?: K["type"] } & {
    [K in P[number] as K["optional"] extends true ? never : K["name"]]: K["type"];
  }
>;

type Tail<P extends readonly Param[]> =
  Record<never, never> extends Keywords<P> ? [keywords?: Keywords<P>] : [keywords: Keywords<P>];

type ArgsFor<P extends readonly Param[]> = P extends readonly [infer H extends Param, ...infer R extends Param[]]
  ? Tail<P> | [H["optional"] extends true ? H["type"] | undefined : H["type"], ...ArgsFor<R>]
  : [];

/** Every way to pass the arguments of signature `S`. */
export type Args<S extends string> = ArgsFor<Params<S>>;

/** The arguments of signature `S` by name, all present. */
export type Bound<S extends string> = Flat<{ [K in Params<S>[number] as K["name"]]: K["type"] }>;

/** A function that is called with the arguments of signature `S`. */
export type SignedFunction<S extends string, R> = (...args: Args<S>) => R;

interface Declared {
  readonly name: string;
  readonly required: boolean;
  readonly value: unknown;
}

const words: Record<string, unknown> = { None: null, True: true, False: false };

function parseDefault(text: string): unknown {
  if (text in words) return words[text];
  return /^'/.test(text) ? text.slice(1, -1) : Number(text);
}

function parseDeclared(text: string): Declared {
  const m = /^\S+ (\w+)(?:=(.*))?$/.exec(text);
  if (!m) throw new SyntaxError(`signature(): expected 'Type name[=default]', got '${text}'`);
  return { name: m[1], required: m[2] === undefined, value: m[2] === undefined ? undefined : parseDefault(m[2]) };
}

const isKeywords = (x: unknown): x is Record<string, unknown> =>
  typeof x === "object" && x !== null && x.constructor === Object;

const listed = (names: readonly string[]): string =>
  names.length < 3
    ? names.map((n) => `'${n}'`).join(" and ")
    : `${names
        .slice(0, -1)
        .map((n) => `'${n}'`)
        .join(", ")}, and '${names[names.length - 1]}'`;

/** A parsed signature. */
export class Signature<S extends string> {
  readonly name: string;
  private readonly declared: readonly Declared[];

  constructor(readonly text: S) {
    const open = text.indexOf("(");
    this.name = text.slice(0, open);
    const inner = text.slice(open + 1, -1);
    this.declared = inner === "" ? [] : inner.split(", ").map(parseDeclared);
  }

  /**
   * The arguments by name, defaults filled in. Throws TorchTypeError in Python's words when they do not fit.
   * `name`: what to call the function there, where several share a signature.
   */
  bind(args: readonly unknown[], name = this.name): Bound<S> {
    const { declared } = this;
    let count = args.length;
    while (count > 0 && args[count - 1] === undefined) count--;
    const last = count > 0 ? args[count - 1] : undefined;
    const keywords = isKeywords(last) ? last : null;
    if (keywords !== null) count--;
    if (count > declared.length) throw this.tooMany(name, count);
    const out: Record<string, unknown> = {};
    let used = 0;
    let missing: string[] | null = null;
    for (let i = 0; i < declared.length; i++) {
      const { name: key, required, value } = declared[i];
      const named = keywords?.[key];
      if (keywords !== null && key in keywords) {
        used++;
        if (i < count && named !== undefined)
          throw new TorchTypeError(`${name}() got multiple values for argument '${key}'`);
      }
      const given = i < count ? args[i] : named;
      if (given !== undefined) out[key] = given;
      else if (required) (missing ??= []).push(key);
      else out[key] = value;
    }
    if (keywords !== null && used < Object.keys(keywords).length) {
      const unknown = Object.keys(keywords).find((k) => !declared.some((d) => d.name === k));
      throw new TorchTypeError(`${name}() got an unexpected keyword argument '${unknown}'`);
    }
    if (missing !== null) throw missingArguments(name, missing);
    return out as Bound<S>;
  }

  private tooMany(name: string, count: number): TorchTypeError {
    // Python counts the instance
    const self = name.endsWith("__init__") ? 1 : 0;
    const most = this.declared.length + self;
    const least = this.declared.filter((d) => d.required).length + self;
    count += self;
    const takes =
      least === most
        ? `${most} positional argument${most === 1 ? "" : "s"}`
        : `from ${least} to ${most} positional arguments`;
    return new TorchTypeError(`${name}() takes ${takes} but ${count} ${count === 1 ? "was" : "were"} given`);
  }
}

function missingArguments(name: string, missing: readonly string[]): TorchTypeError {
  const s = missing.length === 1 ? "" : "s";
  return new TorchTypeError(`${name}() missing ${missing.length} required positional argument${s}: ${listed(missing)}`);
}

/** Reads a signature, as in `signature("Linear.__init__(int in_features, int out_features, bool bias=True)")`. */
export const signature = <const S extends string>(text: S): Signature<S> => new Signature(text);

/** The function of this signature whose body sees its arguments by name. */
export function define<const S extends string, R>(text: S, body: (args: Bound<S>) => R): SignedFunction<S, R> {
  const parsed = signature(text);
  const fn = (...args: Args<S>): R => body(parsed.bind(args));
  Object.defineProperty(fn, "name", { value: parsed.name });
  return fn;
}
