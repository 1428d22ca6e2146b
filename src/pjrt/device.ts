/** @file Devices and their memories, as a client or a topology lists them. */

import type { NamedValue, NativeDevice, NativeDeviceDescription, NativeMemory } from "./native.js";

/** A memory that a device can address, such as HBM or the host's. */
export class Memory {
  readonly id: number;
  /** The kind by which programs name it, such as `device` or `pinned_host`. */
  readonly kind: string;
  readonly isDefault: boolean;
  private readonly text: string;

  constructor(native: NativeMemory) {
    this.id = native.id;
    this.kind = native.kind;
    this.isDefault = native.isDefault;
    this.text = native.text;
  }

  toString(): string {
    return this.text;
  }
}

/** A device that need not be here: one of a topology. */
export class DeviceDescription {
  readonly id: number;
  readonly processIndex: number;
  /** The vendor's name, such as `TPU v5 lite`. */
  readonly kind: string;
  readonly attributes: Readonly<Record<string, NamedValue>>;
  /** Everything that the plugin says of it in one line. */
  readonly debugText: string;
  private readonly text: string;

  constructor(native: NativeDeviceDescription) {
    this.id = native.id;
    this.processIndex = native.processIndex;
    this.kind = native.kind;
    this.attributes = native.attributes;
    this.debugText = native.debugText;
    this.text = native.text;
  }

  /** Its place among the chips, if the plugin tells. */
  get coordinates(): readonly number[] | undefined {
    const coords = this.attributes.coords;
    return Array.isArray(coords) ? coords.map(Number) : undefined;
  }

  toString(): string {
    return this.text;
  }
}

/** A device of a client. */
export class Device extends DeviceDescription {
  /** Position among the client's addressable devices, which calls take; -1 for a device of another process. */
  readonly index: number;
  /** The hardware's own number; -1 if it has none. */
  readonly localHardwareId: number;
  readonly memories: readonly Memory[];

  constructor(native: NativeDevice) {
    super(native);
    this.index = native.index;
    this.localHardwareId = native.localHardwareId ?? -1;
    this.memories = (native.memories ?? []).map((memory) => new Memory(memory));
  }

  get isAddressable(): boolean {
    return this.index >= 0;
  }

  get defaultMemory(): Memory | undefined {
    return this.memories.find((memory) => memory.isDefault);
  }
}
