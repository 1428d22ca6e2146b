/** @file The errors of operators. Messages are PyTorch's words: `<op>(): expected X, got Y`. */

/** Any failure of an operator that is not about an index or an argument's type (PyTorch's RuntimeError). */
export class TorchError extends Error {
  override name = "TorchError";
}

/** An index out of range, or a dimension that does not exist (PyTorch's IndexError). */
export class TorchIndexError extends RangeError {
  override name = "TorchIndexError";
}

/** An argument of the wrong type (PyTorch's TypeError). */
export class TorchTypeError extends TypeError {
  override name = "TorchTypeError";
}

/** An argument of the right type with an unusable value (PyTorch's ValueError). */
export class TorchValueError extends TorchError {
  override name = "TorchValueError";
}

/** An operator, or its gradient, that this library lacks (PyTorch's NotImplementedError). */
export class TorchNotImplementedError extends TorchError {
  override name = "TorchNotImplementedError";
}

/** A matrix that cannot be factored or solved (PyTorch's torch.linalg.LinAlgError). */
export class LinAlgError extends TorchError {
  override name = "LinAlgError";
}

/** Throws TorchError with `message` unless `condition`. The message is built only when needed. */
export function check(condition: boolean, message: string | (() => string)): asserts condition {
  if (!condition) throw new TorchError(typeof message === "string" ? message : message());
}
