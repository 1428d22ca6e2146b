/** @file Types of plugin.mjs, which ESLint loads as it is. */

import type { ESLint } from "eslint";

export const plugin: ESLint.Plugin;
export function readLayers(file?: string): Map<string, number>;
