/** @file What Tensor has that is no operator: reading, moving, converting, indexing with brackets, freeing. */
import { gradientEdge, is_grad_enabled, Node, type Grad } from "../autograd/index.js";
import { backendOf, currentTrace, missingBuffer } from "../dispatch/index.js";
import { torchFunctions } from "../ops/torch_ref.js";
import { deleteRaw, readRaw, readAsync, type BufferHandle } from "../pjrt/index.js";
import * as dt from "../schema/dtype.js";
import type { Complex } from "../schema/index.js";
import { DType, TorchError, TorchTypeError, type Scalar } from "../schema/index.js";
import {
  Device,
  device as deviceOf,
  nest,
  readElement,
  Tensor,
  typedView,
  type DeviceLike,
  type HostValue,
  type NestedArray,
} from "../tensor/index.js";
import { tensor as makeTensor, tensorFromBytes, type TensorData, type TensorOptions } from "./factories.js";
import { getItem, setItem, type Index } from "./indexing.js";
import { formatTensor } from "./printing.js";

export interface TensorApi {
  /** The value of a tensor of one element; waits for it. */
  item(): number | boolean | bigint | Complex;
  /** The elements as nested arrays; waits for them. int64 beyond 2^53 comes as bigint. */
  tolist(): NestedArray<HostValue>;
  /** The elements, row-major, as a typed array (16-bit floats as their bits); waits for them. */
  numpy(): ReturnType<typeof typedView>;
  /** The elements, row-major, as a typed array, without blocking the event loop. */
  to_host(): Promise<ReturnType<typeof typedView>>;
  /** Row-major bytes; waits for them. */
  toBytes(): Uint8Array<ArrayBuffer>;
  to(
    target: DeviceLike | DType | Tensor,
    options?: { dtype?: DType; device?: DeviceLike; copy?: boolean; non_blocking?: boolean },
  ): Tensor;
  to(target: DeviceLike, dtype: DType, non_blocking?: boolean, copy?: boolean): Tensor;
  to(target: DType | Tensor, non_blocking: boolean, copy?: boolean): Tensor;
  to(options: { dtype?: DType; device?: DeviceLike; copy?: boolean; non_blocking?: boolean }): Tensor;
  cpu(): Tensor;
  tpu(index?: number): Tensor;
  float(): Tensor;
  double(): Tensor;
  half(): Tensor;
  bfloat16(): Tensor;
  long(): Tensor;
  int(): Tensor;
  short(): Tensor;
  char(): Tensor;
  byte(): Tensor;
  bool(): Tensor;
  cfloat(): Tensor;
  cdouble(): Tensor;
  type(dtype: DType): Tensor;
  type_as(other: Tensor): Tensor;
  /** The same storage, outside of the graph. */
  detach(): Tensor;
  detach_(): Tensor;
  /** The same storage, outside of the graph and of the version counter. Assigning replaces the storage. */
  get data(): Tensor;
  set data(value: Tensor);
  is_contiguous(): boolean;
  /** This tensor if it is contiguous, else a copy that is. */
  contiguous(): Tensor;
  new_tensor(data: TensorData, options?: TensorOptions): Tensor;
  /** `x[1:3, ..., -1]` is `x.at("1:3", "...", -1)`. Also null (a new dimension), booleans, index and mask tensors. */
  at(...index: Index[]): Tensor;
  /** `x[index] = value` is `x.set_at([index…], value)`. */
  set_at(index: Index | readonly Index[], value: Tensor | Scalar): Tensor;
  readonly T: Tensor;
  readonly mT: Tensor;
  readonly H: Tensor;
  readonly mH: Tensor;
  /** The real part, as a view. */
  readonly real: Tensor;
  /** The imaginary part, as a view. */
  readonly imag: Tensor;
  /** Frees the buffer now; the tensor and its views cannot be used afterwards. */
  dispose(): void;
  [Symbol.dispose](): void;
  /** Rows of the first dimension. */
  [Symbol.iterator](): IterableIterator<Tensor>;
  toString(): string;
}

