/** @file Replays one operator's recorded calls and says which forms of which cases pass. */
import * as torch from "torch-tpu";
import type { Tensor } from "torch-tpu";
import { findAten } from "../../src/api/aten_namespace.js";
import { difference, differenceOfGradients } from "./compare.js";
import { invariants } from "./invariants.js";
import { resolveFunction, resolveInplace, resolveMethod, type Call } from "./resolve.js";
import { Vectors, type Case, type ErrorCase } from "./vectors.js";

export type Form = "forward" | "gradient" | "method" | "inplace" | "error" | "mutated";

export interface Failure {
  readonly index: number;
  readonly form: Form;
  readonly dtype: string;
  readonly message: string;
}

export interface OperatorResult {
  readonly kind: "opinfo" | "aten";
  readonly name: string;
  passed: number;
  failed: number;
  /** Calls of operators that do not exist here. */
  skipped: number;
  /** Gradients and must-fail calls among them. */
  gradients: { passed: number; failed: number };
  errors: { passed: number; failed: number };
  readonly failures: Failure[];
}

const newResult = (kind: "opinfo" | "aten", name: string): OperatorResult => ({
  kind,
  name,
  passed: 0,
  failed: 0,
  skipped: 0,
  gradients: { passed: 0, failed: 0 },
  errors: { passed: 0, failed: 0 },
  failures: [],
});

const withKeywords = (args: readonly unknown[], kwargs: Record<string, unknown>): unknown[] =>
  Object.keys(kwargs).length === 0 ? [...args] : [...args, kwargs];
const tensorsOf = (x: unknown): Tensor[] =>
  x instanceof torch.Tensor ? [x] : Array.isArray(x) ? x.flatMap(tensorsOf) : [];
const messageOf = (e: unknown): string =>
  e instanceof Error ? `${e.name}: ${e.message.split("\n")[0].slice(0, 300)}` : String(e);

/** Faults of this library itself, which must not pass for a refused argument. */
const isInternal = (e: unknown): boolean =>
  !(e instanceof Error) ||
  e instanceof ReferenceError ||
  e instanceof SyntaxError ||
  (e.constructor === TypeError && /undefined|is not a function|null|iterable/.test(e.message));

function shapesDiffer(got: unknown, like: NonNullable<Case["output_like"]>): string | null {
  const outs = tensorsOf(got);
  if (outs.length !== like.length) return `got ${outs.length} tensors, want ${like.length}`;
  const bad = like.findIndex((l, i) => outs[i].shape.join() !== l.shape.join() || outs[i].dtype.name !== l.dtype);
  return bad < 0
    ? null
    : `result ${bad}: got ${outs[bad].dtype.name}[${outs[bad].shape.join()}], want ${like[bad].dtype}[${like[bad].shape.join()}]`;
}

/** Drops out at random: only shapes and types are defined. The recording does not mark these. */
const dropsOut = (c: Case, name: string): boolean =>
  (typeof c.kwargs.dropout_p === "number" && c.kwargs.dropout_p > 0) ||
  (name === "nn.functional.multi_head_attention_forward" && (c.args[10] as number) > 0);

/** What a call with dropout gives is defined up to its values. */
function asRandom(vectors: Vectors, c: Case): Case {
  if (c.random || !dropsOut(c, vectors.name)) return c;
  const like = tensorsOf(vectors.decode(c.output ?? null)).map((t) => ({ shape: [...t.shape], dtype: t.dtype.name }));
  return { ...c, random: true, output_like: like, grads: undefined };
}

/** Replays the calls of one operator from PyTorch's operator database. */
export function replayOpinfo(folder: string, name: string, device: string): OperatorResult {
  const vectors = new Vectors(folder, name, device);
  const { recording } = vectors;
  const result = newResult("opinfo", name);
  const fn = resolveFunction(recording.op, name);
  if (!fn) {
    result.skipped = recording.cases.length + recording.errors.length;
    vectors.close();
    return result;
  }
  const method = !recording.method ? undefined : recording.op.startsWith("__") ? fn : resolveMethod(recording.op);
  const inplace = recording.inplace ? resolveInplace(recording.op) : undefined;
  recording.cases.forEach((recorded, index) => {
    const c = asRandom(vectors, recorded);
    const fail = (form: Form, message: string): void =>
      void result.failures.push({ index, form, dtype: c.dtype ?? "", message });
    const before = result.failures.length;
    forward(vectors, name, c, fn, result, fail);
    if (result.failures.length === before && recording.method) methodForm(vectors, name, c, method, fail);
    if (result.failures.length === before && recording.inplace) inplaceForm(vectors, name, c, inplace, fail);
    if (result.failures.length === before) result.passed++;
    else result.failed++;
  });
  recording.errors.forEach((e, index) => errorCase(vectors, e, index, recording.method && !fn ? method! : fn, result));
  vectors.close();
  return result;
}

type Fail = (form: Form, message: string) => void;

function forward(vectors: Vectors, name: string, c: Case, fn: Call, result: OperatorResult, fail: Fail): void {
  const leaves: Tensor[] = [];
  let out: unknown;
  try {
    const { args, kwargs } = vectors.decodeAll(c, leaves);
    out = fn(...withKeywords(args, kwargs));
    const wrong = c.random
      ? shapesDiffer(out, c.output_like ?? [])
      : outputDiffers(name, args, kwargs, out, vectors.decode(c.output ?? null));
    if (wrong) return fail("forward", wrong);
  } catch (e) {
    return fail("forward", messageOf(e));
  }
  if (!c.grads) return;
  const wrong = gradientDiffers(vectors, name, c, out, leaves);
  if (wrong) {
    result.gradients.failed++;
    fail("gradient", wrong);
  } else result.gradients.passed++;
}

