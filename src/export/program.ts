/** @file ExportedProgram: what `torch.export.load` gives, and the module that runs it. */
import { no_grad } from "../autograd/index.js";
import { Module, Parameter, type StateDict } from "../nn/index.js";
import { TorchError, TorchNotImplementedError } from "../schema/index.js";
import { device as deviceOf, Tensor, type Device } from "../tensor/index.js";
import { dtypeOf, type Archive } from "./archive.js";
import { allNodes, GraphRunner, isKnown } from "./interpreter.js";
import { TreeSpec } from "./pytree.js";
import { caseOf, ExportError, type GraphJson, type ProgramJson, type Union } from "./schema.js";

/** One input of the graph: where its value comes from. */
export interface InputSpec {
  readonly kind: "parameter" | "buffer" | "tensor_constant" | "user_input" | "constant_input";
  /** In the graph. */
  readonly name: string;
  /** Of the parameter, buffer or constant; null for an input of the user. */
  readonly target: string | null;
  readonly persistent?: boolean;
  readonly value?: unknown;
}

/** One output of the graph: what becomes of it. */
export interface OutputSpec {
  readonly kind: "user_output" | "loss_output" | "buffer_mutation" | "parameter_mutation" | "user_input_mutation";
  readonly name: string | null;
  /** What is overwritten with it; null for an output of the user. */
  readonly target: string | null;
}

export interface ExportGraphSignature {
  readonly input_specs: readonly InputSpec[];
  readonly output_specs: readonly OutputSpec[];
}

const nameIn = (arg: unknown): string | null => {
  if (typeof arg !== "object" || arg === null) return null;
  const { name, as_name } = arg as { name?: string; as_name?: string };
  const inner = Object.values(arg)[0] as unknown;
  return name ?? as_name ?? (typeof inner === "object" ? nameIn(inner) : null);
};

function inputSpec(x: Union): InputSpec {
  const [kind, value] = caseOf(x);
  const v = value as Record<string, unknown>;
  const name = nameIn(v.arg) ?? String(v.name ?? "");
  if (kind === "user_input") return { kind, name, target: null };
  if (kind === "parameter") return { kind, name, target: String(v.parameter_name) };
  if (kind === "buffer") return { kind, name, target: String(v.buffer_name), persistent: v.persistent !== false };
  if (kind === "tensor_constant") return { kind, name, target: String(v.tensor_constant_name) };
  if (kind === "constant_input") return { kind, name, target: null, value: caseOf(v.value as Union)[1] };
  throw new ExportError(`torch.export.load(): expected tensors and plain values as inputs, got ${kind} '${name}'`);
}

function outputSpec(x: Union): OutputSpec {
  const [kind, value] = caseOf(x);
  const v = value as Record<string, unknown>;
  const name = nameIn(v.arg);
  if (kind === "user_output" || kind === "loss_output") return { kind, name, target: null };
  if (kind === "buffer_mutation") return { kind, name, target: String(v.buffer_name) };
  if (kind === "parameter_mutation") return { kind, name, target: String(v.parameter_name) };
  if (kind === "user_input_mutation") return { kind, name, target: String(v.user_input_name) };
  throw new ExportError(`torch.export.load(): expected outputs that are values or writes, got ${kind}`);
}

/** Registers a tensor at a dotted name, with modules on the way. */
function place(root: Module, path: string, put: (owner: Module, name: string) => void): void {
  const parts = path.split(".");
  const name = parts.pop()!;
  let owner = root;
  for (const part of parts) {
    const next = owner._modules.get(part);
    if (!next) owner.add_module(part, new Module());
    owner = next ?? owner._modules.get(part)!;
  }
  put(owner, name);
}

/** A model that was exported, as a module: its parameters train, its buffers are written as the graph says. */
export class ExportedModule extends Module {
  constructor(
    /** Not a submodule's business: what runs. */
    private readonly exported: ExportedProgram,
  ) {
    super();
    for (const spec of exported.graph_signature.input_specs) {
      if (spec.target === null) continue;
      const value = exported.tensorOf(spec.target);
      place(this, spec.target, (owner, name) => {
        if (value instanceof Parameter) owner.register_parameter(name, value);
        else owner.register_buffer(name, value, spec.kind === "buffer" && spec.persistent !== false);
      });
    }
  }

