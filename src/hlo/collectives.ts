/** @file Communication between devices, and with the host. */
import { uint32, type DType } from "../schema/dtype.js";
import type { ReduceKind } from "./builder_core.js";
import { ControlBuilder } from "./control.js";
import { i64Matrix, quote } from "./print.js";
import { checkDim, fail, formatType, list, tokenDType, tokenType, type TensorType } from "./types.js";
import type { OpDef, Region, Value } from "./value.js";

/** Which devices talk to each other. Every group must have the same size. */
export interface CollectiveOptions {
  /** Device ids (with `useGlobalDeviceIds`), partition ids (with `channel`) or replica ids. */
  readonly replicaGroups: readonly (readonly number[])[];
  /** A number above 0 that names this exchange between the partitions of one program. */
  readonly channel?: number;
  readonly useGlobalDeviceIds?: boolean;
}

export interface PermuteOptions {
  /** Where each device's value goes; devices that receive nothing get zeros. */
  readonly sourceTargetPairs: readonly (readonly [source: number, target: number])[];
  readonly channel?: number;
}

export interface TransferOptions {
  readonly channel: number;
  /** With the host instead of another device. */
  readonly isHostTransfer?: boolean;
  readonly sourceTargetPairs?: readonly (readonly [source: number, target: number])[];
  /** The name under which the host listens. */
  readonly handler?: string;
}

/** An elementwise operation by name, or a body. */
export type Combiner = ReduceKind | ((a: Value, b: Value) => Value);

const channelText = (o: { channel?: number }, type: number): string =>
  o.channel === undefined ? "" : `, channel_handle = #stablehlo.channel_handle<handle = ${o.channel}, type = ${type}>`;
const groupsText = (o: CollectiveOptions): string =>
  `replica_groups = ${i64Matrix(o.replicaGroups)}${channelText(o, 1)}${o.useGlobalDeviceIds ? ", use_global_device_ids" : ""}`;

type WithOptions<T = unknown> = T & { readonly options: CollectiveOptions };

const ALL_REDUCE: OpDef<WithOptions> = {
  name: "stablehlo.all_reduce",
  form: "generic",
  attributes: (a) => groupsText(a.options),
};
const REDUCE_SCATTER: OpDef<WithOptions<{ dim: number }>> = {
  name: "stablehlo.reduce_scatter",
  form: "generic",
  attributes: (a) => `scatter_dimension = ${a.dim} : i64, ${groupsText(a.options)}`,
};
const ALL_GATHER: OpDef<WithOptions<{ dim: number }>> = {
  name: "stablehlo.all_gather",
  form: "generic",
  attributes: (a) => `all_gather_dim = ${a.dim} : i64, ${groupsText(a.options)}`,
};
const ALL_TO_ALL: OpDef<WithOptions<{ split: number; concat: number; count: number }>> = {
  name: "stablehlo.all_to_all",
  form: "generic",
  attributes: (a) =>
    `split_dimension = ${a.split} : i64, concat_dimension = ${a.concat} : i64, split_count = ${a.count} : i64, ${groupsText(a.options)}`,
};
const COLLECTIVE_BROADCAST: OpDef<WithOptions> = {
  name: "stablehlo.collective_broadcast",
  form: "generic",
  attributes: (a) => groupsText(a.options),
};
const COLLECTIVE_PERMUTE: OpDef<PermuteOptions> = {
  name: "stablehlo.collective_permute",
  form: "generic",
  attributes: (o) => `source_target_pairs = ${i64Matrix(o.sourceTargetPairs)}${channelText(o, 1)}`,
};
const PARTITION_ID: OpDef<null> = { name: "stablehlo.partition_id", form: "generic" };
const REPLICA_ID: OpDef<null> = { name: "stablehlo.replica_id", form: "generic" };
const CREATE_TOKEN: OpDef<null> = { name: "stablehlo.create_token", form: "generic" };
const AFTER_ALL: OpDef<null> = { name: "stablehlo.after_all", form: "generic" };
const INFEED: OpDef<string> = {
  name: "stablehlo.infeed",
  form: "generic",
  effects: true,
  attributes: (c) => `infeed_config = ${quote(c)}`,
};
const OUTFEED: OpDef<string> = {
  name: "stablehlo.outfeed",
  form: "generic",
  effects: true,
  attributes: (c) => `outfeed_config = ${quote(c)}`,
};
const transferText = (o: TransferOptions, type: number): string =>
  `channel_handle = #stablehlo.channel_handle<handle = ${o.channel}, type = ${type}>, is_host_transfer = ${o.isHostTransfer ?? false}` +
  (o.sourceTargetPairs ? `, source_target_pairs = ${i64Matrix(o.sourceTargetPairs)}` : "");
