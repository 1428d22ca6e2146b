/** @file Replays one operator's recorded calls and says which forms of which cases pass. */
import * as torch from "torch-tpu";
import type { Tensor } from "torch-tpu";
import { findAten } from "../../src/api/aten_namespace.js";
import { difference, differenceOfGradients } from "./compare.js";
import { alignCotangents, differenceUpToFreedom } from "./invariants.js";
import { inMode } from "./modes.js";
import { drawsNumbers } from "./random_calls.js";
import { resolveFunction, resolveInplace, resolveMethod, withKeywords, type Call } from "./resolve.js";
import { HostTensor, Undecodable, Vectors, type Case, type ErrorCase } from "./vectors.js";

export type Kind = "opinfo" | "aten";
export type Form = "forward" | "gradient" | "method" | "inplace" | "error" | "mutated";

export interface Failure {
  readonly index: number;
  readonly form: Form;
  readonly dtype: string;
  readonly message: string;
}

/** What came of one file of recorded calls. A case passes when all its forms do. */
export interface OperatorResult {
  readonly kind: Kind;
  readonly name: string;
  passed: number;
  failed: number;
  /** Calls of operators that do not exist here, with the reasons. */
  skipped: number;
  readonly skips: Record<string, number>;
  readonly forms: Partial<Record<Form, { passed: number; failed: number }>>;
  readonly failures: Failure[];
}

export const newResult = (kind: Kind, name: string): OperatorResult => ({
  kind,
  name,
  passed: 0,
  failed: 0,
  skipped: 0,
  skips: {},
  forms: {},
  failures: [],
});

/** What is not implemented here, and so is no failure. */
class Skip extends Error {}

const tensorsOf = (x: unknown): Tensor[] =>
  x instanceof torch.Tensor ? [x] : Array.isArray(x) ? x.flatMap(tensorsOf) : [];
const hostTensorsOf = (x: unknown): HostTensor[] =>
  x instanceof HostTensor ? [x] : Array.isArray(x) ? x.flatMap(hostTensorsOf) : [];
const messageOf = (e: unknown): string =>
  e instanceof Error ? `${e.name}: ${e.message.split("\n")[0].slice(0, 300)}` : String(e);
const isMissing = (e: unknown): boolean => e instanceof torch.TorchNotImplementedError || e instanceof Undecodable;

/** Faults of the engine, which must not pass for a refused argument: JavaScript's own errors, and XLA's. */
function isInternal(e: unknown): boolean {
  if (!(e instanceof Error) || e instanceof ReferenceError || e instanceof SyntaxError) return true;
  if (/^(HloError|PjrtError)$/.test(e.name)) return true;
  const builtIn = e.constructor === TypeError || e.constructor === RangeError;
  return builtIn && /undefined|is not a (function|constructor)|null|iterable|BigInt|Invalid|call stack/.test(e.message);
}

/** Runs one form and notes what came of it. Returns whether it passed. */
function attempt(result: OperatorResult, form: Form, index: number, dtype: string, fn: () => string | null): boolean {
  let wrong: string | null;
  try {
    wrong = fn();
  } catch (e) {
    if (e instanceof Skip) throw e;
    wrong = messageOf(e);
  }
  const count = (result.forms[form] ??= { passed: 0, failed: 0 });
  if (wrong === null) count.passed++;
  else {
    count.failed++;
    result.failures.push({ index, form, dtype, message: wrong });
  }
  return wrong === null;
}

function skip(result: OperatorResult, count: number, reason: string): void {
  result.skipped += count;
  result.skips[reason] = (result.skips[reason] ?? 0) + count;
}

/** Counts a case by its forms, which run until one fails. */
function countCase(result: OperatorResult, forms: () => boolean): void {
  try {
    if (forms()) result.passed++;
    else result.failed++;
  } catch (e) {
    if (!(e instanceof Skip)) throw e;
    skip(result, 1, e.message);
  }
}

/** Calls an operator; says Skip when it, or something it needs, does not exist. */
function callOrSkip(fn: () => unknown): unknown {
  try {
    return fn();
  } catch (e) {
    if (isMissing(e)) throw new Skip(messageOf(e));
    throw e;
  }
}

