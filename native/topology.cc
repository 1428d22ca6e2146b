// Topologies: devices that need not be here, to compile for.
#include "torch_tpu.h"

namespace tt {

namespace {

void FinalizeTopology(node_api_basic_env, void* data, void*) {
  Topology* topology = static_cast<Topology*>(data);
  if (topology->owned) {
    PJRT_ARGS(PJRT_TopologyDescription_Destroy_Args, args);
    args.topology = topology->pjrt;
    if (PJRT_Error* error = topology->api->PJRT_TopologyDescription_Destroy(&args)) TakeError(topology->api, error);
  }
  if (topology->client) topology->client->Release();
  delete topology;
}

napi_value MakeTopologyHandle(napi_env env, const PJRT_Api* api, PJRT_TopologyDescription* pjrt, Client* owner) {
  Topology* topology = new Topology();
  topology->api = api;
  topology->pjrt = pjrt;
  topology->owned = owner == nullptr;
  topology->client = owner;
  if (owner) owner->Retain();
  napi_value handle = nullptr;
  if (napi_create_external(env, topology, FinalizeTopology, nullptr, &handle) != napi_ok) {
    FinalizeTopology(env, topology, nullptr);
  }
  return handle;
}

// createTopology(plugin, name, options)
napi_value CreateTopology(napi_env env, napi_callback_info info) {
  Args<3> args(env, info);
  Plugin* plugin = GetPlugin(env, args[0], "createTopology");
  std::string name;
  NamedValues options;
  if (!plugin || !GetString(env, args[1], "createTopology(): name", &name) || !options.Read(env, args[2])) return nullptr;
  PJRT_ARGS(PJRT_TopologyDescription_Create_Args, create);
  create.topology_name = name.c_str();
  create.topology_name_size = name.size();
  create.create_options = options.values.data();
  create.num_options = options.values.size();
  CALL_OR_RETURN(env, plugin->api, PJRT_TopologyDescription_Create, &create, nullptr);
  return MakeTopologyHandle(env, plugin->api, create.topology, nullptr);
}

// clientTopology(client)
napi_value ClientTopology(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Client* client = GetClient(env, args[0], "topology");
  if (!client) return nullptr;
  PJRT_ARGS(PJRT_Client_TopologyDescription_Args, get);
  get.client = client->pjrt;
  CALL_OR_RETURN(env, client->api, PJRT_Client_TopologyDescription, &get, nullptr);
  return MakeTopologyHandle(env, client->api, get.topology, client);
}

// disposeTopology(topology): refuses new work; freed with the handle.
napi_value DisposeTopology(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Topology* topology = Unwrap<Topology>(env, args[0]);
  if (!topology) return ThrowInvalid(env, "dispose(): expected a topology, got " + Describe(env, args[0]));
  topology->disposed = true;
  return nullptr;
}

// topologyInfo(topology): { platformName, platformVersion, attributes, devices }
napi_value TopologyInfo(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Topology* topology = GetTopology(env, args[0], "topologyInfo");
  if (!topology) return nullptr;
  const PJRT_Api* api = topology->api;
  PJRT_ARGS(PJRT_TopologyDescription_PlatformName_Args, name);
  PJRT_ARGS(PJRT_TopologyDescription_PlatformVersion_Args, version);
  PJRT_ARGS(PJRT_TopologyDescription_Attributes_Args, attributes);
  PJRT_ARGS(PJRT_TopologyDescription_GetDeviceDescriptions_Args, list);
  name.topology = list.topology = topology->pjrt;
  version.topology = attributes.topology = topology->pjrt;
  CALL_OR_RETURN(env, api, PJRT_TopologyDescription_PlatformName, &name, nullptr);
  CALL_OR_RETURN(env, api, PJRT_TopologyDescription_PlatformVersion, &version, nullptr);
  CALL_OR_RETURN(env, api, PJRT_TopologyDescription_Attributes, &attributes, nullptr);
  CALL_OR_RETURN(env, api, PJRT_TopologyDescription_GetDeviceDescriptions, &list, nullptr);
  napi_value result = nullptr, devices = nullptr;
  napi_create_object(env, &result);
  napi_create_array_with_length(env, list.num_descriptions, &devices);
  for (size_t i = 0; i < list.num_descriptions; i++) {
    napi_value device = MakeDeviceDescription(env, api, list.descriptions[i]);
    if (!device) return nullptr;
    napi_set_element(env, devices, i, device);
  }
  Set(env, result, "platformName", MakeString(env, name.platform_name, name.platform_name_size));
  Set(env, result, "platformVersion", MakeString(env, version.platform_version, version.platform_version_size));
  Set(env, result, "attributes", MakeNamedValues(env, attributes.attributes, attributes.num_attributes));
  Set(env, result, "devices", devices);
  return result;
}

// compileForTopology(topology, mlir, options)
napi_value CompileForTopologyNow(napi_env env, napi_callback_info info) {
  Topology* topology;
  ProgramArgs program;
  PJRT_Executable* executable;
  if (!ParseTopologyProgram(env, info, &topology, &program)) return nullptr;
  PJRT_Error* error = CompileForTopology(topology, program.code, program.options, &executable);
  if (ThrowIfError(env, topology->api, error)) return nullptr;
  return MakeExecutableHandle(env, topology->api, nullptr, nullptr, executable);
}

}  // namespace

bool ParseTopologyProgram(napi_env env, napi_callback_info info, Topology** topology, ProgramArgs* out) {
  Args<3> args(env, info);
  void* options;
  size_t options_size;
  *topology = GetTopology(env, args[0], "compile");
  if (!*topology || !GetString(env, args[1], "compile(): program", &out->code) ||
      !GetBytes(env, args[2], "compile(): options", &options, &options_size)) {
    return false;
  }
  out->options.assign(static_cast<const char*>(options), options_size);
  return true;
}

PJRT_Error* CompileForTopology(Topology* topology, const std::string& text, const std::string& options,
                               PJRT_Executable** executable) {
  PJRT_ARGS(PJRT_Program, program);
  program.code = const_cast<char*>(text.data());
  program.code_size = text.size();
  program.format = "mlir";
  program.format_size = 4;
  PJRT_ARGS(PJRT_Compile_Args, args);
  args.topology = topology->pjrt;
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  args.client = topology->client ? topology->client->pjrt : nullptr;
  PJRT_Error* error = topology->api->PJRT_Compile(&args);
  *executable = error ? nullptr : args.executable;
  return error;
}

void ExportTopology(napi_env env, napi_value exports) {
  Export(env, exports, "createTopology", CreateTopology);
  Export(env, exports, "clientTopology", ClientTopology);
  Export(env, exports, "disposeTopology", DisposeTopology);
  Export(env, exports, "topologyInfo", TopologyInfo);
  Export(env, exports, "compileForTopology", CompileForTopologyNow);
}

}  // namespace tt
