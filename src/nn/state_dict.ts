/** @file Saving a module's parameters and buffers by name, and loading them with PyTorch's checks. */
import { no_grad } from "../autograd/index.js";
import { TorchError, TorchTypeError } from "../schema/index.js";
import { Tensor } from "../tensor/index.js";
import { membersOf, moduleState, typeText } from "./members.js";
import type { Module } from "./module.js";
import { Parameter } from "./parameter.js";

/** Tensors by name, as in `{ "fc.weight": …, "fc.bias": … }`. Extra state of modules may hold other values. */
export type StateDict = Record<string, Tensor>;

/** What a state_dict says of one module besides its tensors. */
export interface LocalMetadata {
  version?: number;
  assign_to_params_buffers?: boolean;
}

/** The keys that did not match. */
export class IncompatibleKeys {
  constructor(
    readonly missing_keys: string[],
    readonly unexpected_keys: string[],
  ) {}
  toString(): string {
    if (this.missing_keys.length + this.unexpected_keys.length === 0) return "<All keys matched successfully>";
    const list = (keys: string[]): string => `[${keys.map((k) => `'${k}'`).join(", ")}]`;
    return `_IncompatibleKeys(missing_keys=${list(this.missing_keys)}, unexpected_keys=${list(this.unexpected_keys)})`;
  }
}

type Metadata = Record<string, LocalMetadata>;
interface WithMetadata {
  _metadata?: Metadata;
}

export const extraStateKey = "_extra_state";

/** `torch.Size([3, 4])` */
const sizeOf = (t: Tensor): string => `torch.Size([${t.shape.join(", ")}])`;

/** An empty state_dict. The versions of the modules travel with it, unseen. */
export function emptyStateDict(): StateDict {
  return Object.defineProperty({}, "_metadata", { value: {}, writable: true }) as StateDict;
}

/** Notes the version of the module at `prefix`. */
export function noteVersion(destination: StateDict, prefix: string, metadata: LocalMetadata): void {
  const { _metadata } = destination as WithMetadata;
  if (_metadata) _metadata[prefix.slice(0, -1)] = metadata;
}

/** Parameters and persistent buffers of the module itself; those that are null are left out. */
function localState(module: Module): Map<string, Tensor> {
  const { parameters, buffers } = membersOf(module);
  const state = module[moduleState];
  const out = new Map<string, Tensor>();
  for (const [name, p] of parameters) if (p !== null) out.set(name, p);
  for (const [name, b] of buffers) if (b !== null && state.buffers.get(name) !== false) out.set(name, b);
  return out;
}

/** Adds the module's own parameters and persistent buffers to `destination`. */
export function saveOwnState(module: Module, destination: StateDict, prefix: string, keep_vars: boolean): void {
  for (const [name, t] of localState(module)) destination[prefix + name] = keep_vars ? t : t.detach();
}

/** What loading one module may add to. */
export interface LoadReport {
  readonly missing: string[];
  readonly unexpected: string[];
  readonly errors: string[];
}

function loadOne(
  module: Module,
  name: string,
  key: string,
  from: unknown,
  to: Tensor,
  assign: boolean,
  errors: string[],
): void {
  if (!(from instanceof Tensor)) {
    errors.push(
      `While copying the parameter named "${key}", expected torch.Tensor or Tensor-like object from checkpoint but received <class '${typeText(from)}'>`,
    );
    return;
  }
  // PyTorch 0.3 saved numbers as tensors of one element.
  const source = to.ndim === 0 && from.ndim === 1 && from.shape[0] === 1 ? from.select(0, 0) : from;
  if (source.shape.join() !== to.shape.join()) {
    errors.push(
      `size mismatch for ${key}: copying a param with shape ${sizeOf(source)} from checkpoint, the shape in current model is ${sizeOf(to)}.`,
    );
    return;
  }
  try {
    no_grad(() => {
      if (assign) assignOne(module, name, source, to);
      else to.copy_(source.device === to.device ? source : source.to(to.device));
    });
  } catch (error) {
    errors.push(
      `While copying the parameter named "${key}", whose dimensions in the model are ${sizeOf(to)} and whose dimensions in the checkpoint are ${sizeOf(source)}, an exception occurred : ('${(error as Error).message}',).`,
    );
  }
}

