import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const src = (path: string): string => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^torch-tpu$/, replacement: src("index.ts") },
      { find: /^torch-tpu\/nn\/functional$/, replacement: src("nn/functional.ts") },
      { find: /^torch-tpu\/(.+)$/, replacement: src("$1/index.ts") },
    ],
  },
  test: {
    include: ["src/**/*.test.ts", "tests/**/*.test.ts", "tools/**/*.test.ts", "bench/**/*.test.ts", "examples/**/*.test.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 240_000,
  },
});
