/** @file Layers that are one function: their constructor keeps its arguments, their forward applies the function. */
import type { Tensor } from "../../tensor/index.js";
import { Module } from "../module.js";
import { signature, type Args, type Bound } from "../signature.js";

/** A module with this forward. */
export interface FunctionLayer<A extends unknown[], R> extends Module {
  forward(...args: A): R;
}

type LayerClass<S extends string, A extends unknown[], R> = new (...args: Args<S>) => FunctionLayer<A, R> & Bound<S>;

interface LayerOptions<M> {
  /** What the printed form says. */
  readonly repr?: (m: M) => string;
  /** Throws for arguments that cannot be used. */
  readonly check?: (m: M) => void;
  /** Arguments that are tensors, and buffers of the module. */
  readonly buffers?: readonly string[];
}

/**
 * A class whose constructor has signature `S` and keeps the arguments as properties, and whose forward is `call`.
 * The caller extends it, so that the class has a name: `class ReLU extends functionLayer(…) {}`.
 */
export function functionLayer<const S extends string, A extends unknown[] = [input: Tensor], R = Tensor>(
  text: S,
  call: (m: Bound<S> & Module, ...args: A) => R,
  { repr, check, buffers = [] }: LayerOptions<Bound<S> & Module> = {},
): LayerClass<S, A, R> {
  const parsed = signature(text);
  class OneFunction extends Module {
    constructor(...args: Args<S>) {
      super();
      for (const [name, value] of Object.entries(parsed.bind(args))) {
        if (buffers.includes(name)) this.register_buffer(name, value as Tensor | null);
        else (this as unknown as Record<string, unknown>)[name] = value;
      }
      check?.(this as unknown as Bound<S> & Module);
    }
    override forward(...args: A): R {
      return call(this as unknown as Bound<S> & Module, ...args);
    }
    override extra_repr(): string {
      return repr?.(this as unknown as Bound<S> & Module) ?? "";
    }
  }
  return OneFunction as unknown as LayerClass<S, A, R>;
}
