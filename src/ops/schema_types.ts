/** @file Reads an operator's schema at the type level, so that its lowering and gradient see typed arguments. */
import type { DType, Scalar, SymScalar } from "../schema/index.js";

type Strip<T extends string> = T extends `${infer A}(a)${infer B}`
  ? `${A}${B}`
  : T extends `${infer A}(a!)${infer B}`
    ? `${A}${B}`
    : T extends `${infer A}(b!)${infer B}`
      ? `${A}${B}`
      : T extends `${infer A}(c!)${infer B}`
        ? `${A}${B}`
        : T extends `${infer A}(d!)${infer B}`
          ? `${A}${B}`
          : T extends `${infer A}(e!)${infer B}`
            ? `${A}${B}`
            : T;

type Base<T extends string, V, S> = T extends "Tensor"
  ? V
  : T extends "Scalar"
    ? S
    : T extends "int" | "SymInt" | "float"
      ? number
      : T extends "bool"
        ? boolean
        : T extends "str" | "Layout" | "MemoryFormat"
          ? string
          : T extends "ScalarType"
            ? DType
            : unknown;

type Plain<T extends string, V, S> = T extends `${infer E}?`
  ? Plain<E, V, S> | null
  : T extends `${infer E}[${string}]`
    ? readonly Plain<E, V, S>[]
    : Base<T, V, S>;

type OneArg<A extends string, V, S> = A extends "*"
  ? unknown
  : A extends `${infer T} ${infer N}=${string}`
    ? { [K in N]: Plain<Strip<T>, V, S> }
    : A extends `${infer T} ${infer N}`
      ? { [K in N]: Plain<Strip<T>, V, S> }
      : unknown;

type Fields<A extends string, V, S> = A extends `${infer H}, ${infer R}`
  ? OneArg<H, V, S> & Fields<R, V, S>
  : OneArg<A, V, S>;

/** The arguments of schema `T` by name: `V` stands for a tensor, `S` for a number. */
export type ArgsOf<T extends string, V, S> = T extends `${string}(${infer A}) -> ${string}` ? Fields<A, V, S> : never;

/** One result, or an array of them. */
export type ResultOf<T extends string, V> = T extends `${string}) -> ${infer R}`
  ? R extends "Tensor" | "Tensor(a)" | "Tensor(a!)"
    ? V
    : V[]
  : never;

export type ScalarArgument = Scalar | SymScalar;
