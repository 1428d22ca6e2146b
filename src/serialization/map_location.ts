/** @file Which device a tensor of a checkpoint gets: `map_location` of `torch.load`. */
import { TorchError } from "../schema/index.js";
import { Device, device, type DeviceLike } from "../tensor/index.js";

/** A device for all, devices by the name in the file, or a function of that name (null: as without it). */
export type MapLocation =
  | DeviceLike
  | Readonly<Record<string, DeviceLike>>
  | ReadonlyMap<string, DeviceLike>
  | ((location: string) => DeviceLike | null | undefined);

function mapped(location: string, map: MapLocation): DeviceLike | null | undefined {
  if (typeof map === "string" || typeof map === "number" || map instanceof Device) return map;
  if (typeof map === "function") return map(location);
  if (map instanceof Map) return (map as ReadonlyMap<string, DeviceLike>).get(location) ?? location;
  return (Object.hasOwn(map, location) ? (map as Record<string, DeviceLike>)[location] : null) ?? location;
}

/** The device for what the file says was on `location`. */
export function restoreLocation(location: string, map: MapLocation | null | undefined): Device {
  const wanted = (map === null || map === undefined ? null : mapped(location, map)) ?? location;
  if (typeof wanted !== "string") return device(wanted);
  if (/^cuda(:\d+)?$/.test(wanted))
    throw new TorchError(
      "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU.",
    );
  if (!/^(cpu|meta|(tpu|plugin)(:\d+)?)$/.test(wanted))
    throw new TorchError(
      `don't know how to restore data location of torch.storage.UntypedStorage (tagged with ${wanted}). Give map_location, as in { map_location: "cpu" }.`,
    );
  return device(wanted);
}
