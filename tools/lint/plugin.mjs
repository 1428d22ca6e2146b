/**
 * @file This repository's own ESLint rules, as the plugin `torch-tpu`:
 *
 * - `layers`: an import under src/ points downwards, in the order that layers.json gives.
 * - `file-docblock`: a source file begins with a docblock that says, after `@file`, what it is for.
 */

import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

/** Layer name → row, from the rows of layers.json. */
export function readLayers(file = join(REPOSITORY, "layers.json")) {
  const { layers } = JSON.parse(readFileSync(file, "utf8"));
  return new Map(layers.flatMap((names, row) => names.map((name) => [name, row])));
}

/** The layer of a file under src/ (its first folder, or its name directly under src/), or null outside src/. */
function layerOf(path, src) {
  const inside = relative(src, path);
  if (inside.startsWith("..")) return null;
  return inside.split(sep)[0].replace(/\.(?:js|ts|mts)$/, ".ts");
}

/** The file that an import names, or null for a package. `torch-tpu/x` is src/x, as in package.json. */
function importedPath(specifier, file, src) {
  if (specifier.startsWith(".")) return resolve(dirname(file), specifier);
  if (specifier === "torch-tpu") return join(src, "index.ts");
  if (specifier.startsWith("torch-tpu/")) return join(src, specifier.slice("torch-tpu/".length));
  return null;
}

const layersRule = {
  meta: {
    type: "problem",
    docs: { description: "imports under src/ point downwards, in the order of layers.json" },
    schema: [
      {
        type: "object",
        properties: { src: { type: "string" }, layers: { type: "array" } },
        additionalProperties: false,
      },
    ],
    messages: {
      upward:
        "{{from}} may not import from {{to}}: layers.json puts {{to}} {{where}}. Move the code down, pass it in, or write " +
        "`import type` if only types are needed.",
      outside: "{{from}} may not import from outside src/ ({{specifier}}).",
      unknown: "layers.json names no layer {{layer}}: add it to a row.",
    },
  },
  create(context) {
    const options = context.options[0] ?? {};
    const src = options.src ?? join(REPOSITORY, "src");
    const rows = options.layers ? new Map(options.layers) : readLayers();
    const from = layerOf(context.filename, src);
    if (from === null) return {};
    const report = (node, messageId, data) => context.report({ node, messageId, data });

    /** Tests and their helpers (folders named testing) may use what they need: they are not part of the layer. */
    const isTest = /\.test\.ts$|[\\/]testing[\\/]/.test(context.filename);
    const check = (node, specifier, isType) => {
      const path = importedPath(specifier, context.filename, src);
      if (path === null || isType || isTest) return;
      const to = layerOf(path, src);
      if (to === null) return report(node, "outside", { from, specifier });
      if (to === from) return;
      if (!rows.has(to)) return report(node, "unknown", { layer: to });
      if (rows.get(to) < rows.get(from)) return;
      const where = rows.get(to) === rows.get(from) ? "beside it" : "above it";
      report(node, "upward", { from, to, where });
    };

    return {
      Program(node) {
        if (!rows.has(from)) report(node, "unknown", { layer: from });
      },
      ImportDeclaration(node) {
        check(node, node.source.value, isTypeOnly(node, node.importKind, "importKind"));
      },
      ExportNamedDeclaration(node) {
        if (node.source) check(node, node.source.value, isTypeOnly(node, node.exportKind, "exportKind"));
      },
      ExportAllDeclaration(node) {
        check(node, node.source.value, node.exportKind === "type");
      },
      ImportExpression(node) {
        if (node.source.type === "Literal") check(node, String(node.source.value), false);
      },
    };
  },
};

/** `import type {…}`, or `import { type A, type B }`, of which nothing is left at run time but the file itself. */
function isTypeOnly(node, kind, key) {
  if (kind === "type") return true;
  return node.specifiers.length > 0 && node.specifiers.every((specifier) => specifier[key] === "type");
}

const fileDocblockRule = {
  meta: {
    type: "suggestion",
    docs: { description: "a source file begins with a docblock that says, after @file, what it is for" },
    schema: [],
    messages: { missing: "Begin the file with /** @file what it is for. */" },
  },
  create(context) {
    return {
      Program(node) {
        const [first] = context.sourceCode.getAllComments();
        const start = context.sourceCode.ast.tokens[0]?.range[0] ?? Infinity;
        const isDocblock =
          first?.type === "Block" && first.range[0] < start && /^\*\s*(?:\*\s*)?@file\s+\S/.test(first.value);
        if (!isDocblock) context.report({ node, loc: { line: 1, column: 0 }, messageId: "missing" });
      },
    };
  },
};

export const plugin = {
  meta: { name: "torch-tpu" },
  rules: { layers: layersRule, "file-docblock": fileDocblockRule },
};