/** The buffer of a tensor's own elements, row-major: its storage's, or that of a copy. */
function denseHandle(t: Tensor): BufferHandle {
  if (t.is_meta) throw new TorchError("Cannot copy out of meta tensor; no data!");
  const trace = currentTrace();
  if (trace !== null && (t.storageRef.traced !== null || trace.host !== null))
    trace.breakHere("the value of a tensor was read (item, tolist, print, control flow or a copy to another device)");
  const dense = t.spec.isRoot ? t : torchFunctions().clone(t.detach());
  const { handle } = dense.storageRef;
  if (handle === null) throw missingBuffer(t);
  return handle;
}

function bytesOf(t: Tensor): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(t.numel() * t.itemsize);
  readRaw(denseHandle(t), out);
  return out;
}

const oneElement = new Uint8Array(16);

function itemOf(t: Tensor): HostValue {
  if (t.numel() !== 1) throw new TorchError(`a Tensor with ${t.numel()} elements cannot be converted to Scalar`);
  const bytes = oneElement.subarray(0, t.itemsize);
  readRaw(denseHandle(t), bytes);
  return readElement(typedView(bytes, t.dtype) as never, 0, t.dtype);
}

function elementsOf(t: Tensor): HostValue[] {
  const view = typedView(bytesOf(t), t.dtype);
  return Array.from({ length: t.numel() }, (_, i) => readElement(view as never, i, t.dtype));
}

interface Move {
  dtype: DType | null;
  device: Device | null;
  copy: boolean;
}

/** Reads what PyTorch's `to` takes: a dtype, a device or a tensor, then non_blocking and copy, or options by name. */
function parseMove(given: readonly unknown[]): Move {
  const move: Move = { dtype: null, device: null, copy: false };
  const flags: boolean[] = [];
  for (const x of given) {
    if (x === undefined || x === null) continue;
    if (x instanceof DType) move.dtype = x;
    else if (x instanceof Tensor) [move.dtype, move.device] = [x.dtype, x.device];
    else if (x instanceof Device || typeof x === "string" || typeof x === "number") move.device = deviceOf(x);
    else if (typeof x === "boolean") flags.push(x);
    else if (typeof x === "object") {
      const o = x as { dtype?: DType | null; device?: DeviceLike | null; copy?: boolean };
      move.dtype = o.dtype ?? move.dtype;
      move.device = o.device === undefined || o.device === null ? move.device : deviceOf(o.device);
      move.copy = o.copy ?? move.copy;
    } else throw new TorchTypeError(`to(): expected a dtype, a device or a tensor, got ${typeof x}`);
  }
  if (flags.length > 1) move.copy = flags[1];
  return move;
}

function moveTo(t: Tensor, { dtype, device, copy }: Move): Tensor {
  const torch = torchFunctions();
  let out = t;
  if (dtype !== null && dtype !== t.dtype) out = torch._to_copy(out, { dtype });
  if (device !== null && device !== t.device) out = toDevice(out, device);
  return out === t && copy ? torch.clone(t) : out;
}

/** The same elements on another device, outside of the graph. */
export function copyToDevice(t: Tensor, device: Device): Tensor {
  if (device.type === "meta") return tensorFromBytes(new Uint8Array(t.nbytes), t.dtype, t.shape, device);
  void backendOf(device);
  return tensorFromBytes(bytesOf(t), t.dtype, t.shape, device);
}

class ToDevice extends Node {
  constructor(
    private readonly from: Device,
    edge: { node: Node; nr: number },
  ) {
    super("ToDeviceBackward0", [edge.node], [edge.nr], 1);
  }
  apply([dy]: Grad[]): Grad[] {
    return [dy ? toDevice(dy, this.from) : null];
  }
}

function toDevice(t: Tensor, device: Device): Tensor {
  const out = copyToDevice(t, device);
  const edge = is_grad_enabled() ? gradientEdge(t) : null;
  if (edge) {
    out.gradFn = new ToDevice(t.device, edge);
    out.requiresGradFlag = true;
  }
  return out;
}

const conversions = {
  float: dt.float32,
  double: dt.float64,
  half: dt.float16,
  bfloat16: dt.bfloat16,
  long: dt.int64,
  int: dt.int32,
  short: dt.int16,
  char: dt.int8,
  byte: dt.uint8,
  bool: dt.bool,
  cfloat: dt.complex64,
  cdouble: dt.complex128,
} as const;

