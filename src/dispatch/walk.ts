/** @file Step 4 of a call, the key: what of the arguments shapes the program, and what enters when it runs. */
import { ArgKind, type Overload } from "../ops/registry.js";
import { rootSpec } from "../ops/view_spec.js";
import { isDefault, isScalar, scalarKind, type Scalar, type SymScalar } from "../schema/index.js";
import { Tensor } from "../tensor/index.js";
import { staticKey, type Trie } from "./trie.js";

// Filled by walk(); one call at a time, and no call runs inside a walk.
export const flat: Tensor[] = [];
export const scalars: Scalar[] = [];

/** Puts back what walk() found, after other calls ran in between. */
export function restoreWalk(tensors: readonly Tensor[], numbers: readonly Scalar[]): void {
  flat.length = 0;
  flat.push(...tensors);
  scalars.length = 0;
  scalars.push(...numbers);
}

/** Follows the facts that shape the program; collects the tensors and the numbers that enter at run time. */
export function walk<T>(overload: Overload, args: readonly unknown[], root: Trie<T>, traced: boolean): Trie<T> {
  flat.length = 0;
  scalars.length = 0;
  const { kinds } = overload;
  let leaf = root;
  for (let i = 0; i < kinds.length; i++) {
    const a = args[i];
    switch (kinds[i]) {
      case ArgKind.Tensor:
      case ArgKind.OptionalTensor:
        leaf = leaf.next(tensorKey(a, traced));
        break;
      case ArgKind.TensorList:
      case ArgKind.OptionalTensorList:
        leaf = leaf.next((a as readonly unknown[]).length);
        for (const e of a as readonly unknown[]) leaf = leaf.next(tensorKey(e, traced));
        break;
      case ArgKind.Scalar:
        leaf = leaf.next(scalarKey(a, overload, i));
        break;
      case ArgKind.ScalarList:
        leaf = leaf.next(a === null ? null : (a as readonly unknown[]).length);
        if (a !== null) for (const e of a as readonly unknown[]) leaf = leaf.next(scalarKey(e, overload, i));
        break;
      case ArgKind.Static:
        leaf = leaf.next(typeof a === "object" ? staticKey(a) : a);
        break;
      case ArgKind.Placement:
        break;
    }
  }
  return leaf;
}

function tensorKey(a: unknown, traced: boolean): unknown {
  if (a instanceof Tensor) {
    flat.push(a);
    return traced ? rootSpec(a.spec.aval) : a.spec;
  }
  if (a === null || a === undefined) return null;
  scalars.push(a as Scalar);
  return scalarKind(a as Scalar);
}

function scalarKey(a: unknown, overload: Overload, i: number): unknown {
  if (a === null || a === undefined) return null;
  if (isDefault(a, overload.schema.args[i])) return "default";
  scalars.push(a as Scalar);
  return scalarKind(a as Scalar);
}

/** The arguments with a symbol for each number that walk() found to enter at run time. */
export function symbolic(
  overload: Overload,
  args: readonly unknown[],
  make: (s: Scalar | SymScalar) => SymScalar,
): unknown[] {
  return args.map((a, i) => {
    const kind = overload.kinds[i];
    const one = (e: unknown): unknown => {
      if (!isScalar(e)) return e;
      const enters =
        kind <= ArgKind.OptionalTensorList ||
        ((kind === ArgKind.Scalar || kind === ArgKind.ScalarList) && !isDefault(e, overload.schema.args[i]));
      return enters ? make(e) : e;
    };
    return Array.isArray(a) && kind !== ArgKind.Static ? (a as unknown[]).map(one) : one(a);
  });
}
