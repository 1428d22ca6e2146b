// Clients, their devices and memories.
#include "torch_tpu.h"

namespace tt {

void Client::Release() {
  if (--refs > 0) return;
  PJRT_ARGS(PJRT_Client_Destroy_Args, args);
  args.client = pjrt;
  if (PJRT_Error* error = api->PJRT_Client_Destroy(&args)) TakeError(api, error);
  delete this;
}

int Client::IndexOf(const PJRT_Device* device) const {
  for (size_t i = 0; i < devices.size(); i++) {
    if (devices[i] == device) return static_cast<int>(i);
  }
  return -1;
}

namespace {

void FinalizeClient(node_api_basic_env, void* data, void*) {
  Client* client = static_cast<Client*>(data);
  client->disposed = true;
  client->Release();
}

// createClient(plugin, options)
napi_value CreateClient(napi_env env, napi_callback_info info) {
  Args<2> args(env, info);
  Plugin* plugin = GetPlugin(env, args[0], "createClient");
  NamedValues options;
  if (!plugin || !options.Read(env, args[1])) return nullptr;
  const PJRT_Api* api = plugin->api;
  for (const PJRT_NamedValue& option : options.values) {  // older CPU plugins end the process for these
    const bool is_count = std::string(option.name, option.name_size) == "cpu_device_count";
    if (is_count && (option.type != PJRT_NamedValue_kInt64 || option.int64_value < 1 || option.int64_value > 4096)) {
      return ThrowInvalid(env, "createClient(): expected a number of devices from 1 to 4096");
    }
  }
  PJRT_ARGS(PJRT_Client_Create_Args, create);
  create.create_options = options.values.data();
  create.num_options = options.values.size();
  if (ThrowIfError(env, api, api->PJRT_Client_Create(&create))) return nullptr;

  Client* client = new Client();
  client->api = api;
  client->pjrt = create.client;
  PJRT_ARGS(PJRT_Client_PlatformName_Args, name);
  name.client = client->pjrt;
  PJRT_ARGS(PJRT_Client_AddressableDevices_Args, devices);
  devices.client = client->pjrt;
  if (ThrowIfError(env, api, api->PJRT_Client_PlatformName(&name)) ||
      ThrowIfError(env, api, api->PJRT_Client_AddressableDevices(&devices))) {
    client->Release();
    return nullptr;
  }
  client->is_cpu = std::string(name.platform_name, name.platform_name_size) == "cpu";
  client->devices.assign(devices.addressable_devices, devices.addressable_devices + devices.num_addressable_devices);
  client->memory.resize(client->devices.size());
  napi_value handle = nullptr;
  napi_create_external(env, client, FinalizeClient, nullptr, &handle);
  return handle;
}

// disposeClient(client): refuses new work; what it made lives on.
napi_value DisposeClient(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Client* client = Unwrap<Client>(env, args[0]);
  if (!client) return ThrowInvalid(env, "dispose(): expected a client, got " + Describe(env, args[0]));
  client->disposed = true;
  return nullptr;
}

napi_value DescribeMemory(napi_env env, const PJRT_Api* api, PJRT_Memory* memory) {
  PJRT_ARGS(PJRT_Memory_Id_Args, id);
  id.memory = memory;
  PJRT_ARGS(PJRT_Memory_Kind_Args, kind);
  kind.memory = memory;
  PJRT_ARGS(PJRT_Memory_ToString_Args, text);
  text.memory = memory;
  CALL_OR_RETURN(env, api, PJRT_Memory_Id, &id, nullptr);
  CALL_OR_RETURN(env, api, PJRT_Memory_Kind, &kind, nullptr);
  CALL_OR_RETURN(env, api, PJRT_Memory_ToString, &text, nullptr);
  napi_value result = nullptr;
  napi_create_object(env, &result);
  Set(env, result, "id", MakeNumber(env, id.id));
  Set(env, result, "kind", MakeString(env, kind.kind, kind.kind_size));
  Set(env, result, "text", MakeString(env, text.to_string, text.to_string_size));
  return result;
}

// The memories of a device; empty where the plugin has none.
napi_value DescribeMemories(napi_env env, const PJRT_Api* api, PJRT_Device* device) {
  napi_value result = nullptr;
  napi_create_array(env, &result);
  PJRT_ARGS(PJRT_Device_AddressableMemories_Args, list);
  list.device = device;
  if (PJRT_Error* error = api->PJRT_Device_AddressableMemories(&list)) {
    TakeError(api, error);
    return result;
  }
  PJRT_ARGS(PJRT_Device_DefaultMemory_Args, standard);
  standard.device = device;
  if (PJRT_Error* error = api->PJRT_Device_DefaultMemory(&standard)) TakeError(api, error);
  for (size_t i = 0; i < list.num_memories; i++) {
    napi_value memory = DescribeMemory(env, api, list.memories[i]);
    if (!memory) return nullptr;
    Set(env, memory, "isDefault", MakeBool(env, list.memories[i] == standard.memory));
    napi_set_element(env, result, i, memory);
  }
  return result;
}

napi_value DescribeDevice(napi_env env, Client* client, PJRT_Device* device) {
  PJRT_ARGS(PJRT_Device_GetDescription_Args, get);
  get.device = device;
  PJRT_ARGS(PJRT_Device_LocalHardwareId_Args, hardware);
  hardware.device = device;
  CALL_OR_RETURN(env, client->api, PJRT_Device_GetDescription, &get, nullptr);
  napi_value result = MakeDeviceDescription(env, client->api, get.device_description);
  if (!result) return nullptr;
  int index = client->IndexOf(device);
  Set(env, result, "index", MakeNumber(env, index));
  if (index < 0) return result;
  if (PJRT_Error* error = client->api->PJRT_Device_LocalHardwareId(&hardware)) {
    TakeError(client->api, error);
    hardware.local_hardware_id = -1;
  }
  Set(env, result, "localHardwareId", MakeNumber(env, hardware.local_hardware_id));
  napi_value memories = DescribeMemories(env, client->api, device);
  if (memories) Set(env, result, "memories", memories);
  return result;
}

// clientInfo(client): { platformName, platformVersion, processIndex, devices }
napi_value ClientInfo(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Client* client = GetClient(env, args[0], "clientInfo");
  if (!client) return nullptr;
  const PJRT_Api* api = client->api;
  PJRT_ARGS(PJRT_Client_PlatformName_Args, name);
  PJRT_ARGS(PJRT_Client_PlatformVersion_Args, version);
  PJRT_ARGS(PJRT_Client_ProcessIndex_Args, process);
  PJRT_ARGS(PJRT_Client_Devices_Args, list);
  name.client = version.client = process.client = list.client = client->pjrt;
  CALL_OR_RETURN(env, api, PJRT_Client_PlatformName, &name, nullptr);
  CALL_OR_RETURN(env, api, PJRT_Client_PlatformVersion, &version, nullptr);
  CALL_OR_RETURN(env, api, PJRT_Client_ProcessIndex, &process, nullptr);
  CALL_OR_RETURN(env, api, PJRT_Client_Devices, &list, nullptr);
  napi_value result = nullptr, devices = nullptr;
  napi_create_object(env, &result);
  napi_create_array_with_length(env, list.num_devices, &devices);
  Set(env, result, "platformName", MakeString(env, name.platform_name, name.platform_name_size));
  Set(env, result, "platformVersion", MakeString(env, version.platform_version, version.platform_version_size));
  Set(env, result, "processIndex", MakeNumber(env, process.process_index));
  for (size_t i = 0; i < list.num_devices; i++) {
    napi_value device = DescribeDevice(env, client, list.devices[i]);
    if (!device) return nullptr;
    napi_set_element(env, devices, i, device);
  }
  Set(env, result, "devices", devices);
  return result;
}

// memoryStats(client, device): bytes of the live buffers made through this client, counted here.
napi_value MemoryStats(napi_env env, napi_callback_info info) {
  Args<3> args(env, info);
  Client* client = Unwrap<Client>(env, args[0]);
  if (!client) return ThrowInvalid(env, "memoryStats(): expected a client, got " + Describe(env, args[0]));
  int64_t device;
  bool reset = false;
  if (!GetInt(env, args[1], "memoryStats(): device", &device)) return nullptr;
  if (device < 0 || device >= static_cast<int64_t>(client->memory.size())) {
    return ThrowInvalid(env, "memoryStats(): expected a device below " + std::to_string(client->memory.size()) +
                                 ", got " + std::to_string(device));
  }
  napi_get_value_bool(env, args[2], &reset);
  DeviceMemory& memory = client->memory[device];
  if (reset) memory.peak = memory.live;
  napi_value result = nullptr;
  napi_create_object(env, &result);
  Set(env, result, "liveBytes", MakeNumber(env, memory.live));
  Set(env, result, "peakBytes", MakeNumber(env, memory.peak));
  Set(env, result, "numBuffers", MakeNumber(env, memory.buffers));
  return result;
}

// allocatorStats(client, device): what the plugin's own allocator reports; throws where there is none.
napi_value AllocatorStats(napi_env env, napi_callback_info info) {
  Args<2> args(env, info);
  Client* client = GetClient(env, args[0], "allocatorStats");
  int64_t device;
  if (!client || !GetInt(env, args[1], "allocatorStats(): device", &device)) return nullptr;
  if (device < 0 || device >= static_cast<int64_t>(client->devices.size())) {
    return ThrowInvalid(env, "allocatorStats(): expected a device below " + std::to_string(client->devices.size()) +
                                 ", got " + std::to_string(device));
  }
  PJRT_ARGS(PJRT_Device_MemoryStats_Args, stats);
  stats.device = client->devices[device];
  CALL_OR_RETURN(env, client->api, PJRT_Device_MemoryStats, &stats, nullptr);
  napi_value result = nullptr;
  napi_create_object(env, &result);
  Set(env, result, "bytesInUse", MakeNumber(env, stats.bytes_in_use));
  if (stats.peak_bytes_in_use_is_set) Set(env, result, "peakBytesInUse", MakeNumber(env, stats.peak_bytes_in_use));
  if (stats.bytes_limit_is_set) Set(env, result, "bytesLimit", MakeNumber(env, stats.bytes_limit));
  if (stats.bytes_reserved_is_set) Set(env, result, "bytesReserved", MakeNumber(env, stats.bytes_reserved));
  if (stats.largest_free_block_bytes_is_set) {
    Set(env, result, "largestFreeBlockBytes", MakeNumber(env, stats.largest_free_block_bytes));
  }
  return result;
}

// defaultDeviceAssignment(client, replicas, partitions): device ids, replica-major.
napi_value DefaultDeviceAssignment(napi_env env, napi_callback_info info) {
  Args<3> args(env, info);
  Client* client = GetClient(env, args[0], "defaultDeviceAssignment");
  int64_t replicas, partitions;
  if (!client || !GetInt(env, args[1], "defaultDeviceAssignment(): replicas", &replicas) ||
      !GetInt(env, args[2], "defaultDeviceAssignment(): partitions", &partitions)) {
    return nullptr;
  }
  if (replicas < 1 || partitions < 1 || replicas > 1 << 20 || partitions > 1 << 20) {
    return ThrowInvalid(env, "defaultDeviceAssignment(): expected positive counts");
  }
  std::vector<int> ids(replicas * partitions);
  PJRT_ARGS(PJRT_Client_DefaultDeviceAssignment_Args, assign);
  assign.client = client->pjrt;
  assign.num_replicas = static_cast<int>(replicas);
  assign.num_partitions = static_cast<int>(partitions);
  assign.default_assignment = ids.data();
  assign.default_assignment_size = ids.size();
  CALL_OR_RETURN(env, client->api, PJRT_Client_DefaultDeviceAssignment, &assign, nullptr);
  napi_value result = nullptr;
  napi_create_array_with_length(env, ids.size(), &result);
  for (size_t i = 0; i < ids.size(); i++) napi_set_element(env, result, i, MakeNumber(env, ids[i]));
  return result;
}

}  // namespace

napi_value MakeDeviceDescription(napi_env env, const PJRT_Api* api, PJRT_DeviceDescription* device) {
  PJRT_ARGS(PJRT_DeviceDescription_Id_Args, id);
  PJRT_ARGS(PJRT_DeviceDescription_ProcessIndex_Args, process);
  PJRT_ARGS(PJRT_DeviceDescription_Attributes_Args, attributes);
  PJRT_ARGS(PJRT_DeviceDescription_Kind_Args, kind);
  PJRT_ARGS(PJRT_DeviceDescription_DebugString_Args, debug);
  PJRT_ARGS(PJRT_DeviceDescription_ToString_Args, text);
  id.device_description = process.device_description = attributes.device_description = device;
  kind.device_description = debug.device_description = text.device_description = device;
  CALL_OR_RETURN(env, api, PJRT_DeviceDescription_Id, &id, nullptr);
  CALL_OR_RETURN(env, api, PJRT_DeviceDescription_ProcessIndex, &process, nullptr);
  CALL_OR_RETURN(env, api, PJRT_DeviceDescription_Attributes, &attributes, nullptr);
  CALL_OR_RETURN(env, api, PJRT_DeviceDescription_Kind, &kind, nullptr);
  CALL_OR_RETURN(env, api, PJRT_DeviceDescription_DebugString, &debug, nullptr);
  CALL_OR_RETURN(env, api, PJRT_DeviceDescription_ToString, &text, nullptr);
  napi_value result = nullptr;
  napi_create_object(env, &result);
  Set(env, result, "id", MakeNumber(env, id.id));
  Set(env, result, "processIndex", MakeNumber(env, process.process_index));
  Set(env, result, "kind", MakeString(env, kind.device_kind, kind.device_kind_size));
  Set(env, result, "debugText", MakeString(env, debug.debug_string, debug.debug_string_size));
  Set(env, result, "text", MakeString(env, text.to_string, text.to_string_size));
  Set(env, result, "attributes", MakeNamedValues(env, attributes.attributes, attributes.num_attributes));
  return result;
}

void ExportClient(napi_env env, napi_value exports) {
  Export(env, exports, "createClient", CreateClient);
  Export(env, exports, "disposeClient", DisposeClient);
  Export(env, exports, "clientInfo", ClientInfo);
  Export(env, exports, "memoryStats", MemoryStats);
  Export(env, exports, "allocatorStats", AllocatorStats);
  Export(env, exports, "defaultDeviceAssignment", DefaultDeviceAssignment);
}

}  // namespace tt
