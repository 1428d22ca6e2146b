/** @file `torch-tpu inspect FILE`: what a file of a model holds, and for an exported program what is missing to run it. */
import { openSource, safe_open, GgufFile, load as loadCheckpoint } from "../serialization/index.js";
import { load as loadProgram, type ExportedProgram } from "../export/index.js";
import { formatBytes } from "../assets/index.js";
import { TorchError } from "../schema/index.js";
import { Tensor } from "../tensor/index.js";
import { formatTable } from "./table.js";

/** Prints what the file holds; 1 when it cannot be read or run, else 0. */
export function inspect(path: string): number {
  try {
    const { lines, code } = describe(path);
    process.stdout.write(lines.join("\n") + "\n");
    return code;
  } catch (error) {
    if (!(error instanceof TorchError) && !(error as NodeJS.ErrnoException).code) throw error;
    process.stderr.write(`torch-tpu: ${(error as Error).message}\n`);
    return 1;
  }
}

interface Description {
  readonly lines: string[];
  readonly code: number;
}

function describe(path: string): Description {
  if (/\.pt2$/.test(path)) return describeProgram(loadProgram(path, { device: "meta" }));
  if (/\.(safetensors|json)$/.test(path)) return { lines: describeSafetensors(path), code: 0 };
  using source = openSource(path);
  if (source.read(0, Math.min(4, source.size)).toString("latin1") === "GGUF")
    return { lines: describeGguf(path), code: 0 };
  return { lines: describeCheckpoint(path), code: 0 };
}

const shapeText = (shape: readonly unknown[]): string => `[${shape.join(", ")}]`;

function tensorTable(rows: readonly (readonly [name: string, type: string, shape: readonly number[]])[]): string {
  return formatTable([
    ["TENSOR", "TYPE", "SHAPE"],
    ...rows.map(([name, type, shape]) => [name, type, shapeText(shape)]),
  ]);
}

function describeProgram(program: ExportedProgram): Description {
  const { input_specs, output_specs } = program.graph_signature;
  const inputs = input_specs
    .filter((s) => s.kind === "user_input")
    .map((s) => `  ${s.name}: ${program.typeOf(s.name)}`);
  const outputs = output_specs.map((s) => {
    const what = s.target === null ? "" : ` (written to ${s.target})`;
    return `  ${s.name ?? "None"}${s.name === null ? "" : `: ${program.typeOf(s.name)}`}${what}`;
  });
  const parameters = [...program.parameters()];
  const bytes = (tensors: readonly Tensor[]): number => tensors.reduce((n, t) => n + t.nbytes, 0);
  const buffers = [...program.buffers()];
  const missing = program.missing_operators();
  const ranges = Object.entries(program.range_constraints).map(
    ([name, r]) => `  ${name}: ${r.min_val ?? "any"} to ${r.max_val ?? "any"}`,
  );
  const operators = [...program.operators()].map(([name, n]) => [
    name,
    String(n),
    missing.includes(name) ? "missing" : "",
  ]);
  const lines = ["inputs:", ...inputs, "outputs:", ...outputs];
  if (ranges.length > 0) lines.push("sizes that may differ:", ...ranges);
  lines.push(
    `parameters: ${parameters.length}, ${parameters.reduce((n, p) => n + p.numel(), 0)} elements, ${formatBytes(bytes(parameters))}`,
    `buffers: ${buffers.length}, ${formatBytes(bytes(buffers))}`,
    "",
    formatTable([["OPERATOR", "CALLS", ""], ...operators]),
    "",
    missing.length === 0 ? "Every operator is implemented." : `Missing: ${missing.join(", ")}`,
  );
  return { lines, code: missing.length === 0 ? 0 : 1 };
}

function describeSafetensors(path: string): string[] {
  using file = safe_open(path);
  const rows = file.keys().map((name) => {
    const { dtype, shape } = file.info(name);
    return [name, dtype.name, shape] as const;
  });
  const metadata = Object.entries(file.metadata()).map(([k, v]) => `  ${k}: ${v}`);
  return [...(metadata.length > 0 ? ["metadata:", ...metadata] : []), tensorTable(rows)];
}

function describeGguf(path: string): string[] {
  using file = new GgufFile(path);
  const shown = (v: unknown): string => {
    const text = Array.isArray(v) ? `${v.length} values` : JSON.stringify(String(v));
    return text.length > 80 ? `${text.slice(0, 77)}...` : text;
  };
  const metadata = Object.entries(file.metadata()).map(([k, v]) => `  ${k}: ${shown(v)}`);
  const rows = file.keys().map((name) => [name, file.info(name).type, file.info(name).shape] as const);
  return ["metadata:", ...metadata, tensorTable(rows)];
}

/** Tensors by their path; nothing is read but their places. */
function describeCheckpoint(path: string): string[] {
  const rows: [string, string, readonly number[]][] = [];
  const seen = new Set<unknown>();
  const visit = (x: unknown, at: string): void => {
    if (x instanceof Tensor) rows.push([at, x.dtype.name, x.shape]);
    else if (typeof x === "object" && x !== null && !seen.has(x)) {
      seen.add(x);
      for (const [k, v] of x instanceof Map ? (x as Map<unknown, unknown>) : Object.entries(x))
        visit(v, at === "" ? String(k) : `${at}.${String(k)}`);
    }
  };
  visit(loadCheckpoint(path, { map_location: "meta" }), "");
  return [tensorTable(rows)];
}
