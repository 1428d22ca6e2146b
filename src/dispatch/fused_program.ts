/** @file The programs of fused mode, found by the structure of the calls that they are made of. */
import { Module, type Builder, type ParamSpec, type Value } from "../hlo/index.js";
import { executeRaw, type BufferHandle, type LoadedExecutable } from "../pjrt/index.js";
import { float64, int64, scalarDtype, uint64, type Aval, type ScalarKind } from "../schema/index.js";
import type { Backend } from "./backend.js";
import { packNumber, type PendingNode, type PendingValue } from "./deferral.js";
import { compileText, emitProgram, rethrow, type Kernel } from "./program.js";

/** A result of the program's calls: which call, and which of its results. */
type ResultPosition = readonly [call: number, index: number];

/** One call of a fused program. */
export interface FusedCall {
  readonly program: FusedProgram;
  readonly leaves: readonly BufferHandle[];
  readonly floats: number[];
  readonly ints: bigint[];
  readonly rng: bigint[];
}

/** An operand of a call: an input of the program, a result of an earlier call, or null where its value is not read. */
type Operand = { readonly leaf: number } | { readonly call: number; readonly index: number } | null;

interface CallPlan {
  readonly kernel: Kernel;
  readonly operands: readonly Operand[];
}

/** Programs with more calls than this are worth the compiler's full effort. */
const fewCalls = 16;

export class FusedProgram {
  /** What it hands out: what was asked for, then what turned out to be needed later. */
  outputs: ResultPosition[];
  private executable: LoadedExecutable | null = null;
  private readonly known = new Set<string>();
  constructor(
    private readonly calls: readonly CallPlan[],
    private readonly leafAvals: readonly Aval[],
    targets: readonly ResultPosition[],
    private readonly counts: { readonly floats: number; readonly ints: number; readonly rng: number },
    private readonly backend: Backend,
  ) {
    this.outputs = [...targets];
    for (const t of targets) this.known.add(t.join());
  }

  /** Hands out one more result from the next call on. */
  want(call: number, index: number): void {
    const key = `${call},${index}`;
    if (this.known.has(key)) return;
    this.known.add(key);
    this.outputs = [...this.outputs, [call, index]];
    this.executable = null;
  }

  run({ leaves, floats, ints, rng }: FusedCall): BufferHandle[] {
    this.executable ??= this.compile();
    const args = [...leaves];
    const { backend } = this;
    if (floats.length > 0) args.push(backend.upload(Float64Array.from(floats), float64, [floats.length]));
    if (ints.length > 0) args.push(backend.upload(BigInt64Array.from(ints), int64, [ints.length]));
    if (rng.length > 0) args.push(backend.upload(BigUint64Array.from(rng), uint64, [rng.length]));
    const out = executeRaw(this.executable.raw, args);
    return Array.isArray(out) ? out : [out];
  }

  private compile(): LoadedExecutable {
    const name = this.calls.length === 1 ? this.calls[0].kernel.spec.name : `fused_${this.calls.length}_calls`;
    const text = rethrow(name, () => this.lower(name));
    return compileText(name, text, this.backend, this.calls.length > fewCalls ? "full" : "fast");
  }

  private lower(name: string): string {
    const { leafAvals, counts } = this;
    const params: ParamSpec[] = leafAvals.map(({ dtype, shape }) => ({ dtype, shape }));
    if (counts.floats > 0) params.push({ dtype: float64, shape: [counts.floats] });
    if (counts.ints > 0) params.push({ dtype: int64, shape: [counts.ints] });
    if (counts.rng > 0) params.push({ dtype: uint64, shape: [counts.rng] });
    const module = new Module(name);
    const h = module.func("main", params);
    let at = leafAvals.length;
    const vector = (count: number): Unpacker => new Unpacker(h, count > 0 ? h.params[at++] : null);
    const [floats, ints, rng] = [vector(counts.floats), vector(counts.ints), vector(counts.rng)];
    const results: Value[][] = [];
    for (const { kernel, operands } of this.calls) {
      const { spec } = kernel;
      const args: Value[] = [];
      operands.forEach((o, i) => {
        const { base, numOffsets } = spec.specs[i];
        if (o === null) args.push(h.splat(0, base.dtype, base.shape));
        else args.push("leaf" in o ? h.params[o.leaf] : results[o.call][o.index]);
        for (let k = 0; k < numOffsets; k++) args.push(ints.one());
      });
      for (const kind of spec.graph.scalars) args.push(unpackScalar(h, kind, floats, ints));
      if (spec.graph.usesRng) args.push(rng.pair());
      results.push(emitProgram(h, spec, args));
    }
    h.return(this.outputs.map(([call, index]) => results[call][index]));
    return module.toString();
  }
}

