/** @file Before all tests: XLA's CPU plugin is fetched if it is missing, once, and its path is told to every test. */

import { AssetError, cpuPluginPath } from "../../src/assets/index.js";

/** Called by vitest. Without a plugin the tests that need none still run. */
export async function setup(): Promise<void> {
  try {
    process.env.TORCH_TPU_PLUGIN_PATH = await cpuPluginPath();
  } catch (error) {
    if (!(error instanceof AssetError)) throw error;
    console.warn(`Tests that need XLA's CPU plugin are skipped or fail: ${error.message}`);
  }
}
