/** @file Parts of a graph as graphs of their own. */
import { forEachRef, Graph, GraphNode, GraphValue, reachable, Ref, type NodeArg } from "../dispatch/index.js";

/** Some results of a graph, computed from chosen values of it. */
export interface Part {
  readonly graph: Graph;
  readonly outputs: Ref[];
}

/** The graph that computes `outputs` from `inputs`, which may be any values of the whole graph. */
export function cutGraph(whole: Graph, inputs: readonly GraphValue[], outputs: readonly Ref[]): Part {
  const graph = new Graph();
  graph.scalars.push(...whole.scalars);
  const moved = new Map<GraphValue, GraphValue>();
  for (const value of inputs) {
    const input = new GraphValue(value.aval, graph, null, graph.inputs.length);
    graph.inputs.push(input);
    moved.set(value, input);
  }
  const arg = (a: NodeArg): NodeArg => {
    if (a instanceof Ref) return new Ref(moved.get(a.value)!, a.spec, a.offsets);
    return Array.isArray(a) ? (a as NodeArg[]).map(arg) : a;
  };
  for (const node of neededNodes(whole, new Set(inputs), outputs)) {
    const copy = new GraphNode(node.name, node.overload, node.args.map(arg), node.emit, node.rngIndex, node.location);
    copy.outputs = node.outputs.map((v) => new GraphValue(v.aval, graph, copy, v.index));
    node.outputs.forEach((v, i) => {
      if (!moved.has(v)) moved.set(v, copy.outputs[i]);
    });
    graph.nodes.push(copy);
    if (node.rngIndex >= 0) graph.usesRng = true;
  }
  return { graph, outputs: outputs.map((r) => arg(r) as Ref) };
}

/** The nodes that `outputs` need when `given` are known, in order. */
function neededNodes(graph: Graph, given: ReadonlySet<GraphValue>, outputs: readonly Ref[]): GraphNode[] {
  const live = new Set<GraphNode>();
  const stack: GraphNode[] = [];
  const visit = ({ value }: Ref): void => {
    if (given.has(value) || value.node === null || live.has(value.node)) return;
    live.add(value.node);
    stack.push(value.node);
  };
  outputs.forEach(visit);
  while (stack.length > 0) forEachRef(stack.pop()!.args, visit);
  return graph.nodes.filter((n) => live.has(n));
}

/** The inputs of a graph that `outputs` read. */
export function inputsOf(graph: Graph, outputs: readonly Ref[]): GraphValue[] {
  const { inputs } = reachable(graph, outputs);
  return graph.inputs.filter((_, i) => inputs.has(i));
}
