#include "torch_tpu.h"
namespace tt { void ExportAsync(napi_env, napi_value) {} void ExportTopology(napi_env, napi_value) {} }
