/** @file The backward pass: walks the graph from the outputs, later nodes first. */
import { TorchError } from "../schema/index.js";
import { sizeText } from "../schema/shape.js";
import { torchFunctions } from "../ops/torch_ref.js";
import type { Tensor } from "../tensor/index.js";
import { ModeGuard, is_inference_mode_enabled } from "./grad_mode.js";
import { gradientEdge, type Grad, type Node } from "./node.js";

interface Edge {
  readonly node: Node;
  readonly nr: number;
}

interface Task {
  readonly roots: readonly Edge[];
  readonly grads: readonly Tensor[];
  readonly keepGraph: boolean;
  readonly createGraph: boolean;
  /** Where to stop and what to return; null: accumulate into leaves. */
  readonly targets: readonly (Edge | null)[] | null;
}

/** How many edges of the graph below `roots` lead to each node. */
function countDependencies(roots: readonly Edge[]): Map<Node, number> {
  const counts = new Map<Node, number>();
  const stack: Node[] = [];
  for (const { node } of roots) {
    if (!counts.has(node)) {
      counts.set(node, 0);
      stack.push(node);
    }
  }
  while (stack.length > 0) {
    for (const next of stack.pop()!.nextNodes) {
      if (next === null) continue;
      const have = counts.get(next);
      counts.set(next, (have ?? 0) + 1);
      if (have === undefined) stack.push(next);
    }
  }
  return counts;
}

/** The nodes from which a target can be reached. */
function nodesLeadingTo(targets: ReadonlySet<Node>, roots: readonly Edge[]): Set<Node> {
  const needed = new Set<Node>();
  const state = new Map<Node, boolean>();
  const stack: { node: Node; at: number }[] = roots.map(({ node }) => ({ node, at: 0 }));
  while (stack.length > 0) {
    const top = stack[stack.length - 1];
    if (top.at === 0 && state.has(top.node)) {
      stack.pop();
      continue;
    }
    if (top.at === 0) state.set(top.node, targets.has(top.node));
    const next = top.node.nextNodes[top.at++];
    if (top.at > top.node.nextNodes.length) {
      const reaches = targets.has(top.node) || top.node.nextNodes.some((n) => n !== null && needed.has(n));
      if (reaches) needed.add(top.node);
      stack.pop();
    } else if (next && !state.has(next)) stack.push({ node: next, at: 0 });
  }
  return needed;
}

/** Ready nodes, the latest first. */
class ReadyQueue {
  private readonly heap: Node[] = [];
  get size(): number {
    return this.heap.length;
  }
  push(node: Node): void {
    const { heap } = this;
    heap.push(node);
    for (let i = heap.length - 1; i > 0;) {
      const parent = (i - 1) >> 1;
      if (heap[parent].seq >= heap[i].seq) break;
      [heap[parent], heap[i]] = [heap[i], heap[parent]];
      i = parent;
    }
  }
  pop(): Node {
    const { heap } = this;
    const top = heap[0];
    const last = heap.pop()!;
    if (heap.length > 0) {
      heap[0] = last;
      for (let i = 0; ;) {
        let largest = i;
        for (const child of [2 * i + 1, 2 * i + 2])
          if (child < heap.length && heap[child].seq > heap[largest].seq) largest = child;
        if (largest === i) break;
        [heap[largest], heap[i]] = [heap[i], heap[largest]];
        i = largest;
      }
    }
    return top;
  }
}

function run(task: Task): (Tensor | null)[] {
  const dependencies = countDependencies(task.roots);
  const targetNodes = new Set<Node>();
  task.targets?.forEach((t) => t && targetNodes.add(t.node));
  const needed = task.targets ? nodesLeadingTo(targetNodes, task.roots) : null;
  const pending = new Map<Node, Grad[]>();
  const captured: (Tensor | null)[] = task.targets ? task.targets.map(() => null) : [];
  const t = torchFunctions();

  const deliver = (node: Node, nr: number, grad: Grad): void => {
    let grads = pending.get(node);
    if (!grads) pending.set(node, (grads = new Array<Grad>(node.numOutputs).fill(null)));
    if (!grad) return;
    const have = grads[nr];
    grads[nr] = have ? t.add(have, grad) : grad;
  };
  task.roots.forEach(({ node, nr }, i) => deliver(node, nr, task.grads[i]));

  const queue = new ReadyQueue();
  for (const node of new Set(task.roots.map((r) => r.node))) if (dependencies.get(node) === 0) queue.push(node);
  while (queue.size > 0) {
    const node = queue.pop();
    let grads = pending.get(node) ?? [];
    pending.delete(node);
    const any = grads.some((g) => g !== null);
    if (any) grads = node.runPreHooks(grads);
    if (targetNodes.has(node)) task.targets!.forEach((e, i) => e && e.node === node && (captured[i] = grads[e.nr]));
    const isLeafTarget = task.targets !== null && node.nextNodes.length === 0;
    const runs = any && !isLeafTarget && (needed === null || node.nextNodes.some((n) => n !== null && needed.has(n)));
    const results = runs ? node.runPostHooks(node.apply(grads, task.createGraph), grads) : [];
    if (runs && !task.keepGraph) node.release();
    for (let i = 0; i < node.nextNodes.length; i++) {
      const next = node.nextNodes[i];
      if (next === null) continue;
      if (results[i]) deliver(next, node.nextNrs[i], results[i]);
      const left = dependencies.get(next)! - 1;
      dependencies.set(next, left);
      if (left === 0) queue.push(next);
    }
  }
  return captured;
}

