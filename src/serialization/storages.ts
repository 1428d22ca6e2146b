/** @file Storages of a checkpoint: read once each, shared by all tensors that show them, checked before anything is made. */
import { functional, tensorFromBytes } from "../api/index.js";
import { no_grad } from "../autograd/index.js";
import { contiguousStrides, numelOf, TorchError, type DType } from "../schema/index.js";
import { Tensor, type Device } from "../tensor/index.js";

/** A storage that a checkpoint names. */
export class CheckpointStorage {
  constructor(
    readonly key: string,
    readonly dtype: DType,
    readonly nbytes: number,
    readonly device: Device,
    private readonly read: () => Uint8Array,
    private readonly shared: { base: Tensor | null } = { base: null },
  ) {}

  /** The same memory, by the name of another type. */
  as(dtype: DType): CheckpointStorage {
    return new CheckpointStorage(this.key, dtype, this.nbytes, this.device, this.read, this.shared);
  }

  /** What holds the memory: of the shape of the first tensor that shows all of it, else flat. */
  private base(dtype: DType, shape: readonly number[]): Tensor {
    const { shared, device } = this;
    if (shared.base !== null) return shared.base;
    if (device.type === "meta") return (shared.base = functional.empty(shape, { dtype, device }));
    const bytes = this.read();
    return (shared.base = tensorFromBytes(bytes.subarray(0, numelOf(shape) * dtype.itemsize), dtype, shape, device));
  }

  /** The tensor of this place and these strides; all tensors of a storage share its memory. */
  view(dtype: DType, offset: number, size: readonly number[], stride: readonly number[]): Tensor {
    checkBounds(this.nbytes, dtype, offset, size, stride);
    return no_grad(() => this.place(dtype, offset, size, stride));
  }

  private place(dtype: DType, offset: number, size: readonly number[], stride: readonly number[]): Tensor {
    if (numelOf(size) === 0) return functional.empty(size, { dtype, device: this.device });
    const count = Math.floor(this.nbytes / dtype.itemsize);
    const isAll = offset === 0 && numelOf(size) === count && isDense(size, stride);
    const base = this.base(dtype, isAll ? size : [count]);
    const flat = base.view([base.numel()]);
    const typed = dtype === flat.dtype ? flat : functional.view(flat, dtype);
    const same = isAll && dtype === base.dtype && String(size) === String(base.shape);
    const found = same ? base : viewOf(typed, offset, size, stride);
    return new Tensor(found.storageRef, found.spec, found.offsets);
  }
}

const isDense = (size: readonly number[], stride: readonly number[]): boolean => {
  const dense = contiguousStrides(size);
  return size.every((n, i) => n === 1 || stride[i] === dense[i]);
};

/** A block of `flat` whose dimensions were permuted, where it is one; that is faster to read than any strides. */
function viewOf(flat: Tensor, offset: number, size: readonly number[], stride: readonly number[]): Tensor {
  const order = size.map((_, i) => i).sort((a, b) => stride[b] - stride[a] || size[b] - size[a] || a - b);
  const sorted = order.map((d) => size[d]);
  if (!isDense(sorted, order.map((d) => stride[d]))) return functional.as_strided(flat, size, stride, offset); // prettier-ignore
  const block = flat.narrow(0, offset, numelOf(size)).view(sorted);
  return block.permute(size.map((_, d) => order.indexOf(d)));
}

const isCount = (n: unknown): n is number => typeof n === "number" && Number.isSafeInteger(n) && n >= 0;

/** PyTorch's check that a tensor lies within its storage. */
function checkBounds(
  nbytes: number,
  dtype: DType,
  offset: number,
  size: readonly number[],
  stride: readonly number[],
): void {
  const text = `sizes [${size.join(", ")}], strides [${stride.join(", ")}], storage offset ${offset}, and itemsize ${dtype.itemsize}`;
  if (size.length !== stride.length || size.length > 64 || ![offset, ...size, ...stride].every(isCount))
    throw new TorchError(`setStorage: expected sizes, strides and an offset that a tensor can have, got ${text}`);
  const numel = numelOf(size);
  const last = numel === 0 ? -1 : size.reduce((at, n, i) => at + (n - 1) * stride[i], offset);
  const need = (last + 1) * dtype.itemsize;
  if (!Number.isSafeInteger(numel * dtype.itemsize) || !Number.isSafeInteger(need) || need > nbytes)
    throw new TorchError(
      `setStorage: ${text} requiring a storage size of ${need} are out of bounds for storage of size ${nbytes}`,
    );
}
