/** @file The layer that knows of types, shapes and schemas, and of nothing that runs. */
export * from "./aval.js";
export * from "./dtype.js";
export * from "./errors.js";
export * from "./promotion.js";
export * from "./scalar.js";
export * from "./schema.js";
export * from "./shape.js";
export * from "./user_line.js";
