/** @file `torch.autograd.Function`: operations with a gradient of one's own. */
import { torchFunctions } from "../ops/torch_ref.js";
import { sizeText, TorchError, TorchTypeError, type Aval } from "../schema/index.js";
import { Tensor, type Device, type Storage } from "../tensor/index.js";
import { is_grad_enabled, ModeGuard } from "./grad_mode.js";
import { gradientEdge, Node, type Grad } from "./node.js";

type Result = Tensor | readonly Tensor[];

interface Saved {
  readonly tensor: Tensor | null;
  readonly storage: Storage | null;
  readonly version: number;
}

/** What forward hands over to backward. */
export class FunctionContext {
  /** For each argument of `apply`: whether it needs a gradient. */
  needs_input_grad: boolean[] = [];
  private toSave: readonly (Tensor | null)[] = [];
  private saved: readonly Saved[] | null = null;
  private released = false;
  /** @internal */
  dirty: ReadonlySet<Tensor> = new Set();
  /** @internal */
  nonDifferentiable: ReadonlySet<Tensor> = new Set();
  /** @internal */
  materialize = true;
  /** Anything else that backward needs. */
  [key: string]: unknown;

  /** Keeps tensors for backward, which notices when they were changed in place. */
  save_for_backward(...tensors: readonly (Tensor | null)[]): void {
    this.toSave = tensors;
  }
  /** @internal Notes the versions at the end of forward: what forward itself writes is no later change. */
  seal(): void {
    this.saved = this.toSave.map((tensor) => {
      const storage = tensor?.storageRef ?? null;
      return { tensor, storage, version: storage?.version ?? 0 };
    });
  }
  /** @internal */
  release(): void {
    this.toSave = [];
    this.saved = null;
    this.released = true;
  }
  /** What save_for_backward kept. */
  get saved_tensors(): Tensor[] {
    if (this.released) {
      throw new TorchError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after calling backward.",
      );
    }
    if (this.saved === null) return this.toSave as Tensor[];
    return this.saved.map(({ tensor, storage, version }) => {
      if (tensor && storage!.version !== version) {
        throw new TorchError(
          `one of the variables needed for gradient computation has been modified by an inplace operation: [${tensor.dtype.toString()} [${tensor.shape.join(", ")}]] is at version ${storage!.version}; expected version ${version} instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True).`,
        );
      }
      return tensor as Tensor;
    });
  }
  /** Names inputs that forward changed in place; it must return them. */
  mark_dirty(...tensors: readonly Tensor[]): void {
    this.dirty = new Set(tensors);
  }
  /** Names results that carry no gradient. */
  mark_non_differentiable(...tensors: readonly Tensor[]): void {
    this.nonDifferentiable = new Set(tensors);
  }
  /** Whether backward gets zeros (true) or null for results without a gradient. */
  set_materialize_grads(value: boolean): void {
    this.materialize = value;
  }
}

/** A class with static `forward` and `backward`, and `setup_context` where forward takes no context. */
export interface FunctionClass<A extends readonly unknown[], R extends Result> {
  readonly name: string;
  forward(...args: unknown[]): R;
  backward(ctx: FunctionContext, ...grads: Grad[]): Grad | readonly (Grad | undefined)[];
  setup_context?(ctx: FunctionContext, inputs: A, output: R): void;
}

/** What is known of a tensor without keeping its elements alive. */
interface Metadata {
  readonly aval: Aval;
  readonly device: Device;
}

const metadataOf = (t: Tensor): Metadata => ({ aval: t.spec.aval, device: t.device });

