/** @file CaptureTrace: runs a function once with its operators recorded, and notes what its program reads and changes. */
import { GraphValue, Trace, type HostRecorder } from "../dispatch/index.js";
import { SymScalar, TorchError, type Scalar } from "../schema/index.js";
import type { Tensor } from "../tensor/index.js";
import { type Device, type Storage } from "../tensor/index.js";

/** What is done on the host at each run, in order. */
export type HostAction =
  | { readonly kind: "number"; readonly read: () => number; readonly slot: number }
  | { readonly kind: "effect"; readonly run: () => void };

/** A storage from outside that the function uses. */
export interface Captured {
  readonly value: GraphValue;
  /** Its version when the trace began. */
  readonly version: number;
  /** The tensors through which it was seen. */
  readonly tensors: Set<Tensor>;
}

/** A condition of the program, with words for the warning that it failed. */
export interface Guard {
  readonly what: string;
  holds(): boolean;
}

export class CaptureTrace extends Trace implements HostRecorder {
  override readonly host: HostRecorder = this;
  readonly captured = new Map<Storage, Captured>();
  readonly actions: HostAction[] = [];
  readonly guards: Guard[] = [];
  /** Values of numbers that entered as literals; by slot. */
  readonly literals = new Map<number, Scalar>();
  /** The gradients of leaves before the function touched them. */
  readonly gradsBefore = new Map<Tensor, Tensor | null>();
  private readonly views = new WeakSet<Tensor>();
  private readonly objects = new Map<object, Map<string, unknown>>();
  private readonly freeProperties = new Map<object, Set<string>>();

  constructor(
    device: Device,
    private readonly deviceIsGiven: boolean,
  ) {
    super(device);
  }

  override capture(storage: Storage): GraphValue {
    if (storage.device !== this.device) {
      if (this.deviceIsGiven || this.captured.size > 0)
        throw new TorchError(
          `torch.compile(): expected tensors on ${this.device.toString()}, got one on ${storage.device.toString()}`,
        );
      this.device = storage.device;
    }
    const value = new GraphValue(storage.aval, this, null, this.graph.inputs.length);
    this.graph.inputs.push(value);
    this.captured.set(storage, { value, version: storage.version, tensors: new Set() });
    storage.traced = value;
    return value;
  }

  use(t: Tensor): void {
    if (this.views.has(t)) return;
    if (t.storageRef.traced === null) this.ref(t);
    this.captured.get(t.storageRef)?.tensors.add(t);
  }

  madeView(view: Tensor): void {
    this.views.add(view);
  }

  number(read: () => number, owner: object | null, key: string | null): SymScalar {
    if (owner !== null && key !== null) {
      let keys = this.freeProperties.get(owner);
      if (!keys) this.freeProperties.set(owner, (keys = new Set()));
      keys.add(key);
    }
    const slot = this.graph.scalars.length;
    this.graph.scalars.push("float");
    this.actions.push({ kind: "number", read, slot });
    return new SymScalar("float", slot);
  }

  effect(run: () => void): void {
    this.actions.push({ kind: "effect", run });
  }

  guard(read: () => unknown): void {
    const value = read();
    this.guards.push({ what: `${String(read)} is ${String(value)}`, holds: () => Object.is(read(), value) });
  }

  guardObject(object: object): void {
    if (!this.objects.has(object)) this.objects.set(object, new Map(Object.entries(object)));
  }

  touchGrad(leaf: Tensor): void {
    if (!this.gradsBefore.has(leaf)) this.gradsBefore.set(leaf, leaf.meta?.grad ?? null);
  }

  /** Guards on the properties of objects that the function used and did not change itself. */
  objectGuards(): Guard[] {
    const guards: Guard[] = [];
    for (const [object, before] of this.objects) {
      const now = object as Record<string, unknown>;
      const free = this.freeProperties.get(object);
      for (const [key, value] of before) {
        if (free?.has(key) || !Object.is(now[key], value)) continue;
        guards.push({
          what: `${object.constructor.name}.${key} is ${printable(value)}`,
          holds: () => Object.is(now[key], value),
        });
      }
    }
    return guards;
  }

  /** Puts the world outside back as it was. Returns what the captured storages would hold now. */
  leave(): Map<Storage, GraphValue> {
    const last = new Map<Storage, GraphValue>();
    for (const [storage, { version }] of this.captured) {
      last.set(storage, storage.traced as GraphValue);
      storage.traced = null;
      storage.version = version;
    }
    for (const [leaf, grad] of this.gradsBefore) if (leaf.meta !== null) leaf.meta.grad = grad;
    return last;
  }
}

const printable = (x: unknown): string =>
  x === null || typeof x !== "object" ? (typeof x === "function" ? "the same module" : String(x)) : "the same object";
