/** @file `torch.ops.aten`: every overload by its ATen name, as in `torch.ops.aten.add.Tensor(a, b)`. */
import { operators, type OpGroup } from "../ops/registry.js";
import { TorchNotImplementedError, type DType } from "../schema/index.js";
import { Tensor } from "../tensor/index.js";
import { bindOverload } from "./bind.js";
import { callOverload, invoke, invokeInplace } from "./invoke.js";

export type AtenFunction = (...args: unknown[]) => unknown;

function missing(name: string, overload: string): never {
  throw new TorchNotImplementedError(
    `operator 'aten::${name}.${overload}' is not implemented. Write it with other operators, or add an entry to src/ops (see CONTRIBUTING.md).`,
  );
}

const isKeywords = (x: unknown): x is Record<string, unknown> =>
  typeof x === "object" && x !== null && x.constructor === Object;

/** An `out` overload: the keywords that no functional form has are where the results go. */
function callOutForm(group: OpGroup, args: readonly unknown[]): unknown {
  const last = args[args.length - 1];
  if (!isKeywords(last)) return invoke(group, args);
  const known = (k: string): boolean => group.overloads.some((o) => o.index.has(k));
  const rest = Object.fromEntries(Object.entries(last).filter(([k]) => known(k)));
  const out = Object.entries(last)
    .filter(([k]) => !known(k))
    .map(([, v]) => v);
  return invoke(group, [...args.slice(0, -1), { ...rest, out: out.length === 1 ? out[0] : out }]);
}

/** `view_copy` and its kin: a copy of what the view shows. */
function callCopyForm(group: OpGroup, args: readonly unknown[]): unknown {
  const result = invoke(group, args);
  const copy = (t: unknown): unknown => (t instanceof Tensor ? t.clone() : t);
  return Array.isArray(result) ? (result as unknown[]).map(copy) : copy(result);
}

/** Names of memory formats, which change nothing here and must not be taken for devices. */
const isMemoryFormat = (x: unknown): boolean => typeof x === "string" && /_format$|^channels_last/.test(x);

/** ATen operators that are methods of Tensor and no entry of the registry. */
const tensorMethods: Readonly<Record<string, AtenFunction>> = {
  to: (self, ...rest) => (self as Tensor).to(...(rest.filter((x) => !isMemoryFormat(x)) as [DType])),
  contiguous: (self) => (self as Tensor).contiguous(),
};

/** The function of one overload; undefined when the operator is not there. */
export function findAten(name: string, overload: string): AtenFunction | undefined {
  const group = operators.get(name);
  const exact = group?.overloads.find((o) => o.schema.overload === (overload === "default" ? "" : overload));
  if (exact) return (...args) => callOverload(exact, bindOverload(exact, args));
  if (name.endsWith("_") && !name.endsWith("__")) {
    const base = operators.get(name.slice(0, -1));
    if (base) return (...args) => invokeInplace(base, args);
  }
  if (group && /(^|_)out$/.test(overload)) return (...args) => callOutForm(group, args);
  if (group) return (...args) => invoke(group, args);
  if (Object.hasOwn(tensorMethods, name)) return tensorMethods[name];
  const base = name.endsWith("_copy") ? operators.get(name.slice(0, -"_copy".length)) : undefined;
  return base && ((...args) => callCopyForm(base, args));
}

type Overloads = Readonly<Record<string, AtenFunction>>;

function overloadsOf(name: string): Overloads {
  return new Proxy({} as Overloads, {
    get: (_, overload): AtenFunction | undefined =>
      typeof overload === "string" ? (findAten(name, overload) ?? (() => missing(name, overload))) : undefined,
  });
}

/** `torch.ops`. A missing operator says so by name when called. */
export const ops = {
  aten: new Proxy({} as Readonly<Record<string, Overloads>>, {
    get: (_, name): Overloads | undefined => (typeof name === "string" ? overloadsOf(name) : undefined),
  }),
};
