/** @file Control flow, random bits, barriers and custom calls. Bodies of control flow can read values from outside. */
import { bool, int32, int64, uint32, uint64, type DType } from "../schema/dtype.js";
import { ReductionBuilder } from "./reduction.js";
import { ints, quote, symbol } from "./print.js";
import type { BuilderCore } from "./builder_core.js";
import { checkShape, fail, formatType, isTensor, tokenDType, tupleDType, type TensorType } from "./types.js";
import type { OpDef, Region, Value } from "./value.js";

export type RngAlgorithm = "DEFAULT" | "PHILOX" | "THREE_FRY";

/** An attribute of MLIR, as JavaScript values or as text of MLIR. */
export type Attribute = string | number | bigint | boolean | { readonly mlir: string };

export type Attributes = Readonly<Record<string, Attribute>>;

export interface OutputOperandAlias {
  /** Path to the result inside the tuple of results; [] when there is one result. */
  readonly output: readonly number[];
  readonly operand: number;
  readonly operandPath?: readonly number[];
}

export interface CustomCallOptions {
  /** A string, or attributes for typed calls (apiVersion 4). */
  readonly backendConfig?: string | Attributes;
  readonly apiVersion?: 1 | 2 | 3 | 4;
  readonly hasSideEffect?: boolean;
  readonly calledComputations?: readonly BuilderCore[];
  readonly outputOperandAliases?: readonly OutputOperandAlias[];
}

const WHILE: OpDef<null> = { name: "stablehlo.while", form: "generic" };
const IF: OpDef<null> = { name: "stablehlo.if", form: "generic" };
const CASE: OpDef<null> = { name: "stablehlo.case", form: "generic" };
const BARRIER: OpDef<null> = { name: "stablehlo.optimization_barrier", form: "generic" };
const RNG_BIT_GENERATOR: OpDef<RngAlgorithm> = {
  name: "stablehlo.rng_bit_generator",
  form: "generic",
  attributes: (a) => `rng_algorithm = #stablehlo<rng_algorithm ${a}>`,
};
const RNG: OpDef<"UNIFORM" | "NORMAL"> = {
  name: "stablehlo.rng",
  form: "generic",
  attributes: (d) => `rng_distribution = #stablehlo<rng_distribution ${d}>`,
};
const TUPLE: OpDef<null> = { name: "stablehlo.tuple", form: "generic" };
const GET_TUPLE_ELEMENT: OpDef<number> = {
  name: "stablehlo.get_tuple_element",
  form: "generic",
  attributes: (i) => `index = ${i} : i32`,
};
const CUSTOM_CALL: OpDef<{ target: string; options: CustomCallOptions }> = {
  name: "stablehlo.custom_call",
  form: "generic",
  functions: ({ options }) => options.calledComputations?.map((f) => f.name) ?? [],
  attributes: ({ target, options: o }) => {
    const parts = [`call_target_name = ${quote(target)}`];
    if (o.hasSideEffect) parts.push("has_side_effect = true");
    if (o.backendConfig !== undefined) parts.push(`backend_config = ${configText(o.backendConfig)}`);
    parts.push(`api_version = ${o.apiVersion ?? (typeof o.backendConfig === "object" ? 4 : 2)} : i32`);
    if (o.calledComputations)
      parts.push(`called_computations = [${o.calledComputations.map((f) => symbol(f.name)).join(", ")}]`);
    if (o.outputOperandAliases)
      parts.push(`output_operand_aliases = [${o.outputOperandAliases.map(aliasText).join(", ")}]`);
    return parts.join(", ");
  },
};

const COMPOSITE: OpDef<{ name: string; decomposition: string; attributes: Attributes; version: number }> = {
  name: "stablehlo.composite",
  form: "generic",
  functions: ({ decomposition }) => [decomposition],
  attributes: ({ name, decomposition, attributes, version }) =>
    `name = ${quote(name)}, decomposition = ${symbol(decomposition)}, composite_attributes = ${dictionary(attributes)}, version = ${version} : i32`,
};