class FunctionNode extends Node {
  constructor(
    private readonly definition: FunctionClass<readonly unknown[], Result>,
    private readonly ctx: FunctionContext,
    /** For each argument of apply; null for what is no tensor. */
    private readonly inputs: readonly (Metadata | null)[],
    private readonly outputs: readonly Metadata[],
    edges: readonly ({ node: Node; nr: number } | null)[],
  ) {
    const nodes = edges.map((e) => e?.node ?? null);
    const nrs = edges.map((e) => e?.nr ?? 0);
    super(`${definition.name}Backward`, nodes, nrs, outputs.length);
  }
  override release(): void {
    this.ctx.release();
  }
  apply(gradOutputs: Grad[]): Grad[] {
    const given = gradOutputs.map((g, i) => g ?? this.zeros(this.outputs[i]));
    const result = this.definition.backward(this.ctx, ...given);
    const grads = Array.isArray(result) ? (result as readonly (Grad | undefined)[]) : [result as Grad];
    const expected = this.inputs.length;
    if (grads.length < expected || grads.slice(expected).some((g) => g !== null && g !== undefined)) {
      throw new TorchError(
        `function ${this.name} returned an incorrect number of gradients (expected ${expected}, got ${grads.length})`,
      );
    }
    // one cotangent for each tensor among the arguments
    return this.inputs.flatMap((input, i) => {
      const grad = grads[i] ?? null;
      if (input) return [grad === null ? null : this.checked(grad, input, i)];
      if (grad === null) return [];
      throw new TorchError(
        `function ${this.name} returned a gradient different than None at position ${i + 1}, but the corresponding forward input was not a Variable`,
      );
    });
  }

  private zeros({ aval, device }: Metadata): Grad {
    if (!this.ctx.materialize || !aval.dtype.is_differentiable) return null;
    return torchFunctions().zeros(aval.shape, { dtype: aval.dtype, device });
  }

  /** The gradient with the shape and the type of its input: sums over what was broadcast. */
  private checked(grad: Tensor, { aval, device }: Metadata, index: number): Tensor {
    if (!(grad instanceof Tensor))
      throw new TorchTypeError(`${this.name}: expected Tensor or null for gradient ${index}, got ${typeof grad}`);
    const t = torchFunctions();
    const wrong = (got: string, expected: string): never => {
      throw new TorchError(
        `Function ${this.name} returned an invalid gradient at index ${index} - got ${got} but expected ${expected}`,
      );
    };
    if (grad.device !== device) wrong(`device ${grad.device.toString()}`, `device ${device.toString()}`);
    let out = grad;
    if (grad.shape.join() !== aval.shape.join()) {
      const lead = grad.ndim - aval.rank;
      const fits = lead >= 0 && aval.shape.every((n, d) => n === 1 || n === grad.shape[lead + d]);
      if (!fits) wrong(sizeText(grad.shape), `shape compatible with ${sizeText(aval.shape)}`);
      out = t.sum_to_size(out, aval.shape);
    }
    if (out.is_complex() && !aval.dtype.is_complex) out = t.real(out);
    return out.dtype === aval.dtype ? out : t._to_copy(out, { dtype: aval.dtype });
  }
}

/**
 * Base of operations that define their own gradient.
 *
 * @example
 * class Cube extends Function {
 *   static forward(ctx, x) { ctx.save_for_backward(x); return x.pow(3); }
 *   static backward(ctx, dy) { const [x] = ctx.saved_tensors; return dy.mul(x.pow(2)).mul(3); }
 * }
 * const y = Cube.apply(x);
 * @see https://docs.pytorch.org/docs/stable/autograd.html#function
 */
