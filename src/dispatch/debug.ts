/** @file TORCH_TPU_DEBUG=1..5 shows one more stop of a call per level on stderr. */
const level = Number(process.env.TORCH_TPU_DEBUG ?? 0);

/** Level 1: each program compiled. Level 2: its text. */
export function debugProgram(name: string, text: string): void {
  if (level >= 1) process.stderr.write(`torch-tpu: compiled ${name}\n`);
  if (level >= 2) process.stderr.write(`${text}\n`);
}

/** Level 3: each call. */
export const debugCalls = level >= 3;
