/** @file Reverse-mode differentiation: nodes, engine, modes. */
export * from "./autocast_mode.js";
export * from "./engine.js";
export * from "./function.js";
export * from "./grad_mode.js";
export * from "./gradcheck.js";
export * from "./node.js";
export * from "./tensor_autograd.js";
