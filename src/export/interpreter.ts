/** @file Runs a program's graph: one operator after the other, through the registry, with sizes as plain numbers. */
import { findAten, type AtenFunction } from "../api/aten_namespace.js";
import { set_grad_enabled } from "../autograd/index.js";
import { Complex, FloatScalar } from "../schema/index.js";
import { device as deviceOf, Tensor, type Device } from "../tensor/index.js";
import { dtypeOf } from "./archive.js";
import { caseOf, checkGraph, ExportError, type GraphJson, type NodeJson, type Union } from "./schema.js";
import { symbolicFunction } from "./symbolic.js";

type Environment = Map<string, unknown>;
type Step = (env: Environment, device: Device) => void;
type Read = (env: Environment, device: Device) => unknown;

const memoryFormats: Record<number, string> = { 1: "contiguous_format", 2: "channels_last", 3: "channels_last_3d", 4: "preserve_format" }; // prettier-ignore
const nameOf = (x: unknown): string => (x as { name: string }).name;

/** Floats that JSON has no number for. */
const specials: Record<string, number> = { Infinity: Infinity, "-Infinity": -Infinity, NaN };
function floatOf(x: unknown): number | FloatScalar {
  const n = typeof x === "string" ? specials[x] : x;
  if (typeof n !== "number") throw new ExportError(`torch.export.load(): expected a float, got ${String(x)}`);
  return Number.isInteger(n) ? new FloatScalar(n) : n;
}

function variable(name: string): Read {
  return (env) => {
    if (!env.has(name))
      throw new ExportError(`torch.export: expected a value of '${name}' before it is used, got none`);
    return env.get(name);
  };
}
const constant = (value: unknown): Read => () => value; // prettier-ignore
const listOf =
  (reads: readonly Read[]): Read =>
  (env, device) =>
    reads.map((r) => r(env, device));

/** A symbolic number: a name, or its value. */
function symbolic(x: Union, wrap: (n: unknown) => unknown = (n) => n): Read {
  const [kind, value] = caseOf(x);
  return kind === "as_name" ? variable(String(value)) : constant(wrap(value));
}

/** How to get the value of an argument when the graph runs. */
export function reader([kind, value]: readonly [string, unknown]): Read {
  const items = (): Union[] => value as Union[];
  switch (kind) {
    case "as_none":
      return constant(null);
    case "as_tensor":
      return variable(nameOf(value));
    case "as_tensors":
      return listOf(items().map((t) => variable(nameOf(t))));
    case "as_nested_tensors":
      return listOf(items().map((t) => reader(["as_tensors", t])));
    case "as_optional_tensor":
      return reader(caseOf(value as Union));
    case "as_optional_tensors":
      return listOf(items().map((t) => reader(caseOf(t))));
    case "as_float":
      return constant(floatOf(value));
    case "as_floats":
      return constant((value as unknown[]).map(floatOf));
    case "as_sym_int":
    case "as_sym_bool":
      return symbolic(value as Union);
    case "as_sym_float":
      return symbolic(value as Union, floatOf);
    case "as_sym_ints":
    case "as_sym_bools":
      return listOf(items().map((x) => symbolic(x)));
    case "as_sym_floats":
      return listOf(items().map((x) => symbolic(x, floatOf)));
    case "as_scalar_type":
      return constant(dtypeOf(value));
    case "as_device":
      // The model may have moved since it was exported: new tensors are made where it is now.
      return (value as { type: string }).type === "meta" ? constant(deviceOf("meta")) : (_, device) => device;
    case "as_memory_format":
      return constant(memoryFormats[value as number] ?? null);
    case "as_layout":
      return constant("strided");
    case "as_complex":
      return constant(new Complex((value as { real: number }).real, (value as { imag: number }).imag));
    case "as_graph":
      return constant(new GraphRunner((value as { graph: GraphJson }).graph));
    case "as_int":
    case "as_ints":
    case "as_int_lists":
    case "as_bool":
    case "as_bools":
    case "as_string":
    case "as_strings":
      return constant(value);
    default:
      throw new ExportError(`torch.export.load(): expected an argument that can be given here, got ${kind}`);
  }
}

/** Names of variables that an argument or result mentions. */
function namesIn(x: unknown, out: string[] = []): string[] {
  if (Array.isArray(x)) for (const e of x) namesIn(e, out);
  else if (typeof x === "object" && x !== null)
    for (const [k, v] of Object.entries(x)) {
      if ((k === "name" || k === "as_name") && typeof v === "string") out.push(v);
      else if (k !== "graph") namesIn(v, out);
    }
  return out;
}

/** Puts a result where the node says, member by member where it has several. */
function writer(outputs: readonly Union[]): (env: Environment, result: unknown) => void {
  const assign = (env: Environment, [kind, value]: [string, unknown], result: unknown): void => {
    if (kind === "as_none") return;
    if (Array.isArray(value)) {
      const results = result as unknown[];
      value.forEach((v, i) => assign(env, isCase(v) ? caseOf(v) : ["as_tensor", v], results[i]));
    } else if (typeof value === "object" && value !== null) {
      const name = (value as { name?: string }).name ?? (value as { as_name?: string }).as_name;
      if (name !== undefined) env.set(name, result);
      else assign(env, caseOf(value as Union), result);
    }
  };
  if (outputs.length === 1) return (env, result) => assign(env, caseOf(outputs[0]), result);
  return (env, result) => outputs.forEach((o, i) => assign(env, caseOf(o), (result as unknown[])[i]));
}

