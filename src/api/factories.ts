/** @file Tensors from data on the host. */
import { backendOf, currentTrace } from "../dispatch/index.js";
import { rootSpecOf } from "../ops/view_spec.js";
import type { DType } from "../schema/index.js";
import {
  bool,
  Complex,
  complex64,
  dtypeFromName,
  FloatScalar,
  float32,
  float64,
  get_default_dtype,
  int16,
  int32,
  int64,
  int8,
  isScalar,
  numelOf,
  TorchError,
  TorchTypeError,
  uint16,
  uint32,
  uint64,
  uint8,
  type Scalar,
} from "../schema/index.js";
import { aval } from "../schema/aval.js";
import {
  device as deviceOf,
  encodeElements,
  flattenNested,
  get_default_device,
  Storage,
  Tensor,
  typedView,
  type Device,
  type DeviceLike,
  type NestedArray,
} from "../tensor/index.js";

export interface TensorOptions {
  dtype?: DType;
  device?: DeviceLike;
  requires_grad?: boolean;
}

export type TypedArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

/** What `torch.tensor` takes: numbers, nested arrays of them, or a typed array. */
export type TensorData = NestedArray<Scalar> | TypedArray;

const typedDtypes: [new (...a: never[]) => TypedArray, DType][] = [
  [Float32Array, float32],
  [Float64Array, float64],
  [Int32Array, int32],
  [BigInt64Array, int64],
  [Uint8Array, uint8],
  [Uint8ClampedArray, uint8],
  [Int8Array, int8],
  [Int16Array, int16],
  [Uint16Array, uint16],
  [Uint32Array, uint32],
  [BigUint64Array, uint64],
];

const dtypeOfTyped = (data: TypedArray): DType => typedDtypes.find(([T]) => data instanceof T)![1];

/** PyTorch's inference: bool if all are, else int64 if all are integers, else the default float type, or complex. */
function inferDtype(values: readonly Scalar[]): DType {
  if (values.length === 0) return get_default_dtype();
  if (values.some((v) => v instanceof Complex)) return get_default_dtype().to_complex() ?? complex64;
  if (values.every((v) => typeof v === "boolean")) return bool;
  const isInteger = (v: Scalar): boolean =>
    typeof v === "bigint" || typeof v === "boolean" || (typeof v === "number" && Number.isInteger(v));
  return values.every(isInteger) ? int64 : get_default_dtype();
}

/** A tensor on `device` with these row-major bytes. */
export function tensorFromBytes(
  bytes: ArrayBufferView,
  dtype: DType,
  shape: readonly number[],
  device: Device,
): Tensor {
  if (shape.length > 64)
    throw new TorchError(`only tensors with up to 64 dims are supported, got one with ${shape.length}`);
  const need = numelOf(shape) * dtype.itemsize;
  if (bytes.byteLength !== need)
    throw new TorchError(
      `tensorFromBytes(): expected ${need} bytes for ${dtype.name}[${shape.join(",")}], got ${bytes.byteLength}`,
    );
  if (device.type === "meta")
    return new Tensor(new Storage(null, aval(dtype, shape), device), rootSpecOf(dtype, shape));
  const handle = backendOf(device).upload(bytes, dtype, shape);
  return new Tensor(new Storage(handle, aval(dtype, shape), device), rootSpecOf(dtype, shape));
}

/**
 * `torch.tensor`: a new tensor with a copy of `data`.
 * Integers give int64, other numbers float32, as in PyTorch; JavaScript cannot tell 1.0 from 1, so pass `dtype` for those.
 */
export function tensor(data: TensorData | Tensor, options: TensorOptions = {}): Tensor {
  const device = deviceOf(options.device ?? (data instanceof Tensor ? data.device : get_default_device()));
  let out: Tensor;
  if (data instanceof Tensor) out = data.detach().to(device, { dtype: options.dtype }).clone();
  else if (ArrayBuffer.isView(data)) out = fromTyped(data, options.dtype, device);
  else {
    if (!isScalar(data) && !Array.isArray(data))
      throw new TorchTypeError(`tensor(): expected a number, an array or a typed array, got ${typeof data}`);
    const { shape, values } = flattenNested(data as NestedArray<Scalar>);
    const bad = (values as unknown[]).find((v) => !isScalar(v));
    if (bad instanceof Tensor && currentTrace() !== null) void bad.item(); // ends the trace
    if (bad !== undefined)
      throw new TorchTypeError(`tensor(): expected numbers, got ${bad === null ? "null" : typeof bad}`);
    const dtype = options.dtype ?? inferDtype(values);
    out = tensorFromBytes(encodeElements(values, dtype), dtype, shape, device);
  }
  const trace = currentTrace();
  if (trace !== null && trace.host === null)
    throw new TorchError("tensor(): expected a tensor made outside of a traced function, got data inside one");
  return options.requires_grad ? out.requires_grad_() : out;
}

function fromTyped(data: TypedArray, dtype: DType | undefined, device: Device): Tensor {
  const own = dtypeOfTyped(data);
  const out = tensorFromBytes(data, own, [data.length], device);
  return dtype && dtype !== own ? out.to(dtype) : out;
}

/** `torch.as_tensor`: as `tensor`, but a tensor of the asked type and device is returned as it is. */
export function as_tensor(data: TensorData | Tensor, options: TensorOptions = {}): Tensor {
  if (data instanceof Tensor) return data.to(options.device ?? data.device, { dtype: options.dtype });
  return tensor(data, options);
}
export { as_tensor as asarray };

/** A tensor from a typed array: one dimension, or `shape` (`torch.from_numpy`'s place in TypeScript). The data is copied. */
export function from_typed_array(
  data: TypedArray,
  shape: readonly number[] = [data.length],
  options: TensorOptions = {},
): Tensor {
  const dtype = options.dtype ?? dtypeOfTyped(data);
  const out = tensorFromBytes(data, dtype, shape, deviceOf(options.device ?? get_default_device()));
  return options.requires_grad ? out.requires_grad_() : out;
}

/** `torch.frombuffer`: a 1-D tensor of `dtype` over bytes. */
export function frombuffer(
  buffer: ArrayBuffer | Uint8Array,
  options: { dtype: DType; count?: number; offset?: number; requires_grad?: boolean },
): Tensor {
  const bytes = buffer instanceof Uint8Array ? buffer : new Uint8Array(buffer);
  const offset = options.offset ?? 0;
  const rest = bytes.byteLength - offset;
  const count = options.count ?? Math.floor(rest / options.dtype.itemsize);
  if (offset < 0 || offset >= bytes.byteLength || count <= 0 || count * options.dtype.itemsize > rest) {
    throw new TorchError(
      `frombuffer(): expected a buffer of at least ${offset + Math.max(1, count) * options.dtype.itemsize} bytes, got ${bytes.byteLength}`,
    );
  }
  const out = tensorFromBytes(
    bytes.slice(offset, offset + count * options.dtype.itemsize),
    options.dtype,
    [count],
    get_default_device(),
  );
  return options.requires_grad ? out.requires_grad_() : out;
}

/** A number that counts as a Python float although its value is an integer: `torch.full([2], torch.asFloat(1))`. */
export const asFloat = (value: number): FloatScalar => new FloatScalar(value);

/** A complex number. */
export const complexNumber = (re: number, im: number): Complex => new Complex(re, im);

export { dtypeFromName, typedView };
