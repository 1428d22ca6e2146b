/** @file Errors of modules that operators do not have. */
import { TorchError } from "../schema/index.js";

/** A name that cannot be registered (Python's KeyError). */
export class TorchKeyError extends TorchError {
  override name = "TorchKeyError";
}

/** A module lacks what was asked for by name (Python's AttributeError). */
export class TorchAttributeError extends TorchError {
  override name = "TorchAttributeError";
}
