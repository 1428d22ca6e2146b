/** @file Neural networks: `import * as nn from "torch-tpu/nn"`. */
import "../api/index.js";
export * from "./module.js";
export { Buffer, Parameter } from "./parameter.js";
