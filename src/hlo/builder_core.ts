/** @file The part of the builder that records: operations, regions, scopes, locations, the return of a function. */
import type { DType } from "../schema/dtype.js";
import { nameList, signature, symbol } from "./print.js";
import { checkSharding, type Mesh, type Sharding } from "./sharding.js";
import { fail, formatType, isTensor, sameShape, sameType, type TensorType } from "./types.js";
import { Op, Region, Value, type Location, type OpDef, type RegionOptions } from "./value.js";

/** A parameter of a function. */
export interface ParamSpec extends TensorType {
  /** The result that may reuse this parameter's buffer (`tf.aliasing_output`). */
  readonly aliasOutput?: number;
  /** Whether the buffer may be reused for any result (`jax.buffer_donor`). */
  readonly donor?: boolean;
  readonly sharding?: Sharding;
  /** Shown as the parameter's location. */
  readonly name?: string;
}

export interface ReturnOptions {
  /** One sharding for each result; undefined leaves the choice to the partitioner. */
  readonly shardings?: readonly (Sharding | undefined)[];
}

/** The elementwise operations that a reduction can be made of. */
export type ReduceKind = "add" | "multiply" | "maximum" | "minimum" | "and" | "or" | "xor";

/** The module that a function is part of. */
export interface FunctionOwner {
  readonly name: string;
  mesh(mesh: Mesh): Mesh;
}

const CALL: OpDef<string> = {
  name: "func.call",
  form: "function",
  print: (callee, op) => `func.call ${symbol(callee)}(${nameList(op.operands)}) : ${signature(op)}`,
  functions: (callee) => [callee],
};
const none: readonly TensorType[] = [];

export class BuilderCore {
  readonly body: Region;
  protected current: Region;
  private location: Location | null = null;
  resultShardings: readonly (Sharding | undefined)[] = [];

  constructor(
    readonly name: string,
    readonly specs: readonly ParamSpec[],
    readonly isPublic: boolean,
    readonly module: FunctionOwner,
  ) {
    this.body = new Region(null, specs, { terminator: "return" });
    this.current = this.body;
  }

  /** The function's parameters. */
  get params(): Value[] {
    return this.body.params;
  }

  /** Types of the results; null before `return`. */
  get results(): readonly Value[] | null {
    return this.body.results;
  }

  /** Records an operation; its results have `types`. */
  protected emit<A>(
    op: string,
    def: OpDef<A>,
    operands: readonly Value[],
    types: readonly TensorType[],
    attrs: A,
    regions: readonly Region[] | null = null,
    effects = def.effects === true,
  ): Op {
    const { current } = this;
    for (let i = 0; i < operands.length; i++) if (operands[i].region !== current) this.checkVisible(op, operands[i]);
    if (current.results !== null) fail(op, "no operation after return()", op);
    if (regions !== null) for (const r of regions) effects ||= r.effects;
    const record = new Op(def as OpDef<never>, operands, types, attrs, regions, this.location, current, effects);
    if (effects) current.effects = true;
    current.ops.push(record);
    return record;
  }

  /** Records an operation with one result. */
  protected emit1<A>(
    op: string,
    def: OpDef<A>,
    operands: readonly Value[],
    dtype: DType,
    shape: readonly number[],
    attrs: A,
  ): Value {
    const { current } = this;
    for (let i = 0; i < operands.length; i++) if (operands[i].region !== current) this.checkVisible(op, operands[i]);
    if (current.results !== null) fail(op, "no operation after return()", op);
    const effects = def.effects === true;
    const record = new Op(def as OpDef<never>, operands, none, attrs, null, this.location, current, effects);
    if (effects) current.effects = true;
    current.ops.push(record);
    const value = new Value(dtype, shape, current, record);
    record.results.push(value);
    return value;
  }

  private checkVisible(op: string, v: Value): void {
    if (!(v instanceof Value)) fail(op, "a Value", describe(v));
    const barrier = v.region.barrierTo(this.current);
    if (barrier === null) return;
    if (barrier.closed)
      fail(op, "a value of the body, whose operation does not let it read others", `${formatType(v)} from outside`);
    if (this.body.barrierTo(v.region) === null)
      fail(op, "a value that is visible here", `${formatType(v)} of a region that has ended`);
    fail(op, `a value of function ${this.name}`, `${formatType(v)} of another function`);
  }

