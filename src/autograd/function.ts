/** @file `torch.autograd.Function`: operations with a gradient of one's own. */
import { torchFunctions } from "../ops/torch_ref.js";
import { TorchError, TorchTypeError } from "../schema/index.js";
import { Tensor, type Storage } from "../tensor/index.js";
import { is_grad_enabled, ModeGuard } from "./grad_mode.js";
import { gradientEdge, Node, type Grad } from "./node.js";

type Result = Tensor | readonly Tensor[];

/** What forward hands over to backward. */
export class FunctionContext {
  /** For each argument of `apply`: whether it needs a gradient. */
  needs_input_grad: boolean[] = [];
  /** @internal */
  saved: { tensor: Tensor | null; storage: Storage | null; version: number }[] | null = [];
  /** @internal */
  dirty = new Set<Tensor>();
  /** @internal */
  nonDifferentiable = new Set<Tensor>();
  /** @internal */
  materialize = true;
  /** Anything else that backward needs. */
  [key: string]: unknown;

  /** Keeps tensors for backward, which notices when they were changed in place. */
  save_for_backward(...tensors: readonly (Tensor | null)[]): void {
    this.saved = tensors.map((tensor) => ({
      tensor,
      storage: tensor?.storageRef ?? null,
      version: tensor?.storageRef.version ?? 0,
    }));
  }
  /** What save_for_backward kept. */
  get saved_tensors(): Tensor[] {
    if (this.saved === null) {
      throw new TorchError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after calling backward.",
      );
    }
    return this.saved.map(({ tensor, storage, version }) => {
      if (tensor && storage!.version !== version) {
        throw new TorchError(
          `one of the variables needed for gradient computation has been modified by an inplace operation: [${tensor.dtype.toString()} [${tensor.shape.join(", ")}]] is at version ${storage!.version}; expected version ${version} instead.`,
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

class FunctionNode extends Node {
  constructor(
    private readonly definition: FunctionClass<readonly unknown[], Result>,
    private readonly ctx: FunctionContext,
    private readonly tensorAt: readonly number[],
    private readonly argumentCount: number,
    private readonly outputs: readonly { shape: readonly number[]; like: Tensor }[],
    edges: readonly ({ node: Node; nr: number } | null)[],
  ) {
    super(
      `${definition.name}Backward`,
      edges.map((e) => e?.node ?? null),
      edges.map((e) => e?.nr ?? 0),
      outputs.length,
    );
  }
  override release(): void {
    this.ctx.saved = null;
  }
  apply(gradOutputs: Grad[]): Grad[] {
    const t = torchFunctions();
    const given = gradOutputs.map(
      (g, i) =>
        g ??
        (this.ctx.materialize && this.outputs[i].like.dtype.is_differentiable
          ? t.zeros_like(this.outputs[i].like.detach())
          : null),
    );
    const result = this.definition.backward(this.ctx, ...given);
    const grads = Array.isArray(result) ? (result as readonly (Grad | undefined)[]) : [result as Grad];
    if (
      grads.length !== this.argumentCount &&
      !grads.slice(this.argumentCount).every((g) => g === null || g === undefined)
    ) {
      throw new TorchError(
        `function ${this.name} returned an incorrect number of gradients (expected ${this.argumentCount}, got ${grads.length})`,
      );
    }
    return this.tensorAt.map((i) => grads[i] ?? null);
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
    const edges = args.map((a) => (a instanceof Tensor ? gradientEdge(a) : null));
    const result = withoutRecording(() => {
      if (!definition.setup_context) return definition.forward(ctx, ...args);
      const out = definition.forward(...args);
      definition.setup_context(ctx, args, out);
      return out;
    });
    const outs = (Array.isArray(result) ? [...(result as readonly Tensor[])] : [result as Tensor]).map((o) =>
      args.includes(o) && !ctx.dirty.has(o) ? new Tensor(o.storageRef, o.spec, o.offsets) : o,
    );
    if (records) {
      const tensorAt = args.flatMap((a, i) => (a instanceof Tensor ? [i] : []));
      const node = new FunctionNode(
        definition as FunctionClass<readonly unknown[], Result>,
        ctx,
        tensorAt,
        args.length,
        outs.map((o) => ({ shape: o.shape, like: o.detach() })),
        tensorAt.map((i) => edges[i]),
      );
      outs.forEach((o, i) => {
        if (!o.dtype.is_differentiable || ctx.nonDifferentiable.has(o)) return;
        o.gradFn = node;
        o.outputNr = i;
        o.requiresGradFlag = true;
      });
    }
    return (Array.isArray(result) ? outs : outs[0]) as R;
  }
}

function withoutRecording<R>(fn: () => R): R {
  using _ = new ModeGuard(false, false);
  return fn();
}
