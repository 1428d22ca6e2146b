/** @file From recorded operations to MLIR text. Operations whose results nobody uses are left out. */
import { mlirType } from "./types.js";
import type { Location, Op, Region, Value } from "./value.js";

/** `[0, 2]`. */
export const ints = (xs: readonly (number | bigint)[]): string => `[${xs.join(", ")}]`;
/** `array<i64: 0, 2>`. */
export const i64Array = (xs: readonly number[]): string =>
  xs.length === 0 ? "array<i64>" : `array<i64: ${xs.join(", ")}>`;
/** `array<i1: true, false>`. */
export const i1Array = (xs: readonly boolean[]): string =>
  xs.length === 0 ? "array<i1>" : `array<i1: ${xs.join(", ")}>`;
/** `dense<[[0, 1]]> : tensor<1x2xi64>`. */
export function i64Matrix(rows: readonly (readonly number[])[]): string {
  const width = rows.length === 0 ? 0 : rows[0].length;
  const empty = rows.length === 0 || width === 0;
  return `dense<${empty ? "" : `[${rows.map(ints).join(", ")}]`}> : tensor<${rows.length}x${width}xi64>`;
}

/** An MLIR string literal: everything outside printable ASCII as the hexadecimal bytes of its UTF-8. */
export function quote(text: string): string {
  let out = '"';
  for (const byte of Buffer.from(text, "utf8")) {
    const plain = byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c;
    out += plain ? String.fromCharCode(byte) : `\\${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return `${out}"`;
}

/** `@name`, quoted where MLIR asks for it. */
export const symbol = (name: string): string => (/^[A-Za-z_][\w$.]*$/.test(name) ? `@${name}` : `@${quote(name)}`);

export const locationText = (l: Location): string =>
  typeof l === "string" ? ` loc(${quote(l)})` : ` loc(${quote(l.file)}:${l.line}:${l.column})`;

export const typeList = (values: readonly Value[]): string => values.map(mlirType).join(", ");
export const nameList = (values: readonly Value[]): string => {
  let text = "";
  for (let i = 0; i < values.length; i++) text += i === 0 ? values[i].ssa : `, ${values[i].ssa}`;
  return text;
};

/** `(A, B) -> R`, with parentheses around results unless there is exactly one. */
export function signature(op: Op): string {
  const { results } = op;
  return `(${typeList(op.operands)}) -> ${results.length === 1 ? mlirType(results[0]) : `(${typeList(results)})`}`;
}

let prints = 0;

/** Prints the functions of one module. */
export class Printer {
  /** Names are per function. */
  private nextName = 0;
  private readonly epoch = ++prints;
  constructor(
    readonly keepDead: boolean,
    /** Told of every function that a printed operation refers to. */
    readonly onFunction: (name: string) => void,
  ) {}

  /** The body of a function whose parameters are `%arg0`, `%arg1`…. */
  functionBody(body: Region): string {
    this.nextName = 0;
    body.params.forEach((p, i) => (p.ssa = `%arg${i}`));
    this.markRegion(body);
    return this.block(body, "    ");
  }

  private markRegion(region: Region): void {
    const { epoch } = this;
    for (const r of region.results!) r.live = epoch;
    for (let i = region.ops.length - 1; i >= 0; i--) {
      const op = region.ops[i];
      if (!this.isLive(op)) continue;
      for (const operand of op.operands) operand.live = epoch;
      if (op.regions !== null) for (const inner of op.regions) this.markRegion(inner);
    }
  }

  private isLive(op: Op): boolean {
    if (op.effects || this.keepDead) return true;
    const { results } = op;
    for (let i = 0; i < results.length; i++) if (results[i].live === this.epoch) return true;
    return false;
  }

  private block(region: Region, indent: string): string {
    let text = "";
    for (const op of region.ops) if (this.isLive(op)) text += `${indent}${this.operation(op, indent)}\n`;
    const results = region.results!;
    const types = results.length === 0 ? "" : ` ${nameList(results)} : ${typeList(results)}`;
    return `${text}${indent}${region.terminator}${types}\n`;
  }

  private operation(op: Op, indent: string): string {
    const { results, location, def } = op;
    if (def.functions) def.functions(op.attrs as never).forEach(this.onFunction);
    let text = "";
    if (results.length === 1) text = `${(results[0].ssa = `%${this.nextName++}`)} = `;
    else if (results.length > 1) {
      const name = `%${this.nextName++}`;
      for (let i = 0; i < results.length; i++) results[i].ssa = `${name}#${i}`;
      text = `${name}:${results.length} = `;
    }
    text += this.operationText(op, indent);
    return location === null ? text : text + locationText(location);
  }

  private operationText(op: Op, indent: string): string {
    const { def, attrs, operands } = op;
    if (def.print) return def.print(attrs as never, op) + this.trailingRegions(op, indent);
    const attributes = def.attributes ? def.attributes(attrs as never, op) : "";
    switch (def.form) {
      case "same":
        return `${def.name} ${nameList(operands)}${attributes} : ${mlirType(op.results[0])}`;
      case "function":
        return `${def.name} ${nameList(operands)}${attributes} : ${signature(op)}`;
      case "arrow":
        return `${def.name} ${nameList(operands)}${attributes} : ${typeList(operands)} -> ${mlirType(op.results[0])}`;
      case "generic": {
        const properties = attributes === "" ? "" : ` <{${attributes}}>`;
        const regions = op.regions === null ? "" : ` (${op.regions.map((r) => this.region(r, indent)).join(", ")})`;
        const extra = def.extraAttributes ? ` {${def.extraAttributes(attrs as never)}}` : "";
        return `"${def.name}"(${nameList(operands)})${properties}${regions}${extra} : ${signature(op)}`;
      }
    }
  }

  /** Operations with a form of their own and a region print it last, before their type. */
  private trailingRegions(op: Op, indent: string): string {
    if (op.regions === null) return "";
    return ` ${op.regions.map((r) => `(${this.blockParams(r)}) ${this.braces(r, indent)}`).join(" ")} : ${signature(op)}`;
  }

  private region(region: Region, indent: string): string {
    const { params } = region;
    const inner = `${indent}  `;
    const head = params.length === 0 ? "" : `${indent}^bb0(${this.blockParams(region)}):\n`;
    return `{\n${head}${this.block(region, inner)}${indent}}`;
  }

  private blockParams(region: Region): string {
    return region.params.map((p) => `${(p.ssa = `%${this.nextName++}`)}: ${mlirType(p)}`).join(", ");
  }

  private braces(region: Region, indent: string): string {
    return `{\n${this.block(region, `${indent}  `)}${indent}}`;
  }
}
