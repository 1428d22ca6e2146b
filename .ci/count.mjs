/**
 * @file `node .ci/count.mjs FILE` prints "PASSED FAILED" from vitest's JSON report; with --has-failures, the exit status
 * says whether a test failed. A test file that could not be loaded counts as one failure.
 */

import { readFileSync } from "node:fs";

const report = JSON.parse(readFileSync(process.argv[2], "utf8"));
const unloaded = report.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0);
const failed = report.numFailedTests + unloaded.length;
if (process.argv[3] === "--has-failures") process.exit(failed > 0 ? 0 : 1);
console.log(`${report.numPassedTests} ${failed}`);
