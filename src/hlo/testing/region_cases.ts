/** @file Cases of indexing, reductions, control flow, communication, and shapes as operands. */
import { bool, float32, int32, int64, uint32, uint64 } from "../../schema/dtype.js";
import { Mesh, type Builder, type Value } from "../index.js";
import { f, one, t, x23, type OpCase } from "./op_case.js";

const indexing: OpCase[] = [
  one("gather", [f(4, 5), t(int32, 3)], (h, [x, i]) =>
    h.gather(x, i, {
      offsetDims: [1],
      collapsedSliceDims: [0],
      startIndexMap: [0],
      indexVectorDim: 1,
      sliceSizes: [1, 5],
    }),
  ),
  one("gather", [f(3, 4, 5), t(int64, 3, 2)], (h, [x, i]) =>
    h.gather(x, i, {
      offsetDims: [2],
      collapsedSliceDims: [1],
      operandBatchingDims: [0],
      startIndicesBatchingDims: [0],
      startIndexMap: [1],
      indexVectorDim: 2,
      sliceSizes: [1, 1, 5],
      indicesAreSorted: true,
    }),
  ),
  one("scatter", [f(4, 5), t(int32, 3, 1), f(3, 5)], (h, [x, i, u]) =>
    h.scatter(
      [x],
      i,
      [u],
      {
        updateWindowDims: [1],
        insertedWindowDims: [0],
        scatterDimsToOperandDims: [0],
        indexVectorDim: 1,
        uniqueIndices: true,
      },
      ([a], [b]) => [h.add(a, b)],
    ),
  ),
  one("scatter", [f(3, 4), t(int32, 4), t(int64, 3, 2), f(3, 2)], (h, [x, , i, u]) =>
    h.scatter(
      [x, x],
      i,
      [u, u],
      {
        updateWindowDims: [],
        insertedWindowDims: [1],
        inputBatchingDims: [0],
        scatterIndicesBatchingDims: [0],
        scatterDimsToOperandDims: [1],
        indexVectorDim: 2,
      },
      ([a, c], [b, d]) => [h.add(a, b), h.maximum(c, d)],
    ),
  ),
  one("sort", [x23, t(int32, 2, 3)], (h, xs) => h.sort(xs, 1, true, (a, b) => h.compare(a, b, "LT"))),
  one("chlo_top_k", [f(2, 8)], (h, [x]) => h.chlo_top_k(x, 3)),
];

const noRaggedDot = { cpuRefuses: /`ragged-dot` is not supported/ };

const reduction: OpCase[] = [
  one("reduce", [x23, t(int32, 2, 3), f(), t(int32)], (h, [x, i, a, b]) =>
    h.reduce([x, i], [a, b], [1], ([m, n], [y, z]) => [h.maximum(m, y), h.add(n, z)]),
  ),
  one("reduceWith", [x23, f()], (h, [x, z]) =>
    (["add", "multiply", "maximum", "minimum"] as const).map((k) => h.reduceWith(x, z, [0, 1], k)),
  ),
  one("reduceWith", [t(bool, 2, 3), t(bool)], (h, [x, z]) =>
    (["and", "or", "xor"] as const).map((k) => h.reduceWith(x, z, [1], k)),
  ),
  one("reduce_window", [f(4, 6), f()], (h, [x, z]) =>
    h.reduce_window(
      [x],
      [z],
      {
        windowDimensions: [2, 2],
        windowStrides: [2, 1],
        padding: [
          [0, 1],
          [1, 0],
        ],
        baseDilations: [1, 2],
        windowDilations: [2, 1],
      },
      ([a], [b]) => [h.add(a, b)],
    ),
  ),
  one("select_and_scatter", [f(2, 4, 6, 3), f(2, 2, 3, 3), f()], (h, [x, s, z]) =>
    h.select_and_scatter(
      x,
      s,
      z,
      {
        windowDimensions: [1, 2, 2, 1],
        windowStrides: [1, 2, 2, 1],
        padding: [
          [0, 0],
          [0, 0],
          [1, -1],
          [0, 0],
        ],
      },
      (a, b) => h.compare(a, b, "GE"),
      (a, b) => h.add(a, b),
    ),
  ),
  one("map", [x23, x23], (h, xs) => h.map(xs, (a, b) => h.add(a, h.multiply(a, b)))),
  one(
    "chlo_ragged_dot",
    [f(6, 4), f(3, 4, 5), t(int32, 3)],
    (h, [a, b, g]) =>
      h.chlo_ragged_dot(a, b, g, {
        lhsContract: [1],
        rhsContract: [1],
        lhsRagged: 0,
        rhsGroup: [0],
        precision: "DEFAULT",
      }),
    noRaggedDot,
  ),
  one(
    "chlo_ragged_dot",
    [f(6, 4), f(6, 5), t(int32, 3)],
    (h, [a, b, g]) => h.chlo_ragged_dot(a, b, g, { lhsContract: [0], rhsContract: [0], lhsRagged: 0 }),
    noRaggedDot,
  ),
  one("batch_norm_training", [f(4, 3, 2), f(3), f(3)], (h, [x, s, o]) => h.batch_norm_training(x, s, o, 1e-5, 1)),
  one("batch_norm_inference", [f(4, 3), f(3), f(3), f(3), f(3)], (h, [x, s, o, m, v]) =>
    h.batch_norm_inference(x, s, o, m, v, 0.001, 1),
  ),
  one("batch_norm_grad", [f(4, 3), f(3), f(3), f(3), f(4, 3)], (h, [x, s, m, v, g]) =>
    h.batch_norm_grad(x, s, m, v, g, 1, 1),
  ),
];

