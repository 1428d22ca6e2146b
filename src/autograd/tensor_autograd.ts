/** @file The autograd side of Tensor: grad, grad_fn, requires_grad, backward, hooks. */
import { TorchError } from "../schema/index.js";
import { sizeText } from "../schema/shape.js";
import { Tensor } from "../tensor/index.js";
import { backward, type BackwardOptions } from "./engine.js";
import { accumulatorOf, addHook, tracing, type Node, type RemovableHandle, type TensorHook } from "./node.js";

export interface TensorAutograd {
  /** The accumulated gradient of a leaf (or of a tensor that retains its own), or null. */
  get grad(): Tensor | null;
  set grad(value: Tensor | null);
  /** The node that made the tensor, or null for leaves. */
  readonly grad_fn: Node | null;
  get requires_grad(): boolean;
  set requires_grad(value: boolean);
  readonly retains_grad: boolean;
  requires_grad_(requires_grad?: boolean): this;
  /** Adds gradients to the leaves that this tensor came from. `gradient` is needed unless it has one element. */
  backward(gradient?: Tensor | null, options?: BackwardOptions & { inputs?: Tensor | readonly Tensor[] }): void;
  /** Calls `hook(grad)` when the gradient is known; it may return another. */
  register_hook(hook: TensorHook): RemovableHandle;
  /** Calls `hook(tensor)` after the gradient of a leaf was accumulated. */
  register_post_accumulate_grad_hook(hook: (tensor: Tensor) => void): RemovableHandle;
  /** Keeps the gradient of a tensor that is not a leaf. */
  retain_grad(): void;
  readonly _base: Tensor | null;
  is_inference(): boolean;
}

/** Makes the grad_fn of a view anew after its base changed in place. Set by the dispatcher, which knows views. */
export const viewHooks: { regenerate: (view: Tensor) => Node | null } = { regenerate: () => null };

function gradFnOf(t: Tensor): Node | null {
  const { meta } = t;
  if (meta !== null && meta.base !== null && meta.viewVersion !== t.storageRef.version && meta.base.requires_grad) {
    t.gradFn = viewHooks.regenerate(t);
    t.outputNr = 0;
    t.requiresGradFlag = true;
    meta.viewVersion = t.storageRef.version;
  }
  return t.gradFn;
}

function requiresGrad(t: Tensor): boolean {
  if (t.requiresGradFlag) return true;
  const base = t.meta?.base;
  return (
    base !== null &&
    base !== undefined &&
    t.meta!.viewVersion !== t.storageRef.version &&
    base.requires_grad &&
    gradFnOf(t) !== null
  );
}

function setRequiresGrad(t: Tensor, value: boolean): void {
  if (t.grad_fn !== null && !value) {
    throw new TorchError(
      "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().",
    );
  }
  if (value && !t.dtype.is_differentiable)
    throw new TorchError(
      `only Tensors of floating point and complex dtype can require gradients, got ${t.dtype.toString()}`,
    );
  if (value && t.inference)
    throw new TorchError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  t.requiresGradFlag = value;
}

function setGrad(t: Tensor, value: Tensor | null): void {
  if (value !== null) {
    if (value === t) throw new TorchError("can't assign Variable as its own grad");
    if (value.shape.join() !== t.shape.join())
      throw new TorchError(
        `assigned grad has data of a different size: expected ${sizeText(t.shape)}, got ${sizeText(value.shape)}`,
      );
    if (value.dtype !== t.dtype)
      throw new TorchError(
        `assigned grad has data of a different type: expected ${t.dtype.toString()}, got ${value.dtype.toString()}`,
      );
    if (value.device !== t.device)
      throw new TorchError(
        `assigned grad has data located on a different device: expected ${t.device.toString()}, got ${value.device.toString()}`,
      );
  }
  if (value !== null || t.meta !== null) t.ensureMeta().grad = value;
}

function hooksFor(t: Tensor): Map<number, TensorHook> {
  if (!t.requires_grad) throw new TorchError("cannot register a hook on a tensor that doesn't require gradient");
  const fn = t.grad_fn;
  return fn ? fn.hooksOf(t.outputNr) : accumulatorOf(t).hooksOf(0);
}

const methods: TensorAutograd & ThisType<Tensor> = {
  get grad() {
    tracing.touchGrad?.(this as unknown as Tensor);
    return (this as unknown as Tensor).meta?.grad ?? null;
  },
  set grad(value) {
    tracing.touchGrad?.(this as unknown as Tensor);
    setGrad(this as unknown as Tensor, value);
  },
  get grad_fn() {
    return gradFnOf(this as unknown as Tensor);
  },
  get requires_grad() {
    return requiresGrad(this as unknown as Tensor);
  },
  set requires_grad(value) {
    setRequiresGrad(this as unknown as Tensor, value);
  },
  get retains_grad() {
    return (this as unknown as Tensor).meta?.retainsGrad ?? false;
  },
  requires_grad_(requires_grad = true) {
    setRequiresGrad(this, requires_grad);
    return this;
  },
  backward(gradient = null, options = {}) {
    backward([this], [gradient], options);
  },
  register_hook(hook) {
    return addHook(hooksFor(this), hook);
  },
  register_post_accumulate_grad_hook(hook) {
    if (!this.requires_grad) throw new TorchError("cannot register a hook on a tensor that doesn't require gradient");
    if (this.grad_fn !== null)
      throw new TorchError("post accumulate grad hooks cannot be registered on non-leaf tensors");
    return addHook((this.ensureMeta().postAccumulateHooks ??= new Map<number, (tensor: Tensor) => void>()), hook);
  },
  retain_grad() {
    if (!this.requires_grad) throw new TorchError("can't retain_grad on Tensor that has requires_grad=False");
    const meta = this.ensureMeta();
    if (this.grad_fn === null || meta.retainsGrad) return;
    meta.retainsGrad = true;
    addHook(hooksFor(this), (grad) => {
      meta.grad = meta.grad ? meta.grad.add(grad) : grad;
    });
  },
  get _base() {
    return (this as unknown as Tensor).meta?.base ?? null;
  },
  is_inference() {
    return this.inference;
  },
};

Object.defineProperties(Tensor.prototype, Object.getOwnPropertyDescriptors(methods));
