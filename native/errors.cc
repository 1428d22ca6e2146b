// PJRT errors become JavaScript errors. The classes are JavaScript's: it hands over a factory when the addon loads.
#include "torch_tpu.h"

namespace tt {

napi_value MakeError(napi_env env, int code, const std::string& message) {
  EnvData* data = GetEnvData(env);
  napi_value factory = nullptr, global = nullptr, error = nullptr;
  napi_value args[2] = {MakeNumber(env, code), MakeString(env, message)};
  if (data && data->error_factory) napi_get_reference_value(env, data->error_factory, &factory);
  napi_get_global(env, &global);
  if (factory && napi_call_function(env, global, factory, 2, args, &error) == napi_ok) return error;
  napi_create_error(env, nullptr, args[1], &error);
  return error;
}

napi_value Throw(napi_env env, int code, const std::string& message) {
  bool pending = false;
  napi_is_exception_pending(env, &pending);
  if (!pending) napi_throw(env, MakeError(env, code, message));
  return nullptr;
}

napi_value ThrowInvalid(napi_env env, const std::string& message) {
  return Throw(env, PJRT_Error_Code_INVALID_ARGUMENT, message);
}

Failure TakeError(const PJRT_Api* api, PJRT_Error* error) {
  PJRT_ARGS(PJRT_Error_GetCode_Args, code);
  code.error = error;
  code.code = PJRT_Error_Code_UNKNOWN;
  api->PJRT_Error_GetCode(&code);
  PJRT_ARGS(PJRT_Error_Message_Args, message);
  message.error = error;
  api->PJRT_Error_Message(&message);
  Failure failure{static_cast<int>(code.code), std::string(message.message, message.message_size)};
  PJRT_ARGS(PJRT_Error_Destroy_Args, destroy);
  destroy.error = error;
  api->PJRT_Error_Destroy(&destroy);
  return failure;
}

bool ThrowIfError(napi_env env, const PJRT_Api* api, PJRT_Error* error) {
  if (error == nullptr) return false;
  Failure failure = TakeError(api, error);
  Throw(env, failure.code, failure.message);
  return true;
}

void FreeEvent(const PJRT_Api* api, PJRT_Event* event) {
  if (event == nullptr) return;
  PJRT_ARGS(PJRT_Event_Destroy_Args, args);
  args.event = event;
  if (PJRT_Error* error = api->PJRT_Event_Destroy(&args)) TakeError(api, error);
}

bool AwaitAndFree(napi_env env, const PJRT_Api* api, PJRT_Event* event) {
  if (event == nullptr) return true;
  PJRT_ARGS(PJRT_Event_Await_Args, args);
  args.event = event;
  PJRT_Error* error = api->PJRT_Event_Await(&args);
  FreeEvent(api, event);
  return !ThrowIfError(env, api, error);
}

// setErrorFactory((code: number, message: string) => Error)
napi_value SetErrorFactory(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  EnvData* data = GetEnvData(env);
  if (data->error_factory) napi_delete_reference(env, data->error_factory);
  data->error_factory = nullptr;
  napi_create_reference(env, args[0], 1, &data->error_factory);
  return nullptr;
}

}  // namespace tt
