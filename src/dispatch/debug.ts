/** @file TORCH_TPU_DEBUG=1..5 shows one more stop of a call per level on stderr. */
const level = Number(process.env.TORCH_TPU_DEBUG ?? 0);

/** Level 1: each program compiled. Level 2: its text. */
export function debugProgram(name: string, text: () => string): void {
  if (level >= 1) process.stderr.write(`torch-tpu: compiled ${name}\n`);
  if (level >= 2) process.stderr.write(`${text()}\n`);
}

/** Level 3: each call that runs, with its tensors. */
export const debugCalls = level >= 3;
export function debugCall(
  name: string,
  tensors: readonly { dtype: { name: string }; shape: readonly number[] }[],
): void {
  process.stderr.write(
    `torch-tpu: ${name}(${tensors.map((t) => `${t.dtype.name}[${t.shape.join(",")}]`).join(", ")})\n`,
  );
}