  /** Arguments by position, or by name in a last object; containers as they were when the model was exported. */
  override forward(...args: unknown[]): unknown {
    return this.exported.runWith((name, kind) => this.valueAt(name, kind), args);
  }

  private valueAt(path: string, kind: InputSpec["kind"]): Tensor {
    return kind === "parameter" ? this.get_parameter(path) : this.get_buffer(path);
  }

  /** Throws, as in PyTorch: the graph is fixed in the mode in which it was exported. */
  override train(_mode = true): this {
    throw new TorchNotImplementedError("Calling train() is not supported yet.");
  }
  override eval(): this {
    throw new TorchNotImplementedError("Calling eval() is not supported yet.");
  }
}

/**
 * `torch.export.ExportedProgram`: the graph of a model with its parameters, buffers and constants.
 * @see https://docs.pytorch.org/docs/stable/export.html
 */
export class ExportedProgram {
  readonly graph_signature: ExportGraphSignature;
  /** The sizes that may differ from call to call, by symbol. */
  readonly range_constraints: ProgramJson["range_constraints"];
  private readonly values = new Map<string, Tensor>();
  private readonly runner: GraphRunner;
  private readonly inSpec: TreeSpec | null;
  private readonly outSpec: TreeSpec | null;
  private readonly argNames: readonly string[];

  constructor({ program, tensors }: Archive) {
    const { graph, signature, module_call_graph } = program.graph_module;
    this.graph_signature = {
      input_specs: signature.input_specs.map(inputSpec),
      output_specs: signature.output_specs.map(outputSpec),
    };
    this.range_constraints = program.range_constraints ?? {};
    const call = module_call_graph.find((m) => m.fqn === "")?.signature;
    this.inSpec = call ? TreeSpec.parse(call.in_spec) : null;
    this.outSpec = call ? TreeSpec.parse(call.out_spec) : null;
    const users = this.graph_signature.input_specs.filter((s) => s.kind === "user_input");
    this.argNames = call?.forward_arg_names ?? users.map((s) => s.name);
    this.runner = new GraphRunner(graph);
    this.adopt(tensors, graph);
  }

  private adopt(tensors: ReadonlyMap<string, Tensor>, graph: GraphJson): void {
    const parameters = new Map<Tensor, Parameter>();
    for (const { kind, name, target } of this.graph_signature.input_specs) {
      if (target === null) continue;
      const found = tensors.get(target);
      if (!found) throw new ExportError(`torch.export.load(): expected the values of ${kind} '${target}', got none`);
      if (kind !== "parameter") {
        this.values.set(target, found);
        continue;
      }
      const trains = graph.tensor_values[name]?.requires_grad ?? true;
      const parameter = parameters.get(found) ?? new Parameter(found, trains && found.dtype.is_differentiable);
      parameters.set(found, parameter);
      this.values.set(target, parameter);
    }
  }

  /** The graph as it is in the file. */
  get graph(): GraphJson {
    return this.runner.graph;
  }

  /** @internal */
  tensorOf(name: string): Tensor {
    return this.values.get(name)!;
  }

  /** Parameters and persistent buffers by name, outside of the graph of gradients. */
  get state_dict(): StateDict {
    return this.module().state_dict();
  }
  *named_parameters(): IterableIterator<[string, Parameter]> {
    for (const [name, t] of this.values) if (t instanceof Parameter) yield [name, t];
  }
  *parameters(): IterableIterator<Parameter> {
    for (const [, p] of this.named_parameters()) yield p;
  }
  *named_buffers(): IterableIterator<[string, Tensor]> {
    for (const { kind, target } of this.graph_signature.input_specs)
      if (kind === "buffer") yield [target!, this.values.get(target!)!];
  }
  *buffers(): IterableIterator<Tensor> {
    for (const [, b] of this.named_buffers()) yield b;
  }

  /** The module that runs the program. Its parameters and buffers are those of the program. */
  module(): ExportedModule {
    return new ExportedModule(this);
  }

  /** Type and sizes of a value of the graph, as in `float32[s0, 3]`. */
  typeOf(name: string): string {
    const meta = Object.hasOwn(this.graph.tensor_values, name) ? this.graph.tensor_values[name] : undefined;
    if (!meta) return "number";
    return `${dtypeOf(meta.dtype).name}[${meta.sizes.map(sizeText).join(", ")}]`;
  }