/** The cotangent to start with: given, or ones for a single element. */
function startGrad(output: Tensor, given: Tensor | null | undefined, index: number): Tensor {
  if (given) {
    if (given.shape.join() !== output.shape.join()) {
      throw new TorchError(
        `Mismatch in shape: grad_output[${index}] has a shape of ${sizeText(given.shape)} and output[${index}] has a shape of ${sizeText(output.shape)}.`,
      );
    }
    return given;
  }
  if (output.numel() !== 1) throw new TorchError("grad can be implicitly created only for scalar outputs");
  if (!output.is_floating_point() && !output.is_complex())
    throw new TorchError(
      `grad can be implicitly created only for real scalar outputs but got ${output.dtype.toString()}`,
    );
  return torchFunctions().ones_like(output);
}

export interface BackwardOptions {
  /** Keep what was saved, for another backward. Default: as create_graph. */
  retain_graph?: boolean | null;
  /** Record the backward pass, so that it can be differentiated again. */
  create_graph?: boolean;
}

function start(
  outputs: readonly Tensor[],
  gradOutputs: readonly (Tensor | null | undefined)[],
  options: BackwardOptions,
  targets: readonly (Edge | null)[] | null,
): (Tensor | null)[] {
  if (is_inference_mode_enabled())
    throw new TorchError("Cannot run backward inside inference_mode: expected a graph, got inference tensors");
  const roots = outputs.map((o, i) => {
    const edge = gradientEdge(o);
    if (!edge) throw new TorchError(`element ${i} of tensors does not require grad and does not have a grad_fn`);
    return edge;
  });
  const createGraph = options.create_graph ?? false;
  using _ = new ModeGuard(createGraph, false);
  const grads = outputs.map((o, i) => startGrad(o, gradOutputs[i], i));
  return run({ roots, grads, keepGraph: options.retain_graph ?? createGraph, createGraph, targets });
}

const asList = <T>(x: T | readonly T[]): readonly T[] => (Array.isArray(x) ? (x as readonly T[]) : [x as T]);

/** `torch.autograd.backward`: adds the gradients of `tensors` to the `grad` of every leaf (or of `inputs` only). */
export function backward(
  tensors: Tensor | readonly Tensor[],
  grad_tensors: Tensor | null | readonly (Tensor | null)[] = null,
  options: BackwardOptions & { inputs?: Tensor | readonly Tensor[] } = {},
): void {
  const outputs = asList(tensors);
  const grads = grad_tensors === null ? [] : asList(grad_tensors);
  if (!options.inputs) {
    start(outputs, grads, options, null);
    return;
  }
  const inputs = asList(options.inputs);
  const found = grad(outputs, inputs, { ...options, grad_outputs: grads, allow_unused: true });
  inputs.forEach((input, i) => {
    const g = found[i];
    if (g) input.grad = input.grad ? torchFunctions().add(input.grad, g) : g;
  });
}

/**
 * `torch.autograd.grad`: gradients of the sum of `outputs` (weighted by `grad_outputs`) for each of `inputs`.
 * Throws when an input was not used, unless `allow_unused`, which gives null for it.
 */
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: Tensor | readonly Tensor[],
  options: BackwardOptions & {
    grad_outputs?: Tensor | null | readonly (Tensor | null)[];
    allow_unused?: boolean;
    materialize_grads?: boolean;
  } = {},
): (Tensor | null)[] {
  const ins = asList(inputs);
  const targets = ins.map((t) => {
    if (!t.requires_grad) {
      if (options.allow_unused) return null;
      throw new TorchError("One of the differentiated Tensors does not require grad");
    }
    return gradientEdge(t);
  });
  const found = start(
    asList(outputs),
    options.grad_outputs === null || options.grad_outputs === undefined ? [] : asList(options.grad_outputs),
    options,
    targets,
  );
  return found.map((g, i) => {
    if (g) return g;
    if (options.materialize_grads) return torchFunctions().zeros_like(ins[i]);
    if (options.allow_unused) return null;
    throw new TorchError(
      "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.",
    );
  });
}
