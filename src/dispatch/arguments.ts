/** @file The tensors among an operator's arguments. */
import { SymScalar, type Scalar } from "../schema/index.js";
import { Tensor } from "../tensor/index.js";

/** Every tensor in argument order, those in lists included. */
export function flatTensors(args: readonly unknown[]): Tensor[] {
  const flat: Tensor[] = [];
  for (const a of args) {
    if (a instanceof Tensor) flat.push(a);
    else if (Array.isArray(a)) for (const e of a as unknown[]) if (e instanceof Tensor) flat.push(e);
  }
  return flat;
}

/**
 * The arguments with their tensors (or holes for them) replaced, in order, by `to`.
 * `scalar`, if given, replaces the numbers that are inputs of a program, which must be marked as SymScalar.
 */
export function mapTensors(
  args: readonly unknown[],
  to: readonly Tensor[],
  scalar?: (s: Scalar | SymScalar) => Scalar | SymScalar,
): unknown[] {
  let at = 0;
  const one = (a: unknown): unknown => {
    if (a instanceof Tensor || a instanceof Hole) return to[at++];
    return scalar && a instanceof SymScalar ? scalar(a) : a;
  };
  return args.map((a) =>
    Array.isArray(a) && (a as unknown[]).some((e) => e instanceof Tensor || e instanceof Hole || e instanceof SymScalar)
      ? (a as unknown[]).map(one)
      : one(a),
  );
}

/** Stands for a tensor in arguments that are kept without their tensors. */
export class Hole {}
const hole = new Hole();

/** The arguments with a hole for each tensor, so that they can be kept without keeping the tensors. */
export const withoutTensors = (args: readonly unknown[]): unknown[] =>
  args.map((a) =>
    a instanceof Tensor ? hole : Array.isArray(a) ? (a as unknown[]).map((e) => (e instanceof Tensor ? hole : e)) : a,
  );
