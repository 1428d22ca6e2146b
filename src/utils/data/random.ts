/** @file Random numbers on the host, from a torch generator's stream: samplers need many and no program. */
import { defaultGenerator, device, type Generator } from "../../tensor/index.js";

const rotl = (x: number, k: number): number => (x << k) | (x >>> (32 - k));

/** Four words from key and counter (splitmix64, Steele, Lea and Flood 2014). */
function seedWords(key: bigint, counter: bigint): Uint32Array {
  let x = key ^ (counter * 0xd1342543de82ef95n);
  const next = (): bigint => {
    x = BigInt.asUintN(64, x + 0x9e3779b97f4a7c15n);
    let z = BigInt.asUintN(64, (x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  };
  return new Uint32Array(BigUint64Array.of(next(), next()).buffer);
}

/**
 * Uniform numbers in [0, 1) of 53 bits (xoshiro128**, Blackman and Vigna 2018). One draw of the generator seeds them, so
 * that a pass over a data set moves the generator by one however many numbers it takes.
 */
export function uniform(generator: Generator = defaultGenerator(device("cpu"))): () => number {
  const [key, counter] = generator.next();
  let [a, b, c, d] = seedWords(key, counter);
  const word = (): number => {
    const out = Math.imul(rotl(Math.imul(b, 5), 7), 9) >>> 0;
    const t = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = rotl(d, 11);
    return out;
  };
  return () => ((word() >>> 5) * 2 ** 26 + (word() >>> 6)) / 2 ** 53;
}

/** The numbers below `n` in random order (Fisher and Yates). */
export function permutation(n: number, generator?: Generator): Uint32Array {
  const next = uniform(generator);
  const order = Uint32Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = Math.floor(next() * (i + 1));
    const at = order[i];
    order[i] = order[j];
    order[j] = at;
  }
  return order;
}
