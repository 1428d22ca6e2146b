/** @file `torch.optim`. */
export { Adagrad, type AdagradOptions } from "./adagrad.js";
export { Adam, AdamW, type AdamOnlyOptions, type AdamOptions } from "./adam.js";
export { Adamax, NAdam, RAdam, type AdamaxOptions, type DecoupledOptions, type NAdamOptions } from "./adam_variants.js";
export { LBFGS, type LBFGSOptions } from "./lbfgs.js";
export * as lr_scheduler from "./lr_scheduler/index.js";
export {
  Optimizer,
  register_optimizer_step_post_hook,
  register_optimizer_step_pre_hook,
  type GroupLike,
  type OptimizerState,
  type ParamGroup,
  type Params,
} from "./optimizer.js";
export { Adadelta, RMSprop, type AdadeltaOptions, type RMSpropOptions } from "./rmsprop.js";
export { ASGD, Rprop, type ASGDOptions, type RpropOptions } from "./rprop.js";
export { SGD, type SGDOptions } from "./sgd.js";
export type { LearningRate } from "./values.js";