  /** Records a block of operations: `fn` gets its parameters and returns its results. */
  protected block(
    op: string,
    what: string,
    types: readonly TensorType[],
    fn: (params: Value[]) => readonly Value[],
    options?: RegionOptions,
  ): Region {
    const outer = this.current;
    const region = new Region(outer, types, options);
    this.current = region;
    try {
      const results = fn(region.params);
      if (!Array.isArray(results)) fail(op, `${what} to return a list of values`, describe(results));
      for (const r of results) this.checkVisible(op, r);
      region.results = results;
    } finally {
      this.current = outer;
    }
    return region;
  }

  /** Throws unless the block returns values of these types. */
  protected checkReturns(op: string, what: string, region: Region, types: readonly TensorType[]): void {
    const results = region.results!;
    if (results.length === types.length && results.every((r, i) => sameType(r, types[i]))) return;
    fail(op, `${what} to return (${types.map(formatType).join(", ")})`, `(${results.map(formatType).join(", ")})`);
  }

  /** Ends the function with these results. */
  return(values: readonly Value[], options: ReturnOptions = {}): void {
    if (this.current !== this.body) fail("return", "the end of a function", "a call inside a region");
    if (this.body.results !== null) fail("return", "one return()", "a second one");
    for (const v of values) this.checkVisible("return", v);
    const { shardings = [] } = options;
    if (shardings.length > values.length)
      fail("return", `at most ${values.length} shardings`, String(shardings.length));
    shardings.forEach((s, i) => s && this.checkSharding("return", s, values[i]));
    this.specs.forEach((p, i) => {
      if (p.aliasOutput === undefined) return;
      const out = values[p.aliasOutput];
      if (out === undefined)
        fail("return", `aliasOutput of parameter ${i} in [0,${values.length})`, String(p.aliasOutput));
      if (!sameType(out, p))
        fail("return", `result ${p.aliasOutput} of the type of parameter ${i}, ${formatType(p)}`, formatType(out));
    });
    this.body.results = [...values];
    this.resultShardings = shardings;
  }

  /** The results of a function that has returned; throws unless `args` have the types of its parameters. */
  protected resultsOf(op: string, fn: BuilderCore, args: readonly Value[]): readonly Value[] {
    const { results, params } = fn;
    if (fn.module !== this.module)
      fail(op, `a function of module ${this.module.name}`, `${fn.name} of module ${fn.module.name}`);
    if (fn === this || results === null) fail(op, "a function that has returned", fn.name);
    if (args.length !== params.length || !args.every((a, i) => sameType(a, params[i]))) {
      fail(op, `(${params.map(formatType).join(", ")}) for ${fn.name}`, `(${args.map(formatType).join(", ")})`);
    }
    return results;
  }

  /** Calls a function of the same module that has returned. */
  call(fn: BuilderCore, args: readonly Value[]): Value[] {
    const results = this.resultsOf("call", fn, args);
    return this.emit("call", CALL, [...args], results, fn.name, null, fn.body.effects).results;
  }

  /** Operations recorded by `fn` carry this location in profiles and in XLA's errors. */
  withLocation<R>(location: Location, fn: () => R): R {
    const outer = this.location;
    this.location = location;
    try {
      return fn();
    } finally {
      this.location = outer;
    }
  }

  /** Throws unless the two have the same type. */
  protected checkSame(op: string, a: Value, b: Value): void {
    if (a?.dtype !== b?.dtype || !sameShape(a.shape, b.shape)) {
      this.checkTensor(op, a);
      this.checkTensor(op, b);
      fail(op, "operands of the same type", `${formatType(a)} and ${formatType(b)}`);
    }
  }

  protected checkSharding(op: string, sharding: Sharding, type: TensorType): void {
    checkSharding(op, sharding, type);
    this.module.mesh(sharding.mesh);
  }

  /** Throws for tokens, tuples and what is no Value. */
  protected checkTensor(op: string, x: Value): void {
    if (!(x instanceof Value)) fail(op, "a Value", describe(x));
    if (!isTensor(x)) fail(op, "a tensor", formatType(x));
  }

  /** Throws unless `x` has one of `kinds`, described as `expected`. */
  protected checkDType(op: string, x: Value, ok: boolean, expected: string): void {
    if (ok) return;
    this.checkTensor(op, x);
    fail(op, expected, formatType(x));
  }
}

function describe(x: unknown): string {
  if (x === null || x === undefined) return String(x);
  return typeof x === "object" ? `an object (${x.constructor?.name ?? "no class"})` : `${typeof x} ${String(x)}`;
}
