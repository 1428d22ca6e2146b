/** @file Learning rate schedules. @see https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate */
export { LRScheduler, type SchedulerState } from "./base.js";
export { ChainedScheduler, SequentialLR } from "./combined.js";
export { CosineAnnealingLR, CosineAnnealingWarmRestarts } from "./cosine.js";
export { CyclicLR, OneCycleLR } from "./cyclic.js";
export {
  ConstantLR,
  ExponentialLR,
  LambdaLR,
  LinearLR,
  MultiplicativeLR,
  MultiStepLR,
  PolynomialLR,
  StepLR,
} from "./factor.js";
export { ReduceLROnPlateau } from "./plateau.js";
