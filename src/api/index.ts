/** @file The torch namespace's own layer: operators as functions and methods, factories, indexing, printing. */
import "./methods.js";
import "./tensor_api.js";
export * from "./factories.js";
export * from "./functional.js";
export * from "./indexing.js";
export * from "./invoke.js";
export * from "./printing.js";