/** Takes the elements of a vector one after the other. */
class Unpacker {
  private at = 0;
  constructor(
    private readonly h: Builder,
    private readonly vector: Value | null,
  ) {}
  one(): Value {
    return this.h.reshape(this.pair(1), []);
  }
  pair(count = 2): Value {
    const part = this.h.slice(this.vector!, [this.at], [this.at + count]);
    this.at += count;
    return part;
  }
}

function unpackScalar(h: Builder, kind: ScalarKind, floats: Unpacker, ints: Unpacker): Value {
  if (kind === "float") return floats.one();
  if (kind === "int") return ints.one();
  if (kind === "complex") return h.complex(floats.one(), floats.one());
  const value = ints.one();
  return h.convert(value, scalarDtype("bool"));
}

/** All fused programs of one device. */
export class FusedPrograms {
  private readonly byHash = new Map<number, { key: Int32Array; program: FusedProgram }[]>();
  private key = new Int32Array(1024);
  private length = 0;
  constructor(private readonly backend: Backend) {}

  /** The program of these calls, and its arguments. */
  describe(nodes: readonly PendingNode[], targets: readonly PendingValue[]): FusedCall {
    const positions = new Map<PendingNode, number>();
    const leafIndex = new Map<BufferHandle, number>();
    const leaves: BufferHandle[] = [];
    const floats: number[] = [];
    const ints: bigint[] = [];
    const rng: bigint[] = [];
    this.length = 0;
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[i];
      positions.set(node, i);
      this.add(node.kernel.id);
      for (const v of node.inputs) {
        if (v === null) continue;
        if (v.handle === null) {
          this.add(2 * (positions.get(v.node!)! * 4096 + v.index));
          continue;
        }
        let leaf = leafIndex.get(v.handle);
        if (leaf === undefined) {
          leafIndex.set(v.handle, (leaf = leaves.length));
          leaves.push(v.handle);
        }
        this.add(2 * leaf + 1);
      }
      for (const n of node.numbers) packNumber(n, floats, ints);
      if (node.rng !== null) rng.push(...node.rng.words);
    }
    for (const v of targets) this.add(positions.get(v.node!)! * 4096 + v.index);
    const counts = { floats: floats.length, ints: ints.length, rng: rng.length };
    const program = this.find(() => make(nodes, targets, positions, leafIndex, counts, this.backend));
    return { program, leaves, floats, ints, rng };
  }

  private add(n: number): void {
    if (this.length === this.key.length) {
      const larger = new Int32Array(2 * this.length);
      larger.set(this.key);
      this.key = larger;
    }
    this.key[this.length++] = n;
  }

  private find(make: () => FusedProgram): FusedProgram {
    const { key, length } = this;
    let hash = 0x811c9dc5;
    for (let i = 0; i < length; i++) hash = Math.imul(hash ^ key[i], 0x01000193);
    const bucket = this.byHash.get(hash) ?? [];
    for (const entry of bucket) if (same(entry.key, key, length)) return entry.program;
    const program = make();
    bucket.push({ key: key.slice(0, length), program });
    this.byHash.set(hash, bucket);
    return program;
  }
}

function same(a: Int32Array, b: Int32Array, length: number): boolean {
  if (a.length !== length) return false;
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function make(
  nodes: readonly PendingNode[],
  targets: readonly PendingValue[],
  positions: ReadonlyMap<PendingNode, number>,
  leafIndex: ReadonlyMap<BufferHandle, number>,
  counts: { readonly floats: number; readonly ints: number; readonly rng: number },
  backend: Backend,
): FusedProgram {
  const leafAvals: Aval[] = [];
  const calls = nodes.map(({ kernel, inputs }): CallPlan => ({
    kernel,
    operands: inputs.map((v): Operand => {
      if (v === null) return null;
      if (v.handle === null) return { call: positions.get(v.node!)!, index: v.index };
      const leaf = leafIndex.get(v.handle)!;
      leafAvals[leaf] = v.aval;
      return { leaf };
    }),
  }));
  const outputs = targets.map((v): ResultPosition => [positions.get(v.node!)!, v.index]);
  return new FusedProgram(calls, leafAvals, outputs, counts, backend);
}
