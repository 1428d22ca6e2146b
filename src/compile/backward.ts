/** @file The backward side of a compiled function: one program for the gradients of all that it used. */
import { accumulatorOf, Node, type Grad } from "../autograd/index.js";
import { backendOf, pushTensor, type BufferHandle, type Kernel } from "../dispatch/index.js";
import { torchFunctions } from "../ops/torch_ref.js";
import { scalarKind, TorchError, type Aval, type Scalar } from "../schema/index.js";
import type { Device, Tensor } from "../tensor/index.js";
import type { TensorSource } from "./entry.js";

const usedUp =
  "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after calling backward.";

/** How the gradients of one traced call are computed. */
export class BackwardPlan {
  constructor(
    readonly name: string,
    /** The tensors that get gradients. */
    readonly targets: readonly TensorSource[],
    /** Which of the forward program's inputs are kept. */
    readonly savedInputs: readonly number[],
    /** Which of those are views, which enter with their offsets. */
    readonly savedViews: readonly boolean[],
    /** The cotangents' types, one for each result that carries a gradient. */
    readonly cotangents: readonly Aval[],
    /** For each target, which result of the program is its gradient; -1 for none. */
    readonly slots: readonly number[],
    /** Takes the kept inputs, the kept results, the cotangents, the numbers. */
    readonly kernel: Kernel,
  ) {}
}

/** The node of the autograd graph for one run of a compiled function. */
export class CompiledNode extends Node {
  private readonly versions: number[];
  private released = false;
  constructor(
    private readonly plan: BackwardPlan,
    targets: readonly Tensor[],
    private savedInputs: readonly Tensor[],
    private savedResults: readonly BufferHandle[],
    private readonly numbers: readonly Scalar[],
    private readonly rngState: BufferHandle | null,
    private readonly device: Device,
  ) {
    super(
      "CompiledFunctionBackward",
      targets.map((t) => t.grad_fn ?? accumulatorOf(t)),
      targets.map((t) => t.outputNr),
      plan.cotangents.length,
    );
    this.versions = savedInputs.map((t) => t.storageRef.version);
  }

  override release(): void {
    this.released = true;
    this.savedInputs = [];
    this.savedResults = [];
  }

  apply(dys: Grad[], createGraph: boolean): Grad[] {
    if (createGraph) throw new TorchError("torch.compile with aot_autograd does not currently support double backward");
    if (this.released) throw new TorchError(usedUp);
    const backend = backendOf(this.device);
    const args: BufferHandle[] = [];
    this.savedInputs.forEach((t, i) => {
      if (t.storageRef.version !== this.versions[i])
        throw new TorchError(
          `one of the variables needed for gradient computation has been modified by an inplace operation: [${t.dtype.toString()} [${t.shape.join(", ")}]] is at version ${t.storageRef.version}; expected version ${this.versions[i]} instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True).`,
        );
      if (this.plan.savedViews[i]) pushTensor(args, t, backend);
      else args.push(t.storageRef.handle!);
    });
    args.push(...this.savedResults);
    this.plan.cotangents.forEach((of, i) => args.push(this.cotangent(dys[i], of)));
    for (const n of this.numbers) args.push(backend.scalar(n, scalarKind(n)));
    const { program } = this.plan.kernel;
    if (program.usesRng) args.push(this.rngState!);
    const out = program.run(args);
    const results = Array.isArray(out) ? out : [out];
    return this.plan.slots.map((slot) => (slot < 0 ? null : program.tensor(slot, results[slot], this.device)));
  }

  private cotangent(dy: Grad, of: Aval): BufferHandle {
    const t = torchFunctions();
    const value = dy ?? t.zeros(of.shape, { dtype: of.dtype, device: this.device });
    const dense = value.spec.isRoot ? value : t.clone(value);
    return dense.storageRef.handle!;
  }
}

/** The node of a result whose history a backward inside of the function used up. */
export class ReleasedNode extends Node {
  constructor() {
    super("CompiledFunctionBackward", [], [], 1);
  }
  apply(): Grad[] {
    throw new TorchError(usedUp);
  }
}
