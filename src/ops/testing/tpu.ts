/** @file Compiles functions of tensors for a TPU that is not here, for tests. */
import { lowerProgram, Trace, withTrace } from "../../dispatch/index.js";
import { Plugin, type Topology } from "../../pjrt/index.js";
import { libtpu, noLibtpu } from "../../pjrt/testing/programs.js";
import { aval, type DType } from "../../schema/index.js";
import { device, type Tensor } from "../../tensor/index.js";
import { rootSpec } from "../view_spec.js";

export { noLibtpu };

let topology: Topology | null = null;

/** Compiles `fn` of tensors of these shapes for one chip of v5e. Throws the compiler's error. */
export function compileForTpu(
  fn: (...inputs: Tensor[]) => Tensor | readonly Tensor[],
  dtype: DType,
  ...shapes: readonly (readonly number[])[]
): void {
  const avals = shapes.map((shape) => aval(dtype, shape));
  const trace = new Trace(device("cpu"));
  const outputs = withTrace(trace, () =>
    [fn(...avals.map((a) => trace.input(a)))].flat().map((x) => trace.ref(x as Tensor)),
  );
  const specs = avals.map((a) => rootSpec(a));
  topology ??= Plugin.load(libtpu!).createTopology("v5e:1x1");
  topology.compile(lowerProgram({ name: "test", graph: trace.graph, outputs, writes: [], specs }), {});
}
