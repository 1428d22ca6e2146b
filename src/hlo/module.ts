/** @file A StableHLO module: functions, meshes, and the text that PJRT compiles. */
import { Builder } from "./builder.js";
import type { BuilderCore, ParamSpec } from "./builder_core.js";
import { checkSharding, shardingAttribute, type Mesh, type Sharding } from "./sharding.js";
import { locationText, Printer, symbol, typeList } from "./print.js";
import { checkShape, fail, mlirType } from "./types.js";

export interface FunctionOptions {
  /** Public functions are always printed, private ones when they are called. Default: public if it is `main`. */
  readonly public?: boolean;
}

export interface ModuleOptions {
  /** How many devices one program is partitioned over (`mhlo.num_partitions`). */
  readonly numPartitions?: number;
  /** How many devices run the whole program each (`mhlo.num_replicas`). */
  readonly numReplicas?: number;
  /** Keep operations whose results are unused. */
  readonly keepDeadCode?: boolean;
}

/**
 * A program under construction.
 *
 * @example
 * const m = new Module("double");
 * const h = m.func("main", [{ dtype: float32, shape: [2, 3] }]);
 * h.return([h.add(h.params[0], h.params[0])]);
 * console.log(m.toString());
 */
export class Module {
  private readonly functions = new Map<string, Builder>();
  private readonly meshes = new Map<string, Mesh>();
  numPartitions?: number;
  numReplicas?: number;
  keepDeadCode: boolean;

  constructor(
    readonly name: string = "module",
    options: ModuleOptions = {},
  ) {
    this.numPartitions = options.numPartitions;
    this.numReplicas = options.numReplicas;
    this.keepDeadCode = options.keepDeadCode ?? false;
  }

  /** Adds a function. `main` is the program; call the others with `h.call(fn, args)`. */
  func(name: string, params: readonly ParamSpec[], options: FunctionOptions = {}): Builder {
    if (this.functions.has(name)) fail("func", "a new name", name);
    for (const p of params) {
      checkShape("func", p.shape);
      if (!p.sharding) continue;
      checkSharding("func", p.sharding, p);
      this.mesh(p.sharding.mesh);
    }
    const fn = new Builder(name, params, options.public ?? name === "main", this);
    this.functions.set(name, fn);
    return fn;
  }

  /** Declares a mesh (`sdy.mesh`). Those that shardings name are declared by themselves. */
  mesh(mesh: Mesh): Mesh {
    const known = this.meshes.get(mesh.name);
    if (known && known.toString() !== mesh.toString())
      fail("mesh", `one mesh named ${mesh.name}, ${known}`, mesh.toString());
    this.meshes.set(mesh.name, mesh);
    return mesh;
  }

  /** The module as MLIR text. */
  toString(): string {
    const used = new Set<string>([...this.functions.values()].filter((f) => f.isPublic).map((f) => f.name));
    const printer = new Printer(this.keepDeadCode, (name) => used.add(name));
    let functions = "";
    for (const name of used) {
      functions += this.functionText(this.functions.get(name)!, printer);
    }
    let meshes = "";
    for (const mesh of this.meshes.values()) meshes += `  sdy.mesh ${symbol(mesh.name)} = ${mesh}\n`;
    const attributes: string[] = [];
    if (this.numPartitions !== undefined) attributes.push(`mhlo.num_partitions = ${this.numPartitions} : i32`);
    if (this.numReplicas !== undefined) attributes.push(`mhlo.num_replicas = ${this.numReplicas} : i32`);
    const head = attributes.length === 0 ? "" : ` attributes {${attributes.join(", ")}}`;
    return `module ${symbol(this.name)}${head} {\n${meshes}${functions}}\n`;
  }

  private functionText(fn: BuilderCore, printer: Printer): string {
    const { results } = fn;
    if (results === null) fail("module", `function ${fn.name} to end with return()`, "no return()");
    const sharded = (s: Sharding | undefined): string[] => (s ? [`sdy.sharding = ${shardingAttribute(s)}`] : []);
    const params = fn.specs.map((p, i) => {
      const attributes = sharded(p.sharding);
      if (p.aliasOutput !== undefined) attributes.push(`tf.aliasing_output = ${p.aliasOutput} : i32`);
      if (p.donor) attributes.push("jax.buffer_donor = true");
      return `%arg${i}: ${mlirType(p)}${braces(attributes)}${p.name === undefined ? "" : locationText(p.name)}`;
    });
    const anySharded = fn.resultShardings.some((s) => s !== undefined);
    const types = anySharded
      ? results.map((r, i) => mlirType(r) + braces(sharded(fn.resultShardings[i]))).join(", ")
      : typeList(results);
    const visibility = fn.isPublic ? "public" : "private";
    return `  func.func ${visibility} ${symbol(fn.name)}(${params.join(", ")}) -> (${types}) {\n${printer.functionBody(fn.body)}  }\n`;
  }
}

const braces = (attributes: readonly string[]): string =>
  attributes.length === 0 ? "" : ` {${attributes.join(", ")}}`;
