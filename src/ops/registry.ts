/** @file The operator registry: one entry per operator says everything that is known of it. */
import type { Functional } from "../api/generated/functional.js";
import type { Builder, Value } from "../hlo/index.js";
import { parseSchema, type Aval, type FunctionSchema, type SchemaArgument } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { autocastFact, type AutocastFact } from "./autocast.js";
import type { ArgsOf, ResultOf, ScalarArgument } from "./schema_types.js";
import type { ScalarValue } from "./scalar_value.js";
import type { ViewStep } from "./view_steps.js";

/** What a lowering may ask for besides its arguments. */
export interface LoweringContext {
  /** The state of the random number generator for this call: ui64[2] of key and counter. */
  rng(): Value;
}

/** A view operator sees of its tensor what does not depend on the values. */
export interface ViewInput {
  readonly aval: Aval;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly storage_offset: number;
  /** The storage's own aval, for `as_strided`. */
  readonly base: Aval;
}

/** A step with the number that its run-time offset takes. `fromBase`: the step starts at the storage. */
export interface PlacedStep {
  readonly step: ViewStep;
  readonly offset?: number;
  readonly fromBase?: boolean;
}

/** The torch functions, for gradients and decompositions. */
export type Torch = Functional;

/** Marks an operator through which no gradient flows. */
export const notDifferentiable = "not differentiable";

type Cotangent = Tensor | null | undefined | readonly (Tensor | null | undefined)[];

export interface OpDefinition<T extends string> {
  /** StableHLO for the results. Of an operator that `mutates`, the new values of those arguments follow the results. */
  lower?(h: Builder, args: ArgsOf<T, Value, ScalarValue>, context: LoweringContext): Value | Value[];
  /** The operator written with others. Runs as one program, and so does its gradient, unless `grad` gives one. */
  decompose?(t: Torch, args: ArgsOf<T, Tensor, ScalarArgument>): ResultOf<T, Tensor>;
  /** Ordinary calls of other operators, each its own program: for views, and for results shaped by values. */
  composite?(t: Torch, args: ArgsOf<T, Tensor, ScalarArgument>): unknown;
  /** The view steps of a view operator, applied to its first argument. */
  view?(args: ArgsOf<T, ViewInput, number>): readonly PlacedStep[];
  /**
   * Cotangents of the tensor arguments by name, from those of the results. `out` are the results.
   * An argument left out has gradient zero.
   */
  grad?:
    | ((
        t: Torch,
        args: ArgsOf<T, Tensor, ScalarArgument>,
        dy: ResultOf<T, Tensor>,
        out: ResultOf<T, Tensor>,
      ) => Record<string, Cotangent>)
    | typeof notDifferentiable;
  /** Numbers of these names shape the program: a new value compiles anew. Other Scalars are run-time inputs. */
  statics?: readonly string[];
  /** Arguments of type float that enter when the program runs, as Scalars do. Other floats shape the program. */
  runtime?: readonly string[];
  /** Draws random numbers. */
  random?: boolean;
  /** Tensors that may be given as plain numbers: by the entry's overloads that say Scalar, or else by any. */
  numbers?: readonly string[];
  /** Numbers also stand for the tensors of overloads that have a Scalar twin, as in PyTorch's `torch.add(2, 3)`. */
  wrapsNumbers?: boolean;
  /** Throws for values that PyTorch refuses and that are no part of the program, such as a negative exponent. */
  check?(args: ArgsOf<T, Tensor, ScalarArgument>): void;
  /** Tensors may be given one by one for the list of tensors, as in `torch.block_diag(a, b)`. */
  variadic?: boolean;
  /** `out` must have the type of the result; PyTorch casts to it elsewhere. */
  exactOut?: boolean;
  /** Arguments that the operator overwrites, in the order in which `lower` returns their new values. */
  mutates?: readonly string[];
  /** Reads of its tensors only type and shape, as `zeros_like` does. */
  shapeOnly?: boolean;
  /** Makes tensors from no tensor: dtype, device and requires_grad are arguments. */
  factory?: boolean;
  /** Results (by position) that carry no gradient, such as indices. */
  nonDifferentiableOutputs?: readonly number[];
  /** One line for the documentation. */
  doc?: string;
}

/** How the dispatcher treats one argument. */
export const enum ArgKind {
  Tensor,
  OptionalTensor,
  TensorList,
  OptionalTensorList,
  Scalar,
  ScalarList,
  Static,
  /** Says where or from which stream, not what: no part of the program. */
  Placement,
}

