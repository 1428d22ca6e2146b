// Registration of what JavaScript calls, once for each environment (the main thread and every worker).
#include "torch_tpu.h"

namespace tt {

void Export(napi_env env, napi_value exports, const char* name, napi_callback fn) {
  napi_value value = nullptr;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, fn, nullptr, &value);
  napi_set_named_property(env, exports, name, value);
}

static void FinalizeEnvData(node_api_basic_env, void* data, void*) { delete static_cast<EnvData*>(data); }

}  // namespace tt

NAPI_MODULE_INIT() {
  napi_set_instance_data(env, new tt::EnvData(), tt::FinalizeEnvData, nullptr);
  tt::Export(env, exports, "setErrorFactory", tt::SetErrorFactory);
  tt::ExportPlugin(env, exports);
  tt::ExportClient(env, exports);
  tt::ExportBuffer(env, exports);
  tt::ExportExecutable(env, exports);
  tt::ExportExecute(env, exports);
  tt::ExportAsync(env, exports);
  tt::ExportTopology(env, exports);
  return exports;
}