export abstract class Function {
  /** Runs forward; records backward when an argument requires a gradient. */
  static apply<R extends Result = Tensor>(...args: readonly unknown[]): R {
    const definition = this as unknown as FunctionClass<readonly unknown[], R>;
    if (typeof definition.forward !== "function" || typeof definition.backward !== "function") {
      throw new TorchTypeError(
        `${this.name}.apply(): expected static methods forward and backward, got a class without`,
      );
    }
    const ctx = new FunctionContext();
    ctx.needs_input_grad = args.map((a) => a instanceof Tensor && a.requires_grad);
    const records = is_grad_enabled() && ctx.needs_input_grad.some(Boolean);
    const edges = args.flatMap((a) => (a instanceof Tensor ? [gradientEdge(a)] : []));
    const result = withoutRecording(() => runForward(definition, ctx, args));
    const returned = Array.isArray(result) ? [...(result as readonly Tensor[])] : [result as Tensor];
    checkReturned(definition.name, returned, ctx, records);
    // an input that forward returns as it is becomes a result of its own
    const outs = returned.map((o) =>
      args.includes(o) && !ctx.dirty.has(o) ? new Tensor(o.storageRef, o.spec, o.offsets) : o,
    );
    ctx.seal();
    if (records) {
      const inputs = args.map((a) => (a instanceof Tensor ? metadataOf(a) : null));
      const untyped = definition as FunctionClass<readonly unknown[], Result>;
      const node = new FunctionNode(untyped, ctx, inputs, outs.map(metadataOf), edges);
      outs.forEach((o, i) => {
        if (!o.dtype.is_differentiable || ctx.nonDifferentiable.has(returned[i])) return;
        setGradFn(o, node, i);
      });
    }
    return (Array.isArray(result) ? outs : outs[0]) as R;
  }
}

function runForward<A extends readonly unknown[], R extends Result>(
  definition: FunctionClass<A, R>,
  ctx: FunctionContext,
  args: A,
): R {
  if (!definition.setup_context) return definition.forward(ctx, ...args);
  const out = definition.forward(...args);
  definition.setup_context(ctx, args, out);
  return out;
}

function checkReturned(name: string, returned: readonly Tensor[], ctx: FunctionContext, records: boolean): void {
  const bad = returned.find((o) => !(o instanceof Tensor)) as unknown;
  if (returned.length === 0 || bad !== undefined)
    throw new TorchTypeError(
      `${name}.forward: expected Tensor or tuple of Tensor (got ${typeof bad}) for return value`,
    );
  for (const t of ctx.dirty) {
    if (!returned.includes(t))
      throw new TorchError(
        "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified inplace must all be outputs of the Function.",
      );
    if (!records) continue;
    if (t.requires_grad && t.is_leaf)
      throw new TorchError("a leaf Variable that requires grad is being used in an in-place operation.");
    if (t.meta?.base)
      throw new TorchError(
        `${name}.mark_dirty(): expected a tensor of its own, got a view: its base would not learn of the change. Pass a clone.`,
      );
  }
}

function setGradFn(t: Tensor, node: Node, nr: number): void {
  t.gradFn = node;
  t.outputNr = nr;
  t.requiresGradFlag = true;
}

function withoutRecording<R>(fn: () => R): R {
  using _ = new ModeGuard(false, false);
  return fn();
}

/** What a gradient that cannot be differentiated again hangs on. */
class NotTwice extends Node {
  constructor(sources: readonly Tensor[]) {
    const edges = sources.map(gradientEdge);
    const nodes = edges.map((e) => e?.node ?? null);
    const nrs = edges.map((e) => e?.nr ?? 0);
    super("DelayedError", nodes, nrs, 1);
  }
  apply(): Grad[] {
    throw new TorchError("trying to differentiate twice a function that was marked with @once_differentiable");
  }
}

type Backward = (ctx: FunctionContext, ...grads: Grad[]) => Grad | readonly (Grad | undefined)[];

/**
 * A backward that is never recorded: differentiating its result is an error.
 *
 * @example
 * static backward = once_differentiable((ctx, dy) => slowButRight(dy));
 */
export function once_differentiable(backward: Backward): Backward {
  return (ctx, ...grads) => {
    const result = withoutRecording(() => backward(ctx, ...grads));
    if (!is_grad_enabled()) return result;
    const sources = [...grads, ...ctx.saved_tensors].filter((t): t is Tensor => t !== null && t.requires_grad);
    if (sources.length === 0) return result;
    const mark = (g: Grad | undefined): Grad => {
      if (!g?.dtype.is_differentiable) return g ?? null;
      const out = new Tensor(g.storageRef, g.spec, g.offsets);
      setGradFn(out, new NotTwice(sources), 0);
      return out;
    };
    return Array.isArray(result) ? (result as readonly (Grad | undefined)[]).map(mark) : mark(result as Grad);
  };
}
