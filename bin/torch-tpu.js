#!/usr/bin/env node
/** @file The `torch-tpu` command. Checks what it needs in order to start at all, then hands over to src/cli. */

const major = Number(process.versions.node.split(".")[0]);
if (major < 20) {
  console.error(`torch-tpu: expected Node 20 or newer, got ${process.version}. Install a newer Node.`);
  process.exit(1);
}

try {
  const { main } = await import("../dist/src/cli/main.js");
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (error?.code !== "ERR_MODULE_NOT_FOUND") throw error;
  console.error(`torch-tpu: ${error.message}`);
  console.error(
    'torch-tpu: the package is not built or not whole. In a clone: "npm install"; else reinstall torch-tpu.',
  );
  process.exitCode = 1;
}
