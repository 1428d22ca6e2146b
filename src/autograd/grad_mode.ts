/** @file Whether operations are recorded: no_grad, enable_grad, inference_mode. */
let gradEnabled = true;
let inferenceEnabled = false;

export const is_grad_enabled = (): boolean => gradEnabled;
export const is_inference_mode_enabled = (): boolean => inferenceEnabled;

/** Undoes a mode when disposed, so that `using _ = torch.no_grad()` ends with its block. */
export class ModeGuard implements Disposable {
  private readonly before = [gradEnabled, inferenceEnabled] as const;
  constructor(grad: boolean, inference: boolean) {
    gradEnabled = grad;
    inferenceEnabled = inference;
  }
  [Symbol.dispose](): void {
    [gradEnabled, inferenceEnabled] = this.before;
  }
}

function scoped<R>(grad: boolean, inference: boolean, fn?: () => R): R | ModeGuard {
  const guard = new ModeGuard(grad, inference);
  if (!fn) return guard;
  let result: R;
  try {
    result = fn();
  } catch (error) {
    guard[Symbol.dispose]();
    throw error;
  }
  if (result instanceof Promise) return result.finally(() => guard[Symbol.dispose]()) as R;
  guard[Symbol.dispose]();
  return result;
}

/** Runs `fn` without recording; without `fn`, returns a guard for `using`. A promise keeps the mode until it settles. */
export function no_grad(): ModeGuard;
export function no_grad<R>(fn: () => R): R;
export function no_grad<R>(fn?: () => R): R | ModeGuard {
  return scoped(false, inferenceEnabled, fn);
}

/** Runs `fn` with recording on; without `fn`, returns a guard for `using`. */
export function enable_grad(): ModeGuard;
export function enable_grad<R>(fn: () => R): R;
export function enable_grad<R>(fn?: () => R): R | ModeGuard {
  return scoped(true, inferenceEnabled, fn);
}

/** Sets recording on or off; the returned guard restores what was before when disposed. */
export const set_grad_enabled = (mode: boolean): ModeGuard => new ModeGuard(mode, inferenceEnabled);

/** Like no_grad, and the tensors made inside can never be recorded. */
export function inference_mode(): ModeGuard;
export function inference_mode<R>(fn: () => R): R;
export function inference_mode<R>(fn?: () => R): R | ModeGuard {
  return scoped(false, true, fn);
}