const handlerText = ({ handler }: TransferOptions): string =>
  handler === undefined
    ? ""
    : `mhlo.frontend_attributes = {_xla_host_transfer_handler_name = ${quote(handler)}, _xla_host_transfer_rendezvous = ${quote(handler)}}`;
const SEND: OpDef<TransferOptions> = {
  name: "stablehlo.send",
  form: "generic",
  effects: true,
  attributes: (o) => transferText(o, o.isHostTransfer ? 2 : 1),
  extraAttributes: handlerText,
};
const RECV: OpDef<TransferOptions> = {
  name: "stablehlo.recv",
  form: "generic",
  effects: true,
  attributes: (o) => transferText(o, o.isHostTransfer ? 3 : 1),
  extraAttributes: handlerText,
};

/** Checks the groups and returns their size. */
function groupSize(op: string, { replicaGroups, channel, useGlobalDeviceIds }: CollectiveOptions): number {
  const ids = replicaGroups.flat();
  if (replicaGroups.length === 0 || ids.length === 0) fail(op, "at least one group of devices", "none");
  const size = replicaGroups[0].length;
  for (const g of replicaGroups) if (g.length !== size) fail(op, `groups of ${size} devices`, list(g));
  if (new Set(ids).size !== ids.length) fail(op, "each device in one group", list(ids));
  if (!ids.every((n) => Number.isInteger(n) && n >= 0))
    fail(op, "device ids that are non-negative integers", list(ids));
  if (channel !== undefined && !(Number.isInteger(channel) && channel > 0))
    fail(op, "a channel above 0", String(channel));
  if (useGlobalDeviceIds && channel === undefined) fail(op, "a channel with useGlobalDeviceIds", "none");
  return size;
}

function checkPairs(op: string, pairs: readonly (readonly [number, number])[]): void {
  for (const side of [0, 1]) {
    const ids = pairs.map((p) => p[side]);
    if (new Set(ids).size !== ids.length)
      fail(op, `each device at most once as ${side === 0 ? "source" : "target"}`, list(ids));
    if (!ids.every((n) => Number.isInteger(n) && n >= 0))
      fail(op, "device ids that are non-negative integers", list(ids));
  }
}

const withSize = (shape: readonly number[], dim: number, size: number): number[] =>
  shape.map((n, d) => (d === dim ? size : n));

export class CollectivesBuilder extends ControlBuilder {
  private combinerRegion(op: string, combiner: Combiner, dtype: DType): Region {
    const scalar: TensorType = { dtype, shape: [] };
    const body = typeof combiner === "function" ? combiner : (a: Value, b: Value): Value => this[combiner](a, b);
    const region = this.block(op, "the body", [scalar, scalar], ([a, b]) => [body(a, b)], { closed: true });
    this.checkReturns(op, "the body", region, [scalar]);
    return region;
  }

  /** The values of all devices of a group combined; every device gets the result. */
  all_reduce(x: Value, combiner: Combiner, options: CollectiveOptions): Value {
    const op = "all_reduce";
    this.checkTensor(op, x);
    groupSize(op, options);
    const region = this.combinerRegion(op, combiner, x.dtype);
    return this.emit(op, ALL_REDUCE, [x], [x], { options: { ...options } }, [region]).results[0];
  }

  /** The values of all devices of a group combined; each device gets its part along `dim`. */
  reduce_scatter(x: Value, dim: number, combiner: Combiner, options: CollectiveOptions): Value {
    const op = "reduce_scatter";
    this.checkTensor(op, x);
    checkDim(op, dim, x.rank);
    const n = groupSize(op, options);
    if (x.shape[dim] % n !== 0) fail(op, `a size divisible by ${n} in dimension ${dim}`, formatType(x));
    const region = this.combinerRegion(op, combiner, x.dtype);
    const type = { dtype: x.dtype, shape: withSize(x.shape, dim, x.shape[dim] / n) };
    return this.emit(op, REDUCE_SCATTER, [x], [type], { dim, options: { ...options } }, [region]).results[0];
  }

