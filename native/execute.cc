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

// Reads lists[d][i] into `buffers` (device-major). All lists must have the same length, which is returned in `num_args`.
bool ReadArgumentLists(napi_env env, Executable* executable, napi_value lists, std::vector<Buffer*>* buffers,
                       size_t* num_args) {
  const size_t num_devices = executable->devices.size();
  uint32_t count;
  if (napi_get_array_length(env, lists, &count) != napi_ok || count != num_devices) {
    ThrowInvalid(env, "execute(): expected an array of arguments for each of " + std::to_string(num_devices) +
                          " devices, got " + Describe(env, lists));
    return false;
  }
  for (uint32_t d = 0; d < count; d++) {
    napi_value list = nullptr, value = nullptr;
    uint32_t length;
    if (napi_get_element(env, lists, d, &list) != napi_ok) return false;
    if (napi_get_array_length(env, list, &length) != napi_ok || (d > 0 && length != *num_args)) {
      ThrowInvalid(env, "execute(): expected the same number of arguments for every device");
      return false;
    }
    *num_args = length;
    for (uint32_t i = 0; i < length; i++) {
      if (napi_get_element(env, list, i, &value) != napi_ok) return false;
      Buffer* buffer = GetArgument(env, executable->client, value, i);
      if (!buffer) return false;
      buffers->push_back(buffer);
    }
  }
  return true;
}

// executeSharded(executable, args: Buffer[][], nonDonatable: number[]): Buffer[][], by device
napi_value ExecuteSharded(napi_env env, napi_callback_info info) {
  Args<3> args(env, info);
  Executable* executable = GetLoaded(env, args[0]);
  std::vector<Buffer*> buffers;
  std::vector<int64_t> kept;
  size_t num_args = 0;
  if (!executable || !ReadArgumentLists(env, executable, args[1], &buffers, &num_args)) return nullptr;
  if (!IsNullish(env, args[2]) && !GetInts(env, args[2], "execute(): nonDonatable", &kept)) return nullptr;
  const size_t num_devices = executable->devices.size();
  const size_t num_outputs = executable->outputs.size();
  std::vector<PJRT_Buffer*> inputs(buffers.size()), results(num_devices * num_outputs);
  std::vector<PJRT_Buffer* const*> input_lists(num_devices);
  std::vector<PJRT_Buffer**> result_lists(num_devices);
  for (size_t i = 0; i < buffers.size(); i++) inputs[i] = buffers[i]->pjrt;
  for (size_t d = 0; d < num_devices; d++) {
    input_lists[d] = inputs.data() + d * num_args;
    result_lists[d] = results.data() + d * num_outputs;
  }
  PJRT_ARGS(PJRT_ExecuteOptions, options);
  options.non_donatable_input_indices = kept.data();
  options.num_non_donatable_input_indices = kept.size();
  PJRT_ARGS(PJRT_LoadedExecutable_Execute_Args, run);
  run.executable = executable->loaded;
  run.options = &options;
  run.argument_lists = input_lists.data();
  run.num_devices = num_devices;
  run.num_args = num_args;
  run.output_lists = result_lists.data();
  PJRT_Error* error = executable->api->PJRT_LoadedExecutable_Execute(&run);
  if (executable->may_donate) MarkDonated(env, executable->api, buffers.data(), buffers.size());
  if (ThrowIfError(env, executable->api, error)) return nullptr;
  napi_value lists = nullptr;
  napi_create_array_with_length(env, num_devices, &lists);
  for (size_t d = 0; d < num_devices; d++) {
    if (!executable->layouts_known) LearnLayouts(executable, result_lists[d]);
    executable->layouts_known = true;
    napi_set_element(env, lists, d, MakeResults(env, executable, executable->devices[d], result_lists[d], true));
  }
  ReportExternalBytes(env, num_devices * (executable->output_bytes + kBufferOverhead * num_outputs));
  return lists;
}

}  // namespace

void ExportExecute(napi_env env, napi_value exports) {
  Export(env, exports, "execute", Execute);
  Export(env, exports, "executeSpread", ExecuteSpread);
  Export(env, exports, "executeSharded", ExecuteSharded);
}

}  // namespace tt