/** Equality with the recording; where results are not unique, what must hold of them. */
function outputDiffers(
  name: string,
  args: readonly unknown[],
  kwargs: Record<string, unknown>,
  out: unknown,
  want: unknown,
): string | null {
  const wrong = difference(name, out, want);
  if (!wrong || !invariants[name]) return wrong;
  const [got, wanted] = [tensorsOf(out), tensorsOf(want)];
  return got.length === wanted.length ? torch.no_grad(() => invariants[name](name, args, kwargs, got, wanted)) : wrong;
}

function gradientDiffers(
  vectors: Vectors,
  name: string,
  c: Case,
  out: unknown,
  leaves: readonly Tensor[],
): string | null {
  try {
    const outs = tensorsOf(out).filter((t) => t.requires_grad);
    const cotangents = (c.cotangents ?? []).map((v) => vectors.decode(v) as Tensor);
    if (outs.length !== cotangents.length)
      return `${outs.length} results require a gradient, want ${cotangents.length}`;
    const got =
      outs.length === 0
        ? leaves.map(() => null)
        : torch.autograd.grad(outs, leaves, { grad_outputs: cotangents, allow_unused: true });
    for (let i = 0; i < leaves.length; i++) {
      const d = differenceOfGradients(name, got[i], vectors.decode(c.grads![i]) as Tensor | null);
      if (d) return `leaf ${i}: ${d}`;
    }
    return null;
  } catch (e) {
    return messageOf(e);
  }
}

function methodForm(vectors: Vectors, name: string, c: Case, method: Call | undefined, fail: Fail): void {
  const form = "method";
  if (!method) return fail(form, "there is no such method");
  try {
    const { args, kwargs } = vectors.decodeAll(c);
    const out = torch.no_grad(() => method(...withKeywords(args, kwargs)));
    const wrong = c.random
      ? shapesDiffer(out, c.output_like ?? [])
      : outputDiffers(name, args, kwargs, out, vectors.decode(c.output ?? null));
    if (wrong) fail(form, wrong);
  } catch (e) {
    fail(form, messageOf(e));
  }
}

/** In place, where the result has the shape and the type of the first argument. */
function inplaceForm(vectors: Vectors, name: string, c: Case, inplace: Call | undefined, fail: Fail): void {
  if (c.random) return;
  const want = vectors.decode(c.output ?? null);
  const { args, kwargs } = vectors.decodeAll(c);
  const [self, ...rest] = args;
  if (!(self instanceof torch.Tensor) || !(want instanceof torch.Tensor)) return;
  if (want.dtype !== self.dtype || want.shape.join() !== self.shape.join()) return;
  if (!inplace) return fail("inplace", "there is no such method");
  try {
    const target = self.detach().clone();
    const out = torch.no_grad(() => inplace(target, ...withKeywords(rest, kwargs)));
    if (out !== target) return fail("inplace", "does not return its first argument");
    const wrong = difference(name, target, want);
    if (wrong) fail("inplace", wrong);
  } catch (e) {
    fail("inplace", messageOf(e));
  }
}

function errorCase(vectors: Vectors, e: ErrorCase, index: number, fn: Call, result: OperatorResult): void {
  let message = `did not throw, want ${e.error}: ${e.message.slice(0, 120)}`;
  try {
    const { args, kwargs } = vectors.decodeAll(e, []);
    fn(...withKeywords(args, kwargs));
  } catch (thrown) {
    if (!isInternal(thrown)) {
      result.passed++;
      result.errors.passed++;
      return;
    }
    message = `threw an internal error: ${messageOf(thrown)}`;
  }
  result.failed++;
  result.errors.failed++;
  result.failures.push({ index, form: "error", dtype: "", message });
}

/** Replays the calls of one ATen overload. */
export function replayAten(folder: string, name: string, device: string): OperatorResult {
  const vectors = new Vectors(folder, name, device);
  const result = newResult("aten", name);
  const dot = name.lastIndexOf(".");
  const fn = findAten(name.slice(0, dot), name.slice(dot + 1));
  const { cases } = vectors.recording;
  if (!fn) result.skipped = cases.length;
  else cases.forEach((c, index) => atenCase(vectors, name, c, index, fn, result));
  vectors.close();
  return result;
}

function atenCase(vectors: Vectors, name: string, c: Case, index: number, fn: Call, result: OperatorResult): void {
  let wrong: string | null;
  let form: Form = "forward";
  try {
    const { args, kwargs } = vectors.decodeAll(c);
    const out = torch.no_grad(() => fn(...withKeywords(args, kwargs)));
    wrong = difference(name, out ?? null, vectors.decode(c.output ?? null));
    if (!wrong && c.mutated) {
      form = "mutated";
      wrong = difference(
        name,
        [...tensorsOf(args), ...Object.values(kwargs).flatMap(tensorsOf)],
        c.mutated.map((m) => vectors.decode(m)),
      );
    }
  } catch (e) {
    wrong = messageOf(e);
  }
  if (!wrong) result.passed++;
  else {
    result.failed++;
    result.failures.push({ index, form, dtype: "", message: wrong });
  }
}
