/** @file The `torch` namespace: `import * as torch from "torch-tpu"`. */
import "./api/index.js";
export * as amp from "./amp/index.js";
export * from "./api/generated/exports.js";
export { fft, linalg, special } from "./api/generated/namespaces.js";
export { as_tensor, asarray, asFloat, complexNumber, from_typed_array, frombuffer, tensor } from "./api/factories.js";
export type { TensorData, TensorOptions, TypedArray } from "./api/factories.js";
export { Slice, type Index } from "./api/indexing.js";
export { finfo, iinfo } from "./api/info.js";
export { is_complex, is_floating_point, is_storage, is_tensor, numel, result_type } from "./api/predicates.js";
export { set_printoptions, type PrintOptions } from "./api/printing.js";
export * as tpu from "./api/tpu.js";
export * as autograd from "./autograd/index.js";
export {
  autocast,
  clear_autocast_cache,
  enable_grad,
  get_autocast_dtype,
  is_autocast_cache_enabled,
  is_autocast_enabled,
  set_autocast_cache_enabled,
  set_autocast_dtype,
  set_autocast_enabled,
  inference_mode,
  is_grad_enabled,
  is_inference_mode_enabled,
  no_grad,
  set_grad_enabled,
} from "./autograd/index.js";
export { compile, compiler, type Compiled, type CompileOptions } from "./compile/index.js";
export * as masked from "./masked/index.js";
export * as nn from "./nn/index.js";
export * as optim from "./optim/index.js";
export * as serialization from "./serialization/index.js";
export { load, save } from "./serialization/index.js";
export * as export from "./export/index.js";
export * from "./schema/dtype.js";
export * as signal from "./signal/index.js";
export { can_cast, get_default_dtype, promote_types, set_default_dtype } from "./schema/promotion.js";
export { Complex, FloatScalar, type Scalar } from "./schema/scalar.js";
export {
  LinAlgError,
  TorchError,
  TorchIndexError,
  TorchNotImplementedError,
  TorchTypeError,
  TorchValueError,
} from "./schema/errors.js";
export {
  device,
  Device,
  Generator,
  get_default_device,
  initial_seed,
  manual_seed,
  set_default_device,
  Tensor,
} from "./tensor/index.js";
export { ops } from "./api/aten_namespace.js";
