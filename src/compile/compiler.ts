/** @file `torch.compiler`: what can be asked of compiled functions and told to them. */
import { currentTrace } from "../dispatch/index.js";
import { TorchError, TorchValueError } from "../schema/index.js";
import { allCompiled, compile, compiledFunction, CompiledFunction, stance, type Stance } from "./compile.js";
import { flatten } from "./pytree.js";
import { traceCall, type AnyFunction } from "./tracer.js";

export { config } from "./config.js";

/** Whether a function is being traced for compilation at present. */
export const is_compiling = (): boolean => (currentTrace()?.host ?? null) !== null;
export { is_compiling as is_dynamo_compiling };

/** Forgets all programs of all compiled functions; programs on disk stay. */
export function reset(): void {
  for (const fn of allCompiled()) fn.reset();
}

/** The backends that `torch.compile` knows. */
export const list_backends = (): string[] => ["tpu", "xla", "eager"];

/** The function, or module, that is never part of a compiled one: calling it ends the trace. */
export function disable<F extends AnyFunction>(fn: F): F {
  return new Proxy(fn, {
    apply: (target, self, args) => {
      const trace = currentTrace();
      if (trace !== null) trace.breakHere(`${target.name || "a function"} is disabled for compilation`);
      return Reflect.apply(target, self, args) as unknown;
    },
  });
}

const stances: readonly Stance[] = ["default", "force_eager", "eager_on_recompile", "fail_on_recompile"];

/** How compiled functions behave from now on; with `fn`, while it runs, and returns its result. */
export function set_stance(to: Stance): void;
export function set_stance<R>(to: Stance, fn: () => R): R;
export function set_stance<R>(to: Stance, fn?: () => R): R | void {
  if (!stances.includes(to))
    throw new TorchValueError(`set_stance(): expected one of ${stances.join(", ")}, got '${String(to)}'`);
  const before = stance.current;
  stance.current = to;
  if (fn === undefined) return;
  try {
    return fn();
  } finally {
    stance.current = before;
  }
}

/** What tracing a call shows. */
export interface Explanation {
  readonly graph_count: number;
  readonly graph_break_count: number;
  readonly op_count: number;
  /** Why the trace ended, each with the user's line. */
  readonly break_reasons: readonly string[];
  /** The operators of each graph, with the user's lines. */
  readonly ops_per_graph: readonly (readonly string[])[];
  /** The conditions under which the program holds, beside those on the arguments. */
  readonly guards: readonly string[];
  /** Tensors that the program reads, overwrites, hands out. */
  readonly inputs: number;
  readonly writes: number;
  readonly results: number;
}

/**
 * `torch._dynamo.explain(fn)(...args)`: traces the call without running or compiling it, and says what came of it.
 * @example console.log(torch.compiler.explain(step)(x, y).break_reasons);
 */
export function explain<F extends AnyFunction>(fn: F): (...args: Parameters<F>) => Explanation {
  return (...args) => {
    const compiled = new CompiledFunction(originalOf(fn), {});
    const leaves: unknown[] = [];
    const structure = flatten(args, leaves);
    const entry = compiled.trace(args, structure, leaves);
    const plan = entry?.plan ?? null;
    const nodes = plan?.kernel?.spec.graph.nodes ?? [];
    const ops = nodes.map(({ name, location }) =>
      location === null ? name : `${name} at ${location.file}:${location.line}:${location.column}`,
    );
    return {
      graph_count: entry === null ? 0 : 1,
      graph_break_count: compiled.breaks.length,
      op_count: ops.length,
      break_reasons: compiled.breaks,
      ops_per_graph: entry === null ? [] : [ops],
      guards: entry?.guards.map((g) => g.what) ?? [],
      inputs: plan?.inputs.length ?? 0,
      writes: plan?.writes.length ?? 0,
      results: plan?.savedFrom ?? 0,
    };
  };
}

/**
 * The StableHLO module, as text, that a call of `fn` runs, the tensors from outside as inputs after the arguments.
 * Throws TorchError where the function cannot be traced as a whole.
 */
export function export_stablehlo<F extends AnyFunction>(fn: F, ...args: Parameters<F>): string {
  const leaves: unknown[] = [];
  const structure = flatten(args, leaves);
  const entry = traceCall(originalOf(fn), args, structure, leaves, { name: fn.name || "main", effort: "full" });
  if (entry.plan.kernel === null)
    throw new TorchError("export_stablehlo(): expected a function that computes something, got one that does not");
  return entry.plan.kernel.text;
}

/**
 * Compiles the programs of `fn` for these calls in other threads, without running them; the event loop goes on meanwhile.
 * @param calls The arguments of each call, such as one for every shape.
 * @returns The compiled function, once all programs are there.
 * @example const step = await torch.compiler.async_compile(fn, [[small], [large]]);
 */
export async function async_compile<F extends AnyFunction>(fn: F, calls: readonly Parameters<F>[]): Promise<F> {
  const compiled = compiledFunction(fn) ? fn : compile(fn);
  await Promise.all(calls.map((args) => compiledFunction(compiled)!.warmUp(args)));
  return compiled;
}

const originalOf = (fn: AnyFunction): AnyFunction => compiledFunction(fn)?.fn ?? fn;
