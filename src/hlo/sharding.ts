/** @file Shardy: meshes of devices and how the dimensions of a value are split over their axes. */
import { fail, formatType, type TensorType } from "./types.js";
import { quote, symbol } from "./print.js";

/** A named grid of devices. Row-major over the devices' positions, or over `deviceIds`. */
export class Mesh {
  readonly axes: readonly (readonly [name: string, size: number])[];
  constructor(
    readonly name: string,
    axes: Readonly<Record<string, number>> | readonly (readonly [string, number])[],
    readonly deviceIds?: readonly number[],
  ) {
    this.axes = Array.isArray(axes) ? axes : Object.entries(axes);
    const names = this.axes.map((a) => a[0]);
    if (new Set(names).size !== names.length) fail("mesh", "axes with different names", names.join(","));
    for (const [axis, size] of this.axes) {
      if (!(Number.isInteger(size) && size > 0)) fail("mesh", `a positive size for axis ${axis}`, String(size));
    }
    if (deviceIds && deviceIds.length !== this.size) fail("mesh", `${this.size} device ids`, String(deviceIds.length));
  }
  /** How many devices. */
  get size(): number {
    return this.axes.reduce((n, [, size]) => n * size, 1);
  }
  sizeOf(axis: string): number {
    const found = this.axes.find(([name]) => name === axis);
    if (!found) fail("mesh", `an axis of mesh ${this.name} (${this.axes.map((a) => a[0]).join(", ")})`, axis);
    return found[1];
  }
  toString(): string {
    const ids = this.deviceIds ? `, device_ids=[${this.deviceIds.join(", ")}]` : "";
    return `<[${this.axes.map(([name, size]) => `${quote(name)}=${size}`).join(", ")}]${ids}>`;
  }
}

/** An axis of a mesh, or the part of `size` that starts after a part of `preSize`. */
export type AxisRef = string | { readonly axis: string; readonly preSize: number; readonly size: number };

/** The axes that split one dimension, major first. Open: the partitioner may add more. */
export type DimSharding =
  readonly AxisRef[] | { readonly axes: readonly AxisRef[]; readonly open?: boolean; readonly priority?: number };

/** How a value lies over a mesh: one entry for each dimension. */
export interface Sharding {
  readonly mesh: Mesh;
  readonly dims: readonly DimSharding[];
  /** Axes over which the value is replicated and must stay so. */
  readonly replicated?: readonly AxisRef[];
  /** Axes over which partial sums are still to be added. */
  readonly unreduced?: readonly AxisRef[];
}

const isList = (d: DimSharding): d is readonly AxisRef[] => Array.isArray(d);

/** The axes that split a dimension. */
export const axesOf = (d: DimSharding): readonly AxisRef[] => (isList(d) ? d : d.axes);
export const axisName = (a: AxisRef): string => (typeof a === "string" ? a : a.axis);
/** How many ways an axis splits. */
export const axisSize = (mesh: Mesh, a: AxisRef): number => (typeof a === "string" ? mesh.sizeOf(a) : a.size);

const axisText = (a: AxisRef): string =>
  typeof a === "string" ? quote(a) : `${quote(a.axis)}:(${a.preSize})${a.size}`;
const axisList = (axes: readonly AxisRef[]): string => axes.map(axisText).join(", ");

function dimText(d: DimSharding): string {
  if (isList(d)) return `{${axisList(d)}}`;
  const parts = d.axes.map(axisText);
  if (d.open) parts.push("?");
  return `{${parts.join(", ")}}${d.priority === undefined ? "" : `p${d.priority}`}`;
}

/** `<@mesh, [{"x"}, {}]>`. */
export function shardingText(s: Sharding): string {
  const replicated = s.replicated?.length ? `, replicated={${axisList(s.replicated)}}` : "";
  const unreduced = s.unreduced?.length ? `, unreduced={${axisList(s.unreduced)}}` : "";
  return `<${symbol(s.mesh.name)}, [${s.dims.map(dimText).join(", ")}]${replicated}${unreduced}>`;
}

/** `#sdy.sharding<@mesh, [{"x"}, {}]>`. */
export const shardingAttribute = (s: Sharding): string => `#sdy.sharding${shardingText(s)}`;

/** Throws unless the sharding fits a value of this type: one entry a dimension, every axis known and used once. */
export function checkSharding(op: string, s: Sharding, type: TensorType): void {
  if (s.dims.length !== type.shape.length) {
    fail(op, `a sharding with ${type.shape.length} dimensions for ${formatType(type)}`, `${s.dims.length}`);
  }
  const used = new Set<string>();
  for (const axis of [...s.dims.flatMap(axesOf), ...(s.replicated ?? []), ...(s.unreduced ?? [])]) {
    const text = axisText(axis);
    s.mesh.sizeOf(axisName(axis));
    if (used.has(text)) fail(op, "each axis at most once", text);
    used.add(text);
  }
}
