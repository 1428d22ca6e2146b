// Execution: the hot path. No allocation besides the results, nothing asked of the plugin that is known already.
#include "torch_tpu.h"

namespace tt {

namespace {

// Room for the buffers of a call, on the stack where there are few.
template <typename T>
class Slots {
 public:
  explicit Slots(size_t count) : data_(count <= kInline ? inline_ : new T[count]) {}
  ~Slots() {
    if (data_ != inline_) delete[] data_;
  }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  T* get() { return data_; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  static constexpr size_t kInline = 64;
  T inline_[kInline];
  T* data_;
};

napi_value ThrowArgument(napi_env env, size_t index, const std::string& got) {
  return ThrowInvalid(env, "execute(): argument " + std::to_string(index) + ": expected a live buffer, got " + got);
}

// The buffer behind an argument of a program that runs on `client`; null if it threw.
Buffer* GetArgument(napi_env env, const Client* client, napi_value value, size_t index) {
  Buffer* buffer = Unwrap<Buffer>(env, value);
  if (buffer && buffer->pjrt && buffer->client == client) return buffer;
  if (!buffer) ThrowArgument(env, index, Describe(env, value));
  else if (buffer->client != client) ThrowArgument(env, index, "one of another client");
  else ThrowArgument(env, index, buffer->gone == Gone::kDonated ? "one that was donated to a program" : "a deleted one");
  return nullptr;
}

Executable* GetLoaded(napi_env env, napi_value value) {
  Executable* executable = GetExecutable(env, value, "execute");
  if (executable && !executable->loaded) {
    ThrowInvalid(env, "execute(): expected an executable of a client, got one compiled for a topology");
    return nullptr;
  }
  return executable;
}

// A program compiled with donation consumed some of its inputs: their handles must say so.
void MarkDonated(napi_env env, const PJRT_Api* api, Buffer** buffers, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!buffers[i]->pjrt) continue;  // the same buffer twice
    PJRT_ARGS(PJRT_Buffer_IsDeleted_Args, args);
    args.buffer = buffers[i]->pjrt;
    if (PJRT_Error* error = api->PJRT_Buffer_IsDeleted(&args)) TakeError(api, error);
    else if (args.is_deleted) ReleaseBuffer(env, buffers[i], Gone::kDonated);
  }
}

// The layouts of results are the same in every execution.
void LearnLayouts(Executable* executable, PJRT_Buffer* const* results) {
  for (size_t i = 0; i < executable->outputs.size(); i++) {
    executable->outputs[i].layout = LayoutOf(executable->api, results[i]);
  }
}

napi_value MakeResults(napi_env env, Executable* executable, int32_t device, PJRT_Buffer* const* results,
                       bool always_array) {
  const std::vector<Output>& outputs = executable->outputs;
  if (outputs.size() == 1 && !always_array) {
    return MakeBufferHandle(env, executable->client, results[0], device, outputs[0].bytes, outputs[0].layout);
  }
  napi_value array = nullptr;
  napi_create_array_with_length(env, outputs.size(), &array);
  for (size_t i = 0; i < outputs.size(); i++) {
    napi_value handle =
        MakeBufferHandle(env, executable->client, results[i], device, outputs[i].bytes, outputs[i].layout);
    napi_set_element(env, array, i, handle);
  }
  return array;
}

// Runs on the executable's one device.
napi_value RunOnOne(napi_env env, Executable* executable, const napi_value* values, size_t count) {
  const PJRT_Api* api = executable->api;
  if (executable->devices.size() != 1) {
    return ThrowInvalid(env, "execute(): expected an executable of one device, got one of " +
                                 std::to_string(executable->devices.size()));
  }
  Slots<Buffer*> buffers(count);
  Slots<PJRT_Buffer*> inputs(count);
  Slots<PJRT_Buffer*> results(executable->outputs.size());
  for (size_t i = 0; i < count; i++) {
    buffers[i] = GetArgument(env, executable->client, values[i], i);
    if (!buffers[i]) return nullptr;
    inputs[i] = buffers[i]->pjrt;
  }
  PJRT_ARGS(PJRT_ExecuteOptions, options);
  PJRT_Buffer* const* input_list = inputs.get();
  PJRT_Buffer** result_list = results.get();
  PJRT_ARGS(PJRT_LoadedExecutable_Execute_Args, args);
  args.executable = executable->loaded;
  args.options = &options;
  args.argument_lists = &input_list;
  args.num_devices = 1;
  args.num_args = count;
  args.output_lists = &result_list;
  PJRT_Error* error = api->PJRT_LoadedExecutable_Execute(&args);
  if (executable->may_donate) MarkDonated(env, api, buffers.get(), count);
  if (ThrowIfError(env, api, error)) return nullptr;
  if (!executable->layouts_known) {
    LearnLayouts(executable, result_list);
    executable->layouts_known = true;
  }
  napi_value handles = MakeResults(env, executable, executable->devices[0], result_list, false);
  ReportExternalBytes(env, executable->output_bytes + kBufferOverhead * executable->outputs.size());
  return handles;
}

// execute(executable, args: Buffer[])
napi_value Execute(napi_env env, napi_callback_info info) {
  Args<2> args(env, info);
  Executable* executable = GetLoaded(env, args[0]);
  uint32_t count;
  if (!executable) return nullptr;
  if (napi_get_array_length(env, args[1], &count) != napi_ok) {
    return ThrowInvalid(env, "execute(): expected an array of buffers, got " + Describe(env, args[1]));
  }
  Slots<napi_value> values(count);
  for (uint32_t i = 0; i < count; i++) {
    if (napi_get_element(env, args[1], i, &values[i]) != napi_ok) return nullptr;
  }
  return RunOnOne(env, executable, values.get(), count);
}

// executeSpread(executable, ...buffers): at most 8. Cheaper than an array, whose elements are read one call each.
napi_value ExecuteSpread(napi_env env, napi_callback_info info) {
  Args<9> args(env, info);
  Executable* executable = GetLoaded(env, args[0]);
  if (!executable) return nullptr;
  if (args.count > 9) return ThrowInvalid(env, "executeSpread(): expected at most 8 buffers");
  return RunOnOne(env, executable, args.at + 1, args.count - 1);
}

}  // namespace

void ExportExecute(napi_env env, napi_value exports) {
  Export(env, exports, "execute", Execute);
  Export(env, exports, "executeSpread", ExecuteSpread);
}

}  // namespace tt
