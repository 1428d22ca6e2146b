/** @file Calls with regions, indices, devices or functions that StableHLO does not allow, with the exact messages. */
import { expect, test } from "vitest";
import { bool, float32, int32, int64, uint32, uint64, type DType } from "../schema/dtype.js";
import { HloError, Mesh, Module, type Builder, type GatherOptions, type ParamSpec, type Value } from "./index.js";

const t = (dtype: DType, ...shape: number[]): ParamSpec => ({ dtype, shape });
const f = (...shape: number[]): ParamSpec => t(float32, ...shape);
const mesh = new Mesh("mesh", { x: 2, y: 4 });
const rows: GatherOptions = {
  offsetDims: [1],
  collapsedSliceDims: [0],
  startIndexMap: [0],
  indexVectorDim: 1,
  sliceSizes: [1, 5],
};
const scatterRows = {
  updateWindowDims: [1],
  insertedWindowDims: [0],
  scatterDimsToOperandDims: [0],
  indexVectorDim: 1,
};

type BadCall = [params: ParamSpec[], call: (h: Builder, p: Value[]) => unknown, message: string];

const indexing: BadCall[] = [
  [[f(4, 5), f(3)], (h, [x, i]) => h.gather(x, i, rows), "gather(): expected integer indices, got f32[3]"],
  [
    [f(4, 5), t(int32, 3)],
    (h, [x, i]) => h.gather(x, i, { ...rows, indexVectorDim: 2 }),
    "gather(): expected indexVectorDim in [0,1], got 2",
  ],
  [
    [f(4, 5), t(int32, 3, 2)],
    (h, [x, i]) => h.gather(x, i, rows),
    "gather(): expected startIndexMap with 2 dimensions for indices i32[3,2], got [0]",
  ],
  [
    [f(4, 5), t(int32, 3)],
    (h, [x, i]) => h.gather(x, i, { ...rows, sliceSizes: [1, 6] }),
    "gather(): expected a slice size in [0,5] for dimension 1 of f32[4,5], got 6",
  ],
  [
    [f(4, 5), t(int32, 3)],
    (h, [x, i]) => h.gather(x, i, { ...rows, sliceSizes: [2, 5] }),
    "gather(): expected a slice size in [0,1] for dimension 0 of f32[4,5], got 2",
  ],
  [
    [f(4, 5), t(int32, 3)],
    (h, [x, i]) => h.gather(x, i, { ...rows, offsetDims: [0, 1] }),
    "gather(): expected 1 offsetDims, got [0,1]",
  ],
  [
    [f(4, 5), t(int32, 3), f(3, 6)],
    (h, [x, i, u]) => h.scatter([x], i, [u], scatterRows, ([a]) => [a]),
    "scatter(): expected updates of shape [3,5] (windows may be smaller), got f32[3,6]",
  ],
  [
    [f(4, 5), t(int32, 3), t(int32, 3, 5)],
    (h, [x, i, u]) => h.scatter([x], i, [u], scatterRows, ([a]) => [a]),
    "scatter(): expected updates of type f32, got i32[3,5]",
  ],
  [
    [f(4, 5), t(int32, 3), f(3, 5)],
    (h, [x, i, u]) => h.scatter([x], i, [u], scatterRows, ([a, b]) => [h.compare(a, b ?? a, "LT")]),
    "scatter(): expected the body to return (f32[]), got (i1[])",
  ],
  [
    [f(4, 5)],
    (h, [x]) => h.sort([x], 2, true, (a, b) => h.compare(a, b, "LT")),
    "sort(): expected a dimension in [0,1], got 2",
  ],
  [[f(4)], (h, [x]) => h.sort([x], 0, true, (a) => a), "sort(): expected the comparator to return (i1[]), got (f32[])"],
  [
    [f(4), f(5)],
    (h, xs) => h.sort(xs, 0, true, (a, b) => h.compare(a, b, "LT")),
    "sort(): expected inputs of shape [4], got f32[5]",
  ],
  [[f(4)], (h, [x]) => h.chlo_top_k(x, 5), "chlo_top_k(): expected k in [0,4] for f32[4], got 5"],
];

