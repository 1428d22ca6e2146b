/** @file Plugin: a shared library with the PJRT C API. */

import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { addon } from "./addon.js";
import { Client } from "./client.js";
import { PjrtError } from "./errors.js";
import type { NamedValue } from "./native.js";
import { bindRaw, type PluginHandle } from "./raw.js";
import { Topology } from "./topology.js";

/** Options of `Plugin.createClient`; names other than `devices` go to the plugin as they are. */
export interface ClientOptions {
  /** How many devices XLA's CPU plugin pretends to have. Its own default is 4. */
  readonly devices?: number;
  readonly [option: string]: NamedValue | undefined;
}

export interface PluginOptions {
  /** Environment variables to set, if unset, before the plugin is loaded. */
  readonly env?: Readonly<Record<string, string>>;
}

/** XLA logs to standard error from this level on: only what ends the process, since errors are thrown. */
const quiet = { TF_CPP_MIN_LOG_LEVEL: "3" };

/**
 * Where there is no TPU, libtpu would ask the cloud's metadata server for minutes, refuse to be loaded by two processes
 * at once, and complain that it does not know what machine it is on. Topologies do not depend on the machine named here.
 */
const withoutTpu = {
  TPU_SKIP_MDS_QUERY: "1",
  ALLOW_MULTIPLE_LIBTPU_LOAD: "1",
  TPU_WORKER_HOSTNAMES: "localhost",
  TPU_ACCELERATOR_TYPE: "v5litepod-4",
};

const tpuDevices = ["/dev/accel0", "/dev/vfio/0"];

function environment(path: string, options: PluginOptions): [string, string][] {
  const isLibtpu = basename(path).includes("libtpu");
  const hasTpu = tpuDevices.some((device) => existsSync(device));
  return Object.entries({ ...quiet, ...(isLibtpu && !hasTpu ? withoutTpu : {}), ...options.env });
}

const plugins = new Map<string, Plugin>();

/** A loaded plugin. There is one for each path; it stays loaded as long as the process runs. */
export class Plugin {
  /** The version of the PJRT C API that the plugin was built with. */
  readonly apiVersion: { readonly major: number; readonly minor: number };
  /** What the plugin says of itself, such as `stablehlo_current_version`. */
  readonly attributes: Readonly<Record<string, NamedValue>>;
  /** The numbers of the API extensions that the plugin has. */
  readonly extensions: readonly number[];

  private constructor(
    readonly path: string,
    readonly handle: PluginHandle,
  ) {
    const { major, minor, attributes, extensions } = addon().pluginInfo(handle);
    this.apiVersion = { major, minor };
    this.attributes = attributes;
    this.extensions = extensions;
  }

  /**
   * Loads the plugin at `path`, once per process.
   *
   * @throws PjrtError `NOT_FOUND` if there is no such file or it does not load, `INVALID_ARGUMENT` if it is no plugin.
   */
  static load(path: string, options: PluginOptions = {}): Plugin {
    const absolute = resolve(path);
    const known = plugins.get(absolute);
    if (known) return known;
    if (!existsSync(absolute)) {
      throw new PjrtError(
        "NOT_FOUND",
        `Plugin.load(): expected a PJRT plugin at ${absolute}, found no file. Set TORCH_TPU_PLUGIN_PATH to one, or fetch ` +
          `XLA's CPU plugin with "npx torch-tpu setup".`,
      );
    }
    bindRaw();
    const plugin = new Plugin(absolute, addon().loadPlugin(absolute, environment(absolute, options)));
    plugins.set(absolute, plugin);
    return plugin;
  }

  /** A client of this plugin's devices. Several may exist; their buffers do not mix. */
  createClient(options: ClientOptions = {}): Client {
    const { devices, ...rest } = options;
    const entries = Object.entries(rest).filter((e): e is [string, NamedValue] => e[1] !== undefined);
    if (devices !== undefined) entries.push(["cpu_device_count", devices]);
    return new Client(this, addon().createClient(this.handle, entries));
  }

  /**
   * A description of devices that need not be here, to compile for.
   *
   * @param name such as `v5e:2x2` for libtpu
   * @throws UnimplementedError on XLA's CPU plugins
   */
  createTopology(name: string, options: Readonly<Record<string, NamedValue>> = {}): Topology {
    return new Topology(addon().createTopology(this.handle, name, Object.entries(options)));
  }

  toString(): string {
    return `Plugin(${this.path}, PJRT API ${this.apiVersion.major}.${this.apiVersion.minor})`;
  }
}