function assignOne(module: Module, name: string, source: Tensor, to: Tensor): void {
  const values = module as unknown as Record<string, Tensor>;
  if (!(to instanceof Parameter)) values[name] = source;
  else if (source instanceof Parameter) values[name] = source.requires_grad_(to.requires_grad);
  else values[name] = new Parameter(source, to.requires_grad);
}

/** Loads the module's own parameters and buffers, and reports keys under `prefix` that it does not know. */
export function loadOwnState(
  module: Module,
  state_dict: Readonly<Record<string, unknown>>,
  prefix: string,
  local_metadata: LocalMetadata,
  strict: boolean,
  report: LoadReport,
): void {
  const state = localState(module);
  const assign = local_metadata.assign_to_params_buffers ?? false;
  for (const [name, tensor] of state) {
    const key = prefix + name;
    if (Object.hasOwn(state_dict, key)) loadOne(module, name, key, state_dict[key], tensor, assign, report.errors);
    else if (strict) report.missing.push(key);
  }
  const extraKey = prefix + extraStateKey;
  if (module.hasExtraState("set_extra_state")) {
    if (Object.hasOwn(state_dict, extraKey)) module.set_extra_state(state_dict[extraKey]);
    else if (strict) report.missing.push(extraKey);
  } else if (strict && Object.hasOwn(state_dict, extraKey)) report.unexpected.push(extraKey);
  if (!strict) return;
  const children = module._modules;
  for (const key of Object.keys(state_dict)) {
    if (!key.startsWith(prefix) || key === extraKey) continue;
    const [first, ...rest] = key.slice(prefix.length).split(".");
    if (rest.length > 0 ? !children.has(first) : !state.has(first)) report.unexpected.push(key);
  }
}

/** `module.load_state_dict`. */
export function loadStateDict(root: Module, given: StateDict, strict: boolean, assign: boolean): IncompatibleKeys {
  if (typeof given !== "object" || given === null)
    throw new TorchTypeError(`Expected state_dict to be dict-like, got <class '${typeText(given)}'>.`);
  const metadata = (given as WithMetadata)._metadata;
  const report: LoadReport = { missing: [], unexpected: [], errors: [] };
  const incompatible = new IncompatibleKeys(report.missing, report.unexpected);
  const load = (module: Module, state_dict: StateDict, prefix: string): void => {
    const local: LocalMetadata = {
      ...metadata?.[prefix.slice(0, -1)],
      ...(assign ? { assign_to_params_buffers: true } : {}),
    };
    module._load_from_state_dict(state_dict, prefix, local, true, report.missing, report.unexpected, report.errors);
    for (const [name, child] of module._modules) {
      if (child === null) continue;
      const inner = `${prefix}${name}.`;
      load(child, Object.fromEntries(Object.entries(state_dict).filter(([k]) => k.startsWith(inner))), inner);
    }
    const hooks = module[moduleState].hooks?.loadPost ?? [];
    for (const hook of hooks) {
      if ((hook(module, incompatible) as unknown) !== undefined)
        throw new TorchError(
          "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if incompatible_keys need to be modified, it should be done inplace.",
        );
    }
  };
  load(root, { ...given }, "");
  const quoted = (keys: string[]): string => keys.map((k) => `"${k}"`).join(", ");
  const { errors, missing, unexpected } = report;
  if (strict && unexpected.length > 0) errors.unshift(`Unexpected key(s) in state_dict: ${quoted(unexpected)}. `);
  if (strict && missing.length > 0) errors.unshift(`Missing key(s) in state_dict: ${quoted(missing)}. `);
  if (errors.length > 0)
    throw new TorchError(`Error(s) in loading state_dict for ${root._get_name()}:\n\t${errors.join("\n\t")}`);
  return incompatible;
}
