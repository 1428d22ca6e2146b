/** @file `torch.save`: tensors and plain containers, as a zip archive that Python's `torch.load` reads. */
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { Pickler } from "./pickler.js";
import { writeWhole } from "./source.js";
import { zipParts } from "./zip.js";

type Records = Iterable<readonly [string, () => Uint8Array]>;

function* records(obj: unknown, root: string): Records {
  const pickler = new Pickler();
  const pickle = pickler.dump(obj);
  const text = (value: string) => () => Buffer.from(value);
  yield [`${root}/data.pkl`, () => pickle];
  yield [`${root}/.format_version`, text("1")];
  yield [`${root}/.storage_alignment`, text("64")];
  yield [`${root}/byteorder`, text("little")];
  for (const storage of pickler.storages) yield [`${root}/data/${storage.key}`, () => storage.bytes()];
  yield [`${root}/version`, text("3\n")];
}

/**
 * `torch.save`: writes `obj` to a file, or returns the bytes where no path is given. The file appears whole or not at all.
 * Tensors that share a storage, tied weights and views, are written once and share it when loaded. Tensors of every device
 * are written as ones of the CPU; `map_location` says where they go when loaded.
 * What becomes which Python type: an object with texts as keys or a Map a dict, `state_dict()` an OrderedDict, an array a
 * list, a frozen array a tuple, a Set a set, a Uint8Array bytes, null None; a number with an integer value an int
 * (`torch.asFloat(1)` is 1.0). Throws TypeError, with the path to it, for anything else.
 *
 * @example
 * torch.save(model.state_dict(), "model.pt");
 * const bytes = torch.save({ epoch: 3, weights: model.state_dict() });
 *
 * @see https://docs.pytorch.org/docs/stable/generated/torch.save.html
 */
export function save(obj: unknown, f: string | URL): void;
export function save(obj: unknown): Uint8Array;
export function save(obj: unknown, f?: string | URL): Uint8Array | void {
  if (f === undefined) return Buffer.concat([...zipParts(records(obj, "archive"))]);
  const path = typeof f === "string" ? f : fileURLToPath(f);
  const stem = basename(path).replace(/\.[^.]*$/, "");
  writeWhole(path, zipParts(records(obj, stem || "archive")));
}
