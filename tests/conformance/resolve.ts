/** @file From the name of a recorded operator to the function, method and in-place method of this library. */
import * as torch from "torch-tpu";
import * as F from "torch-tpu/nn/functional";
import { operators } from "../../src/ops/registry.js";
import { functional } from "../../src/api/functional.js";
import type { Tensor } from "torch-tpu";
import { isTuple } from "./vectors.js";

export type Call = (...args: unknown[]) => unknown;

const callable = (x: unknown): Call | undefined => (typeof x === "function" ? (x as Call) : undefined);

/** Calls that PyTorch's operator database wraps in a lambda of its own. */
const wrapped: Record<string, Call> = {
  where: (self, condition, ...rest) => (torch as unknown as Record<string, Call>).where(condition, self, ...rest),
  // Python tells x[1, 2] (a tuple) from x[[1, 2]] (a list).
  __getitem__: (self, index) => (self as Tensor).at(...(isTuple(index) ? (index as never[]) : [index as never])),
};
wrapped.einsum = (tensors, equation) => torch.einsum(equation as string, tensors as Tensor[]);
const F_ = F as unknown as Record<string, Call>;
for (const name of ["nn.functional.embedding", "nn.functional.embedding_bag"])
  wrapped[name] = (weight, indices, ...rest) => F_[name.slice("nn.functional.".length)](indices, weight, ...rest);
wrapped.max_pool2d_with_indices_backward = (self, options) => {
  const { kernel_size, stride, padding, dilation, ceil_mode } = {
    stride: [],
    padding: 0,
    dilation: 1,
    ceil_mode: false,
    ...(options as Record<string, unknown>),
  } as Record<string, unknown>;
  const args = [kernel_size, stride, padding, dilation, ceil_mode];
  const [out, indices] = (functional as unknown as Record<string, Call>).max_pool2d_with_indices(
    self,
    ...args,
  ) as Tensor[];
  return (functional as unknown as Record<string, Call>).max_pool2d_with_indices_backward(
    torch.ones_like(out),
    self,
    ...args,
    indices,
  );
};
const method =
  (name: string): Call =>
  (self, ...rest) =>
    (self as unknown as Record<string, Call>)[name](...rest);
wrapped.zero_ = (x) => (x as Tensor).clone().zero_();
for (const name of ["polygamma", "special.polygamma"])
  wrapped[name] = (x, n, ...rest) => torch.polygamma(n as number, x as Tensor, ...(rest as []));
for (const name of ["embedding", "embedding_bag"]) {
  wrapped[`nn.functional.${name}`] = (weight, index, ...rest) =>
    (F as unknown as Record<string, Call>)[name](index, weight, ...rest);
}
wrapped.max_pool2d_with_indices_backward = (x, options) => {
  const { kernel_size, stride = [], padding = 0, dilation = 1, ceil_mode = false } = options as Record<string, never>;
  const [out, indices] = functional.max_pool2d_with_indices(
    x as Tensor,
    kernel_size,
    stride,
    padding,
    dilation,
    ceil_mode,
  );
  return functional.max_pool2d_with_indices_backward(
    torch.ones_like(out),
    x as Tensor,
    kernel_size,
    stride,
    padding,
    dilation,
    ceil_mode,
    indices,
  );
};
const inplaceOnly = ["exponential", "geometric", "cauchy", "log_normal", "uniform"];
for (const name of inplaceOnly) wrapped[name] = method(`${name}_`);
wrapped["normal.in_place"] = method("normal_");

/** The function behind a public name such as `nn.functional.relu` or `linalg.qr`; undefined when there is none. */
export function resolveFunction(op: string, file: string): Call | undefined {
  const special = wrapped[file] ?? wrapped[op];
  if (special) return special;
  const [space, ...rest] = op.split(".");
  if (op.startsWith("nn.functional."))
    return callable((F as unknown as Record<string, unknown>)[op.slice("nn.functional.".length)]);
  if (op.startsWith("torch.ops.aten.") || op.startsWith("ops.aten.")) {
    const [name, overload] = op.replace(/^(torch\.)?ops\.aten\./, "").split(".");
    return operators.has(name) ? torch.ops.aten[name][overload ?? "default"] : undefined;
  }
  if (rest.length > 0) {
    let at: unknown = (torch as unknown as Record<string, unknown>)[space];
    for (const part of rest) at = (at as Record<string, unknown> | undefined)?.[part];
    return callable(at);
  }
  const direct =
    callable((torch as unknown as Record<string, unknown>)[op]) ??
    callable((functional as unknown as Record<string, unknown>)[op]);
  return direct ?? resolveMethod(op);
}

/** The method or attribute of a tensor, as a function of it. */
export function resolveMethod(op: string): Call | undefined {
  const name = op.split(".").pop()!;
  if (!(name in torch.Tensor.prototype)) return undefined;
  return (self, ...args) => {
    const member = (self as unknown as Record<string, unknown>)[name];
    return typeof member === "function" ? (member as Call).apply(self, args) : member;
  };
}

/** The in-place form: a method with an underscore, or for nn.functional a function that takes `inplace`. */
export function resolveInplace(op: string): Call | undefined {
  if (!op.startsWith("nn.functional.")) return resolveMethod(`${op.split(".").pop()!.replace(/_$/, "")}_`);
  const name = op.slice("nn.functional.".length);
  const functions = F as unknown as Record<string, Call | undefined>;
  const own = functions[`${name}_`];
  if (own) return own;
  const fn = functions[name];
  return (
    fn &&
    ((...args) => {
      const last = args[args.length - 1];
      const hasOptions = typeof last === "object" && last !== null && last.constructor === Object;
      return hasOptions ? fn(...args.slice(0, -1), { ...last, inplace: true }) : fn(...args, { inplace: true });
    })
  );
}
