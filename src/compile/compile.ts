/** @file `torch.compile`: a function that runs as one program. */
import { currentTrace, EagerMode, GraphBreak, withEagerMode } from "../dispatch/index.js";
import { TorchError, TorchValueError } from "../schema/index.js";
import { Tensor } from "../tensor/index.js";
import { config } from "./config.js";
import type { CompiledEntry } from "./entry.js";
import { flatten, type Structure } from "./pytree.js";
import { traceCall, type AnyFunction } from "./tracer.js";

export interface CompileOptions {
  /** A read of a value inside is an error instead of a break. */
  fullgraph?: boolean;
  /** Only "tpu" (XLA) and "eager" (runs the function as it is). */
  backend?: "tpu" | "xla" | "eager";
  /** How hard the compiler tries: "default" and the "max-autotune" kinds in full, "reduce-overhead" too; "fast" little. */
  mode?: "default" | "reduce-overhead" | "max-autotune" | "max-autotune-no-cudagraphs" | "fast" | null;
  /** The name of the programs in profiles and errors. */
  options?: {
    name?: string;
    /** Compile in another thread; until the program is there, calls run in pieces. */
    async_compile?: boolean;
  };
  /** Returns the function as it is. */
  disable?: boolean;
}

/** A compiled function: called as the one it was made of. */
export type Compiled<F> = F & {
  /** The function or module that was compiled. */
  readonly _orig_mod: F;
};

let nextName = 0;
const functions = new Set<WeakRef<CompiledFunction>>();

/** What `torch.compiler.set_stance` chose for all compiled functions. */
export type Stance = "default" | "force_eager" | "eager_on_recompile" | "fail_on_recompile";
export const stance: { current: Stance } = { current: "default" };

/** The programs of one function, by the conditions under which they hold. */
export class CompiledFunction {
  /** The most recently used first. */
  readonly entries: CompiledEntry[] = [];
  /** Reads of values that ended a trace. */
  readonly breaks: string[] = [];
  private givenUp = false;
  private readonly name: string;
  constructor(
    readonly fn: AnyFunction,
    readonly options: CompileOptions,
  ) {
    this.name = options.options?.name ?? (programName(fn) || `compiled_${nextName++}`);
    functions.add(new WeakRef(this));
  }

  call(args: readonly unknown[]): unknown {
    if (currentTrace() !== null || config.disable || stance.current === "force_eager")
      return this.fn(...(args as never[]));
    if (this.givenUp) return this.runInPieces(args);
    const leaves: unknown[] = [];
    const structure = flatten(args, leaves);
    const entry = this.find(structure, leaves) ?? this.newEntry(args, structure, leaves);
    if (entry === null) return this.runInPieces(args);
    if (this.options.options?.async_compile && !entry.isCompiled) {
      void this.prepare(entry);
      return this.runInPieces(args);
    }
    return entry.run(leaves);
  }

  /** Traces a call without running it, and compiles its program in another thread. */
  async warmUp(args: readonly unknown[]): Promise<void> {
    const leaves: unknown[] = [];
    const structure = flatten(args, leaves);
    const entry = this.find(structure, leaves) ?? this.trace(args, structure, leaves);
    if (entry !== null) await this.prepare(entry);
  }

  private readonly preparing = new Map<CompiledEntry, Promise<void>>();
  private prepare(entry: CompiledEntry): Promise<void> {
    let running = this.preparing.get(entry);
    if (!running) {
      running = entry.prepare().finally(() => this.preparing.delete(entry));
      this.preparing.set(entry, running);
    }
    return running;
  }

  /** Runs the function as it is, with the operators between two reads of a value as one program. */
  private runInPieces(args: readonly unknown[]): unknown {
    return withEagerMode(EagerMode.DEFER_AND_FUSE, () => this.fn(...(args as never[])));
  }