const isCase = (x: unknown): x is Union =>
  typeof x === "object" && x !== null && Object.keys(x).length === 1 && Object.keys(x)[0].startsWith("as_");

const aten = /^torch\.ops\.aten\.(\w+)\.(\w+)$/;

/** Whether a node's target can run here. */
export function isKnown(target: string): boolean {
  const m = aten.exec(target);
  return m ? hostOperators.has(m[1]) || findAten(m[1], m[2]) !== undefined : target in higherOrder || symbolicFunction(target) !== undefined; // prettier-ignore
}

const message = (x: unknown): string => (typeof x === "string" ? x : "assertion failed");
const holds = (x: unknown): boolean => (x instanceof Tensor ? Boolean(x.item()) : Boolean(x));

/** ATen operators that give or check numbers of the host, or nothing. */
const hostTable: Readonly<Record<string, (...args: never[]) => unknown>> = {
  sym_size: (t: Tensor, dim?: number) => (dim === undefined ? t.shape : t.size(dim)),
  sym_stride: (t: Tensor, dim?: number) => (dim === undefined ? t.stride() : t.stride(dim)),
  sym_numel: (t: Tensor) => t.numel(),
  sym_storage_offset: (t: Tensor) => t.storage_offset(),
  _assert_tensor_metadata: () => null,
  sym_constrain_range: () => null,
  sym_constrain_range_for_size: () => null,
  _assert_scalar: (x: unknown, text: unknown) => (holds(x) ? null : fail(message(text))),
  _assert_async: (x: unknown, text: unknown) => (holds(x) ? null : fail(message(text))),
  _local_scalar_dense: (t: Tensor) => t.item(),
  item: (t: Tensor) => t.item(),
};
const hostOperators = new Map(Object.entries(hostTable) as [string, (...args: unknown[]) => unknown][]);

function fail(text: string): never {
  throw new ExportError(text);
}

/** Operators that take graphs. */
const higherOrder: Record<string, (device: Device, ...args: unknown[]) => unknown> = {
  "torch.ops.higher_order.wrap_with_set_grad_enabled": (device, enabled, graph, ...args) => {
    using _ = set_grad_enabled(enabled === true);
    return (graph as GraphRunner).run(args, device);
  },
  "torch.ops.higher_order.cond": (device, condition, yes, no, args) =>
    ((holds(condition) ? yes : no) as GraphRunner).run((args ?? []) as unknown[], device),
};

function missing(target: string): never {
  throw new ExportError(
    `torch.export: expected operators that are implemented here, got ${target}. \`torch-tpu inspect FILE\` lists all that are missing.`,
  );
}

/** What calls a node's target with its arguments. */
function callable(node: NodeJson): (args: unknown[], device: Device) => unknown {
  const m = aten.exec(node.target);
  const host = m ? hostOperators.get(m[1]) : undefined;
  const found: AtenFunction | undefined = host ?? (m ? findAten(m[1], m[2]) : symbolicFunction(node.target));
  if (found) return (args) => found(...args);
  const taking = Object.hasOwn(higherOrder, node.target) ? higherOrder[node.target] : undefined;
  return taking ? (args, device) => taking(device, ...args) : () => missing(node.target);
}

function compileNode(node: NodeJson): Step {
  const call = callable(node);
  const positional = node.inputs.filter((i) => i.kind !== 2).map((i) => reader(caseOf(i.arg)));
  const named = node.inputs.filter((i) => i.kind === 2).map((i) => [i.name, reader(caseOf(i.arg))] as const);
  const write = writer(node.outputs);
  return (env, device) => {
    const args = positional.map((read) => read(env, device));
    if (named.length > 0) args.push(Object.fromEntries(named.map(([name, read]) => [name, read(env, device)])));
    const result = call(args, device);
    if (node.outputs.length > 0) write(env, result);
  };
}

/** A graph that is ready to run. */
export class GraphRunner {
  private readonly steps: readonly { run: Step; done: readonly string[] }[];
  private readonly inputs: readonly string[];
  private readonly results: readonly Read[];
  private readonly isSingle: boolean;

  constructor(readonly graph: GraphJson) {
    checkGraph(graph, "a graph");
    this.inputs = graph.inputs.map((i) => namesIn(i)[0] ?? "");
    this.results = graph.outputs.map((o) => reader(caseOf(o)));
    this.isSingle = graph.is_single_tensor_return === true;
    // A value is let go after its last use, so that memory is that of the widest place of the graph.
    const kept = new Set(namesIn(graph.outputs));
    const steps = [...graph.nodes].reverse().map((node) => {
      const done = namesIn([node.inputs.map((i) => i.arg), node.outputs]).filter((n) => !kept.has(n));
      for (const n of done) kept.add(n);
      return { run: compileNode(node), done };
    });
    this.steps = steps.reverse();
  }

  /** Results by the inputs, both in the order of the graph. */
  run(inputs: readonly unknown[], device: Device): unknown {
    const env: Environment = new Map(this.inputs.map((name, i) => [name, inputs[i]]));
    for (const { run, done } of this.steps) {
      run(env, device);
      for (const name of done) env.delete(name);
    }
    const out = this.results.map((read) => read(env, device));
    return this.isSingle ? out[0] : out;
  }
}

/** All nodes, those of inner graphs included. */
export function allNodes(graph: GraphJson): NodeJson[] {
  return graph.nodes.flatMap((node) => [
    node,
    ...node.inputs.flatMap(({ arg }) => (arg.as_graph ? allNodes((arg.as_graph as { graph: GraphJson }).graph) : [])),
  ]);
}