function detached(t: Tensor): Tensor {
  return new Tensor(t.storageRef, t.spec, t.offsets);
}

const methods: Omit<TensorApi, keyof typeof conversions> & ThisType<Tensor> = {
  item() {
    return itemOf(this);
  },
  tolist() {
    return this.ndim === 0 ? itemOf(this) : nest(elementsOf(this), this.shape);
  },
  numpy() {
    if (this.requires_grad && is_grad_enabled())
      throw new TorchError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
    return typedView(bytesOf(this), this.dtype);
  },
  async to_host() {
    const bytes = new Uint8Array(this.numel() * this.itemsize);
    await readAsync(denseHandle(this), bytes);
    return typedView(bytes, this.dtype);
  },
  toBytes() {
    return bytesOf(this);
  },
  to(...given: unknown[]) {
    return moveTo(this as unknown as Tensor, parseMove(given));
  },
  cpu() {
    return this.to("cpu");
  },
  tpu(index = 0) {
    return this.to(`tpu:${index}`);
  },
  type(dtype) {
    return this.to(dtype);
  },
  type_as(other) {
    return this.to(other);
  },
  detach() {
    return detached(this);
  },
  detach_() {
    if (this.meta?.base) throw new TorchError("Can't detach views in-place, use detach() instead.");
    this.gradFn = null;
    this.outputNr = 0;
    this.requiresGradFlag = false;
    return this;
  },
  get data() {
    return detached(this as unknown as Tensor);
  },
  set data(value) {
    const self = this as unknown as Tensor;
    if (value.dtype !== self.dtype && self.requires_grad && !value.dtype.is_differentiable)
      throw new TorchError("data set to a tensor that requires gradients must be floating point or complex dtype");
    self.storageRef = value.storageRef;
    self.spec = value.spec;
    self.offsets = value.offsets;
  },
  is_contiguous() {
    const { strides } = this.spec.layout(this.offsets);
    let step = 1;
    for (let i = this.ndim - 1; i >= 0; i--) {
      if (this.shape[i] !== 1 && strides[i] !== step) return this.numel() === 0;
      step *= this.shape[i];
    }
    return true;
  },
  contiguous() {
    return this.is_contiguous() ? this : torchFunctions().clone(this);
  },
  new_tensor(data, options = {}) {
    return makeTensor(data, { dtype: this.dtype, device: this.device, ...options });
  },
  at(...index) {
    return getItem(this, index);
  },
  set_at(index, value) {
    setItem(this, Array.isArray(index) ? (index as readonly Index[]) : [index as Index], value);
    return this;
  },
  get T() {
    return torchFunctions().numpy_T(this as unknown as Tensor);
  },
  get mT() {
    return torchFunctions().mT(this as unknown as Tensor);
  },
  get H() {
    return torchFunctions().matrix_H(this as unknown as Tensor);
  },
  get mH() {
    return torchFunctions().mH(this as unknown as Tensor);
  },
  get real() {
    return torchFunctions().real(this as unknown as Tensor);
  },
  get imag() {
    return torchFunctions().imag(this as unknown as Tensor);
  },
  dispose() {
    const storage = this.storageRef;
    if (storage.handle !== null && !storage.shared) deleteRaw(storage.handle);
    storage.handle = null;
  },
  [Symbol.dispose]() {
    this.dispose();
  },
  *[Symbol.iterator]() {
    if (this.ndim === 0) throw new TorchTypeError("iteration over a 0-d tensor");
    for (let i = 0; i < this.shape[0]; i++) yield torchFunctions().select(this, 0, i);
  },
  toString() {
    return formatTensor(this);
  },
};

Object.defineProperties(Tensor.prototype, Object.getOwnPropertyDescriptors(methods));
for (const [name, dtype] of Object.entries(conversions)) {
  Object.defineProperty(Tensor.prototype, name, {
    value(this: Tensor) {
      return this.to(dtype);
    },
  });
}
Object.defineProperty(Tensor.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value(this: Tensor) {
    return formatTensor(this);
  },
});
export { elementsOf };
