/**
 * @file Operators that may differ by more than the general tolerance, with the reason.
 * Where PyTorch's own operator database overrides the tolerance of an operator, its number stands here.
 */
export const tolerances: Record<string, Record<string, { readonly atol: number; readonly rtol: number; readonly reason: string }>> = {};
