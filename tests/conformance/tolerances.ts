/**
 * @file How far results may be from PyTorch's. The general tolerances are those of torch.testing.assert_close, widened
 * for float32 by what a different order of additions needs. An operator that needs more has a line here with the reason;
 * where PyTorch's own operator database overrides the tolerance of that operator, its numbers are taken.
 */
import type { DType } from "torch-tpu";

export interface Tolerance {
  readonly atol: number;
  readonly rtol: number;
}

const general: Record<string, Tolerance> = {
  float32: { atol: 1e-5, rtol: 1.3e-5 },
  complex64: { atol: 1e-5, rtol: 1.3e-5 },
  float64: { atol: 1e-7, rtol: 1e-7 },
  complex128: { atol: 1e-7, rtol: 1e-7 },
  bfloat16: { atol: 1.6e-2, rtol: 1.6e-2 },
  float16: { atol: 1.6e-2, rtol: 1.6e-2 },
};

const exact: Tolerance = { atol: 0, rtol: 0 };

interface ListedTolerance extends Tolerance {
  readonly reason: string;
}

/** Overridden in op_db itself. */
const opDb = (atol: number, rtol: number): ListedTolerance => ({
  atol,
  rtol,
  reason: "PyTorch's op_db overrides it so",
});
/**
 * PyTorch on CPU rounds to bfloat16 between partial sums; here they are float32, and one rounding ends the sum. Against
 * float64, PyTorch's recorded results of these operators are off by twice what rounding the exact result costs.
 */
const roundsBetween = (atol: number): ListedTolerance => ({
  atol,
  rtol: 1.6e-2,
  reason: "PyTorch rounds to bfloat16 between partial sums",
});

/** Small elements of an exponential beside large ones: PyTorch's are off from float64 by more than those here. */
const cancels: ListedTolerance = {
  atol: 1e-3,
  rtol: 1.3e-5,
  reason: "beside elements of 1e5, PyTorch's small ones are off by 4e-4 from float64 itself",
};

/** By the name of the recording, or of the operator without its variant or overload, then by dtype. */
export const tolerances: Readonly<Record<string, Readonly<Record<string, ListedTolerance>>>> = {
  addbmm: { bfloat16: opDb(0.2, 0.6), float32: opDb(1.3e-4, 1.3e-4) },
  baddbmm: { complex64: opDb(4e-5, 1.2e-3) },
  "nn.functional.conv_transpose1d": { bfloat16: roundsBetween(0.15), float32: opDb(1e-4, 1.5e-5) },
  "nn.functional.conv_transpose2d": { bfloat16: roundsBetween(0.15) },
  "nn.functional.conv_transpose3d": { bfloat16: roundsBetween(0.4), float32: opDb(2e-4, 2e-4) },
  "nn.functional.scaled_dot_product_attention": { float32: opDb(5e-5, 5e-6) },
  matrix_exp: { float32: cancels },
  linalg_matrix_exp: { float32: cancels },
  _unsafe_masked_index_put_accumulate: { bfloat16: roundsBetween(0.15) },
};

/** The same for gradients. */
const gradientTolerances: typeof tolerances = {
  logcumsumexp: {
    float32: { atol: 1e-3, rtol: 5e-3, reason: "PyTorch's formula cancels: it is off by 1e-3 from float64 itself" },
  },
};

function find(table: typeof tolerances, op: string, dtype: DType): Tolerance | undefined {
  return (table[op] ?? table[op.replace(/\.\w+$/, "")])?.[dtype.name];
}

/** The tolerance for results of this type. Integers and booleans are exact. */
export function toleranceFor(op: string, dtype: DType, isGradient = false): Tolerance {
  const listed = isGradient ? find(gradientTolerances, op, dtype) : undefined;
  return listed ?? find(tolerances, op, dtype) ?? general[dtype.name] ?? exact;
}
