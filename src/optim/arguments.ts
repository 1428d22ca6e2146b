/** @file Constructor arguments in PyTorch's order, or by name in a last object. */
import { TorchTypeError } from "../schema/index.js";

type Tail<O> = Record<never, never> extends O ? [options?: O] : [options: O];

/** The arguments `O`, of which those named in `N` may also be given in that order. */
export type Ordered<O, N extends readonly string[]> = N extends readonly [
  infer H extends string & keyof O,
  ...infer R extends readonly string[],
]
  ? Tail<O> | [O[H], ...Ordered<Omit<O, H>, R>]
  : Tail<O>;

const isOptions = (x: unknown): x is Record<string, unknown> =>
  typeof x === "object" && x !== null && x.constructor === Object;

/**
 * The arguments of `owner`'s constructor by name. `names`: their order; `defaults`: every argument with its default,
 * or undefined where there is none. Throws TorchTypeError in Python's words when they do not fit.
 */
export function byName<O extends object>(
  owner: string,
  names: readonly string[],
  args: readonly unknown[],
  defaults: { readonly [K in keyof O]-?: O[K] | undefined },
): Required<O> {
  const last = args.at(-1);
  const options = isOptions(last) ? last : {};
  const given = isOptions(last) ? args.slice(0, -1) : args;
  if (given.length > names.length)
    throw new TorchTypeError(
      `${owner}.__init__() takes at most ${names.length} arguments after the first but ${given.length} were given`,
    );
  const found: Record<string, unknown> = { ...defaults };
  given.forEach((value, i) => {
    if (value !== undefined) found[names[i]] = value;
  });
  for (const [name, value] of Object.entries(options)) {
    if (!(name in defaults))
      throw new TorchTypeError(`${owner}.__init__() got an unexpected keyword argument '${name}'`);
    if (names.indexOf(name) >= 0 && names.indexOf(name) < given.length && given[names.indexOf(name)] !== undefined)
      throw new TorchTypeError(`${owner}.__init__() got multiple values for argument '${name}'`);
    if (value !== undefined) found[name] = value;
  }
  const missing = Object.keys(found).find((name) => found[name] === undefined);
  if (missing !== undefined)
    throw new TorchTypeError(`${owner}.__init__() missing 1 required positional argument: '${missing}'`);
  return found as Required<O>;
}