const reduction: BadCall[] = [
  [
    [f(2, 3), t(int32)],
    (h, [x, z]) => h.reduceWith(x, z, [0], "add"),
    "reduceWith(): expected an initial value f32[], got i32[]",
  ],
  [[f(2, 3), f()], (h, [x, z]) => h.reduceWith(x, z, [2], "add"), "reduceWith(): expected dims in [0,2), got [2]"],
  [
    [f(2, 3), f()],
    (h, [x, z]) => h.reduceWith(x, z, [0, 0], "add"),
    "reduceWith(): expected dims that differ, got [0,0]",
  ],
  [
    [f(2, 3), f()],
    (h, [x, z]) => h.reduceWith(x, z, [0], "and"),
    "reduceWith(): expected integers or booleans for and, got f32[2,3]",
  ],
  [
    [f(2, 3), f()],
    (h, [x, z]) => h.reduce([x], [z], [0], () => []),
    "reduce(): expected the body to return (f32[]), got ()",
  ],
  [
    [f(2, 3), f()],
    (h, [x, z]) => h.reduce([x], [z, z], [0], ([a]) => [a]),
    "reduce(): expected as many initial values as inputs, at least one, got 1 inputs and 2 initial values",
  ],
  [
    [f(2), f()],
    (h, [x, z]) => h.reduce([x], [z], [0], ([a]) => [h.add(a, z)]),
    "add(): expected a value of the body, whose operation does not let it read others, got f32[] from outside",
  ],
  [
    [f(4), f()],
    (h, [x, z]) => h.reduce_window([x], [z], { windowDimensions: [2, 2] }, ([a]) => [a]),
    "reduce_window(): expected 1 windowDimensions for f32[4], got 2",
  ],
  [
    [f(4), f(3), f()],
    (h, [x, s, z]) =>
      h.select_and_scatter(
        x,
        s,
        z,
        { windowDimensions: [2], windowStrides: [2] },
        (a, b) => h.compare(a, b, "GE"),
        h.add.bind(h),
      ),
    "select_and_scatter(): expected a source f32[2], got f32[3]",
  ],
  [
    [f(2)],
    (h, [x]) => h.map([x], (a) => h.broadcastTo(a, [2])),
    "map(): expected the body to return a value of rank 0, got f32[2]",
  ],
  [
    [f(4, 3), f(4), f(3)],
    (h, [x, s, o]) => h.batch_norm_training(x, s, o, 1e-5, 1),
    "batch_norm_training(): expected values for each feature, f32[3], got f32[4]",
  ],
  [
    [f(6, 4), f(2, 4, 5), t(int32, 3)],
    (h, [a, b, g]) => h.chlo_ragged_dot(a, b, g, { lhsContract: [1], rhsContract: [1], lhsRagged: 0, rhsGroup: [0] }),
    "chlo_ragged_dot(): expected 3 groups in dimension 0 of rhs, got f32[2,4,5]",
  ],
];

const control: BadCall[] = [
  [
    [f()],
    (h, [x]) =>
      h.while(
        [x],
        ([a]) => a,
        (v) => v,
      ),
    "while(): expected cond to return (i1[]), got (f32[])",
  ],
  [
    [f(), t(bool)],
    (h, [x, c]) =>
      h.while(
        [x],
        () => c,
        () => [],
      ),
    "while(): expected body to return (f32[]), got ()",
  ],
  [
    [f()],
    (h, [x]) =>
      h.if(
        x,
        () => [x],
        () => [x],
      ),
    "if(): expected a predicate i1[], got f32[]",
  ],
  [
    [t(bool), f()],
    (h, [c, x]) =>
      h.if(
        c,
        () => [x],
        () => [c],
      ),
    "if(): expected elseFn to return (f32[]), got (i1[])",
  ],
  [
    [t(bool), f()],
    (h, [c, x]) =>
      h.if(
        c,
        () => x as unknown as Value[],
        () => [x],
      ),
    "if(): expected thenFn to return a list of values, got an object (Value)",
  ],
  [[t(int64)], (h, [i]) => h.case(i, [() => []]), "case(): expected an index i32[], got i64[]"],
  [
    [t(int32), f()],
    (h, [i, x]) => h.case(i, [() => [x], () => []]),
    "case(): expected branch 1 to return (f32[]), got ()",
  ],
  [
    [t(uint64, 3)],
    (h, [s]) => h.rng_bit_generator(s, "THREE_FRY", uint32, [4]),
    "rng_bit_generator(): expected a state ui64 or ui32 of 2 64-bit words for THREE_FRY, got ui64[3]",
  ],
  [[f()], (h, [x]) => h.get_tuple_element(h.tuple([x]), 1), "get_tuple_element(): expected an index in [0,1), got 1"],
  [[f()], (h, [x]) => h.get_tuple_element(x, 0), "get_tuple_element(): expected a tuple, got f32[]"],
  [
    [f()],
    (h, [x]) => h.custom_call("f", [x], [], { backendConfig: { n: 1 }, apiVersion: 2 }),
    "custom_call(): expected apiVersion 4 for a backendConfig of attributes, got 2",
  ],
  [[f()], (h) => h.call(h, []), "call(): expected a function that has returned, got main"],
];