const control: OpCase[] = [
  one("while", [t(int32), f()], (h, [n, x]) =>
    h.while(
      [n, x],
      ([i]) => h.compare(i, h.constant(5, int32), "LT"),
      ([i, v]) => [h.add(i, h.constant(1, int32)), h.add(v, x)],
    ),
  ),
  one("if", [t(bool), x23], (h, [c, x]) =>
    h.if(
      c,
      () => [x, h.negate(x)],
      () => [h.abs(x), x],
    ),
  ),
  one("case", [t(int32), x23], (h, [i, x]) => h.case(i, [() => [x], () => [h.negate(x)], () => [h.abs(x)]])),
  one("optimization_barrier", [x23, f()], (h, xs) => h.optimization_barrier(xs)),
  one("rng_bit_generator", [t(uint64, 2)], (h, [s]) => h.rng_bit_generator(s, "THREE_FRY", uint32, [4])),
  one("rng_bit_generator", [t(uint64, 3)], (h, [s]) => h.rng_bit_generator(s, "PHILOX", uint64, [4])),
  one("rng", [f(), f()], (h, [a, b]) => [h.rng(a, b, [3], "UNIFORM"), h.rng(a, b, [3], "NORMAL")]),
  one("tuple", [f(), t(int32, 2)], (h, xs) => h.get_tuple_element(h.tuple(xs), 1)),
  one("get_tuple_element", [f(), t(int32, 2)], (h, xs) => h.get_tuple_element(h.tuple([h.tuple(xs), xs[0]]), 1)),
  one("custom_call", [f(3, 3)], (h, [a]) => h.custom_call("Qr", [a], [f(3, 3), f(3)], { hasSideEffect: false })),
  one("custom_call", [f(3, 3)], (h, [a]) =>
    h.custom_call("Eigh", [a], [f(3, 3), f(3)], { backendConfig: "1,1,100,1e-6" }),
  ),
  one("call", [x23], (h, [x], m) => {
    const helper = m.func("a helper", [x23]);
    helper.return([helper.negate(helper.params[0])]);
    return h.call(helper, h.call(helper, [x]));
  }),
  one("composite", [x23], (h, [x], m) => {
    const impl = m.func("impl", [x23]);
    impl.return([impl.abs(impl.params[0])]);
    return h.composite("test.abs", [x], impl, { attributes: { n: 1, name: "x", flag: true, ratio: 1e-7 }, version: 2 });
  }),
];

const mesh = new Mesh("mesh", { x: 2, y: 1 });
const groups = { replicaGroups: [[0, 1]], channel: 1, useGlobalDeviceIds: true };
const pair = { devices: 2 };
const rows = { mesh, dims: [["x"], []] };
/** Collectives run inside a region that is written for one device. */
const manual = (op: string, body: (h: Builder, x: Value) => Value, rest: Partial<OpCase> = {}): OpCase =>
  one(
    op,
    [f(4, 4)],
    (h, xs) => h.manual_computation(xs, { mesh, inShardings: [rows], outShardings: [rows] }, ([x]) => [body(h, x)]),
    { ...pair, ...rest },
  );

