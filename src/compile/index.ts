/** @file Functions compiled as a whole. */
export * from "./compile.js";
export * from "./config.js";
export * as compiler from "./compiler.js";
