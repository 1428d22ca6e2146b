/** @file StableHLO: modules, functions, values, and one builder method for each operation. Usable on its own. */
export { Builder } from "./builder.js";
export { Module, type FunctionOptions, type ModuleOptions } from "./module.js";
export type { ParamSpec, ReduceKind, ReturnOptions } from "./builder_core.js";
export { Value, type Location } from "./value.js";
export { formatType, HloError, mlirType, tokenType, type TensorType } from "./types.js";
export type { ConstantData, Scalar as ConstantScalar, TypedArray } from "./literal.js";
export { bitsToFloat, floatToBits } from "./float_bits.js";
export type { CompareDirection, CompareType } from "./elementwise.js";
export type { DotOptions, FftType, Precision, TriangularSolveOptions } from "./linalg.js";
export type { ConvolutionOptions } from "./convolution.js";
export type { GatherOptions, ScatterOptions } from "./indexing.js";
export type { ReduceBody, ReduceWindowOptions, SelectAndScatterOptions } from "./reduction.js";
export type { Attribute, Attributes, CustomCallOptions, OutputOperandAlias, RngAlgorithm } from "./control.js";
export type { CollectiveOptions, Combiner, PermuteOptions, TransferOptions } from "./collectives.js";
export type { RaggedDotOptions } from "./chlo.js";
export type { ManualOptions } from "./sharding_ops.js";
export { Mesh, type AxisRef, type DimSharding, type Sharding } from "./sharding.js";
