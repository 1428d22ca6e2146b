/** @file `npm run bench -- eager`: our figures, and with --peers those of PyTorch, JAX and TorchTPU in the same run. */
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { median, type Figures } from "./measure.js";

const usage = `usage: npm run bench -- eager [--peers DIR] [--rounds N] [--json FILE]
  --peers DIR   a folder with peers to measure in the same run: run-torch, jax/bin/python, run-torch_tpu
  --rounds N    how many times each side is measured, in turn (default 3)
  --json FILE   writes every figure with its unit, side and spread`;

interface Side {
  readonly name: string;
  readonly command: readonly string[];
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
/** Python files are not compiled: they stay in the sources, seen from dist/bench. */
const peerScript = (name: string): string =>
  [here(`../../bench/peers/${name}`), here(`./peers/${name}`)].find(existsSync) ?? name;

const rows: readonly (readonly [string, string])[] = [
  ["add", "add of two [4,4], independent, per operator"],
  ["add_grad", "the same, gradient recorded"],
  ["add_read", "one add, then its value read"],
  ["chain10_read", "ten chained adds, then a read, in all"],
  ["matmul_1024", "1024³ float32 matrix product"],
  ["mlp_step", "MLP 256-512-512-10, batch 64, SGD step"],
  ["first_use", "first use of an operator on a new shape"],
];

function sidesOf(peers: string | undefined): Side[] {
  const sides: Side[] = [{ name: "torch-tpu", command: [process.execPath, here("./eager.js")] }];
  if (peers === undefined) return sides;
  const known: Side[] = [
    { name: "PyTorch", command: [join(peers, "run-torch"), peerScript("torch_eager.py")] },
    { name: "JAX", command: [join(peers, "jax/bin/python"), peerScript("jax_eager.py")] },
    { name: "TorchTPU", command: [join(peers, "run-torch_tpu"), peerScript("torch_eager.py"), "tpu"] },
    { name: "TorchTPU fused", command: [join(peers, "run-torch_tpu"), peerScript("torch_eager.py"), "tpu", "fused"] },
  ];
  for (const side of known) {
    if (existsSync(side.command[0])) sides.push(side);
    else console.error(`bench: ${side.name} is left out: expected ${side.command[0]}, got nothing`);
  }
  return sides;
}

function measure(side: Side): Figures | null {
  const [command, ...args] = side.command;
  const env = {
    ...process.env,
    TORCH_TPU_PROGRAM_CACHE: "off",
    TORCH_TPU_QUIET: "1",
    TORCHINDUCTOR_CACHE_DIR: join(tmpdir(), `bench-${side.name.replaceAll(" ", "-")}`),
  };
  const { stdout, stderr, status } = spawnSync(command, args, { encoding: "utf8", env, maxBuffer: 1 << 26 });
  const line = stdout?.trim().split("\n").pop() ?? "";
  if (status === 0 && line.startsWith("{")) return JSON.parse(line) as Figures;
  console.error(`bench: ${side.name} failed (status ${status}): ${stderr?.trim().split("\n").slice(-3).join(" | ")}`);
  return null;
}

interface Summary {
  readonly metric: string;
  readonly side: string;
  readonly unit: string;
  /** Median of the rounds' medians, the least single figure, and the rounds' medians with their spread, max - min. */
  readonly median: number;
  readonly min: number;
  readonly spread: number;
  readonly rounds: readonly number[];
}

function summarize(sides: readonly Side[], runs: ReadonlyMap<string, Figures[]>): Summary[] {
  return rows.flatMap(([metric]) =>
    sides.flatMap(({ name }) => {
      const figures = runs.get(name)!.flatMap((f) => (f[metric] ? [f[metric]] : []));
      if (figures.length === 0) return [];
      const rounds = figures.map((f) => f.median);
      return [
        {
          metric,
          side: name,
          unit: figures[0].unit,
          median: median(rounds),
          min: Math.min(...figures.map((f) => f.min)),
          spread: Math.max(...rounds) - Math.min(...rounds),
          rounds,
        },
      ];
    }),
  );
}

/** Three digits that matter. */
const short = (x: number): string => (x >= 100 ? x.toFixed(0) : x >= 0.1 ? x.toFixed(2) : x.toPrecision(2));

function print(sides: readonly Side[], summaries: readonly Summary[]): void {
  const cell = (s: Summary | undefined): string => (s ? `${short(s.median)} (${short(s.min)})` : "");
  const table = rows.map(([metric, title]) => {
    const found = sides.map(({ name }) => summaries.find((s) => s.metric === metric && s.side === name));
    const unit = found.find(Boolean)?.unit ?? "";
    const ratios = found.slice(1).map((s) => (s && found[0] ? short(found[0].median / s.median) : ""));
    return [title, unit === "us" ? "µs" : unit, ...found.map(cell), ...ratios];
  });
  const head = [
    "median (minimum)",
    "unit",
    ...sides.map((s) => s.name),
    ...sides.slice(1).map((s) => `ratio to ${s.name}`),
  ];
  const widths = head.map((h, i) => Math.max(h.length, ...table.map((r) => r[i].length)));
  const line = (cells: readonly string[]): string => `| ${cells.map((c, i) => c.padEnd(widths[i])).join(" | ")} |`;
  console.log([line(head), line(widths.map((w) => "-".repeat(w))), ...table.map(line)].join("\n"));
}

function main(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      peers: { type: "string" },
      rounds: { type: "string", default: "3" },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help || positionals[0] !== "eager") {
    console.log(usage);
    process.exit(values.help ? 0 : 2);
  }
  const sides = sidesOf(values.peers);
  const runs = new Map<string, Figures[]>(sides.map((s) => [s.name, []]));
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const side of sides) {
      const figures = measure(side);
      if (figures) runs.get(side.name)!.push(figures);
    }
  }
  const summaries = summarize(sides, runs);
  console.log(
    `${cpus()[0]?.model ?? "unknown processor"}, ${cpus().length} cores, Node ${process.version}, ${values.rounds} rounds in turn`,
  );
  print(sides, summaries);
  if (values.json) writeFileSync(values.json, JSON.stringify(summaries, null, 1));
  if (runs.get("torch-tpu")!.length === 0) process.exit(1);
}

main();
