// Executables: compiling and loading in the foreground, and what is known of a compiled program.
#include "torch_tpu.h"

namespace tt {

namespace {

void DestroyExecutable(Executable* executable) {
  const PJRT_Api* api = executable->api;
  if (executable->pjrt) {
    PJRT_ARGS(PJRT_Executable_Destroy_Args, args);
    args.executable = executable->pjrt;
    executable->pjrt = nullptr;
    if (PJRT_Error* error = api->PJRT_Executable_Destroy(&args)) TakeError(api, error);
  }
  if (executable->loaded) {
    PJRT_ARGS(PJRT_LoadedExecutable_Destroy_Args, args);
    args.executable = executable->loaded;
    executable->loaded = nullptr;
    if (PJRT_Error* error = api->PJRT_LoadedExecutable_Destroy(&args)) TakeError(api, error);
  }
}

void FinalizeExecutable(node_api_basic_env, void* data, void*) {
  Executable* executable = static_cast<Executable*>(data);
  DestroyExecutable(executable);
  if (executable->client) executable->client->Release();
  delete executable;
}

// Types, shapes and sizes of the results.
bool LearnOutputs(napi_env env, Executable* executable) {
  const PJRT_Api* api = executable->api;
  PJRT_ARGS(PJRT_Executable_NumOutputs_Args, count);
  PJRT_ARGS(PJRT_Executable_OutputElementTypes_Args, types);
  PJRT_ARGS(PJRT_Executable_OutputDimensions_Args, dims);
  count.executable = types.executable = dims.executable = executable->pjrt;
  CALL_OR_RETURN(env, api, PJRT_Executable_NumOutputs, &count, false);
  executable->outputs.resize(count.num_outputs);
  if (count.num_outputs == 0) return true;
  CALL_OR_RETURN(env, api, PJRT_Executable_OutputElementTypes, &types, false);
  CALL_OR_RETURN(env, api, PJRT_Executable_OutputDimensions, &dims, false);
  if (types.num_output_types != count.num_outputs || dims.num_outputs != count.num_outputs) {
    Throw(env, PJRT_Error_Code_INTERNAL, "the plugin contradicts itself about the number of outputs");
    return false;
  }
  const int64_t* next = dims.dims;
  for (size_t i = 0; i < count.num_outputs; i++) {
    Output& output = executable->outputs[i];
    output.type = types.output_types[i];
    output.dims.assign(next, next + dims.dim_sizes[i]);
    output.bytes = ByteSize(output.type, output.dims.data(), output.dims.size());
    executable->output_bytes += output.bytes;
    next += dims.dim_sizes[i];
  }
  return true;
}

bool LearnDevices(napi_env env, Executable* executable) {
  PJRT_ARGS(PJRT_LoadedExecutable_AddressableDevices_Args, list);
  list.executable = executable->loaded;
  CALL_OR_RETURN(env, executable->api, PJRT_LoadedExecutable_AddressableDevices, &list, false);
  for (size_t i = 0; i < list.num_addressable_devices; i++) {
    const int index = executable->client->IndexOf(list.addressable_devices[i]);
    if (index < 0) {
      Throw(env, PJRT_Error_Code_INTERNAL, "the program runs on a device that the client does not have");
      return false;
    }
    executable->devices.push_back(index);
  }
  return true;
}

// Whether executions may consume inputs: only programs compiled with aliases do.
bool MayDonate(const Executable* executable) {
  PJRT_ARGS(PJRT_Executable_GetCompiledMemoryStats_Args, stats);
  stats.executable = executable->pjrt;
  if (!HAS_FN(executable->api, PJRT_Executable_GetCompiledMemoryStats)) return true;
  if (PJRT_Error* error = executable->api->PJRT_Executable_GetCompiledMemoryStats(&stats)) {
    TakeError(executable->api, error);
    return true;
  }
  return stats.alias_size_in_bytes + stats.host_alias_size_in_bytes > 0;
}

}  // namespace

napi_value MakeExecutableHandle(napi_env env, const PJRT_Api* api, Client* client, PJRT_LoadedExecutable* loaded,
                                PJRT_Executable* pjrt) {
  Executable* executable = new Executable();
  executable->api = api;
  executable->client = client;
  executable->loaded = loaded;
  executable->pjrt = pjrt;
  if (client) client->Retain();
  if (loaded && !pjrt) {
    PJRT_ARGS(PJRT_LoadedExecutable_GetExecutable_Args, get);
    get.loaded_executable = loaded;
    PJRT_Error* error = api->PJRT_LoadedExecutable_GetExecutable(&get);
    if (!ThrowIfError(env, api, error)) executable->pjrt = get.executable;
  }
  if (!executable->pjrt || !LearnOutputs(env, executable) || (loaded && !LearnDevices(env, executable))) {
    FinalizeExecutable(env, executable, nullptr);
    return nullptr;
  }
  executable->may_donate = MayDonate(executable);
  napi_value handle = nullptr;
  if (napi_create_external(env, executable, FinalizeExecutable, nullptr, &handle) != napi_ok) {
    FinalizeExecutable(env, executable, nullptr);
  }
  return handle;
}

PJRT_Error* CompileProgram(Client* client, const std::string& text, const std::string& options,
                           PJRT_LoadedExecutable** loaded) {
  PJRT_ARGS(PJRT_Program, program);
  program.code = const_cast<char*>(text.data());
  program.code_size = text.size();
  program.format = "mlir";
  program.format_size = 4;
  PJRT_ARGS(PJRT_Client_Compile_Args, args);
  args.client = client->pjrt;
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  PJRT_Error* error = client->api->PJRT_Client_Compile(&args);
  *loaded = error ? nullptr : args.executable;
  return error;
}

PJRT_Error* LoadProgram(Client* client, const std::string& bytes, const std::string& options,
                        PJRT_LoadedExecutable** loaded) {
  PJRT_ARGS(PJRT_Executable_DeserializeAndLoad_Args, args);
  args.client = client->pjrt;
  args.serialized_executable = bytes.data();
  args.serialized_executable_size = bytes.size();
  if (!options.empty()) {
    args.overridden_serialized_compile_options = options.data();
    args.overridden_serialized_compile_options_size = options.size();
  }
  PJRT_Error* error = client->api->PJRT_Executable_DeserializeAndLoad(&args);
  *loaded = error ? nullptr : args.loaded_executable;
  return error;
}

bool ParseProgram(napi_env env, napi_callback_info info, const char* fn, bool is_text, ProgramArgs* out) {
  Args<3> args(env, info);
  void *code = nullptr, *options = nullptr;
  size_t code_size = 0, options_size = 0;
  out->client = GetClient(env, args[0], fn);
  if (!out->client) return false;
  const std::string what = std::string(fn) + "(): program";
  if (is_text) {
    if (!GetString(env, args[1], what.c_str(), &out->code)) return false;
  } else {
    if (!GetBytes(env, args[1], what.c_str(), &code, &code_size)) return false;
    out->code.assign(static_cast<const char*>(code), code_size);
  }
  if (!GetBytes(env, args[2], (std::string(fn) + "(): options").c_str(), &options, &options_size)) return false;
  out->options.assign(static_cast<const char*>(options), options_size);
  return true;
}

namespace {

// compile(client, mlir, options)
napi_value Compile(napi_env env, napi_callback_info info) {
  ProgramArgs program;
  PJRT_LoadedExecutable* loaded;
  if (!ParseProgram(env, info, "compile", true, &program)) return nullptr;
  Client* client = program.client;
  if (ThrowIfError(env, client->api, CompileProgram(client, program.code, program.options, &loaded))) return nullptr;
  return MakeExecutableHandle(env, client->api, client, loaded, nullptr);
}

// deserialize(client, bytes, options): empty options keep those the program was compiled with.
napi_value Deserialize(napi_env env, napi_callback_info info) {
  ProgramArgs program;
  PJRT_LoadedExecutable* loaded;
  if (!ParseProgram(env, info, "deserialize", false, &program)) return nullptr;
  Client* client = program.client;
  if (ThrowIfError(env, client->api, LoadProgram(client, program.code, program.options, &loaded))) return nullptr;
  return MakeExecutableHandle(env, client->api, client, loaded, nullptr);
}

// disposeExecutable(executable): running executions finish.
napi_value DisposeExecutable(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Executable* executable = Unwrap<Executable>(env, args[0]);
  if (!executable) return ThrowInvalid(env, "dispose(): expected an executable, got " + Describe(env, args[0]));
  DestroyExecutable(executable);
  return nullptr;
}

napi_value MakeShape(napi_env env, const Output& output) {
  napi_value result = nullptr, dims = nullptr;
  napi_create_object(env, &result);
  napi_create_array_with_length(env, output.dims.size(), &dims);
  for (size_t i = 0; i < output.dims.size(); i++) napi_set_element(env, dims, i, MakeNumber(env, output.dims[i]));
  Set(env, result, "type", MakeNumber(env, output.type));
  Set(env, result, "dims", dims);
  Set(env, result, "bytes", MakeNumber(env, output.bytes));
  return result;
}

// executableInfo(executable): { name, numReplicas, numPartitions, codeBytes, outputs, devices }
napi_value ExecutableInfo(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Executable* executable = GetExecutable(env, args[0], "executableInfo");
  if (!executable) return nullptr;
  const PJRT_Api* api = executable->api;
  PJRT_ARGS(PJRT_Executable_Name_Args, name);
  PJRT_ARGS(PJRT_Executable_NumReplicas_Args, replicas);
  PJRT_ARGS(PJRT_Executable_NumPartitions_Args, partitions);
  name.executable = replicas.executable = partitions.executable = executable->pjrt;
  CALL_OR_RETURN(env, api, PJRT_Executable_Name, &name, nullptr);
  CALL_OR_RETURN(env, api, PJRT_Executable_NumReplicas, &replicas, nullptr);
  CALL_OR_RETURN(env, api, PJRT_Executable_NumPartitions, &partitions, nullptr);
  napi_value result = nullptr, outputs = nullptr, devices = nullptr;
  napi_create_object(env, &result);
  napi_create_array_with_length(env, executable->outputs.size(), &outputs);
  napi_create_array_with_length(env, executable->devices.size(), &devices);
  for (size_t i = 0; i < executable->outputs.size(); i++) {
    napi_set_element(env, outputs, i, MakeShape(env, executable->outputs[i]));
  }
  for (size_t i = 0; i < executable->devices.size(); i++) {
    napi_set_element(env, devices, i, MakeNumber(env, executable->devices[i]));
  }
  Set(env, result, "name", MakeString(env, name.executable_name, name.executable_name_size));
  Set(env, result, "numReplicas", MakeNumber(env, replicas.num_replicas));
  Set(env, result, "numPartitions", MakeNumber(env, partitions.num_partitions));
  Set(env, result, "outputs", outputs);
  Set(env, result, "devices", devices);
  return result;
}

// Two functions that came after the header this is built with: parameter and output shardings, as OpSharding protos.
constexpr int kShardingsExtension = 19;

struct ShardingsArgs {
  size_t struct_size = sizeof(ShardingsArgs);
  PJRT_Extension_Base* extension_start = nullptr;
  PJRT_Executable* executable = nullptr;
  size_t count = 0;
  const char* const* shardings = nullptr;
  const size_t* sizes = nullptr;
};

struct ShardingsExtension {
  PJRT_Extension_Base base;
  PJRT_Error* (*parameters)(ShardingsArgs*);
  PJRT_Error* (*outputs)(ShardingsArgs*);
};

// shardings(executable, outputs: boolean): Uint8Array[], or null if the program has none
napi_value Shardings(napi_env env, napi_callback_info info) {
  Args<2> args(env, info);
  Executable* executable = GetExecutable(env, args[0], "shardings");
  if (!executable) return nullptr;
  const PJRT_Extension_Base* extension = executable->api->extension_start;
  while (extension && static_cast<int>(extension->type) != kShardingsExtension) extension = extension->next;
  const auto* functions = reinterpret_cast<const ShardingsExtension*>(extension);
  bool outputs = false;
  napi_get_value_bool(env, args[1], &outputs);
  auto* get = !functions || extension->struct_size < sizeof(ShardingsExtension) ? nullptr
              : outputs                                                        ? functions->outputs
                                                                               : functions->parameters;
  if (!get) return Throw(env, PJRT_Error_Code_UNIMPLEMENTED, "shardings(): this plugin does not have them");
  ShardingsArgs list;
  list.executable = executable->pjrt;
  if (ThrowIfError(env, executable->api, get(&list))) return nullptr;
  napi_value result = nullptr;
  if (!list.shardings || !list.sizes) {
    napi_get_null(env, &result);
    return result;
  }
  napi_create_array_with_length(env, list.count, &result);
  for (size_t i = 0; i < list.count; i++) {
    napi_set_element(env, result, i, MakeBytes(env, list.shardings[i], list.sizes[i]));
  }
  return result;
}

// costAnalysis(executable): properties by name
napi_value CostAnalysis(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Executable* executable = GetExecutable(env, args[0], "costAnalysis");
  if (!executable) return nullptr;
  PJRT_ARGS(PJRT_Executable_GetCostAnalysis_Args, cost);
  cost.executable = executable->pjrt;
  CALL_OR_RETURN(env, executable->api, PJRT_Executable_GetCostAnalysis, &cost, nullptr);
  return MakeNamedValues(env, cost.properties, cost.num_properties);
}

// compiledMemoryStats(executable): bytes
napi_value CompiledMemoryStats(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Executable* executable = GetExecutable(env, args[0], "memoryStats");
  if (!executable) return nullptr;
  PJRT_ARGS(PJRT_Executable_GetCompiledMemoryStats_Args, stats);
  stats.executable = executable->pjrt;
  CALL_OR_RETURN(env, executable->api, PJRT_Executable_GetCompiledMemoryStats, &stats, nullptr);
  const struct {
    const char* name;
    int64_t bytes;
  } fields[] = {
      {"generatedCodeBytes", stats.generated_code_size_in_bytes}, {"argumentBytes", stats.argument_size_in_bytes},
      {"outputBytes", stats.output_size_in_bytes},                {"aliasBytes", stats.alias_size_in_bytes},
      {"tempBytes", stats.temp_size_in_bytes},                    {"hostArgumentBytes", stats.host_argument_size_in_bytes},
      {"hostOutputBytes", stats.host_output_size_in_bytes},       {"hostAliasBytes", stats.host_alias_size_in_bytes},
      {"hostTempBytes", stats.host_temp_size_in_bytes},           {"peakBytes", stats.peak_memory_in_bytes},
  };
  napi_value result = nullptr;
  napi_create_object(env, &result);
  for (const auto& field : fields) Set(env, result, field.name, MakeNumber(env, field.bytes));
  return result;
}

// optimizedProgram(executable): { format, code }
napi_value OptimizedProgram(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Executable* executable = GetExecutable(env, args[0], "optimizedProgram");
  if (!executable) return nullptr;
  PJRT_ARGS(PJRT_Program, program);
  PJRT_ARGS(PJRT_Executable_OptimizedProgram_Args, get);
  get.executable = executable->pjrt;
  get.program = &program;
  CALL_OR_RETURN(env, executable->api, PJRT_Executable_OptimizedProgram, &get, nullptr);
  std::string code(program.code_size, '\0');
  program.code = &code[0];
  CALL_OR_RETURN(env, executable->api, PJRT_Executable_OptimizedProgram, &get, nullptr);
  napi_value result = nullptr;
  napi_create_object(env, &result);
  Set(env, result, "format", MakeString(env, program.format, program.format_size));
  Set(env, result, "code", MakeBytes(env, code.data(), code.size()));
  return result;
}

// serialize(executable)
napi_value Serialize(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Executable* executable = GetExecutable(env, args[0], "serialize");
  if (!executable) return nullptr;
  PJRT_ARGS(PJRT_Executable_Serialize_Args, serialize);
  serialize.executable = executable->pjrt;
  CALL_OR_RETURN(env, executable->api, PJRT_Executable_Serialize, &serialize, nullptr);
  napi_value bytes = MakeBytes(env, serialize.serialized_bytes, serialize.serialized_bytes_size);
  if (serialize.serialized_executable_deleter) serialize.serialized_executable_deleter(serialize.serialized_executable);
  return bytes;
}

// fingerprint(executable): bytes
napi_value Fingerprint(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Executable* executable = GetExecutable(env, args[0], "fingerprint");
  if (!executable) return nullptr;
  PJRT_ARGS(PJRT_Executable_Fingerprint_Args, fingerprint);
  fingerprint.executable = executable->pjrt;
  CALL_OR_RETURN(env, executable->api, PJRT_Executable_Fingerprint, &fingerprint, nullptr);
  return MakeBytes(env, fingerprint.executable_fingerprint, fingerprint.executable_fingerprint_size);
}

}  // namespace

void ExportExecutable(napi_env env, napi_value exports) {
  Export(env, exports, "compile", Compile);
  Export(env, exports, "deserialize", Deserialize);
  Export(env, exports, "disposeExecutable", DisposeExecutable);
  Export(env, exports, "executableInfo", ExecutableInfo);
  Export(env, exports, "shardings", Shardings);
  Export(env, exports, "costAnalysis", CostAnalysis);
  Export(env, exports, "compiledMemoryStats", CompiledMemoryStats);
  Export(env, exports, "optimizedProgram", OptimizedProgram);
  Export(env, exports, "serialize", Serialize);
  Export(env, exports, "fingerprint", Fingerprint);
}

}  // namespace tt
