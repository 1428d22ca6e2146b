/** @file Shardy operations: constraints for the partitioner, and regions that each device runs on its own part. */
import { DynamicBuilder } from "./dynamic.js";
import { nameList, quote } from "./print.js";
import { axesOf, axisName, axisSize, shardingText, type Mesh, type Sharding } from "./sharding.js";
import { fail, formatType, mlirType, type TensorType } from "./types.js";
import type { OpDef, Value } from "./value.js";

export interface ManualOptions {
  readonly mesh: Mesh;
  /** How each input is split before the region gets it. */
  readonly inShardings: readonly Sharding[];
  /** How each result of the region is a part of a whole. */
  readonly outShardings: readonly Sharding[];
  /** The axes over which the region is written by device; the others are left to the partitioner. Default: all. */
  readonly manualAxes?: readonly string[];
}

const SHARDING_CONSTRAINT: OpDef<Sharding> = {
  name: "sdy.sharding_constraint",
  form: "same",
  attributes: (s) => ` ${shardingText(s)}`,
};
const SHARDING_GROUP: OpDef<number> = {
  name: "sdy.sharding_group",
  form: "same",
  effects: true,
  print: (id, op) => `sdy.sharding_group ${op.operands[0].ssa} group_id=${id} : ${mlirType(op.operands[0])}`,
};
const PROPAGATION_BARRIER: OpDef<string> = {
  name: "sdy.propagation_barrier",
  form: "same",
  attributes: (direction) => ` allowed_direction=${direction}`,
};
const MANUAL_COMPUTATION: OpDef<{ ins: readonly Sharding[]; outs: readonly Sharding[]; axes: readonly string[] }> = {
  name: "sdy.manual_computation",
  form: "generic",
  print: ({ ins, outs, axes }, op) =>
    `sdy.manual_computation(${nameList(op.operands)}) in_shardings=[${ins.map(shardingText).join(", ")}] ` +
    `out_shardings=[${outs.map(shardingText).join(", ")}] manual_axes={${axes.map(quote).join(", ")}}`,
};

export class ShardingBuilder extends DynamicBuilder {
  /** The same value, laid out over the mesh as `sharding` says. */
  sharding_constraint(x: Value, sharding: Sharding): Value {
    this.checkTensor("sharding_constraint", x);
    this.checkSharding("sharding_constraint", sharding, x);
    return this.emit1("sharding_constraint", SHARDING_CONSTRAINT, [x], x.dtype, x.shape, sharding);
  }

  /** Values with one `groupId` get the same sharding. */
  sharding_group(x: Value, groupId: number): void {
    this.checkTensor("sharding_group", x);
    if (!(Number.isInteger(groupId) && groupId >= 0))
      fail("sharding_group", "a group id that is a non-negative integer", String(groupId));
    this.emit("sharding_group", SHARDING_GROUP, [x], [], groupId);
  }

  /** The same value; shardings propagate through it only in the allowed direction. */
  propagation_barrier(x: Value, allowed: "NONE" | "FORWARD" | "BACKWARD" | "BOTH"): Value {
    this.checkTensor("propagation_barrier", x);
    return this.emit1("propagation_barrier", PROPAGATION_BARRIER, [x], x.dtype, x.shape, allowed);
  }

  /**
   * Runs `body` on each device with that device's part of the inputs, and puts the parts of its results together.
   * Collectives inside name devices by their position in the mesh.
   */
  manual_computation(
    inputs: readonly Value[],
    options: ManualOptions,
    body: (parts: Value[]) => readonly Value[],
  ): Value[] {
    const op = "manual_computation";
    const { mesh, inShardings, outShardings } = options;
    const axes = options.manualAxes ?? mesh.axes.map(([name]) => name);
    axes.forEach((a) => mesh.sizeOf(a));
    if (inShardings.length !== inputs.length) fail(op, `${inputs.length} inShardings`, String(inShardings.length));
    const parts = inputs.map((x, i): TensorType => {
      this.checkTensor(op, x);
      this.checkSharding(op, inShardings[i], x);
      const split = manualSplit(op, inShardings[i], axes);
      const shape = x.shape.map((n, d) => {
        if (n % split[d] !== 0) fail(op, `a size divisible by ${split[d]} in dimension ${d}`, formatType(x));
        return n / split[d];
      });
      return { dtype: x.dtype, shape };
    });
    const region = this.block(op, "the body", parts, body, { terminator: "sdy.return", closed: true });
    const results = region.results!;
    if (outShardings.length !== results.length) fail(op, `${results.length} outShardings`, String(outShardings.length));
    const wholes = results.map((r, i): TensorType => {
      this.checkSharding(op, outShardings[i], r);
      const split = manualSplit(op, outShardings[i], axes);
      return { dtype: r.dtype, shape: r.shape.map((n, d) => n * split[d]) };
    });
    return this.emit(
      op,
      MANUAL_COMPUTATION,
      [...inputs],
      wholes,
      { ins: [...inShardings], outs: [...outShardings], axes: [...axes] },
      [region],
    ).results;
  }
}

/** How many ways the manual axes split each dimension. */
function manualSplit(op: string, s: Sharding, axes: readonly string[]): number[] {
  return s.dims.map((d) => {
    let split = 1;
    let free: string | null = null;
    for (const a of axesOf(d)) {
      const name = axisName(a);
      if (!axes.includes(name)) free = name;
      else if (free !== null) fail(op, "manual axes before the others in each dimension", `${free}, ${name}`);
      else split *= axisSize(s.mesh, a);
    }
    return split;
  });
}
