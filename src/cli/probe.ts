/**
 * @file Run by doctor in a process of its own, since a broken plugin can end the process that loads it:
 * `node probe.js addon` or `node probe.js plugin PATH`. Prints what it found as JSON lines, one a step.
 */

import { fileURLToPath } from "node:url";
import { spawnSync } from "node:child_process";

/** One step of a probe: what it found, or the error that ended the probe. */
export interface ProbeStep {
  readonly step: "addon" | "plugin" | "client";
  readonly detail?: string;
  readonly error?: string;
}

/** Runs a probe in a child process and returns its steps; a crash is an error of the step that never answered. */
export function probe(args: readonly string[], env: NodeJS.ProcessEnv = {}): readonly ProbeStep[] {
  const child = spawnSync(process.execPath, [compiledScript(), ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 120_000,
    env: { ...process.env, ...env },
  });
  const steps = child.stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as ProbeStep);
  if (child.status === 0) return steps;
  const how = child.signal ? `the process died with ${child.signal}` : `exit status ${child.status}`;
  const last = child.stderr.trim().split("\n").slice(-3).join(" | ");
  return [...steps, { step: steps.length === 0 ? "addon" : "client", error: last ? `${how}: ${last}` : how }];
}

/** This file, compiled; tests run it as TypeScript, which a child process of Node 20 cannot. */
function compiledScript(): string {
  const self = fileURLToPath(import.meta.url);
  return self.endsWith(".js") ? self : fileURLToPath(new URL("../../dist/src/cli/probe.js", import.meta.url));
}

async function run(args: readonly string[]): Promise<void> {
  const say = (step: ProbeStep): void => void process.stdout.write(JSON.stringify(step) + "\n");
  let step: ProbeStep["step"] = "addon";
  try {
    const { addonPath, Plugin } = await import("../pjrt/index.js");
    const { addon } = await import("../pjrt/addon.js");
    addon();
    say({ step, detail: addonPath() });
    if (args[0] !== "plugin") return;
    step = "plugin";
    const plugin = Plugin.load(args[1]);
    const { major, minor } = plugin.apiVersion;
    say({ step, detail: `PJRT API ${major}.${minor}` });
    step = "client";
    const { platformName, devices } = plugin.createClient();
    const names = devices.slice(0, 4).map((device) => device.kind);
    const more = devices.length > names.length ? ", …" : "";
    say({ step, detail: `platform ${platformName}, ${devices.length} device(s): ${names.join(", ")}${more}` });
  } catch (error) {
    say({ step, error: error instanceof Error ? error.message : String(error) });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await run(process.argv.slice(2));
