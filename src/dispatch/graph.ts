/** @file Graph: what one program computes. Strict mode makes a graph of one call, tracing one of a function. */
import type { Builder, Value } from "../hlo/index.js";
import type { Overload } from "../ops/registry.js";
import type { ViewSpec } from "../ops/view_spec.js";
import type { Aval, ScalarKind, SymScalar, UserLine } from "../schema/index.js";
import type { TracedValue } from "../tensor/index.js";

/** A value of a graph: an input, or a result of a node. */
export class GraphValue implements TracedValue {
  constructor(
    readonly aval: Aval,
    readonly trace: object,
    /** The node that makes it; null for an input. */
    readonly node: GraphNode | null,
    /** Position among the inputs or among the node's results. */
    readonly index: number,
  ) {}
}

/** A view of a graph value. */
export class Ref {
  constructor(
    readonly value: GraphValue,
    readonly spec: ViewSpec,
    readonly offsets: readonly number[],
  ) {}
}

/** An argument of a node: tensors as Refs, numbers of the program's inputs as SymScalars, the rest as it is. */
export type NodeArg = Ref | SymScalar | unknown;

/** What a node needs besides its arguments while it is lowered. */
export interface EmitContext {
  readonly h: Builder;
  /** The state of the random number generator for the draw numbered `index`. */
  rng(index: number): Value;
  value(ref: Ref): Value;
  scalar(s: SymScalar): Value;
}

export class GraphNode {
  outputs: GraphValue[] = [];
  constructor(
    readonly name: string,
    /** The operator, or null for a write through a view. */
    readonly overload: Overload | null,
    readonly args: readonly NodeArg[],
    readonly emit: (context: EmitContext, node: GraphNode) => Value[],
    /** The number of its draw, for a node that draws random numbers; -1 for the others. */
    readonly rngIndex: number,
    /** The user's line that called for it, where that is known. */
    readonly location: UserLine | null = null,
  ) {}
}

export class Graph {
  readonly inputs: GraphValue[] = [];
  /** Kinds of the numbers that enter when the program runs. */
  readonly scalars: ScalarKind[] = [];
  readonly nodes: GraphNode[] = [];
  usesRng = false;
}

/** Calls `visit` for every Ref among the arguments, lists included. */
export function forEachRef(args: readonly NodeArg[], visit: (ref: Ref) => void): void {
  for (const a of args) {
    if (a instanceof Ref) visit(a);
    else if (Array.isArray(a)) forEachRef(a as NodeArg[], visit);
  }
}

/** The nodes that the values need, in order, and the inputs that they read. */
export function reachable(graph: Graph, refs: readonly Ref[]): { nodes: GraphNode[]; inputs: Set<number> } {
  const live = new Set<GraphNode>();
  const inputs = new Set<number>();
  const stack: GraphNode[] = [];
  const visit = ({ value }: Ref): void => {
    if (value.node === null) inputs.add(value.index);
    else if (!live.has(value.node)) {
      live.add(value.node);
      stack.push(value.node);
    }
  };
  refs.forEach(visit);
  while (stack.length > 0) forEachRef(stack.pop()!.args, visit);
  return { nodes: graph.nodes.filter((n) => live.has(n)), inputs };
}
