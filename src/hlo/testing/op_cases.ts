/** @file One small program for every operation of the builder. */
import { Module } from "../index.js";
import type { OpCase } from "./op_case.js";
import { regionCases } from "./region_cases.js";
import { valueCases } from "./value_cases.js";

export const opCases: readonly OpCase[] = [...valueCases, ...regionCases];

/** The module of a case. */
export function caseModule(c: OpCase): Module {
  const m = new Module(c.op, c.devices ? { numPartitions: c.devices, numReplicas: 1 } : {});
  const h = m.func("main", c.params);
  const out = c.build(h, h.params, m);
  h.return(Array.isArray(out) ? out : [out]);
  return m;
}

/** Methods of the builder that are not operations: its frame, and what TypeScript hides with `protected` and `private`. */
export const notOperations: ReadonlySet<string> = new Set([
  "constructor",
  "params",
  "results",
  "return",
  "withLocation",
  "emit",
  "emit1",
  "block",
  "unary",
  "binary",
  "gatherShape",
  "combinerRegion",
  "resultsOf",
  "checkVisible",
  "checkReturns",
  "checkSame",
  "checkSharding",
  "checkTensor",
  "checkDType",
  "checkList",
  "checkBatchNorm",
  "checkToken",
  "checkReduced",
  "checkMatrices",
  "checkStarts",
]);
