/** @file Damaged files for fuzz tests: cut, grown, and with bytes changed to what breaks readers. */
import fc from "fast-check";
import { TorchError, TorchIndexError, TorchTypeError } from "../../schema/index.js";

const nasty = [0, 1, 0x7f, 0x80, 0xff];

/** Changes of a file: bytes replaced, 4 or 8 bytes made huge or negative, cut short, a part repeated. */
export const damaged = (file: Uint8Array): fc.Arbitrary<Uint8Array> => {
  const place = fc.nat(file.length - 1);
  const patch = (at: number, bytes: readonly number[]): Uint8Array => {
    const out = Uint8Array.from(file);
    out.set(bytes.slice(0, out.length - at), at);
    return out;
  };
  const byte = fc.oneof(fc.constantFrom(...nasty), fc.nat(255));
  return fc.oneof(
    fc.tuple(place, fc.array(byte, { minLength: 1, maxLength: 3 })).map(([at, bytes]) => patch(at, bytes)),
    fc.tuple(place, fc.constantFrom(4, 7, 8), fc.constantFrom(...nasty)).map(([at, n, b]) => patch(at, Array<number>(n).fill(b))), // prettier-ignore
    place.map((n) => file.subarray(0, n)),
    fc.tuple(place, place).map(([a, b]) => Buffer.concat([file.subarray(0, Math.max(a, b)), file.subarray(Math.min(a, b))])), // prettier-ignore
  );
};

const isOurs = (error: unknown): boolean =>
  [TorchError, TorchIndexError, TorchTypeError].some((kind) => error instanceof kind);

/**
 * Reads damaged files. Each must be read, or give an error of this library, soon, and without memory beyond the file's.
 * The everyday run is short; `--mode all` does more.
 */
export function expectNoCrash(file: Uint8Array, read: (bytes: Uint8Array) => unknown): void {
  const numRuns = process.env.TORCH_TPU_TEST_ALL === "1" ? 20_000 : 400;
  fc.assert(
    fc.property(damaged(file), (bytes) => {
      const before = process.memoryUsage().arrayBuffers;
      const start = performance.now();
      try {
        read(bytes);
      } catch (error) {
        if (!isOurs(error)) throw error;
      }
      if (performance.now() - start > 5000) throw new Error("took more than five seconds");
      const grown = process.memoryUsage().arrayBuffers - before;
      if (grown > 16 * file.length + (1 << 22)) throw new Error(`allocated ${grown} bytes for ${bytes.length}`);
    }),
    { seed: 7, numRuns },
  );
}
