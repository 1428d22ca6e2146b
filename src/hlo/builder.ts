/** @file The builder of one function: one method for each StableHLO operation, in one file per kind of operation. */
import { ShardingBuilder } from "./sharding_ops.js";

/**
 * Records the operations of a function. Every method is named as StableHLO names the operation, checks its operands
 * (throwing HloError) and returns the results with their types inferred. Make one with `Module.func`.
 */
export class Builder extends ShardingBuilder {}