function shapesDiffer(got: unknown, like: NonNullable<Case["output_like"]>): string | null {
  const outs = tensorsOf(got);
  if (outs.length !== like.length) return `got ${outs.length} tensors, want ${like.length}`;
  const bad = like.findIndex((l, i) => outs[i].shape.join() !== l.shape.join() || outs[i].dtype.name !== l.dtype);
  if (bad < 0) return null;
  const [g, w] = [outs[bad], like[bad]];
  return `result ${bad}: got ${g.dtype.name}[${g.shape.join()}], want ${w.dtype}[${w.shape.join()}]`;
}

/** Calls that draw numbers without saying so in the recording: only shapes and types are defined. */
function asRandom(vectors: Vectors, op: string, c: Case): Case {
  if (c.random || !drawsNumbers(op, c)) return c;
  const outputs = hostTensorsOf(vectors.expected(c.output ?? null));
  const output_like = outputs.map((t) => ({ shape: [...t.shape], dtype: t.dtype.name }));
  return { ...c, random: true, output_like, grads: undefined };
}

class OpinfoReplay {
  private readonly method: Call | undefined;
  private readonly inplace: Call | undefined;
  constructor(
    private readonly vectors: Vectors,
    private readonly name: string,
    private readonly fn: Call,
    private readonly result: OperatorResult,
  ) {
    const { recording } = vectors;
    this.method = recording.method ? inMode(resolveMethod(recording.op)) : undefined;
    this.inplace = recording.inplace ? inMode(resolveInplace(recording.op)) : undefined;
  }

  case(c: Case, index: number): boolean {
    const { recording } = this.vectors;
    const dtype = c.dtype ?? "";
    const run = (form: Form, fn: () => string | null): boolean => attempt(this.result, form, index, dtype, fn);
    const leaves: Tensor[] = [];
    let out: unknown;
    let args: unknown[] = [];
    const forward = run("forward", () => {
      callOrSkip(() => {
        const given = this.vectors.decodeAll(c, leaves);
        args = withKeywords(given.args, given.kwargs);
        out = this.fn(...args);
      });
      return this.wrong(c, args, out);
    });
    if (!forward) return false;
    const gradient = !c.grads || run("gradient", () => this.gradientDiffers(c, args, out, leaves));
    const method = !recording.method || run("method", () => this.methodForm(c));
    const inplace = !recording.inplace || !this.hasInplace(c) || run("inplace", () => this.inplaceForm(c));
    return gradient && method && inplace;
  }

  private wrong(c: Case, args: readonly unknown[], got: unknown): string | null {
    if (c.random) return shapesDiffer(got, c.output_like ?? []);
    return differenceUpToFreedom(this.name, args, got, this.vectors.expected(c.output ?? null));
  }

  private gradientDiffers(c: Case, args: unknown[], out: unknown, leaves: readonly Tensor[]): string | null {
    const outs = tensorsOf(out).filter((t) => t.requires_grad);
    const given = (c.cotangents ?? []).map((v) => this.vectors.decode(v) as Tensor);
    if (outs.length !== given.length) return `${outs.length} results require a gradient, want ${given.length}`;
    const want = hostTensorsOf(this.vectors.expected(c.output ?? null));
    const cotangents = alignCotangents(this.name, args, tensorsOf(out), want, given);
    const got = torch.autograd.grad(outs, leaves, { grad_outputs: cotangents, allow_unused: true });
    for (let i = 0; i < leaves.length; i++) {
      const d = differenceOfGradients(this.name, got[i], this.vectors.expected(c.grads![i]) as HostTensor | null);
      if (d) return `leaf ${i}: ${d}`;
    }
    return null;
  }

  private methodForm(c: Case): string | null {
    const { method } = this;
    if (!method) return "there is no such method";
    const { args, kwargs } = this.vectors.decodeAll(c);
    const all = withKeywords(args, kwargs);
    return this.wrong(
      c,
      all,
      torch.no_grad(() => method(...all)),
    );
  }