  /** How often each operator is called, inner graphs included. */
  operators(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { target } of allNodes(this.graph)) counts.set(target, (counts.get(target) ?? 0) + 1);
    return new Map([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
  /** The operators that cannot run here. */
  missing_operators(): string[] {
    return [...this.operators().keys()].filter((target) => !isKnown(target));
  }

  /** @internal Runs the graph with the parameters and buffers that a module has now. */
  runWith(valueAt: (name: string, kind: InputSpec["kind"]) => Tensor, args: readonly unknown[]): unknown {
    const leaves = this.inSpec?.flattenCall(args, this.argNames) ?? [...args];
    const specs = this.graph_signature.input_specs;
    let at = 0;
    const inputs = specs.map(
      (spec) =>
      spec.kind === "user_input" ? leaves[at++] : spec.target === null ? (at++, spec.value) : valueAt(spec.target, spec.kind), // prettier-ignore
    );
    this.checkInputs(inputs);
    const results = this.runner.run(inputs, deviceOfAny(inputs)) as unknown[];
    const outputs: unknown[] = [];
    this.graph_signature.output_specs.forEach(({ kind, target }, i) => {
      if (kind === "user_output" || kind === "loss_output") return outputs.push(results[i]);
      const index = specs.findIndex((s) => (kind === "user_input_mutation" ? s.name : s.target) === target);
      return no_grad(() => (inputs[index] as Tensor).copy_(results[i] as Tensor));
    });
    return this.outSpec ? this.outSpec.unflatten(outputs) : outputs.length === 1 ? outputs[0] : outputs;
  }

  /** The sizes that the graph was made for, in the words of PyTorch's guards. */
  private checkInputs(inputs: readonly unknown[]): void {
    const symbols = new Map<string, number>();
    this.graph_signature.input_specs.forEach(({ kind, name }, i) => {
      const meta = this.graph.tensor_values[name];
      const t = inputs[i];
      if (kind !== "user_input" || !meta) return;
      if (!(t instanceof Tensor)) throw new TorchError(`forward(): expected a tensor for '${name}', got ${typeof t}`);
      const check = (holds: boolean, text: string): void => {
        if (!holds) throw new TorchError(`Guard failed: ${text}`);
      };
      check(t.ndim === meta.sizes.length, `len(${name}.size()) == ${meta.sizes.length}`);
      check(t.dtype === dtypeOf(meta.dtype), `${name}.dtype == ${dtypeOf(meta.dtype).toString()}`);
      meta.sizes.forEach((size, d) => {
        const [is, expected] = caseOf(size);
        if (is === "as_int") return check(t.shape[d] === expected, `${name}.size()[${d}] == ${String(expected)}`);
        const symbol = /^Symbol\('(\w+)'[^()]*\)$/.exec((expected as { expr_str: string }).expr_str)?.[1];
        if (symbol === undefined) return;
        const known = symbols.get(symbol) ?? t.shape[d];
        check(t.shape[d] === known, `${name}.size()[${d}] == ${known}`);
        symbols.set(symbol, known);
        const { min_val, max_val } = this.range_constraints[symbol] ?? { min_val: null, max_val: null };
        if (min_val !== null) check(t.shape[d] >= min_val, `${name}.size()[${d}] >= ${min_val}`);
        if (max_val !== null) check(t.shape[d] <= max_val, `${name}.size()[${d}] <= ${max_val}`);
      });
    });
  }
}

/** A size, with the symbols in its expression by their names. */
function sizeText(size: Union): string {
  const [kind, value] = caseOf(size);
  if (kind !== "as_expr") return String(value);
  return (value as { expr_str: string }).expr_str
    .replace(/Symbol\('(\w+)'[^()]*\)/g, "$1")
    .replace(/Integer\((-?\d+)\)/g, "$1");
}

/** Where the parameters are, or the inputs of a program without any. */
function deviceOfAny(inputs: readonly unknown[]): Device {
  const found = inputs.find((x): x is Tensor => x instanceof Tensor);
  return found?.device ?? deviceOf("cpu");
}
