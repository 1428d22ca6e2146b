/** @file Tests. `vitest run` is the everyday run; `--mode all` adds the files named *.slow.test.ts (see CONTRIBUTING.md). */

import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig } from "vitest/config";

const src = (path: string): string => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

const FOLDERS = ["src", "tests", "tools", "bench", "examples"];

export default defineConfig(({ mode }) => ({
  resolve: {
    alias: [
      { find: /^torch-tpu$/, replacement: src("index.ts") },
      { find: /^torch-tpu\/nn\/functional$/, replacement: src("nn/functional.ts") },
      { find: /^torch-tpu\/(.+)$/, replacement: src("$1/index.ts") },
    ],
  },
  test: {
    include: FOLDERS.map((folder) => `${folder}/**/*.test.ts`),
    exclude: [...configDefaults.exclude, ...(mode === "all" ? [] : ["**/*.slow.test.ts"])],
    // For a test that does more of the same in the full run.
    env: { TORCH_TPU_TEST_ALL: mode === "all" ? "1" : "" },
    globalSetup: "tests/kit/global_setup.ts",
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 240_000,
  },
}));