const aliasText = (a: OutputOperandAlias): string =>
  `#stablehlo.output_operand_alias<output_tuple_indices = ${ints(a.output)}, operand_index = ${a.operand}, ` +
  `operand_tuple_indices = ${ints(a.operandPath ?? [])}>`;

function attributeText(value: Attribute): string {
  if (typeof value === "object") return value.mlir;
  if (typeof value === "string") return quote(value);
  if (typeof value === "boolean") return String(value);
  if (typeof value === "bigint" || Number.isInteger(value)) return `${value} : i64`;
  const text = String(value);
  return `${text.includes(".") ? text : text.replace(/(e|$)/, ".0$1")} : f64`;
}

function dictionary(attributes: Attributes): string {
  const entries = Object.entries(attributes).map(
    ([k, v]) => `${/^[A-Za-z_]\w*$/.test(k) ? k : quote(k)} = ${attributeText(v)}`,
  );
  return `{${entries.join(", ")}}`;
}

const configText = (config: string | Attributes): string =>
  typeof config === "string" ? quote(config) : dictionary(config);

const predicate: TensorType = { dtype: bool, shape: [] };
type Branch = () => readonly Value[];

export class ControlBuilder extends ReductionBuilder {
  /** Repeats `body` while `cond` holds; both get the loop's values. */
  while(
    inits: readonly Value[],
    cond: (values: Value[]) => Value,
    body: (values: Value[]) => readonly Value[],
  ): Value[] {
    const op = "while";
    if (inits.length === 0) fail(op, "at least one initial value", "none");
    const test = this.block(op, "cond", inits, (p) => [cond(p)]);
    this.checkReturns(op, "cond", test, [predicate]);
    const step = this.block(op, "body", inits, body);
    this.checkReturns(op, "body", step, inits);
    return this.emit(op, WHILE, [...inits], inits, null, [test, step]).results;
  }

  /** The results of `thenFn` where `pred` holds, of `elseFn` otherwise; only one of them runs. */
  if(pred: Value, thenFn: Branch, elseFn: Branch): Value[] {
    const op = "if";
    if (pred.dtype !== bool || pred.rank !== 0) fail(op, "a predicate i1[]", formatType(pred));
    const yes = this.block(op, "thenFn", [], thenFn);
    const no = this.block(op, "elseFn", [], elseFn);
    this.checkReturns(op, "elseFn", no, yes.results!);
    return this.emit(op, IF, [pred], yes.results!, null, [yes, no]).results;
  }

  /** The results of the branch that `index` (i32[]) selects; the last one when it is out of range. */
  case(index: Value, branches: readonly Branch[]): Value[] {
    const op = "case";
    if (index.dtype !== int32 || index.rank !== 0) fail(op, "an index i32[]", formatType(index));
    if (branches.length === 0) fail(op, "at least one branch", "none");
    const regions: Region[] = [];
    branches.forEach((fn, i) => {
      const region = this.block(op, `branch ${i}`, [], fn);
      if (i > 0) this.checkReturns(op, `branch ${i}`, region, regions[0].results!);
      regions.push(region);
    });
    return this.emit(op, CASE, [index], regions[0].results!, null, regions).results;
  }

  /** Random bits of an unsigned integer type (or any type of 8 to 64 bits), and the generator's next state. */
  rng_bit_generator(
    state: Value,
    algorithm: RngAlgorithm,
    dtype: DType,
    shape: readonly number[],
  ): [newState: Value, bits: Value] {
    const op = "rng_bit_generator";
    const words = state.dtype === uint64 ? 1 : 2;
    const sizes = algorithm === "PHILOX" ? [2 * words, 3 * words] : algorithm === "THREE_FRY" ? [2 * words] : null;
    const ok =
      (state.dtype === uint64 || state.dtype === uint32) &&
      state.rank === 1 &&
      (sizes === null || sizes.includes(state.shape[0]));
    if (!ok)
      fail(
        op,
        `a state ui64 or ui32 of ${sizes ? sizes.map((n) => n / words).join(" or ") : "some"} 64-bit words for ${algorithm}`,
        formatType(state),
      );
    if (dtype.kind === "bool" || dtype.kind === "complex" || dtype.bits < 8)
      fail(op, "an integer or float type of 8 bits or more", dtype.hlo);
    checkShape(op, shape);
    const { results } = this.emit(op, RNG_BIT_GENERATOR, [state], [state, { dtype, shape: [...shape] }], algorithm);
    return [results[0], results[1]];
  }

