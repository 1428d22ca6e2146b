/** @file Just enough protocol buffers to write CompileOptionsProto. */

/** Writes the fields of one message. https://protobuf.dev/programming-guides/encoding */
export class ProtoWriter {
  private readonly out: number[] = [];

  /** int32, int64, enum or bool. */
  int(field: number, value: number | bigint | boolean): this {
    this.varint(BigInt(field) << 3n);
    this.varint(BigInt.asUintN(64, BigInt(value)));
    return this;
  }

  double(field: number, value: number): this {
    this.varint((BigInt(field) << 3n) | 1n);
    this.out.push(...new Uint8Array(Float64Array.of(value).buffer));
    return this;
  }

  float(field: number, value: number): this {
    this.varint((BigInt(field) << 3n) | 5n);
    this.out.push(...new Uint8Array(Float32Array.of(value).buffer));
    return this;
  }

  string(field: number, value: string): this {
    return this.bytes(field, new TextEncoder().encode(value));
  }

  message(field: number, write: (message: ProtoWriter) => void): this {
    const inner = new ProtoWriter();
    write(inner);
    return this.bytes(field, inner.finish());
  }

  /** A packed repeated field of integers. */
  ints(field: number, values: readonly (number | bigint)[]): this {
    const inner = new ProtoWriter();
    for (const value of values) inner.varint(BigInt.asUintN(64, BigInt(value)));
    return this.bytes(field, inner.finish());
  }

  bytes(field: number, data: Uint8Array): this {
    this.varint((BigInt(field) << 3n) | 2n);
    this.varint(BigInt(data.length));
    for (const byte of data) this.out.push(byte);
    return this;
  }

  finish(): Uint8Array {
    return Uint8Array.from(this.out);
  }

  private varint(value: bigint): void {
    for (; value > 127n; value >>= 7n) this.out.push(Number(value & 127n) | 128);
    this.out.push(Number(value));
  }
}
