/** @file Tensor: a view of a storage, and its place in the autograd graph. Operators are installed as methods by src/api. */
import type { Node } from "../autograd/node.js";
import type { TensorMethods } from "../api/generated/methods.js";
import type { TensorApi } from "../api/tensor_api.js";
import type { TensorAutograd } from "../autograd/tensor_autograd.js";
import type { ViewSpec } from "../ops/view_spec.js";
import { TorchError, type DType } from "../schema/index.js";
import { wrapDim } from "../schema/shape.js";
import type { Device } from "./device.js";
import type { Storage } from "./storage.js";

/** What most tensors never have: gradients, hooks, a base. Allocated when needed. */
export interface AutogradMeta {
  grad: Tensor | null;
  retainsGrad: boolean;
  /** Where the gradient of a leaf arrives. */
  accumulator: Node | null;
  postAccumulateHooks: Map<number, (tensor: Tensor) => void> | null;
  /** For a differentiable view: the tensor it is a view of. */
  base: Tensor | null;
  /** The base's version for which the view's grad_fn is right. */
  viewVersion: number;
  /** Made in a mode that forbids later in-place changes (no_grad, multi-output views). */
  viewCreation: "default" | "no_grad" | "multi_output" | "inference";
  name: string | null;
}

const noOffsets: readonly number[] = Object.freeze([]);

export interface Tensor extends TensorMethods, TensorAutograd, TensorApi {}

/** `torch.Tensor`. Made by factories and operators, not by `new`. */

export class Tensor {
  /** @internal Leaf flag, or whether grad_fn is set. */
  requiresGradFlag = false;
  /** @internal */
  gradFn: Node | null = null;
  /** @internal Which result of grad_fn this is. */
  outputNr = 0;
  /** @internal */
  meta: AutogradMeta | null = null;
  /** @internal Made under inference_mode. */
  inference = false;

  /** @internal */
  constructor(
    public storageRef: Storage,
    public spec: ViewSpec,
    public offsets: readonly number[] = noOffsets,
  ) {}

  get dtype(): DType {
    return this.spec.aval.dtype;
  }
  get shape(): readonly number[] {
    return this.spec.aval.shape;
  }
  get device(): Device {
    return this.storageRef.device;
  }
  get layout(): "strided" {
    return "strided";
  }
  get ndim(): number {
    return this.spec.aval.shape.length;
  }
  /** Bytes of all elements. */
  get nbytes(): number {
    return this.spec.aval.nbytes;
  }
  get itemsize(): number {
    return this.dtype.itemsize;
  }
  get is_leaf(): boolean {
    return this.grad_fn === null;
  }
  get is_meta(): boolean {
    return this.device.type === "meta";
  }
  get is_cpu(): boolean {
    return this.device.type === "cpu";
  }
  get is_tpu(): boolean {
    return this.device.type === "tpu";
  }
  /** Counts in-place changes of the storage. */
  get _version(): number {
    return this.storageRef.version;
  }
  /** The size of every dimension, or of one. */
  size(): readonly number[];
  size(dim: number): number;
  size(dim?: number): readonly number[] | number {
    return dim === undefined ? this.shape : this.shape[wrapDim(dim, this.ndim)];
  }
  dim(): number {
    return this.ndim;
  }
  ndimension(): number {
    return this.ndim;
  }
  numel(): number {
    return this.spec.aval.numel;
  }
  nelement(): number {
    return this.spec.aval.numel;
  }
  element_size(): number {
    return this.dtype.itemsize;
  }
  /** Elements between neighbours along every dimension, or along one. */
  stride(): readonly number[];
  stride(dim: number): number;
  stride(dim?: number): readonly number[] | number {
    const { strides } = this.spec.layout(this.offsets);
    return dim === undefined ? strides : strides[wrapDim(dim, this.ndim)];
  }
  storage_offset(): number {
    return this.spec.layout(this.offsets).offset;
  }
  is_floating_point(): boolean {
    return this.dtype.is_floating_point;
  }
  is_complex(): boolean {
    return this.dtype.is_complex;
  }
  is_signed(): boolean {
    return this.dtype.is_signed;
  }
  /** Whether both tensors show the same storage. */
  is_set_to(other: Tensor): boolean {
    return (
      this.storageRef === other.storageRef && this.spec === other.spec && this.offsets.join() === other.offsets.join()
    );
  }
  /** The number of rows. */
  get length(): number {
    if (this.ndim === 0) throw new TorchError("len() of a 0-d tensor");
    return this.shape[0];
  }
  /** @internal */
  ensureMeta(): AutogradMeta {
    return (this.meta ??= {
      grad: null,
      retainsGrad: false,
      accumulator: null,
      postAccumulateHooks: null,
      base: null,
      viewVersion: 0,
      viewCreation: "default",
      name: null,
    });
  }
}

export const isTensor = (x: unknown): x is Tensor => x instanceof Tensor;