  /** Random numbers between `a` and `b` (UNIFORM), or of mean `a` and deviation `b` (NORMAL), from a hidden state. */
  rng(a: Value, b: Value, shape: readonly number[], distribution: "UNIFORM" | "NORMAL"): Value {
    this.checkSame("rng", a, b);
    if (a.rank !== 0) fail("rng", "bounds of rank 0", formatType(a));
    const ok = a.dtype.kind === "float" || (distribution === "UNIFORM" && a.dtype.kind !== "complex");
    this.checkDType("rng", a, ok, distribution === "NORMAL" ? "floats" : "integers, booleans or floats");
    checkShape("rng", shape);
    const dims = this.constant(BigInt64Array.from(shape, BigInt), int64, [shape.length]);
    return this.emit1("rng", RNG, [a, b, dims], a.dtype, [...shape], distribution);
  }

  /** The same values, which later operations cannot be moved ahead of. */
  optimization_barrier(xs: readonly Value[]): Value[] {
    return xs.length === 0 ? [] : this.emit("optimization_barrier", BARRIER, [...xs], xs, null).results;
  }

  tuple(xs: readonly Value[]): Value {
    const elements = xs.map(({ dtype, shape, elements: inner }) => ({ dtype, shape, elements: inner }));
    return this.emit("tuple", TUPLE, [...xs], [{ dtype: tupleDType, shape: [], elements }], null).results[0];
  }

  get_tuple_element(tuple: Value, index: number): Value {
    if (tuple.dtype !== tupleDType) fail("get_tuple_element", "a tuple", formatType(tuple));
    const type = tuple.elements![index];
    if (!type) fail("get_tuple_element", `an index in [0,${tuple.elements!.length})`, String(index));
    return this.emit("get_tuple_element", GET_TUPLE_ELEMENT, [tuple], [type], index).results[0];
  }

  /** Calls code that the plugin knows by name. */
  custom_call(
    target: string,
    inputs: readonly Value[],
    resultTypes: readonly TensorType[],
    options: CustomCallOptions = {},
  ): Value[] {
    const op = "custom_call";
    for (const t of resultTypes) checkShape(op, t.shape);
    const { backendConfig, apiVersion } = options;
    if (typeof backendConfig === "object" && apiVersion !== undefined && apiVersion !== 4)
      fail(op, "apiVersion 4 for a backendConfig of attributes", String(apiVersion));
    if (typeof backendConfig === "string" && apiVersion === 4)
      fail(op, "a backendConfig of attributes for apiVersion 4", "a string");
    for (const { operand } of options.outputOperandAliases ?? []) {
      if (!inputs[operand]) fail(op, `an aliased operand in [0,${inputs.length})`, String(operand));
    }
    for (const f of options.calledComputations ?? [])
      if (!f.results) fail(op, "called computations that have returned", f.name);
    const types = resultTypes.map(({ dtype, shape, elements }) => ({ dtype, shape: [...shape], elements }));
    const effects = options.hasSideEffect === true || types.some((t) => !isTensor(t) && t.dtype === tokenDType);
    return this.emit(op, CUSTOM_CALL, [...inputs], types, { target, options }, null, effects).results;
  }

  /** An operation made of others, under a name that a compiler may know; `decomposition` says what it computes. */
  composite(
    name: string,
    inputs: readonly Value[],
    decomposition: BuilderCore,
    options: { attributes?: Attributes; version?: number } = {},
  ): Value[] {
    const results = this.resultsOf("composite", decomposition, inputs);
    const { attributes = {}, version = 0 } = options;
    const attrs = { name, decomposition: decomposition.name, attributes, version };
    return this.emit("composite", COMPOSITE, [...inputs], results, attrs, null, decomposition.body.effects).results;
  }
}
