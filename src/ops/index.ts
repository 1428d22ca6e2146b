/** @file The ATen operators. Importing this registers all of them. */
import "./arithmetic.js";
import "./creation.js";
import "./matmul.js";
import "./movement.js";
import "./pointwise.js";
import "./reduction.js";
import "./writes.js";
export * from "./registry.js";
export * from "./torch_ref.js";
export * from "./scalar_value.js";
export * from "./view_spec.js";
export * from "./view_steps.js";