  /** The values of all devices of a group, one after another along `dim`. */
  all_gather(x: Value, dim: number, options: CollectiveOptions): Value {
    const op = "all_gather";
    this.checkTensor(op, x);
    checkDim(op, dim, x.rank);
    const n = groupSize(op, options);
    return this.emit1(op, ALL_GATHER, [x], x.dtype, withSize(x.shape, dim, x.shape[dim] * n), {
      dim,
      options: { ...options },
    });
  }

  /** Splits along one dimension, gives part i to device i of the group, and joins what arrives along another. */
  all_to_all(x: Value, splitDim: number, concatDim: number, options: CollectiveOptions): Value {
    const op = "all_to_all";
    this.checkTensor(op, x);
    checkDim(op, splitDim, x.rank);
    checkDim(op, concatDim, x.rank);
    const count = groupSize(op, options);
    if (x.shape[splitDim] % count !== 0)
      fail(op, `a size divisible by ${count} in dimension ${splitDim}`, formatType(x));
    const split = withSize(x.shape, splitDim, x.shape[splitDim] / count);
    const shape = withSize(split, concatDim, split[concatDim] * count);
    return this.emit1(op, ALL_TO_ALL, [x], x.dtype, shape, {
      split: splitDim,
      concat: concatDim,
      count,
      options: { ...options },
    });
  }

  /** The value of the first device of each group. */
  collective_broadcast(x: Value, options: CollectiveOptions): Value {
    this.checkTensor("collective_broadcast", x);
    groupSize("collective_broadcast", options);
    return this.emit1("collective_broadcast", COLLECTIVE_BROADCAST, [x], x.dtype, x.shape, { options: { ...options } });
  }

  /** Sends each source's value to its target. */
  collective_permute(x: Value, options: PermuteOptions): Value {
    this.checkTensor("collective_permute", x);
    checkPairs("collective_permute", options.sourceTargetPairs);
    return this.emit1("collective_permute", COLLECTIVE_PERMUTE, [x], x.dtype, x.shape, { ...options });
  }

  /** Which partition of the program this device runs, ui32[]. */
  partition_id(): Value {
    return this.emit1("partition_id", PARTITION_ID, [], uint32, [], null);
  }

  /** Which replica of the program this device runs, ui32[]. */
  replica_id(): Value {
    return this.emit1("replica_id", REPLICA_ID, [], uint32, [], null);
  }

  private checkToken(op: string, token: Value): void {
    if (token.dtype !== tokenDType) fail(op, "a token", formatType(token));
  }

  /** A token that waits for nothing. */
  create_token(): Value {
    return this.emit("create_token", CREATE_TOKEN, [], [tokenType], null).results[0];
  }

  /** A token that waits for all of `tokens`. */
  after_all(tokens: readonly Value[]): Value {
    for (const t of tokens) this.checkToken("after_all", t);
    return this.emit("after_all", AFTER_ALL, [...tokens], [tokenType], null).results[0];
  }

  /** The next values that the host feeds, and a token. */
  infeed(token: Value, types: readonly TensorType[], config = ""): [values: Value[], token: Value] {
    this.checkToken("infeed", token);
    const { results } = this.emit("infeed", INFEED, [token], [...types, tokenType], config);
    return [results.slice(0, -1), results[results.length - 1]];
  }

  /** Gives values to the host. */
  outfeed(values: readonly Value[], token: Value, config = ""): Value {
    this.checkToken("outfeed", token);
    for (const v of values) this.checkTensor("outfeed", v);
    return this.emit("outfeed", OUTFEED, [...values, token], [tokenType], config).results[0];
  }

  /** Sends values to another device or to the host. */
  send(values: readonly Value[], token: Value, options: TransferOptions): Value {
    this.checkToken("send", token);
    for (const v of values) this.checkTensor("send", v);
    checkPairs("send", options.sourceTargetPairs ?? []);
    return this.emit("send", SEND, [...values, token], [tokenType], { ...options }).results[0];
  }

  /** Receives values from another device or from the host. */
  recv(token: Value, types: readonly TensorType[], options: TransferOptions): [values: Value[], token: Value] {
    this.checkToken("recv", token);
    checkPairs("recv", options.sourceTargetPairs ?? []);
    const { results } = this.emit("recv", RECV, [token], [...types, tokenType], { ...options });
    return [results.slice(0, -1), results[results.length - 1]];
  }
}
