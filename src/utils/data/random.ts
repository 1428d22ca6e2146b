/** @file Random numbers on the host, from a torch generator's stream: samplers need many and no program. */
import { defaultGenerator, device, type Generator } from "../../tensor/index.js";

/** Uniform numbers in [0, 1) whose seed is the generator's next state (xorshift128+, Vigna 2017). */
export function uniform(generator: Generator = defaultGenerator(device("cpu"))): () => number {
  const [key, counter] = generator.next();
  const mix = (x: bigint): bigint => {
    let z = BigInt.asUintN(64, x + 0x9e3779b97f4a7c15n); // splitmix64
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  };
  const words = new Uint32Array(new BigUint64Array([mix(key), mix(key ^ mix(counter + 1n))]).buffer);
  let [a0, a1, b0, b1] = words;
  return () => {
    let [x0, x1] = [a0, a1];
    [a0, a1] = [b0, b1];
    const s1 = ((x1 << 23) | (x0 >>> 9)) ^ x1;
    const s0 = (x0 << 23) ^ x0;
    [x0, x1] = [s0 ^ b0 ^ ((s0 >>> 17) | (s1 << 15)) ^ ((b0 >>> 26) | (b1 << 6)), s1 ^ b1 ^ (s1 >>> 17) ^ (b1 >>> 26)];
    [b0, b1] = [x0 >>> 0, x1 >>> 0];
    const low = (b0 + a0) >>> 0;
    const high = (b1 + a1 + (low < b0 ? 1 : 0)) >>> 0;
    return (high * 2 ** 21 + (low >>> 11)) / 2 ** 53;
  };
}

/** The numbers below `n` in random order (Fisher and Yates). */
export function permutation(n: number, generator?: Generator): number[] {
  const next = uniform(generator);
  const order = Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = Math.floor(next() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}
