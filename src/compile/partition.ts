/** @file Which values a forward program keeps for its backward program: the cheapest set, what is cheap computed twice. */
import { forEachRef, reachable, type Graph, type GraphNode, type GraphValue, type Ref } from "../dispatch/index.js";
import { CutGraph } from "./min_cut.js";

/**
 * The values to keep so that `grads` can be computed from them and from the cotangents. Inputs of the function are
 * nearly free, because they are alive anyway; results of expensive nodes cannot be computed twice.
 */
export function valuesToSave(
  graph: Graph,
  grads: readonly Ref[],
  tangents: ReadonlySet<GraphValue>,
  isCheap: (node: GraphNode) => boolean,
): GraphValue[] {
  const { nodes } = reachable(graph, grads);
  const backward = dependents(nodes, tangents);
  const cut = new CutGraph();
  const vertices = new Map<GraphValue, number>();
  const values: GraphValue[] = [];
  const nodeVertices = new Map<GraphNode, number>();
  const vertexOf = (value: GraphValue): number => {
    const found = vertices.get(value);
    if (found !== undefined) return found;
    const { node } = value;
    const vertex = cut.vertex(node === null ? 1 + value.aval.nbytes / 1024 : 1 + value.aval.nbytes);
    vertices.set(value, vertex);
    values[vertex] = value;
    if (node === null) cut.edge(cut.source, vertex);
    else cut.edge(nodeVertices.get(node)!, vertex);
    return vertex;
  };
  const toSink = ({ value }: Ref): void => {
    if (!tangents.has(value) && !(value.node !== null && backward.has(value.node))) cut.edge(vertexOf(value), cut.sink);
  };
  for (const node of nodes) {
    if (backward.has(node)) {
      forEachRef(node.args, toSink);
      continue;
    }
    const vertex = cut.vertex(Infinity);
    nodeVertices.set(node, vertex);
    if (!isCheap(node)) cut.edge(cut.source, vertex);
    forEachRef(node.args, ({ value }) => cut.edge(vertexOf(value), vertex));
  }
  grads.forEach(toSink);
  return cut.minCut().map((v) => values[v]);
}

/** The nodes that depend on one of these inputs. */
function dependents(nodes: readonly GraphNode[], inputs: ReadonlySet<GraphValue>): Set<GraphNode> {
  const found = new Set<GraphNode>();
  for (const node of nodes) {
    let depends = false;
    forEachRef(node.args, ({ value }) => {
      if (inputs.has(value) || (value.node !== null && found.has(value.node))) depends = true;
    });
    if (depends) found.add(node);
  }
  return found;
}
