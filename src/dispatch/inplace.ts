/** @file In-place operators and writes, with their place in the autograd graph. */
import { is_grad_enabled, Node, viewHooks, type Grad } from "../autograd/index.js";
import type { Overload } from "../ops/registry.js";
import { torchFunctions } from "../ops/torch_ref.js";
import { TorchError } from "../schema/index.js";
import { Tensor } from "../tensor/index.js";
import { executeInplace, setRebaseHistory, tracedCall } from "./call.js";
import { fitForWrite } from "./site.js";
import { currentTrace } from "./trace.js";
import { chainOf, viewOf, ViewNode } from "./view.js";

/** Throws where autograd forbids to change `t` in place. */
export function checkInplace(t: Tensor): void {
  if (!is_grad_enabled()) return;
  if (t.requires_grad && t.is_leaf)
    throw new TorchError("a leaf Variable that requires grad is being used in an in-place operation.");
  const base = t.meta?.base;
  if (base && base.requires_grad && base.is_leaf)
    throw new TorchError("a view of a leaf Variable that requires grad is being used in an in-place operation.");
  if (t.inference)
    throw new TorchError(
      "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal tensor before doing inplace update.",
    );
  if (t.meta?.viewCreation === "multi_output" && t.requires_grad) {
    throw new TorchError(
      `Output ${t.outputNr} of ${t.grad_fn?.name ?? "a view function"} is a view and is being modified inplace. This view is the output of a function that returns multiple views. Such functions do not allow the output views to be modified inplace. You should replace the inplace operation by an out-of-place one.`,
    );
  }
}

/** Runs an operator and writes the result over its first argument. Returns that argument. */
export function callInplace(overload: Overload, given: unknown[]): Tensor {
  const target = given[0];
  if (!(target instanceof Tensor))
    throw new TorchError(`${overload.name}_(): expected a Tensor as the first argument, got ${typeof target}`);
  checkInplace(target);
  const trace = currentTrace();
  if (trace === null) {
    executeInplace(overload, given, target);
    return target;
  }
  if (trace.depth === 0) trace.host?.use(target);
  // the gradient reads the value from before the write
  const old = trace.snapshot(target);
  old.requiresGradFlag = target.requires_grad;
  old.gradFn = target.grad_fn;
  old.outputNr = target.outputNr;
  const result = fitForWrite(target, tracedCall(trace, overload, [old, ...given.slice(1)]) as Tensor);
  trace.write(target, result);
  if (result.gradFn) rebaseHistory(target, result.gradFn);
  return target;
}

/** Gradient of a base that was written through a view: the view's part goes to `written`, the rest to what was before. */
class CopySlices extends Node {
  constructor(
    private readonly view: Tensor,
    before: { node: Node; nr: number } | null,
    written: Node,
  ) {
    super("CopySlices", [before?.node ?? null, written], [before?.nr ?? 0, 0], 1);
  }
  apply([grad]: Grad[]): Grad[] {
    if (!grad) return [null, null];
    // `grad` has the shape of the base, wherever it is stored
    const chain = chainOf(this.view).map((s) => ({ ...s, fromBase: false }));
    const part = viewOf(grad, chain, "View");
    if (this.nextNodes[0] === null) return [null, part];
    const rest = torchFunctions().clone(grad);
    viewOf(rest, chain, "View").zero_();
    return [rest, part];
  }
}

/** After a recorded write: `target`, and what it is a view of, come from `node`. */
function rebaseHistory(target: Tensor, node: Node): void {
  const base = target.meta?.base;
  if (base) {
    const before = base.requires_grad && base.gradFn ? { node: base.gradFn, nr: base.outputNr } : null;
    base.gradFn = new CopySlices(target, before, node);
    base.outputNr = 0;
    base.requiresGradFlag = true;
    target.gradFn = null;
    target.meta!.viewVersion = -1;
    void target.grad_fn; // made anew, as a view of the base
    return;
  }
  target.gradFn = node;
  target.outputNr = 0;
  target.requiresGradFlag = true;
  (node as Node & { saveOutputs?: (outs: readonly Tensor[]) => void }).saveOutputs?.([target]);
}

setRebaseHistory(rebaseHistory);

viewHooks.regenerate = (view) => new ViewNode(view.meta!.base!, chainOf(view), "View");
