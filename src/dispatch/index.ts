/** @file The way of a call from bound arguments to a program that runs. */
export * from "./autocast.js";
export * from "./backend.js";
export * from "./call.js";
export { deferralOf, runDeferred } from "./deferral.js";
export * from "./eager_mode.js";
export * from "./graph.js";
export * from "./hardware.js";
export * from "./host_values.js";
export * from "./inplace.js";
export * from "./program.js";
export { hostStore, programCaching, sharedStore, type CacheEntryStats, type CacheStats } from "./program_cache.js";
export { FolderStore, type ProgramInfo, type ProgramStore, type StoreEntry } from "./program_store.js";
export * from "./trace.js";
export * from "./view.js";
export * from "./graph_function.js";
