/** @file torch.amp: automatic mixed precision. */
export { autocast, is_autocast_available, type AutocastGuard, type AutocastOptions } from "../autograd/index.js";
export { custom_bwd, custom_fwd, type CustomOptions } from "./custom.js";
export { GradScaler, type GradScalerOptions, type GradScalerState, type ScalableOptimizer } from "./grad_scaler.js";
