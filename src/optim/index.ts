/** @file `torch.optim`. */
export { Adam, AdamW, type AdamOptions } from "./adam.js";
export * as lr_scheduler from "./lr_scheduler.js";
export { Optimizer, type OptimizerState, type ParamGroup, type Params } from "./optimizer.js";
export { SGD, type SGDOptions } from "./sgd.js";