/** One callable form of an operator. */
export class Overload {
  readonly kinds: readonly ArgKind[];
  readonly positional: number;
  readonly index: ReadonlyMap<string, number>;
  /** Program caches; they belong to the dispatcher. */
  readonly caches: unknown[] = [];
  /** Whether it overwrites its first argument and returns it, as `copy_` does. */
  readonly isInplace: boolean;
  /** Where the arguments of the entry's first schema are found in this one's; -1: nowhere. */
  readonly fromFirst: readonly number[];
  constructor(
    readonly schema: FunctionSchema,
    readonly entry: OpEntry,
  ) {
    this.kinds = schema.args.map((a) => argKind(a, entry.definition));
    this.positional = schema.args.filter((a) => !a.kwargOnly).length;
    this.index = new Map(schema.args.map((a, i) => [a.name, i]));
    this.isInplace =
      entry.definition.mutates === undefined &&
      schema.args[0]?.type.alias === "write" &&
      schema.args[0].type.list === null &&
      schema.name.endsWith("_");
    this.fromFirst = entry.firstSchema.args.map((a) => this.index.get(a.name) ?? -1);
  }
  /** Arguments by name, those of the entry's first schema all present. */
  named(args: readonly unknown[]): Record<string, unknown> {
    const out: Record<string, unknown> = {};
    const first = this.entry.firstSchema.args;
    for (let i = 0; i < first.length; i++) {
      const at = this.fromFirst[i];
      out[first[i].name] = at < 0 ? (first[i].defaultValue ?? null) : args[at];
    }
    return out;
  }
  get name(): string {
    return this.schema.name;
  }
  /** Whether a number may be given for the tensor at position `i`. */
  takesNumber(i: number): boolean {
    return (this.acceptsNumbers[i] ??= this.findTakesNumber(this.schema.args[i].name));
  }
  private readonly acceptsNumbers: boolean[] = [];
  private findTakesNumber(name: string): boolean {
    const { numbers, wrapsNumbers } = this.entry.definition;
    if (!numbers?.includes(name)) return false;
    return wrapsNumbers === true || !this.entry.overloads.some((o) => o.typeOf(name) === "Scalar");
  }
  private typeOf(name: string): string | null {
    const at = this.index.get(name);
    return at === undefined ? null : this.schema.args[at].type.base;
  }
  /** Where a method's own tensor goes: to the argument `self`, else to the first one. -1: this is no method. */
  get selfIndex(): number {
    const at = this.index.get("self") ?? 0;
    const type = this.schema.args.at(at)?.type;
    return type?.base === "Tensor" && type.list === null ? at : -1;
  }
  /** `aten::add.Tensor`. */
  get qualified(): string {
    return `aten::${this.schema.name}${this.schema.overload ? `.${this.schema.overload}` : ""}`;
  }
}

function argKind(argument: SchemaArgument, definition: AnyDefinition): ArgKind {
  const { base, list, optional, optionalElements } = argument.type;
  if (base === "Tensor") {
    if (list !== null) return optionalElements ? ArgKind.OptionalTensorList : ArgKind.TensorList;
    return optional ? ArgKind.OptionalTensor : ArgKind.Tensor;
  }
  // a number that stands where the entry's first schema has a tensor
  if (base === "Scalar" && list === null && definition.numbers?.includes(argument.name)) return ArgKind.Tensor;
  if (base === "float" && definition.runtime?.includes(argument.name)) return ArgKind.Scalar;
  if (base === "Scalar" && !definition.statics?.includes(argument.name))
    return list === null ? ArgKind.Scalar : ArgKind.ScalarList;
  return base === "Device" || base === "Generator" || base === "Layout" ? ArgKind.Placement : ArgKind.Static;
}

type Loose = Record<string, unknown>;

/** An entry's definition without the types that its schema gave it. */
export interface AnyDefinition extends Omit<
  OpDefinition<string>,
  "lower" | "decompose" | "composite" | "view" | "grad" | "check"
> {
  lower?(h: Builder, args: Loose, context: LoweringContext): Value | Value[];
  decompose?(t: Torch, args: Loose): unknown;
  composite?(t: Torch, args: Loose): unknown;
  check?(args: Loose): void;
  view?(args: Loose): readonly PlacedStep[];
  grad?: ((t: Torch, args: Loose, dy: unknown, out: unknown) => Record<string, Cotangent>) | typeof notDifferentiable;
}

/** One operator: its schemas and its definition. */
export class OpEntry {
  readonly overloads: readonly Overload[];
  readonly firstSchema: FunctionSchema;
  /** What autocast does to its arguments. */
  readonly autocast: AutocastFact | null;
  constructor(
    readonly name: string,
    schemas: readonly FunctionSchema[],
    readonly definition: AnyDefinition,
  ) {
    this.firstSchema = schemas[0];
    this.autocast = autocastFact(name);
    this.overloads = schemas.map((s) => new Overload(s, this));
  }
}

/** Every overload of one operator name, in the order in which they are tried. */
export class OpGroup {
  readonly overloads: Overload[] = [];
  constructor(readonly name: string) {}
}

const groups = new Map<string, OpGroup>();

/** Every operator, by name. */
export const operators: ReadonlyMap<string, OpGroup> = groups;

/**
 * Registers an operator. With several schemas, the first holds every argument, and the others are forms of it:
 * what they leave out takes the first one's default.
 */
export function op<const T extends string>(
  schema: T | readonly [T, ...string[]],
  definition: OpDefinition<T>,
): OpEntry {
  const schemas = (typeof schema === "string" ? [schema] : schema).map(parseSchema);
  const entry = new OpEntry(schemas[0].name, schemas, definition as unknown as AnyDefinition);
  for (const overload of entry.overloads) {
    let group = groups.get(overload.name);
    if (!group) groups.set(overload.name, (group = new OpGroup(overload.name)));
    if (group.overloads.some((o) => o.schema.overload === overload.schema.overload)) {
      throw new Error(`op(): expected one definition of ${overload.qualified}, got a second`);
    }
    group.overloads.push(overload);
  }
  return entry;
}
