/** @file From the name of a recorded operator to the function, method and in-place form of this library. */
import * as torch from "torch-tpu";
import * as F from "torch-tpu/nn/functional";
import { findAten } from "../../src/api/aten_namespace.js";
import { functional } from "../../src/api/functional.js";
import { isTuple } from "./vectors.js";

export type Call = (...args: unknown[]) => unknown;

type Namespace = Readonly<Record<string, unknown>>;
const asCall = (x: unknown): Call | undefined => (typeof x === "function" ? (x as Call) : undefined);

/** Follows a dotted name; undefined where it ends. */
function lookup(from: unknown, path: string): Call | undefined {
  let at = from;
  for (const part of path.split(".")) at = (at as Namespace | null | undefined)?.[part];
  return asCall(at);
}

/** The function of that name, looked up when called: wrappers must not fail because another operator is missing. */
const named =
  (path: string): Call =>
  (...args) => {
    const fn = lookup(torch, path) ?? lookup(functional, path);
    if (!fn) throw new torch.TorchNotImplementedError(`torch.${path} is not implemented`);
    return fn(...args);
  };

const method =
  (name: string): Call =>
  (self, ...args) => {
    const fn = asCall((self as Namespace)[name]);
    if (!fn) throw new torch.TorchNotImplementedError(`Tensor.${name} is not implemented`);
    return fn.apply(self, args);
  };

/** A product with a transpose, which the samples of low-rank operators are. */
const product = (a: unknown, b: unknown): unknown => named("matmul")(a, (b as torch.Tensor).mT);

function maxPoolBackward(x: unknown, ...rest: unknown[]): unknown {
  const { kernel_size, stride, padding = 0, dilation = 1, ceil_mode = false } = rest.at(-1) as Record<string, unknown>;
  const sizes = [kernel_size, stride ?? kernel_size, padding, dilation, ceil_mode];
  const [out, indices] = named("max_pool2d_with_indices")(x, ...sizes) as torch.Tensor[];
  return named("max_pool2d_with_indices_backward")(named("ones_like")(out), x, ...sizes, indices);
}

/** Calls that PyTorch's operator database wraps in a function of its own, by operator or by operator and variant. */
const wrapped: Readonly<Record<string, Call>> = {
  where: (self, condition, ...rest) => named("where")(condition, self, ...rest),
  // Python tells x[1, 2] (a tuple) from x[[1, 2]] (a list).
  __getitem__: (self, index) =>
    (self as torch.Tensor).at(...(isTuple(index) ? (index as torch.Index[]) : [index as torch.Index])),
  einsum: (tensors, equation) => named("einsum")(equation, tensors),
  polygamma: (x, n, ...rest) => named("polygamma")(n, x, ...rest),
  "special.polygamma": (x, n, ...rest) => named("special.polygamma")(n, x, ...rest),
  "nn.functional.embedding": (weight, index, ...rest) => asCall(F.embedding)!(index, weight, ...rest),
  "nn.functional.embedding_bag": (weight, index, ...rest) => asCall(F.embedding_bag)!(index, weight, ...rest),
  max_pool2d_with_indices_backward: maxPoolBackward,
  "normal.number_mean": (std, mean, ...rest) => named("normal")(mean, std, ...rest),
  "normal.in_place": method("normal_"),
  exponential: method("exponential_"),
  geometric: method("geometric_"),
  cauchy: method("cauchy_"),
  log_normal: method("log_normal_"),
  uniform: method("uniform_"),
  zero_: (x) => method("zero_")((x as torch.Tensor).clone()),
  resize_: (x, ...rest) => method("resize_")((x as torch.Tensor).clone(), ...rest),
  resize_as_: (x, ...rest) => method("resize_as_")((x as torch.Tensor).clone(), ...rest),
  _segment_reduce: (...args) => named("segment_reduce")(...args),
  svd_lowrank: (a, b, ...rest) => named("svd_lowrank")(product(a, b), ...rest),
  pca_lowrank: (a, b, ...rest) => named("pca_lowrank")(product(a, b), ...rest),
  "linalg.pinv.singular": (a, b, ...rest) => named("linalg.pinv")(product(a, b), ...rest),
  "linalg.lstsq.grad_oriented": (a, b, driver) => (named("linalg.lstsq")(a, b, { driver }) as unknown[]).slice(0, 2),
};

/** The function behind a public name such as `nn.functional.relu` or `linalg.qr`; undefined when there is none. */
export function resolveFunction(op: string, file: string): Call | undefined {
  return wrapped[file] ?? wrapped[op] ?? direct(op);
}

function direct(op: string): Call | undefined {
  if (op.startsWith("nn.functional.")) return lookup(F, op.slice("nn.functional.".length));
  if (/^(torch\.)?ops\.aten\./.test(op)) {
    const [name, overload = "default"] = op.replace(/^(torch\.)?ops\.aten\./, "").split(".");
    return findAten(name, overload);
  }
  const fn = lookup(torch, op) ?? lookup(functional, op);
  return fn ?? (op.includes(".") ? undefined : resolveMethod(op));
}

/** The method or attribute of a tensor, as a function of it. */
export function resolveMethod(op: string): Call | undefined {
  if (op === "__getitem__") return wrapped.__getitem__;
  const name = op.split(".").pop()!;
  if (!(name in torch.Tensor.prototype)) return undefined;
  return (self, ...args) => {
    const member = (self as Namespace)[name];
    return asCall(member) ? asCall(member)!.apply(self, args) : member;
  };
}

/** The in-place form: a method with an underscore, or for nn.functional a function that takes `inplace`. */
export function resolveInplace(op: string): Call | undefined {
  if (!op.startsWith("nn.functional.")) return resolveMethod(op.endsWith("_") ? op : `${op}_`);
  const name = op.slice("nn.functional.".length);
  const own = lookup(F, `${name}_`);
  if (own) return own;
  const fn = lookup(F, name);
  return fn && ((...args) => fn(...withKeywords(args, { inplace: true })));
}

const isKeywords = (x: unknown): x is Record<string, unknown> =>
  typeof x === "object" && x !== null && x.constructor === Object;

/** Arguments with keywords added to those that stand in the last object. */
export function withKeywords(args: readonly unknown[], keywords: Record<string, unknown>): unknown[] {
  if (Object.keys(keywords).length === 0) return [...args];
  const last = args.at(-1);
  return isKeywords(last) ? [...args.slice(0, -1), { ...last, ...keywords }] : [...args, keywords];
}