const communication: BadCall[] = [
  [
    [f(4)],
    (h, [x]) => h.all_reduce(x, "add", { replicaGroups: [] }),
    "all_reduce(): expected at least one group of devices, got none",
  ],
  [
    [f(4)],
    (h, [x]) => h.all_reduce(x, "add", { replicaGroups: [[0, 1], [2]] }),
    "all_reduce(): expected groups of 2 devices, got [2]",
  ],
  [
    [f(4)],
    (h, [x]) => h.all_gather(x, 0, { replicaGroups: [[0, 0]] }),
    "all_gather(): expected each device in one group, got [0,0]",
  ],
  [
    [f(4)],
    (h, [x]) => h.all_gather(x, 0, { replicaGroups: [[0, 1]], useGlobalDeviceIds: true }),
    "all_gather(): expected a channel with useGlobalDeviceIds, got none",
  ],
  [
    [f(3)],
    (h, [x]) => h.reduce_scatter(x, 0, "add", { replicaGroups: [[0, 1]] }),
    "reduce_scatter(): expected a size divisible by 2 in dimension 0, got f32[3]",
  ],
  [
    [f(4)],
    (h, [x]) =>
      h.collective_permute(x, {
        sourceTargetPairs: [
          [0, 1],
          [1, 1],
        ],
      }),
    "collective_permute(): expected each device at most once as target, got [1,1]",
  ],
  [[f(4)], (h, [x]) => h.outfeed([x], x), "outfeed(): expected a token, got f32[4]"],
  [
    [f(4, 4)],
    (h, [x]) => h.sharding_constraint(x, { mesh, dims: [["x"]] }),
    "sharding_constraint(): expected a sharding with 2 dimensions for f32[4,4], got 1",
  ],
  [
    [f(4)],
    (h, [x]) => h.sharding_constraint(x, { mesh, dims: [["z"]] }),
    "mesh(): expected an axis of mesh mesh (x, y), got z",
  ],
  [
    [f(4)],
    (h, [x]) => h.sharding_constraint(x, { mesh, dims: [["x", "x"]] }),
    'sharding_constraint(): expected each axis at most once, got "x"',
  ],
  [
    [f(3)],
    (h, xs) => h.manual_computation(xs, { mesh, inShardings: [{ mesh, dims: [["x"]] }], outShardings: [] }, () => []),
    "manual_computation(): expected a size divisible by 2 in dimension 0, got f32[3]",
  ],
  [
    [f(2), f()],
    (h, [x, z]) => h.dynamic_reshape(x, z, [2]),
    "dynamic_reshape(): expected an output shape of 1 integers, got f32[]",
  ],
  [[f(2)], (h, [x]) => h.get_dimension_size(x, 1), "get_dimension_size(): expected a dimension in [0,0], got 1"],
];

for (const [group, calls] of Object.entries({ indexing, reduction, control, communication })) {
  test.each(calls)(`${group}: %#`, (params, call, message) => {
    const h = new Module().func("main", params);
    expect(() => call(h, h.params)).toThrowError(new HloError(message));
  });
}

test("values are visible in their function and region only", () => {
  const m = new Module();
  const h = m.func("main", [f(), t(bool)]);
  const [x, c] = h.params;
  let inner!: Value;
  h.if(
    c,
    () => [(inner = h.negate(x))],
    () => [x],
  );
  expect(() => h.add(x, inner)).toThrowError(
    "add(): expected a value that is visible here, got f32[] of a region that has ended",
  );
  const other = m.func("other", [f()]);
  expect(() => other.add(x, other.params[0])).toThrowError(
    "add(): expected a value of function other, got f32[] of another function",
  );
});

test("functions of other modules cannot be called", () => {
  const elsewhere = new Module("there").func("main", []);
  elsewhere.return([]);
  expect(() => new Module("here").func("main", []).call(elsewhere, [])).toThrowError(
    "call(): expected a function of module here, got main of module there",
  );
});

test("a function returns once, at its end, what its parameters are donated to", () => {
  const h = new Module().func("main", [{ ...f(2), aliasOutput: 0 }]);
  const [x] = h.params;
  expect(() => h.return([])).toThrowError("return(): expected aliasOutput of parameter 0 in [0,0), got 0");
  expect(() => h.return([h.slice(x, [0], [1])])).toThrowError(
    "return(): expected result 0 of the type of parameter 0, f32[2], got f32[1]",
  );
  h.return([x]);
  expect(() => h.return([x])).toThrowError("return(): expected one return(), got a second one");
  expect(() => h.negate(x)).toThrowError("negate(): expected no operation after return(), got negate");
});
