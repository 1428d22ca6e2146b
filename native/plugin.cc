// Loading a plugin, its version and attributes.
#include "torch_tpu.h"

#include <dlfcn.h>
#include <stdlib.h>
#ifdef __linux__
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdio>
#include <map>
#include <mutex>

namespace tt {

namespace {

std::mutex registry_mutex;

// Plugins by path, for the whole process: worker threads share them.
std::map<std::string, Plugin*>& Registry() {
  static auto* registry = new std::map<std::string, Plugin*>();
  return *registry;
}

// libtpu gives every thread a timer that sends SIGPROF, and ignores the signal. Node sets all signals back to their
// defaults when it ends, and SIGPROF's is to end the process with a failure: so the timers end first.
void StopProfilingTimers(void*) {
#ifdef __linux__
  FILE* timers = fopen("/proc/self/timers", "r");
  if (!timers) return;
  char line[128];
  std::vector<int> profiling;
  for (int id = -1, number = 0; fgets(line, sizeof line, timers);) {
    if (sscanf(line, "ID: %d", &number) == 1) id = number;
    if (sscanf(line, "signal: %d/", &number) == 1 && number == SIGPROF) profiling.push_back(id);
  }
  fclose(timers);
  for (int id : profiling) syscall(SYS_timer_delete, id);
#endif
}

// Loads and initializes. Null with `failure` set if that does not work.
Plugin* Open(const std::string& path, Failure* failure) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    *failure = {PJRT_Error_Code_NOT_FOUND, std::string("could not load the plugin: ") + dlerror()};
    return nullptr;
  }
  auto get_api = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
  const PJRT_Api* api = get_api ? get_api() : nullptr;
  if (!api) {
    *failure = {PJRT_Error_Code_INVALID_ARGUMENT, "expected a PJRT plugin, got a library without GetPjrtApi: " + path};
    return nullptr;
  }
  if (api->pjrt_api_version.major_version != PJRT_API_MAJOR) {
    *failure = {PJRT_Error_Code_FAILED_PRECONDITION,
                "expected a plugin with PJRT API 0.x, got " + std::to_string(api->pjrt_api_version.major_version) + "." +
                    std::to_string(api->pjrt_api_version.minor_version)};
    return nullptr;
  }
  PJRT_ARGS(PJRT_Plugin_Initialize_Args, args);
  if (PJRT_Error* error = api->PJRT_Plugin_Initialize(&args)) {
    *failure = TakeError(api, error);
    return nullptr;
  }
  Plugin* plugin = new Plugin();
  plugin->api = api;
  plugin->path = path;
  return plugin;
}

// loadPlugin(path, env: [name, value][]): sets variables that are unset, then loads the plugin once per process.
napi_value LoadPlugin(napi_env env, napi_callback_info info) {
  Args<2> args(env, info);
  std::string path;
  NamedValues variables;
  if (!GetString(env, args[0], "loadPlugin(): path", &path) || !variables.Read(env, args[1])) return nullptr;
  Plugin* plugin = nullptr;
  Failure failure;
  {
    std::lock_guard<std::mutex> lock(registry_mutex);
    auto found = Registry().find(path);
    if (found != Registry().end()) {
      plugin = found->second;
    } else {
      for (const PJRT_NamedValue& variable : variables.values) {
        if (variable.type == PJRT_NamedValue_kString) setenv(variable.name, variable.string_value, 0);
      }
      plugin = Open(path, &failure);
      if (plugin) Registry()[path] = plugin;
    }
  }
  if (!plugin) return Throw(env, failure.code, failure.message);
  EnvData* data = GetEnvData(env);
  if (!data->stops_timers) napi_add_env_cleanup_hook(env, StopProfilingTimers, nullptr);
  data->stops_timers = true;
  napi_value handle = nullptr;
  napi_create_external(env, plugin, nullptr, nullptr, &handle);
  return handle;
}

// pluginInfo(plugin): { major, minor, attributes, extensions: number[] }
napi_value PluginInfo(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Plugin* plugin = GetPlugin(env, args[0], "pluginInfo");
  if (!plugin) return nullptr;
  PJRT_ARGS(PJRT_Plugin_Attributes_Args, attributes);
  CALL_OR_RETURN(env, plugin->api, PJRT_Plugin_Attributes, &attributes, nullptr);
  napi_value result = nullptr, extensions = nullptr;
  napi_create_object(env, &result);
  napi_create_array(env, &extensions);
  Set(env, result, "major", MakeNumber(env, plugin->api->pjrt_api_version.major_version));
  Set(env, result, "minor", MakeNumber(env, plugin->api->pjrt_api_version.minor_version));
  Set(env, result, "attributes", MakeNamedValues(env, attributes.attributes, attributes.num_attributes));
  uint32_t count = 0;
  for (const PJRT_Extension_Base* e = plugin->api->extension_start; e; e = e->next) {
    napi_set_element(env, extensions, count++, MakeNumber(env, e->type));
  }
  Set(env, result, "extensions", extensions);
  return result;
}

}  // namespace

void ExportPlugin(napi_env env, napi_value exports) {
  Export(env, exports, "loadPlugin", LoadPlugin);
  Export(env, exports, "pluginInfo", PluginInfo);
}

}  // namespace tt
