/**
 * @file The JSON of an exported program, as PyTorch's `torch/_export/serde/schema.py` describes it: types, and the checks
 * that what was read has their form. A union is an object with one member, named after the case.
 */
import { TorchError } from "../schema/index.js";

/** A .pt2 file that is not what it should be, or that holds what cannot run here. */
export class ExportError extends TorchError {
  override name = "ExportError";
}

export interface Named {
  readonly name: string;
}
/** One case of a union, such as `{ as_int: 3 }`. */
export type Union = Readonly<Record<string, unknown>>;

export interface TensorMeta {
  readonly dtype: number;
  readonly sizes: readonly Union[];
  readonly strides: readonly Union[];
  readonly storage_offset: Union;
  readonly requires_grad: boolean;
}
export interface NodeInput {
  readonly name: string;
  readonly arg: Union;
  /** 1: given by position; 2: by name. */
  readonly kind?: number | null;
}
export interface NodeJson {
  readonly target: string;
  readonly inputs: readonly NodeInput[];
  readonly outputs: readonly Union[];
  readonly name?: string | null;
}
export interface GraphJson {
  readonly inputs: readonly Union[];
  readonly outputs: readonly Union[];
  readonly nodes: readonly NodeJson[];
  readonly tensor_values: Readonly<Record<string, TensorMeta>>;
  readonly sym_int_values: Readonly<Record<string, Union>>;
  readonly is_single_tensor_return?: boolean;
}
export interface SignatureJson {
  readonly input_specs: readonly Union[];
  readonly output_specs: readonly Union[];
}
export interface ProgramJson {
  readonly graph_module: {
    readonly graph: GraphJson;
    readonly signature: SignatureJson;
    readonly module_call_graph: readonly {
      readonly fqn: string;
      readonly signature?: {
        readonly in_spec: string;
        readonly out_spec: string;
        readonly forward_arg_names?: readonly string[] | null;
      } | null;
    }[];
  };
  readonly range_constraints: Readonly<Record<string, { min_val: number | null; max_val: number | null }>>;
  readonly schema_version: { readonly major: number; readonly minor: number };
  readonly torch_version?: string;
}

type Check = (x: unknown, at: string) => void;

const fail = (at: string, expected: string): never => {
  throw new ExportError(`torch.export.load(): expected ${expected} at ${at} of the program`);
};
const isObject = (x: unknown): x is Record<string, unknown> => typeof x === "object" && x !== null && !Array.isArray(x);

const text: Check = (x, at) => void (typeof x === "string" || fail(at, "a text"));
const number: Check = (x, at) => void (typeof x === "number" || fail(at, "a number"));
const union: Check = (x, at) => void ((isObject(x) && Object.keys(x).length === 1) || fail(at, "one case of a union"));
const anything: Check = () => {};
const list =
  (of: Check): Check =>
  (x, at) => {
    if (!Array.isArray(x)) fail(at, "a list");
    (x as unknown[]).forEach((e, i) => of(e, `${at}[${i}]`));
  };
const table =
  (of: Check): Check =>
  (x, at) => {
    if (!isObject(x)) return fail(at, "an object");
    for (const [k, v] of Object.entries(x)) of(v, `${at}.${k}`);
  };
const optional =
  (of: Check): Check =>
  (x, at) =>
    void (x === undefined || x === null || of(x, at));
const object =
  (members: Record<string, Check>): Check =>
  (x, at) => {
    if (!isObject(x)) return fail(at, "an object");
    for (const [name, check] of Object.entries(members)) check(x[name], `${at}.${name}`);
  };

export const checkTensorMeta = object({
  dtype: number,
  sizes: list(union),
  strides: list(union),
  storage_offset: union,
});
const node = object({
  target: text,
  inputs: list(object({ name: text, arg: union })),
  outputs: list(union),
});
/** Graphs of branches are checked as well, when they are read. */
export const checkGraph: Check = object({
  inputs: list(union),
  outputs: list(union),
  nodes: list(node),
  tensor_values: table(checkTensorMeta),
  sym_int_values: optional(table(union)),
});
const checkProgram = object({
  graph_module: object({
    graph: checkGraph,
    signature: object({ input_specs: list(union), output_specs: list(union) }),
    module_call_graph: list(object({ fqn: text, signature: optional(object({ in_spec: text, out_spec: text })) })),
  }),
  range_constraints: optional(table(anything)),
  schema_version: object({ major: number, minor: number }),
});

/** The major version of the schema that this reads; PyTorch changes it when files of old readers break. */
const majors: readonly number[] = [5, 6, 7, 8];

/** The program in this text. Throws ExportError for another form or version. */
export function parseProgram(json: string): ProgramJson {
  let program: unknown;
  try {
    program = JSON.parse(json);
  } catch (error) {
    throw new ExportError(`torch.export.load(): expected JSON, got ${(error as Error).message}`);
  }
  checkProgram(program, "the top");
  const found = program as ProgramJson;
  const { major, minor } = found.schema_version;
  if (!majors.includes(major))
    throw new ExportError(
      `torch.export.load(): expected schema version ${majors.join(", ")}, got ${major}.${minor}: export the model again with PyTorch 2.5 to 2.13`,
    );
  return found;
}

/** The case of a union and its content. */
export function caseOf(x: Union): [kind: string, value: unknown] {
  return Object.entries(x)[0];
}