  /** PyTorch writes in place only what has the shape and can be cast to the type of the first argument. */
  private hasInplace(c: Case): boolean {
    const first = c.args[0];
    if (typeof first !== "object" || first === null || !("$tensor" in first)) return false;
    if (c.random) return sameType(c.output_like?.[0], first as never);
    const want = c.output;
    return typeof want === "object" && want !== null && "$tensor" in want && sameType(want as never, first as never);
  }

  private inplaceForm(c: Case): string | null {
    const { inplace } = this;
    if (!inplace) return "there is no such method";
    const { args, kwargs } = this.vectors.decodeAll(c);
    const target = args[0] as Tensor;
    const out = torch.no_grad(() => inplace(...withKeywords(args, kwargs)));
    return out === target ? this.wrong(c, args, target) : "does not return its first argument";
  }

  error(e: ErrorCase, index: number): boolean {
    return attempt(this.result, "error", index, "", () => {
      const args = this.argumentsOf(e);
      if (args === null) return null;
      try {
        callOrSkip(() => this.fn(...args));
      } catch (thrown) {
        if (thrown instanceof Skip) throw thrown;
        return isInternal(thrown) ? `threw an internal error: ${messageOf(thrown)}` : null;
      }
      return `did not throw, want ${e.error}: ${e.message.slice(0, 120)}`;
    });
  }

  /** The arguments of a call that must fail; null when they cannot even be made, such as a tensor of 65 dimensions. */
  private argumentsOf(e: ErrorCase): unknown[] | null {
    try {
      const { args, kwargs } = this.vectors.decodeAll(e, []);
      return withKeywords(args, kwargs);
    } catch (thrown) {
      if (isMissing(thrown)) throw new Skip(messageOf(thrown));
      return null;
    }
  }
}

const sameType = (a: { dtype: string; shape: number[] } | undefined, b: { dtype: string; shape: number[] }): boolean =>
  a !== undefined && a.dtype === b.dtype && a.shape.join() === b.shape.join();

/** Replays the calls of one operator from PyTorch's operator database. */
export function replayOpinfo(folder: string, name: string, device: string): OperatorResult {
  const vectors = new Vectors(folder, name, device);
  const { recording } = vectors;
  const result = newResult("opinfo", name);
  const fn = inMode(resolveFunction(recording.op, name));
  if (!fn) {
    skip(result, recording.cases.length + recording.errors.length, `there is no function ${recording.op}`);
    return result;
  }
  const replay = new OpinfoReplay(vectors, name, fn, result);
  recording.cases.forEach((c, i) => countCase(result, () => replay.case(asRandom(vectors, recording.op, c), i)));
  recording.errors.forEach((e, i) => countCase(result, () => replay.error(e, i)));
  return result;
}

/** Replays the calls of one ATen overload. */
export function replayAten(folder: string, name: string, device: string): OperatorResult {
  const vectors = new Vectors(folder, name, device);
  const result = newResult("aten", name);
  const dot = name.lastIndexOf(".");
  const fn = inMode(findAten(name.slice(0, dot), name.slice(dot + 1)));
  const { cases } = vectors.recording;
  if (!fn) skip(result, cases.length, `there is no operator aten::${name}`);
  else cases.forEach((c, i) => countCase(result, () => atenCase(vectors, name, c, i, fn, result)));
  return result;
}

function atenCase(vectors: Vectors, name: string, c: Case, index: number, fn: Call, result: OperatorResult): boolean {
  const op = name.slice(0, name.lastIndexOf("."));
  let given: { args: unknown[]; kwargs: Record<string, unknown> } = { args: [], kwargs: {} };
  const forward = attempt(result, "forward", index, "", () => {
    let all: unknown[] = [];
    const out = callOrSkip(() => {
      given = vectors.decodeAll(c);
      all = withKeywords(given.args, given.kwargs);
      return torch.no_grad(() => fn(...all));
    });
    return differenceUpToFreedom(op, all, out ?? null, vectors.expected(c.output ?? null));
  });
  if (!forward || !c.mutated) return forward;
  return attempt(result, "mutated", index, "", () => {
    const after = [...tensorsOf(given.args), ...Object.values(given.kwargs).flatMap(tensorsOf)];
    return difference(
      op,
      after,
      c.mutated!.map((m) => vectors.expected(m)),
    );
  });
}
