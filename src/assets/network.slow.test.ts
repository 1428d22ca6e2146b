/** @file The pinned files as the index serves them today. Skipped, with the reason, where the index cannot be reached. */

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it, type TestContext, vi } from "vitest";
import { removeTemporaryFolders, temporaryFolder } from "../../tests/kit/fake_pip.js";
import { AssetError, type AssetName, ensureAsset, isOffline, verifyAsset } from "./index.js";

beforeAll(() => {
  vi.stubEnv("TORCH_TPU_HOME", temporaryFolder());
  vi.spyOn(process.stderr, "write").mockReturnValue(true);
});
afterAll(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  removeTemporaryFolders();
});

async function fetchOrSkip(context: TestContext, name: AssetName): Promise<string> {
  if (isOffline()) context.skip("TORCH_TPU_OFFLINE is set");
  try {
    return await ensureAsset(name);
  } catch (error) {
    if (error instanceof AssetError && error.kind === "pip-failed") context.skip(error.message);
    throw error;
  }
}

it("digits: 1,797 rows of 64 pixels and a label", async (context) => {
  const path = await fetchOrSkip(context, "digits");
  const rows = gunzipSync(readFileSync(path)).toString().trim().split("\n");
  expect(rows).toHaveLength(1797);
  expect(rows[0].split(",")).toHaveLength(65);
});

it("data: more than 3 MB of dialogue in 63 characters", async (context) => {
  const text = readFileSync(await fetchOrSkip(context, "data"), "latin1");
  expect(text.length).toBe(3_915_704);
  expect(new Set(text).size).toBe(63);
  expect(text).toContain("To be, or not to be");
  expect(await verifyAsset("data")).toBe(true);
});

it("pjrt-header: the header, without the plugin beside it", async (context) => {
  const header = readFileSync(await fetchOrSkip(context, "pjrt-header"), "utf8");
  expect(header).toContain("#define PJRT_API_MINOR");
  expect(await verifyAsset("pjrt-header")).toBe(true);
});
