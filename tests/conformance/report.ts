/** @file What the conformance run prints. */
import type { Form, OperatorResult } from "./replay.js";

const forms: readonly (readonly [Form, string])[] = [
  ["forward", "values"],
  ["gradient", "gradients"],
  ["method", "methods"],
  ["inplace", "in place"],
  ["mutated", "arguments written"],
  ["error", "must-fail calls"],
];

const sum = (results: readonly OperatorResult[], of: (r: OperatorResult) => number): number =>
  results.reduce((n, r) => n + of(r), 0);

/** `nn.functional`, `linalg`, `aten`…, as far as names say it. */
function familyOf({ kind, name }: OperatorResult): string {
  if (kind === "aten") return "aten";
  const known = /^(nn\.functional|linalg|fft|special|masked|signal\.windows|sparse|torch\.ops\.aten)\./.exec(name);
  return known?.[1] ?? "torch";
}

function printFailures(results: readonly OperatorResult[]): void {
  for (const r of results) {
    if (r.failed === 0) continue;
    console.log(`${r.kind} ${r.name}: ${r.failed} of ${r.passed + r.failed} failed`);
    for (const f of r.failures.slice(0, 3))
      console.log(`    ${[f.form, f.index, f.dtype].filter((x) => x !== "").join(" ")}: ${f.message}`);
  }
}

/** Operators that do not exist here, and reasons why single calls were skipped. */
function printMissing(results: readonly OperatorResult[], all: boolean): void {
  const families = new Map<string, string[]>();
  const reasons = new Map<string, number>();
  for (const r of results) {
    if (r.skipped === 0) continue;
    const key = familyOf(r);
    if (r.passed + r.failed === 0) families.set(key, [...(families.get(key) ?? []), r.name]);
    else for (const [why, n] of Object.entries(r.skips)) reasons.set(`${r.name}: ${why}`, n);
  }
  for (const [family, names] of [...families].sort((a, b) => b[1].length - a[1].length)) {
    const shown = all ? names : names.slice(0, 8);
    console.log(
      `not implemented, ${family}: ${names.length} (${shown.join(" ")}${shown.length < names.length ? " …" : ""})`,
    );
  }
  for (const [why, n] of reasons) console.log(`skipped ${n} of ${why}`);
}

/** Prints failures, what is missing, and the totals; the last line is `N passed, N failed, N skipped`. */
export function printReport(results: readonly OperatorResult[], listMissing: boolean): void {
  printFailures(results);
  printMissing(results, listMissing);
  for (const kind of ["opinfo", "aten"] as const) {
    const own = results.filter((r) => r.kind === kind);
    const whole = own.filter((r) => r.failed === 0 && r.skipped === 0);
    if (own.length > 0) console.log(`${kind}: ${whole.length} of ${own.length} operators pass in full`);
  }
  const counts = forms.flatMap(([form, title]) => {
    const [passed, failed] = [
      sum(results, (r) => r.forms[form]?.passed ?? 0),
      sum(results, (r) => r.forms[form]?.failed ?? 0),
    ];
    return passed + failed === 0 ? [] : [`${title} ${passed} of ${passed + failed}`];
  });
  console.log(counts.join("; "));
  const [passed, failed, skipped] = [
    sum(results, (r) => r.passed),
    sum(results, (r) => r.failed),
    sum(results, (r) => r.skipped),
  ];
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
}
