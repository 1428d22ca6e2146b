/** @file Tracing: while a trace is current, operators append nodes to its graph instead of running. */
import { Module, type Builder, type Value } from "../hlo/index.js";
import { ArgKind, type Overload } from "../ops/registry.js";
import { ScalarValue } from "../ops/scalar_value.js";
import { rootSpec } from "../ops/view_spec.js";
import {
  aval,
  int64,
  isScalar,
  scalarDtype,
  scalarKind,
  SymScalar,
  TorchError,
  uint64,
  userLineText,
  type Aval,
  type Scalar,
  type UserLine,
} from "../schema/index.js";
import { tracing } from "../autograd/index.js";
import { Storage, Tensor, type Device } from "../tensor/index.js";
import { Graph, GraphNode, GraphValue, Ref, type EmitContext, type NodeArg } from "./graph.js";

/** What a traced function reads and does on the host, to be done anew each time its program runs. */
export interface HostRecorder {
  /** A number that enters the program; `read` gives its value at each run. */
  number(read: () => number, owner: object | null, key: string | null): SymScalar;
  /** Something done on the host at each run, in order with the numbers read. */
  effect(run: () => void): void;
  /** The program holds as long as `read` gives what it gives now. */
  guard(read: () => unknown): void;
  /** The program holds as long as the object's own properties are what they are now. */
  guardObject(object: object): void;
  /** A tensor that the user's code gave to an operator. */
  use(t: Tensor): void;
  /** A view that was made while tracing, maybe of a tensor from outside. */
  madeView(view: Tensor): void;
  /** The gradient of a leaf is about to be read or set. */
  touchGrad(leaf: Tensor): void;
}

export class Trace {
  readonly graph = new Graph();
  /** Set by a trace whose program outlives the call, as torch.compile's. */
  readonly host: HostRecorder | null = null;
  /** Calls that drew random numbers so far; each has a stream of its own, as when it runs alone. */
  rngCalls = 0;
  private drawsInCall = -1;
  /** The user's line whose calls are recorded; only noted by traces that outlive the call. */
  location: UserLine | null = null;
  /** How many calls are inside each other at present; in none, the user's own code is what runs. */
  depth = 0;
  constructor(public device: Device) {}

  /** What a tensor from outside becomes: an error here, because the program would depend on its value. */
  protected capture(_storage: Storage): GraphValue {
    throw new TorchError("tracing: expected only the operator's own arguments, got a tensor from outside");
  }

  /** Ends the trace where the function must run as it is. */
  breakHere(reason: string): never {
    throw new GraphBreak(`${reason}${userLineText()}`);
  }

  /** Runs one call of an operator. Its draws of random numbers belong together; calls inside of it are part of it. */
  inCall<R>(fn: () => R): R {
    if (this.depth++ === 0) this.drawsInCall = -1;
    try {
      return fn();
    } finally {
      this.depth--;
    }
  }

  /** Runs `fn`, whose calls are no calls of the user's; they belong to `location`. */
  nested<R>(fn: () => R, location = this.location): R {
    const before = this.location;
    this.location = location;
    this.depth++;
    try {
      return fn();
    } finally {
      this.depth--;
      this.location = before;
    }
  }

  /** Which stream the present call draws from; -1 if it has not drawn. */
  get rngCall(): number {
    return this.drawsInCall < 0 ? -1 : this.rngCalls - 1;
  }

  /** Lets `fn` draw what call `index` drew. */
  replayCall<R>(index: number, fn: () => R, location: UserLine | null): R {
    const [calls, draws] = [this.rngCalls, this.drawsInCall];
    this.rngCalls = index + 1;
    this.drawsInCall = 0;
    try {
      return this.nested(fn, location);
    } finally {
      this.rngCalls = calls;
      this.drawsInCall = draws;
    }
  }

  private nextDraw(): number {
    this.graph.usesRng = true;
    if (this.drawsInCall < 0) {
      this.rngCalls++;
      this.drawsInCall = 0;
    }
    return (this.rngCalls - 1) * drawsPerCall + this.drawsInCall++;
  }

  /** A tensor of the present value of `t`'s storage that later writes do not reach. */
  snapshot(t: Tensor): Tensor {
    const copy = this.tensorOf(this.valueOf(t.storageRef));
    copy.spec = t.spec;
    copy.offsets = t.offsets;
    return copy;
  }

  /** A tensor for the next input. */
  input(of: Aval): Tensor {
    const value = new GraphValue(of, this, null, this.graph.inputs.length);
    this.graph.inputs.push(value);
    return this.tensorOf(value);
  }

  /** The next number that enters when the program runs. */
  scalarInput(value: Scalar | SymScalar): SymScalar {
    const kind = scalarKind(value);
    this.graph.scalars.push(kind);
    return new SymScalar(kind, this.graph.scalars.length - 1);
  }

  tensorOf(value: GraphValue): Tensor {
    const storage = new Storage(null, value.aval, this.device);
    storage.traced = value;
    return new Tensor(storage, rootSpec(value.aval));
  }

  /** What a tensor is inside this trace. */
  ref(t: Tensor): Ref {
    return new Ref(this.valueOf(t.storageRef), t.spec, t.offsets);
  }

  private valueOf(storage: Storage): GraphValue {
    const { traced } = storage;
    if (traced !== null && traced.trace === this) return traced as GraphValue;
    if (traced !== null)
      throw new TorchError(
        "A tensor made while tracing a function was used outside of it: expected a tensor of this trace",
      );
    return this.capture(storage);
  }

