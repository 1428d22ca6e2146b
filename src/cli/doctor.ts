/**
 * @file `torch-tpu doctor`: checks from the machine up to a running client. Works when nothing else does: whatever may
 * fail to load is loaded in a child process (probe.ts).
 */

import { AssetError, findAsset, libtpuPath, pluginPathOverride } from "../assets/index.js";
import { type Check, fail, ok, type Verdict, warn } from "./check.js";
import { checkAssets, checkCache, checkCompiler, checkMemory, checkNode, checkPlatform, tpuSigns } from "./machine.js";
import { packageVersion } from "./main.js";
import { probe, type ProbeStep } from "./probe.js";
import { formatTable } from "./table.js";

/** Prints every check; 1 when one of them is a failure, else 0. */
export async function doctor(options: { json: boolean }): Promise<number> {
  const checks = runChecks();
  const failed = checks.some((check) => check.verdict === "fail");
  process.stdout.write(
    options.json
      ? JSON.stringify({ version: packageVersion(), ok: !failed, checks }, null, 2) + "\n"
      : `torch-tpu ${packageVersion()}\n\n${printChecks(checks)}\n`,
  );
  return failed ? 1 : 0;
}

/** All checks, in the order in which things depend on each other. */
export function runChecks(): readonly Check[] {
  const addon = guarded("addon", checkAddon);
  return [
    guarded("node", checkNode),
    guarded("platform", checkPlatform),
    guarded("compiler", () => checkCompiler(addon.verdict === "ok")),
    addon,
    ...checkCpuPlugin(addon.verdict === "ok"),
    guarded("tpu", checkTpu),
    guarded("libtpu", checkLibtpu),
    guarded("memory", checkMemory),
    guarded("cache", checkCache),
    guarded("assets", checkAssets),
  ];
}

/** A check that throws is a failure with the error's words. */
function guarded(name: string, check: () => Check): Check {
  try {
    return check();
  } catch (error) {
    if (error instanceof AssetError) return fail(name, error.problem, error.remedy);
    return fail(
      name,
      error instanceof Error ? error.message : String(error),
      "Please report this: doctor should not fail.",
    );
  }
}

const REBUILD = 'Run "npx torch-tpu setup": it builds the addon, or says what is in the way.';

function checkAddon(): Check {
  const step = probe(["addon"])[0];
  if (step?.error === undefined && step?.detail !== undefined) return ok("addon", step.detail);
  return fail("addon", step?.error ?? "no answer from the process that loads it", REBUILD);
}

/** The plugin and a client of it: two checks, from one child process. */
function checkCpuPlugin(addonLoads: boolean): Check[] {
  let path: string | null = null;
  const plugin = guarded("plugin", () => {
    path = pluginPathOverride("doctor") ?? findAsset("cpu");
    if (path !== null) return ok("plugin", path);
    const remedy = 'Run "npx torch-tpu setup" (or let the first program fetch it), or set TORCH_TPU_PLUGIN_PATH.';
    return warn("plugin", "XLA's CPU plugin is not here yet", remedy);
  });
  if (path === null) return [plugin];
  if (!addonLoads) return [plugin, fail("client", "not tried: the native addon does not load", REBUILD)];
  return pluginAndClient(path, probe(["plugin", path]));
}

const OTHER_PLUGIN = 'Run "npx torch-tpu assets --verify"; unset TORCH_TPU_PLUGIN_PATH, or point it at another plugin.';

function pluginAndClient(path: string, steps: readonly ProbeStep[]): Check[] {
  const find = (name: ProbeStep["step"]): ProbeStep =>
    steps.find(({ step, error }) => step === name || error) ?? steps[0];
  return (["plugin", "client"] as const).map((name) => {
    const { detail, error } = find(name);
    if (error !== undefined) return fail(name, error, OTHER_PLUGIN);
    return ok(name, name === "plugin" ? `${detail}, ${path}` : (detail ?? ""));
  });
}

function checkTpu(): Check {
  const signs = tpuSigns();
  if (signs.length > 0) return ok("tpu", `found (${signs.join(", ")})`);
  return ok("tpu", "none on this machine: device tpu is virtual, run by XLA's CPU plugin");
}

function checkLibtpu(): Check {
  const path = libtpuPath();
  if (path !== null) return ok("libtpu", path);
  const remedy = 'Run "npx torch-tpu setup tpu" (Google Cloud terms apply).';
  if (tpuSigns().length > 0) return warn("libtpu", "not here: the TPU of this machine cannot be used", remedy);
  return ok("libtpu", `not here; only needed on a TPU VM or to compile for a TPU ahead of time (setup tpu)`);
}

const MARKS: Readonly<Record<Verdict, string>> = { ok: "ok", warn: "WARN", fail: "FAIL" };

function printChecks(checks: readonly Check[]): string {
  const table = formatTable(checks.map((check) => [MARKS[check.verdict], check.name, check.detail]));
  const remedies = checks
    .filter((check) => check.remedy !== undefined)
    .map((check) => `  ${check.name}: ${check.remedy}`);
  const count = (verdict: Verdict): number => checks.filter((check) => check.verdict === verdict).length;
  const summary = `${count("ok")} ok, ${count("warn")} warnings, ${count("fail")} failures`;
  return [table, ...(remedies.length ? ["", "What to do:", ...remedies] : []), "", summary].join("\n");
}