const communication: OpCase[] = [
  manual("all_reduce", (h, x) => h.all_reduce(x, "add", groups)),
  manual("all_reduce", (h, x) => h.all_reduce(x, (a, b) => h.maximum(a, b), groups)),
  manual("reduce_scatter", (h, x) => h.reduce_scatter(x, 1, "add", groups)),
  manual("all_gather", (h, x) => h.all_gather(x, 1, groups)),
  manual("all_to_all", (h, x) => h.all_to_all(x, 1, 0, groups)),
  manual("collective_permute", (h, x) =>
    h.collective_permute(x, {
      sourceTargetPairs: [
        [0, 1],
        [1, 0],
      ],
      channel: 1,
    }),
  ),
  manual("collective_broadcast", (h, x) => h.collective_broadcast(x, { replicaGroups: [[1, 0]], channel: 1 }), {
    cpuRefuses: /`collective-broadcast` is not supported/,
    tpuRefuses: /collective-broadcast is not implemented on TPU/,
  }),
  manual("partition_id", (h, x) => h.add(x, h.broadcastTo(h.convert(h.partition_id(), float32), x.shape))),
  one("replica_id", [], (h) => h.replica_id()),
  one(
    "sharding_constraint",
    [f(4, 4)],
    (h, [x]) => h.sharding_constraint(x, { mesh, dims: [{ axes: ["x"], open: true, priority: 1 }, ["y"]] }),
    pair,
  ),
  one(
    "sharding_group",
    [f(4), f(4)],
    (h, [a, b]) => {
      h.sharding_group(a, 1);
      h.sharding_group(b, 1);
      return h.add(a, b);
    },
    pair,
  ),
  one("propagation_barrier", [f(4)], (h, [x]) => h.propagation_barrier(x, "FORWARD"), pair),
  one(
    "manual_computation",
    [f(4, 4)],
    (h, [x]) =>
      h.manual_computation([x], { mesh, manualAxes: ["x"], inShardings: [rows], outShardings: [rows] }, ([a]) => [
        h.negate(a),
      ]),
    pair,
  ),
  one("create_token", [f()], (h, [x]) => {
    h.create_token();
    return x;
  }),
  one("after_all", [f()], (h, [x]) => {
    h.outfeed([x], h.after_all([h.create_token(), h.create_token()]));
    return x;
  }),
  one("infeed", [], (h) => h.infeed(h.create_token(), [f(2), t(int32)])[0]),
  one("outfeed", [f(2)], (h, [x]) => {
    h.outfeed([x, x], h.create_token());
    return x;
  }),
  one(
    "send",
    [f(2)],
    (h, [x]) => {
      h.send([x], h.create_token(), { channel: 1, isHostTransfer: true, handler: "test" });
      return x;
    },
    { cpuRefuses: /`send` is not supported/ },
  ),
  one("recv", [], (h) => h.recv(h.create_token(), [f(2)], { channel: 2, isHostTransfer: true, handler: "test" })[0], {
    cpuRefuses: /`recv` is not supported/,
  }),
];

const dynamic: OpCase[] = [
  one("get_dimension_size", [x23], (h, [x]) => h.get_dimension_size(x, 1)),
  one("dynamic_reshape", [x23], (h, [x]) => h.dynamic_reshape(x, h.constant([3, 2], int64), [3, 2])),
  one("dynamic_broadcast_in_dim", [f(3)], (h, [x]) =>
    h.dynamic_broadcast_in_dim(x, h.constant([2, 3], int64), [1], [2, 3]),
  ),
  one("dynamic_iota", [], (h) => h.dynamic_iota(h.constant([2, 3], int64), 1, int32, [2, 3])),
  one("dynamic_pad", [f(3), f()], (h, [x, v]) =>
    h.dynamic_pad(x, v, h.constant([1], int64), h.constant([0], int64), h.constant([1], int64), [6]),
  ),
  one("real_dynamic_slice", [f(5)], (h, [x]) =>
    h.real_dynamic_slice(x, h.constant([1], int64), h.constant([5], int64), h.constant([2], int64), [2]),
  ),
  one("dynamic_gather", [f(4), t(int32, 3, 1)], (h, [x, i]) =>
    h.dynamic_gather(x, i, h.constant([2], int32), {
      offsetDims: [1],
      collapsedSliceDims: [],
      startIndexMap: [0],
      indexVectorDim: 1,
      sliceSizes: [2],
    }),
  ),
];

export const regionCases: readonly OpCase[] = [...indexing, ...reduction, ...control, ...communication, ...dynamic];