  append(
    name: string,
    overload: Overload | null,
    args: readonly NodeArg[],
    avals: readonly Aval[],
    emit: GraphNode["emit"],
    random = false,
  ): GraphValue[] {
    const node = new GraphNode(name, overload, args, emit, random ? this.nextDraw() : -1, this.location);
    node.outputs = avals.map((a, i) => new GraphValue(a, this, node, i));
    this.graph.nodes.push(node);
    return node.outputs;
  }

  /** Stands for a tensor of which only type and shape are read: the graph does not depend on its value. */
  blank(of: Aval): Ref {
    const [value] = this.append("blank", null, [], [of], ({ h }) => [h.splat(0, of.dtype, of.shape)]);
    return new Ref(value, rootSpec(of), []);
  }

  /** Writes `value` to what `target` shows: its storage holds a new value from here on. */
  write(target: Tensor, value: Tensor): void {
    const storage = target.storageRef;
    const base = new Ref(this.valueOf(storage), rootSpec(storage.aval), []);
    const { spec, offsets } = target;
    if (spec.isRoot && value.spec.isRoot) storage.traced = this.ref(value).value;
    else {
      const emit = (context: EmitContext, { args }: GraphNode): Value[] => [
        spec.write(
          context.h,
          context.value(args[0] as Ref),
          context.value(args[1] as Ref),
          offsetValues(context.h, offsets),
        ),
      ];
      [storage.traced] = this.append("write", null, [base, this.ref(value)], [storage.aval], emit);
    }
    storage.version++;
  }
}

/** Room for the draws of one call within the stream of a program: see Emitter.rng. */
const drawsPerCall = 256;

/** A value was needed on the host while a function was traced: the trace cannot go on. */
export class GraphBreak extends TorchError {
  override name = "GraphBreak";
}

let current: Trace | null = null;

export const currentTrace = (): Trace | null => current;

/** Runs `fn` with `trace` taking every operator; null suspends tracing. */
export function withTrace<R>(trace: Trace | null, fn: () => R): R {
  const before = current;
  setCurrent(trace);
  try {
    return fn();
  } finally {
    setCurrent(before);
  }
}

function setCurrent(trace: Trace | null): void {
  current = trace;
  tracing.active = trace !== null;
  const host = trace?.host ?? null;
  tracing.touchGrad = host === null ? null : (leaf) => host.touchGrad(leaf);
}

export const offsetValues = (h: Builder, offsets: readonly number[]): Value[] =>
  offsets.map((n) => ScalarValue.literal(h, n).as(int64));

/** Calls an operator's lowering with the arguments resolved to values. */
export function emitOperator(
  overload: Overload,
  context: EmitContext,
  args: readonly NodeArg[],
  rngIndex: number,
): Value[] {
  const { h } = context;
  const { lower } = overload.entry.definition;
  const scalar = (x: unknown): ScalarValue =>
    x instanceof SymScalar ? new ScalarValue(h, x.kind, null, context.scalar(x)) : ScalarValue.literal(h, x as Scalar);
  const one = (x: unknown, kind: ArgKind, isNumber: boolean): unknown => {
    if (x === null || x === undefined) return null;
    if (kind === ArgKind.Static && isNumber) return scalar(x);
    switch (kind) {
      case ArgKind.Tensor:
      case ArgKind.OptionalTensor:
        return isScalar(x) ? scalar(x).wrapped() : context.value(x as Ref);
      case ArgKind.TensorList:
      case ArgKind.OptionalTensorList:
        return (x as readonly unknown[]).map((e) => one(e, ArgKind.OptionalTensor, false));
      case ArgKind.Scalar:
        return scalar(x);
      case ArgKind.ScalarList:
        return (x as readonly unknown[]).map(scalar);
      default:
        return x;
    }
  };
  const named = overload.named(
    args.map((a, i) => one(a, overload.kinds[i], overload.schema.args[i].type.base === "Scalar")),
  );
  overload.entry.firstSchema.args.forEach((a, i) => {
    // what the overload lacks has the default of the entry's first schema
    if (
      overload.fromFirst[i] < 0 &&
      a.type.base === "Scalar" &&
      named[a.name] !== null &&
      !(named[a.name] instanceof ScalarValue)
    ) {
      named[a.name] = scalar(named[a.name]);
    }
  });
  const out = lower!(h, named, { rng: () => context.rng(rngIndex) });
  return Array.isArray(out) ? out : [out];
}

/** Runs an operator's lowering on a builder that is thrown away. */
function lowerAlone(overload: Overload, args: readonly NodeArg[]): { h: Builder; values: Value[] } {
  const h = new Module("infer").func("main", []);
  const blank = (of: Aval): Value => h.splat(0, of.dtype, of.shape);
  const context: EmitContext = {
    h,
    rng: () => h.splat(0, uint64, [2]),
    value: (ref) => blank(ref.spec.aval),
    scalar: (s) => blank(aval(scalarDtype(s.kind), [])),
  };
  return { h, values: emitOperator(overload, context, args, 0) };
}

/** The avals of an operator's results. */
export const inferAvals = (overload: Overload, args: readonly NodeArg[]): Aval[] =>
  lowerAlone(overload, args).values.map((v) => aval(v.dtype, v.shape));

/** The names of the StableHLO operations that an operator's lowering consists of. */
export const operationsOf = (overload: Overload, args: readonly NodeArg[]): Set<string> =>
  new Set(lowerAlone(overload, args).h.body.ops.map((op) => op.def.name));
