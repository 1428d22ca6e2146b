/** @file Reads the parameter types of a compiled program out of its HLO proto: the C API has no function for them. */

import { dtypeFromPjrt, type DType } from "../schema/index.js";

/** Element type and shape of an argument or result on one device. */
export interface ArrayType {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

// Field numbers of xla/service/hlo.proto and xla/xla_data.proto.
const moduleWithConfig = { module: 1 };
const hloModule = { hostProgramShape: 4 };
const programShape = { parameters: 1 };
const shape = { elementType: 2, dimensions: 3 };

/** PJRT_Buffer_Type by xla.PrimitiveType: the two count differently from 13 on. */
const pjrtFromPrimitive: Readonly<Record<number, number>> = {
  ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [i + 1, i + 1])),
  15: 14, // complex64
  16: 13, // bfloat16
  18: 15, // complex128
  19: 16, // float8_e5m2
  20: 17, // float8_e4m3fn
  21: 21, // int4
  22: 22, // uint4
  23: 18, // float8_e4m3b11fnuz
  24: 19, // float8_e5m2fnuz
  25: 20, // float8_e4m3fnuz
  26: 24, // int2
  27: 25, // uint2
  28: 26, // float8_e4m3
  29: 27, // float8_e3m4
  32: 29, // float4_e2m1fn
  33: 28, // float8_e8m0fnu
};

/** One field of a message: a varint's value, or the bytes of a message, string or packed list. */
interface Field {
  readonly number: number;
  readonly value: bigint;
  readonly bytes: Uint8Array | null;
}

function* varints(bytes: Uint8Array): Generator<bigint> {
  for (let at = 0; at < bytes.length; at++) {
    let value = 0n;
    let shift = 0n;
    for (; bytes[at] > 127; at++, shift += 7n) value |= BigInt(bytes[at] & 127) << shift;
    yield value | (BigInt(bytes[at]) << shift);
  }
}

function* fields(bytes: Uint8Array): Generator<Field> {
  let at = 0;
  const varint = (): bigint => {
    const { value } = varints(bytes.subarray(at, at + 10)).next();
    while (bytes[at++] > 127);
    return value as bigint;
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const number = tag >> 3;
    const wireType = tag & 7;
    if (wireType === 0) {
      yield { number, value: varint(), bytes: null };
      continue;
    }
    const length = wireType === 2 ? Number(varint()) : wireType === 1 ? 8 : 4;
    yield { number, value: 0n, bytes: bytes.subarray(at, at + length) };
    at += length;
  }
}

function* messages(bytes: Uint8Array, number: number): Generator<Uint8Array> {
  for (const field of fields(bytes)) if (field.number === number && field.bytes) yield field.bytes;
}

function readShape(bytes: Uint8Array): ArrayType {
  let primitive = 0;
  const dims: number[] = [];
  for (const field of fields(bytes)) {
    if (field.number === shape.elementType) primitive = Number(field.value);
    if (field.number === shape.dimensions)
      dims.push(...Array.from(field.bytes ? varints(field.bytes) : [field.value], Number));
  }
  return { dtype: dtypeFromPjrt(pjrtFromPrimitive[primitive] ?? 0), shape: dims };
}

/** The types of the parameters, or null if the program is in a format this file does not know. */
export function readParameterTypes(program: { format: string; code: Uint8Array }): readonly ArrayType[] | null {
  try {
    const isWrapped = program.format === "hlo_with_config";
    if (!isWrapped && program.format !== "hlo") return null;
    const [module] = isWrapped ? messages(program.code, moduleWithConfig.module) : [program.code];
    const [signature] = messages(module, hloModule.hostProgramShape);
    return signature ? [...messages(signature, programShape.parameters)].map(readShape) : null;
  } catch {
    return null; // A tuple or token, or a newer format: the plugin still checks sizes.
  }
}
