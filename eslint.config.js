/** @file Lint rules. Type information is used for promises only: everything else is cheap. */

import tseslint from "typescript-eslint";
import { plugin as torchTpu } from "./tools/lint/plugin.mjs";

/** One way to export: by name. Tools that ask for a default export are the exception. */
const NO_DEFAULT_EXPORT = {
  selector: "ExportDefaultDeclaration",
  message: "Export by name.",
};

export default tseslint.config(
  {
    ignores: ["dist/", "docs/api/", "native/build/", "coverage/", "node_modules/", "**/fixtures/"],
  },
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.recommended],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { "torch-tpu": torchTpu },
    rules: {
      "no-restricted-syntax": ["error", NO_DEFAULT_EXPORT],
      "prefer-const": "error",
      eqeqeq: ["error", "always", { null: "ignore" }],
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-unused-vars": [
        "error",
        { argsIgnorePattern: "^_", varsIgnorePattern: "^_", caughtErrorsIgnorePattern: "^_" },
      ],
      "@typescript-eslint/consistent-type-imports": ["error", { disallowTypeAnnotations: false }],
      // An interface beside a class is how Module is callable; an empty one names a type for readers.
      "@typescript-eslint/no-unsafe-declaration-merging": "off",
      "@typescript-eslint/no-empty-object-type": "off",
      "@typescript-eslint/no-this-alias": "off",
    },
  },
  {
    files: ["src/**/*.ts"],
    rules: { "torch-tpu/layers": "error" },
  },
  {
    files: ["src/**/*.ts"],
    ignores: ["**/*.test.ts"],
    rules: { "torch-tpu/file-docblock": "error" },
  },
  {
    files: ["*.config.ts"],
    rules: { "no-restricted-syntax": "off" },
  },
  {
    files: ["**/*.{js,mjs}"],
    extends: [tseslint.configs.recommended],
    rules: { "prefer-const": "error" },
  },
);
