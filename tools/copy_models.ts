/**
 * @file Copies the small ones of recorded torch.export programs into tests/models/export, for a clone without the others.
 * `node dist/tools/copy_models.js DIR`.
 */
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";

const programs = ["bert-dynamic", "lstm"];

const [source] = process.argv.slice(2);
if (!source) {
  console.error("copy_models: expected the folder of the recorded models");
  process.exit(2);
}
for (const name of programs) {
  const target = join("tests/models/export", name);
  mkdirSync(target, { recursive: true });
  for (const file of ["model.pt2", "io.safetensors"])
    copyFileSync(join(source, "export", name, file), join(target, file));
}
console.log(`copied ${programs.length} programs`);
