/** @file The compilation cache's switches and counts, as TorchTPU names them. */
import { backendOf, programCaching, type CacheStats } from "../dispatch/index.js";
import { device } from "../tensor/index.js";

/** Requests, hits and compilations of this process, and each program's time and uses by its key. */
export const _get_cache_stats = (): CacheStats => programCaching.stats;
export const _get_cache_requests = (): number => programCaching.stats.num_cache_reqs;
export const _get_cache_hits = (): number => programCaching.stats.num_cache_hits;
export const _get_cache_misses = (): number =>
  programCaching.stats.num_cache_reqs - programCaching.stats.num_cache_hits;

/** Forgets the programs in memory and on this host, and starts the counts anew. Programs in use go on. */
export function _clear_cache(): void {
  backendOf(device("tpu")).programs.clear();
  programCaching.clearStats();
}

/** Whether programs of earlier may be used. Default true. */
export function _set_allow_cache(allow: boolean): void {
  programCaching.allow = allow;
}

/** Whether a program that is not in the cache is an error instead of compiled. Default false. */
export function _set_cache_only(only: boolean): void {
  programCaching.only = only;
}