  private find(structure: Structure, leaves: readonly unknown[]): CompiledEntry | null {
    const { entries } = this;
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i];
      if (whyNot(entry, structure, leaves) !== null) continue;
      if (i > 0) {
        entries.splice(i, 1);
        entries.unshift(entry);
      }
      return entry;
    }
    return null;
  }

  private newEntry(args: readonly unknown[], structure: Structure, leaves: readonly unknown[]): CompiledEntry | null {
    if (stance.current === "eager_on_recompile" && this.entries.length > 0) return null;
    if (stance.current === "fail_on_recompile" && this.entries.length > 0)
      throw new TorchError(
        `Detected recompile when torch.compile stance is 'fail_on_recompile'. ${this.name}: ${whyNot(this.entries[0], structure, leaves)}`,
      );
    return this.trace(args, structure, leaves);
  }

  /** A new entry for a call that no entry fits; null when the function must run as it is. */
  trace(args: readonly unknown[], structure: Structure, leaves: readonly unknown[]): CompiledEntry | null {
    if (this.entries.length >= config.recompile_limit) {
      this.warnLimit(structure, leaves);
      if (config.fail_on_recompile_limit_hit)
        throw new TorchError(`${this.name}: recompile_limit reached (${config.recompile_limit})`);
      return null;
    }
    try {
      const effort = this.options.mode === "fast" ? "fast" : "full";
      const entry = traceCall(this.fn, args, structure, leaves, { name: this.name, effort });
      this.entries.unshift(entry);
      return entry;
    } catch (error) {
      if (!(error instanceof GraphBreak)) throw error;
      this.breaks.push(error.message);
      if (this.options.fullgraph)
        throw new TorchError(`torch.compile(fullgraph=True): expected one graph, but ${error.message}`, {
          cause: error,
        });
      this.givenUp = true;
      return null;
    }
  }

  private warned = false;
  private warnLimit(structure: Structure, leaves: readonly unknown[]): void {
    if (this.warned) return;
    this.warned = true;
    const reasons = this.entries.map((e) => whyNot(e, structure, leaves)).filter((r) => r !== null);
    process.emitWarning(
      `torch.compile hit config.recompile_limit (${config.recompile_limit}) for ${this.name}; from here on calls that fit no program run in pieces. Last reason: ${reasons[0] ?? "none"}`,
      "TorchTpuWarning",
    );
  }

  reset(): void {
    this.entries.length = 0;
    this.breaks.length = 0;
    this.givenUp = this.warned = false;
  }
}

/** Why an entry does not fit a call; null when it does. */
export function whyNot(entry: CompiledEntry, structure: Structure, leaves: readonly unknown[]): string | null {
  const wrong = entry.mismatch(structure, leaves);
  if (wrong !== null) return wrong;
  for (const guard of entry.guards) if (!guard.holds()) return `no longer: ${guard.what}`;
  return null;
}

const programName = (fn: AnyFunction): string => {
  const name = "_get_name" in fn ? (fn as unknown as { _get_name(): string })._get_name() : fn.name;
  return name.replace(/[^A-Za-z0-9_]/g, "_");
};

const compiledOf = new WeakMap<object, CompiledFunction>();

/** @internal What is behind a compiled function. */
export const compiledFunction = (fn: object): CompiledFunction | undefined => compiledOf.get(fn);

/** @internal All that are alive. */
export function* allCompiled(): IterableIterator<CompiledFunction> {
  for (const ref of functions) {
    const found = ref.deref();
    if (found) yield found;
    else functions.delete(ref);
  }
}

const backends = new Set(["tpu", "xla", "eager"]);

/**
 * A function that runs as one program: its operators are recorded at the first call, compiled together, and run again at
 * every call to which the program applies. Tensors that it uses from outside (parameters, optimizer state) are read and
 * written in place. What it does besides (printing, counting) happens when it is traced, not at every call. A module keeps
 * its parameters and methods.
 * @param fn A function or a module.
 * @returns A function that is called like `fn`.
 * @example
 * const step = torch.compile((x: Tensor, y: Tensor) => {
 *   const loss = F.cross_entropy(model(x), y);
 *   loss.backward();
 *   optimizer.step();
 *   optimizer.zero_grad();
 *   return loss;
 * });
 * @throws TorchError with `fullgraph`, where a value is read inside.
 * @see https://docs.pytorch.org/docs/stable/generated/torch.compile.html
 */
export function compile<F extends AnyFunction>(fn: F, options: CompileOptions = {}): Compiled<F> {
  if (typeof fn !== "function" || fn instanceof Tensor)
    throw new TorchValueError(`compile(): expected a function or a module, got ${fn === null ? "null" : typeof fn}`);
  const { backend = "tpu" } = options;
  if (!backends.has(backend))
    throw new TorchValueError(`compile(): expected backend to be one of ${[...backends].join(", ")}, got '${backend}'`);
  if (options.disable || backend === "eager") return fn as Compiled<F>;
  const compiled = new CompiledFunction(fn, options);
  const proxy = new Proxy(fn, {
    apply: (_target, _self, args) => compiled.call(args),
    get: (target, key, receiver) => (key === "_orig_mod" ? target : (Reflect.get(target, key, receiver) as unknown)),
  });
  compiledOf.set(proxy, compiled);
  return proxy as Compiled<F>;
}
