/** @file Random number generators: a key and a counter; each operator that draws advances the counter. */
import { device, type Device, type DeviceLike } from "./device.js";

/** `torch.Generator`: the stream of random numbers of one device. */
export class Generator {
  private seed: bigint;
  private counter = 0n;
  readonly device: Device;
  constructor(where: DeviceLike = "cpu", seed = 67280421310721n) {
    this.device = device(where);
    this.seed = seed;
  }
  /** Starts the stream of `seed`. Returns this. */
  manual_seed(seed: number | bigint): this {
    this.seed = BigInt.asUintN(64, BigInt(seed));
    this.counter = 0n;
    return this;
  }
  initial_seed(): bigint {
    return this.seed;
  }
  /** The state of the next draw, as ui64[2] of key and counter, and moves on. */
  next(): BigUint64Array<ArrayBuffer> {
    // Philox counts 128-bit blocks from `counter`; 2^40 of them belong to one operator.
    const state = new BigUint64Array([
      this.seed ^ ((BigInt(this.device.index) * 0x9e3779b97f4a7c15n) & 0xffffffffffffffffn),
      BigInt.asUintN(64, this.counter << 40n),
    ]);
    this.counter++;
    return state;
  }
  /** Moves on as `draws` calls of next() would. */
  advance(draws: number): void {
    this.counter += BigInt(draws);
  }
  /** Key and counter, for `set_state`. */
  get_state(): [bigint, bigint] {
    return [this.seed, this.counter];
  }
  set_state(state: readonly [bigint, bigint]): this {
    [this.seed, this.counter] = state;
    return this;
  }
}

const defaults = new Map<Device, Generator>();
let globalSeed = 67280421310721n;

/** The generator that operators on `where` use unless told otherwise. */
export function defaultGenerator(where: Device): Generator {
  let found = defaults.get(where);
  if (!found) defaults.set(where, (found = new Generator(where, globalSeed)));
  return found;
}

/** Seeds the default generator of every device (`torch.manual_seed`). Returns the CPU's. */
export function manual_seed(seed: number | bigint): Generator {
  globalSeed = BigInt.asUintN(64, BigInt(seed));
  for (const generator of defaults.values()) generator.manual_seed(globalSeed);
  return defaultGenerator(device("cpu"));
}

/** The seed of the default generator. */
export const initial_seed = (): bigint => defaultGenerator(device("cpu")).initial_seed();
