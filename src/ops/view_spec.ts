/** @file A tensor's place in its storage: the aval of the storage and the view steps from it. Interned. */
import type { Builder, Value } from "../hlo/index.js";
import { aval, contiguousStrides, type Aval, type DType } from "../schema/index.js";
import { permuteStep, type ViewStep } from "./view_steps.js";

export class ViewSpec {
  private readonly next = new Map<string, ViewSpec>();
  /** How many of the steps take a run-time offset. */
  readonly numOffsets: number;
  constructor(
    /** What the storage holds. */
    readonly base: Aval,
    readonly steps: readonly ViewStep[],
    /** What the view shows. */
    readonly aval: Aval,
    private readonly parent: ViewSpec | null,
  ) {
    this.numOffsets = steps.reduce((n, s) => n + (s.hasOffset ? 1 : 0), 0);
  }

  get isRoot(): boolean {
    return this.parent === null;
  }

  /** This view seen through one more step. */
  then(step: ViewStep): ViewSpec {
    let found = this.next.get(step.key);
    if (!found) this.next.set(step.key, (found = this.append(step)));
    return found;
  }

  private append(step: ViewStep): ViewSpec {
    const last = this.steps[this.steps.length - 1];
    const isPermute = (s: ViewStep | undefined): s is ViewStep =>
      s !== undefined && s.key.startsWith("p") && s.key !== "pairs";
    const dims = (s: ViewStep): number[] => (s.key === "p" ? [] : s.key.slice(1).split(",").map(Number));
    if (isPermute(step)) {
      const order = isPermute(last) ? dims(step).map((d) => dims(last)[d]) : dims(step);
      const from = isPermute(last) ? this.parent! : this;
      if (order.every((d, i) => d === i)) return from;
      if (from !== this) return from.then(permuteStep(order));
    }
    const out = step.apply(this.aval);
    if (out === this.aval && step.key.startsWith("r")) return this;
    return new ViewSpec(this.base, [...this.steps, step], out, this);
  }

  /** Strides and storage offset as PyTorch would report them, in elements. */
  layout(offsets: readonly number[]): { strides: readonly number[]; offset: number } {
    let x = this.base;
    let strides: readonly number[] = contiguousStrides(x.shape);
    let offset = 0;
    let at = 0;
    for (const step of this.steps) {
      const next = step.strides(x, strides, step.hasOffset ? offsets[at++] : 0);
      x = step.apply(x);
      strides = next?.strides ?? contiguousStrides(x.shape);
      offset += next?.offset ?? 0;
    }
    return { strides, offset };
  }

  /** The view's value, from the storage's. One value of `offsets` for each step that takes one. */
  emit(h: Builder, base: Value, offsets: readonly Value[]): Value {
    let at = 0;
    return this.steps.reduce((x, step) => step.emit(h, x, step.hasOffset ? offsets[at++] : null), base);
  }

  /** The storage's value after `update` was written through the view. */
  write(h: Builder, base: Value, update: Value, offsets: readonly Value[]): Value {
    const inputs: Value[] = [];
    const stepOffsets: (Value | null)[] = [];
    let x = base;
    let at = 0;
    for (const step of this.steps) {
      const offset = step.hasOffset ? offsets[at++] : null;
      inputs.push(x);
      stepOffsets.push(offset);
      x = step.emit(h, x, offset);
    }
    let out = update;
    for (let i = this.steps.length - 1; i >= 0; i--) out = this.steps[i].write(h, inputs[i], out, stepOffsets[i]);
    return out;
  }
}

const roots = new WeakMap<Aval, ViewSpec>();

/** The view that shows all of a storage as it is. */
export function rootSpec(base: Aval): ViewSpec {
  let found = roots.get(base);
  if (!found) roots.set(base, (found = new ViewSpec(base, [], base, null)));
  return found;
}

export const rootSpecOf = (dtype: DType, shape: readonly number[]): ViewSpec => rootSpec(aval(dtype, shape));
