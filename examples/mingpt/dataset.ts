/** @file Characters of a text as a data set: `block_size` characters and the same moved by one. */
import * as torch from "torch-tpu";
import type { Tensor } from "torch-tpu";
import { Dataset } from "torch-tpu/utils/data";

export class CharDataset extends Dataset<[Tensor, Tensor]> {
  constructor(
    /** Character numbers of the whole text. */
    private readonly data: BigInt64Array,
    readonly block_size: number,
  ) {
    super();
    if (data.length <= block_size)
      throw new Error(`CharDataset: expected more than block_size = ${block_size} characters, got ${data.length}`);
  }
  override get length(): number {
    return this.data.length - this.block_size;
  }
  override get(i: number): [Tensor, Tensor] {
    const piece = (from: number): Tensor => torch.from_typed_array(this.data.slice(from, from + this.block_size));
    return [piece(i), piece(i + 1)];
  }
}

/** The characters of a text and their numbers. */
export class CharTokenizer {
  private readonly numbers: Map<string, number>;
  constructor(readonly characters: readonly string[]) {
    this.numbers = new Map(characters.map((c, i) => [c, i]));
  }
  static of(text: string): CharTokenizer {
    return new CharTokenizer([...new Set(text)].sort());
  }
  get vocab_size(): number {
    return this.characters.length;
  }
  /** Throws for a character that the text did not have. */
  encode(text: string): BigInt64Array {
    return BigInt64Array.from([...text], (c) => {
      const n = this.numbers.get(c);
      if (n === undefined)
        throw new Error(`encode(): expected characters of the training text, got ${JSON.stringify(c)}`);
      return BigInt(n);
    });
  }
  decode(numbers: Iterable<number | bigint>): string {
    return [...numbers].map((n) => this.characters[Number(n)]).join("");
  }
}
