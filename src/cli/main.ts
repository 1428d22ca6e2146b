/** @file The commands of `npx torch-tpu`: their arguments, help and exit codes. Each command's code loads when it runs. */

import { readFileSync } from "node:fs";
import { Argument, Command, CommanderError } from "commander";
import type { CacheAction } from "./cache.js";
import { AssetError, assetTable } from "../assets/index.js";

/** Exit codes: 0 done, 1 failed, 2 wrong usage. */
const FAILED = 1;
const WRONG_USAGE = 2;

/** Runs one command line (without `node` and script) and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  let code = 0;
  const program = commands((exitCode) => {
    code = exitCode;
  });
  if (args.length === 0) {
    program.outputHelp({ error: true });
    return WRONG_USAGE;
  }
  try {
    await program.parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
    if (!(error instanceof AssetError)) throw error;
    process.stderr.write(`torch-tpu: ${error.message}\n`);
    return FAILED;
  }
}

function commands(exit: (code: number) => void): Command {
  const program = new Command("torch-tpu")
    .description("TorchTPU for TypeScript: PyTorch in TypeScript, on XLA.")
    .version(packageVersion(), "--version", "print the version")
    .showHelpAfterError()
    .exitOverride();
  program
    .command("setup")
    .description("fetch what programs need, through your own pip, and build the native addon if it is missing")
    .addArgument(new Argument("[what...]", "what to fetch; nothing means cpu").choices(SETUP_CHOICES))
    .action(async (what: string[]) => {
      const { setup } = await import("./setup.js");
      exit(await setup(what));
    });
  program
    .command("doctor")
    .description("check this machine, and say what to do about what is missing")
    .option("--json", "print the checks as JSON")
    .action(async (options: { json?: boolean }) => {
      const { doctor } = await import("./doctor.js");
      exit(await doctor({ json: options.json === true }));
    });
  program
    .command("assets")
    .description("list the assets: version, licence, size, state and path")
    .option("--json", "print the list as JSON")
    .option("--verify", "check the SHA-256 of every file that is here")
    .action(async (options: { json?: boolean; verify?: boolean }) => {
      const { assets } = await import("./assets.js");
      exit(await assets({ json: options.json === true, verify: options.verify === true }));
    });
  program
    .command("cache")
    .description("compiled programs: count them, list them, remove them, or copy the shared folder's to this host")
    .addArgument(new Argument("<action>", "what to do").choices(["stats", "list", "clear", "warm"]))
    .option("--json", "print stats or the list as JSON")
    .option("--shared", "clear the shared folder instead of this host's")
    .action(async (action: CacheAction, options: { json?: boolean; shared?: boolean }) => {
      const { cache } = await import("./cache.js");
      exit(cache(action, { json: options.json === true, shared: options.shared === true }));
    });
  program
    .command("inspect")
    .description("show what a model's file holds (.pt2, .pt, .safetensors, .gguf), and what is missing to run it")
    .argument("<file>", "the file")
    .action(async (file: string) => {
      const { inspect } = await import("./inspect.js");
      exit(inspect(file));
    });
  return program;
}

const SETUP_CHOICES = [...assetTable.map((spec) => spec.name), "all"];

/** The version in package.json, which lies two folders up from the source and three from the compiled file. */
export function packageVersion(): string {
  for (const path of ["../../package.json", "../../../package.json"]) {
    try {
      return (JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8")) as { version: string }).version;
    } catch {
      continue;
    }
  }
  return "unknown";
}
