/** @file `torch.compiler.config`: limits and switches of compiled functions. */
export const config = {
  /** How many programs one function may have. */
  recompile_limit: 8,
  /** Whether to throw at the limit instead of running uncompiled. */
  fail_on_recompile_limit_hit: false,
  /** Compiled functions run as they are. */
  disable: process.env.TORCH_COMPILE_DISABLE === "1",
};
