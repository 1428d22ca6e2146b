/** @file Padding. @see https://docs.pytorch.org/docs/stable/nn.html#padding-layers */
import type { Tensor } from "../../tensor/index.js";
import { pad } from "../functional/vision.js";
import { Module } from "../module.js";
import { pythonText } from "../printing.js";
import { signature, type Args } from "../signature.js";

type Ints = number | readonly number[];
type Mode = "constant" | "reflect" | "replicate" | "circular";

const constant = signature("ConstantPad.__init__(ints padding, float value)");
const plain = signature("Pad.__init__(ints padding)");

/** Amounts before and after for each of the last `dims` dimensions, the last one first. */
abstract class PadNd extends Module {
  readonly padding: readonly number[];
  constructor(
    dims: number,
    padding: Ints,
    private readonly mode: Mode,
    readonly value: number | null = null,
  ) {
    super();
    this.padding = typeof padding === "number" ? new Array<number>(2 * dims).fill(padding) : [...padding];
  }
  override forward(input: Tensor): Tensor {
    return pad(input, this.padding, this.mode, this.value);
  }
  override extra_repr(): string {
    return pythonText(this.padding);
  }
}

/** Padding with one number. */
abstract class ConstantPad extends PadNd {
  constructor(dims: number, args: Args<typeof constant.text>) {
    const { padding, value } = constant.bind(args, `${new.target.name}.__init__`);
    super(dims, padding, "constant", value);
  }
  override extra_repr(): string {
    return `padding=${pythonText(this.padding)}, value=${pythonText(this.value)}`;
  }
}
/** Pads the last dimension with one number. */
export class ConstantPad1d extends ConstantPad {
  constructor(...args: Args<typeof constant.text>) {
    super(1, args);
  }
}
/** Pads the last two dimensions with one number. */
export class ConstantPad2d extends ConstantPad {
  constructor(...args: Args<typeof constant.text>) {
    super(2, args);
  }
}
/** Pads the last three dimensions with one number. */
export class ConstantPad3d extends ConstantPad {
  constructor(...args: Args<typeof constant.text>) {
    super(3, args);
  }
}

/** A class that pads `dims` dimensions in one mode. */
function padClass(
  dims: number,
  mode: Mode,
  value: number | null = null,
): new (...args: Args<typeof plain.text>) => PadNd {
  return class extends PadNd {
    constructor(...args: Args<typeof plain.text>) {
      super(dims, plain.bind(args, `${new.target.name}.__init__`).padding, mode, value);
    }
  };
}

/** Pads the last dimension with zeros. */
export class ZeroPad1d extends padClass(1, "constant", 0) {}
/** Pads the last two dimensions with zeros. */
export class ZeroPad2d extends padClass(2, "constant", 0) {}
/** Pads the last three dimensions with zeros. */
export class ZeroPad3d extends padClass(3, "constant", 0) {}
/** Pads the last dimension with its reflection. */
export class ReflectionPad1d extends padClass(1, "reflect") {}
/** Pads the last two dimensions with their reflection. */
export class ReflectionPad2d extends padClass(2, "reflect") {}
/** Pads the last three dimensions with their reflection. */
export class ReflectionPad3d extends padClass(3, "reflect") {}
/** Pads the last dimension with its border. */
export class ReplicationPad1d extends padClass(1, "replicate") {}
/** Pads the last two dimensions with their border. */
export class ReplicationPad2d extends padClass(2, "replicate") {}
/** Pads the last three dimensions with their border. */
export class ReplicationPad3d extends padClass(3, "replicate") {}
/** Pads the last dimension with its other end. */
export class CircularPad1d extends padClass(1, "circular") {}
/** Pads the last two dimensions with their other ends. */
export class CircularPad2d extends padClass(2, "circular") {}
/** Pads the last three dimensions with their other ends. */
export class CircularPad3d extends padClass(3, "circular") {}
