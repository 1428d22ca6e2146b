/** @file What code that may be traced reads and does on the host: at once in eager modes, at each run of a program else. */
import { FloatScalar } from "../schema/index.js";
import { currentTrace, withTrace } from "./trace.js";

/**
 * A number that may change from call to call, such as a learning rate. In eager modes it is `read()`, as a float. While a
 * function is compiled it becomes an input of the program, read anew at each run, so that a new value compiles nothing.
 * `owner[key]`, if given, is the property that it comes from: the program does not depend on what that is.
 */
export function hostNumber(read: () => number, owner: object | null = null, key: string | null = null): FloatScalar {
  const host = currentTrace()?.host ?? null;
  // operators take the symbol wherever they take a number
  return host === null ? new FloatScalar(read()) : (host.number(read, owner, key) as unknown as FloatScalar);
}

/** Does something on the host: now, or while a function is compiled at each run of its program. */
export function hostEffect(run: () => void): void {
  const host = currentTrace()?.host ?? null;
  if (host === null) run();
  else host.effect(run);
}

/** The value of `read()`. A program that is being compiled holds as long as it stays the same. */
export function hostGuard<T>(read: () => T): T {
  currentTrace()?.host?.guard(read);
  return read();
}

/** Notes that a program that is being compiled depends on the object's own properties. */
export function guardObject(object: object): void {
  currentTrace()?.host?.guardObject(object);
}

/** Runs `fn` outside of the function that is being traced: it makes tensors with values, which the program reads. */
export const untraced = <R>(fn: () => R): R => withTrace(null, fn);
