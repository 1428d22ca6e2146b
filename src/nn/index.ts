/** @file Neural networks: `import * as nn from "torch-tpu/nn"`. */
import "../api/index.js";
export * as functional from "./functional.js";
export * as init from "./init.js";
export * as utils from "./utils.js";
export { TorchAttributeError, TorchKeyError } from "./errors.js";
export {
  register_module_forward_hook,
  register_module_forward_pre_hook,
  register_module_full_backward_hook,
  register_module_full_backward_pre_hook,
} from "./hooks.js";
export type { BackwardHook, BackwardPreHook, ForwardHook, ForwardPreHook } from "./hooks.js";
export { Module } from "./module.js";
export { Buffer, Parameter, type ParameterOptions } from "./parameter.js";
export { IncompatibleKeys, type StateDict } from "./state_dict.js";
export type { Reduction } from "./signature.js";
export * from "./layers/activation.js";
export {
  BatchNorm1d,
  BatchNorm2d,
  BatchNorm3d,
  InstanceNorm1d,
  InstanceNorm2d,
  InstanceNorm3d,
} from "./layers/batchnorm.js";
export { ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential, type Named } from "./layers/container.js";
export { Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d } from "./layers/conv.js";
export * from "./layers/dropout.js";
export { Bilinear, Identity, Linear } from "./layers/linear.js";
export * from "./layers/loss.js";
export { GroupNorm, LayerNorm, LocalResponseNorm, RMSNorm } from "./layers/normalization.js";
export * from "./layers/padding.js";
export * from "./layers/pooling.js";
export * from "./layers/shape.js";
export * from "./layers/sparse.js";
export { MultiheadAttention } from "./layers/attention.js";
export { GRU, GRUCell, LSTM, LSTMCell, RNN, RNNCell } from "./layers/rnn.js";
export {
  Transformer,
  TransformerDecoder,
  TransformerDecoderLayer,
  TransformerEncoder,
  TransformerEncoderLayer,
} from "./layers/transformer.js";
export { deepcopy } from "./deepcopy.js";
