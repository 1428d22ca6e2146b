/** @file `copy.deepcopy` for modules. */
import { no_grad } from "../autograd/index.js";
import { Tensor } from "../tensor/index.js";
import { isModule, moduleState } from "./members.js";
import { Module } from "./module.js";
import { Buffer, Parameter } from "./parameter.js";

function copyTensor(x: Tensor): Tensor {
  return no_grad(() => {
    const data = x.detach().clone();
    if (x instanceof Parameter) return new Parameter(data, x.requires_grad);
    if (x instanceof Buffer) return new Buffer(data, x.persistent);
    return x.requires_grad ? data.requires_grad_() : data;
  });
}

function copyModule(from: Module, memo: Map<object, unknown>): Module {
  // the base constructor makes a callable; the class is what its prototype says
  const to = Reflect.construct(Module, [], from.constructor as new () => Module) as Module;
  memo.set(from, to);
  const [a, b] = [from[moduleState], to[moduleState]];
  for (const name of a.parameters) b.parameters.add(name);
  for (const name of a.modules) b.modules.add(name);
  for (const [name, persistent] of a.buffers) b.buffers.set(name, persistent);
  for (const [name, after] of a.numeric) b.numeric.set(name, after);
  const values = from as unknown as Record<string, unknown>;
  for (const name of Object.keys(from))
    (to as unknown as Record<string, unknown>)[name] = copyValue(values[name], memo);
  return to;
}

function copyValue(x: unknown, memo: Map<object, unknown>): unknown {
  if ((typeof x !== "object" && typeof x !== "function") || x === null) return x;
  const known = memo.get(x);
  if (known !== undefined) return known;
  if (isModule(x)) return copyModule(x, memo);
  let made: unknown = x;
  if (x instanceof Tensor) made = copyTensor(x);
  else if (Array.isArray(x)) made = x.map((e) => copyValue(e, memo));
  else if (x.constructor === Object)
    made = Object.fromEntries(Object.entries(x).map(([k, v]) => [k, copyValue(v, memo)]));
  memo.set(x, made);
  return made;
}

/**
 * A copy with parameters, buffers and submodules of its own; what is shared inside is shared in the copy.
 * Hooks are not copied. Of other values, arrays and plain objects are copied.
 */
export const deepcopy = <M extends Module>(module: M): M => copyValue(module, new Map()) as M;
