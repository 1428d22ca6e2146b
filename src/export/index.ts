/** @file `torch.export`: programs that PyTorch exported, run here. */
import { TorchError } from "../schema/index.js";
import type { FileLike } from "../serialization/index.js";
import { device, type DeviceLike } from "../tensor/index.js";
import { readArchive } from "./archive.js";
import { ExportedProgram } from "./program.js";
import { ExportError } from "./schema.js";

export {
  ExportedModule,
  ExportedProgram,
  type ExportGraphSignature,
  type InputSpec,
  type OutputSpec,
} from "./program.js";
export { ExportError };

/**
 * `torch.export.load`: a program that `torch.export.save` wrote in Python (PyTorch 2.5 to 2.13).
 * `device`: where its tensors go; on `meta` nothing of them is read.
 *
 * @example
 * const program = load("model.pt2");
 * const model = program.module().to("tpu");
 * const y = model(x);
 *
 * @see https://docs.pytorch.org/docs/stable/export.html
 */
export function load(f: FileLike, options: { device?: DeviceLike } = {}): ExportedProgram {
  const archive = readArchive(f, device(options.device ?? "cpu"));
  try {
    return new ExportedProgram(archive);
  } catch (error) {
    if (error instanceof TorchError) throw error;
    // What is inside of arguments is not checked member by member before it is used.
    throw new ExportError(`torch.export.load(): expected a program, got a damaged one: ${(error as Error).message}`);
  }
}
