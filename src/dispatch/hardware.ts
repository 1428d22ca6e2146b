/** @file Whether this machine has a TPU. */
import { existsSync } from "node:fs";

/** True when a TPU's device files are here (`/dev/accel0`, `/dev/vfio/0`) or TORCH_TPU_FORCE_HARDWARE is set. */
export function hasTpuHardware(): boolean {
  const forced = process.env.TORCH_TPU_FORCE_HARDWARE;
  if (forced !== undefined) return forced === "1";
  return existsSync("/dev/accel0") || existsSync("/dev/vfio/0");
}
