// Buffers: upload, read, release, and what is known of them.
#include "torch_tpu.h"

#include <cstdio>

namespace tt {

namespace {

// Bytes of one element on the host; types smaller than a byte take one byte an element there.
int64_t ItemSize(PJRT_Buffer_Type type) {
  switch (type) {
    case PJRT_Buffer_Type_S16:
    case PJRT_Buffer_Type_U16:
    case PJRT_Buffer_Type_F16:
    case PJRT_Buffer_Type_BF16:
      return 2;
    case PJRT_Buffer_Type_S32:
    case PJRT_Buffer_Type_U32:
    case PJRT_Buffer_Type_F32:
      return 4;
    case PJRT_Buffer_Type_S64:
    case PJRT_Buffer_Type_U64:
    case PJRT_Buffer_Type_F64:
    case PJRT_Buffer_Type_C64:
      return 8;
    case PJRT_Buffer_Type_C128:
      return 16;
    case PJRT_Buffer_Type_INVALID:
    case PJRT_Buffer_Type_TOKEN:
      return 0;
    default:
      return 1;
  }
}

// Types that devices store in less than a byte an element; the host sees one byte an element.
bool IsPacked(PJRT_Buffer_Type type) {
  switch (type) {
    case PJRT_Buffer_Type_S4:
    case PJRT_Buffer_Type_U4:
    case PJRT_Buffer_Type_S2:
    case PJRT_Buffer_Type_U2:
    case PJRT_Buffer_Type_F4E2M1FN:
      return true;
    default:
      return false;
  }
}

void FinalizeBuffer(node_api_basic_env env, void* data, void*) {
  Buffer* buffer = static_cast<Buffer*>(data);
  ReleaseBuffer(env, buffer, Gone::kDisposed);
  buffer->client->Release();
  delete buffer;
}

}  // namespace

int64_t ByteSize(PJRT_Buffer_Type type, const int64_t* dims, size_t num_dims) {
  int64_t bytes = ItemSize(type);
  for (size_t i = 0; i < num_dims; i++) bytes *= dims[i];
  return bytes;
}

void ReportExternalBytes(node_api_basic_env env, int64_t change) {
  int64_t total;
  napi_adjust_external_memory(env, change, &total);
}

napi_value MakeBufferHandle(napi_env env, Client* client, PJRT_Buffer* pjrt, int32_t device, int64_t bytes,
                            Layout layout) {
  Buffer* buffer = new Buffer();
  buffer->pjrt = pjrt;
  buffer->client = client;
  buffer->bytes = bytes;
  buffer->device = device;
  buffer->layout = layout;
  client->Retain();
  DeviceMemory& memory = client->memory[device];
  memory.live += bytes;
  memory.buffers++;
  if (memory.live > memory.peak) memory.peak = memory.live;
  napi_value handle = nullptr;
  // Fails only while the environment is shutting down.
  if (napi_create_external(env, buffer, FinalizeBuffer, nullptr, &handle) != napi_ok) FinalizeBuffer(env, buffer, nullptr);
  return handle;
}

void ReleaseBuffer(node_api_basic_env env, Buffer* buffer, Gone why) {
  if (!buffer->pjrt) return;
  const PJRT_Api* api = buffer->client->api;
  PJRT_ARGS(PJRT_Buffer_Destroy_Args, args);
  args.buffer = buffer->pjrt;
  buffer->pjrt = nullptr;
  buffer->gone = why;
  if (PJRT_Error* error = api->PJRT_Buffer_Destroy(&args)) TakeError(api, error);
  DeviceMemory& memory = buffer->client->memory[buffer->device];
  memory.live -= buffer->bytes;
  memory.buffers--;
  ReportExternalBytes(env, -(buffer->bytes + kBufferOverhead));
}

napi_value ThrowGone(napi_env env, const char* fn, const Buffer* buffer) {
  return ThrowInvalid(env, std::string(fn) + (buffer->gone == Gone::kDonated
                                                  ? "(): expected a live buffer, got one that was donated to a program"
                                                  : "(): expected a live buffer, got a deleted one"));
}

Layout LayoutOf(const PJRT_Api* api, PJRT_Buffer* buffer) {
  PJRT_ARGS(PJRT_Buffer_ElementType_Args, element);
  element.buffer = buffer;
  if (PJRT_Error* error = api->PJRT_Buffer_ElementType(&element)) {
    TakeError(api, error);
    return Layout::kOther;
  }
  if (IsPacked(element.type)) return Layout::kOther;
  PJRT_ARGS(PJRT_Buffer_GetMemoryLayout_Args, args);
  args.buffer = buffer;
  if (PJRT_Error* error = api->PJRT_Buffer_GetMemoryLayout(&args)) {
    TakeError(api, error);
    return Layout::kOther;
  }
  if (args.layout.type != PJRT_Buffer_MemoryLayout_Type_Tiled || args.layout.tiled.num_tiles > 0) return Layout::kOther;
  const PJRT_Buffer_MemoryLayout_Tiled& tiled = args.layout.tiled;
  for (size_t i = 0; i < tiled.minor_to_major_size; i++) {
    if (tiled.minor_to_major[i] != static_cast<int64_t>(tiled.minor_to_major_size - 1 - i)) return Layout::kPermuted;
  }
  return Layout::kRowMajor;
}

PJRT_Event* ReadyEvent(napi_env env, Buffer* buffer) {
  PJRT_ARGS(PJRT_Buffer_ReadyEvent_Args, args);
  args.buffer = buffer->pjrt;
  if (ThrowIfError(env, buffer->client->api, buffer->client->api->PJRT_Buffer_ReadyEvent(&args))) return nullptr;
  return args.event;
}

bool ParseUpload(napi_env env, napi_callback_info info, Upload* upload) {
  Args<5> args(env, info);
  int64_t device, type;
  upload->client = GetClient(env, args[0], "upload");
  if (!upload->client || !GetInt(env, args[1], "upload(): device", &device) ||
      !GetBytes(env, args[2], "upload(): data", &upload->data, &upload->size) ||
      !GetInt(env, args[3], "upload(): type", &type)) {
    return false;
  }
  upload->view = args[2];
  const int64_t num_devices = upload->client->devices.size();
  if (device < 0 || device >= num_devices) {
    ThrowInvalid(env, "upload(): expected a device below " + std::to_string(num_devices) + ", got " +
                          std::to_string(device));
    return false;
  }
  upload->device = static_cast<int32_t>(device);
  upload->type = static_cast<PJRT_Buffer_Type>(type);
  if (type <= PJRT_Buffer_Type_INVALID || type == PJRT_Buffer_Type_TOKEN ||
      type > PJRT_Buffer_Type_F4E2M1FN) {  // plugins end the process for types they do not know
    ThrowInvalid(env, "upload(): expected a PJRT_Buffer_Type, got " + std::to_string(type));
    return false;
  }
  uint32_t rank;
  if (napi_get_array_length(env, args[4], &rank) != napi_ok || rank > kMaxRank) {
    ThrowInvalid(env, "upload(): expected an array of at most 64 dimensions, got " + Describe(env, args[4]));
    return false;
  }
  upload->rank = rank;
  double bytes = static_cast<double>(ItemSize(upload->type));
  for (uint32_t i = 0; i < rank; i++) {
    napi_value item = nullptr;
    if (napi_get_element(env, args[4], i, &item) != napi_ok || !GetInt(env, item, "upload(): dimension", &upload->dims[i]))
      return false;
    if (upload->dims[i] < 0) {
      ThrowInvalid(env, "upload(): expected dimensions of at least 0, got " + std::to_string(upload->dims[i]));
      return false;
    }
    bytes *= static_cast<double>(upload->dims[i]);
  }
  if (bytes != static_cast<double>(upload->size)) {
    char expected[400];
    std::snprintf(expected, sizeof expected, "%.0f", bytes);
    ThrowInvalid(env, std::string("upload(): expected ") + expected + " bytes, got " + std::to_string(upload->size));
    return false;
  }
  return true;
}

bool StartUpload(napi_env env, const Upload& upload, PJRT_HostBufferSemantics semantics,
                 PJRT_Client_BufferFromHostBuffer_Args* args) {
  static const char kNothing[1] = {0};
  *args = {};
  args->struct_size = PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE;
  args->client = upload.client->pjrt;
  args->data = upload.data ? upload.data : kNothing;
  args->type = upload.type;
  args->dims = upload.dims;
  args->num_dims = upload.rank;
  args->host_buffer_semantics = semantics;
  args->device = upload.client->devices[upload.device];
  const PJRT_Api* api = upload.client->api;
  return !ThrowIfError(env, api, api->PJRT_Client_BufferFromHostBuffer(args));
}

napi_value MakeUploadedHandle(napi_env env, const Upload& upload, PJRT_Buffer* pjrt) {
  const int64_t bytes = static_cast<int64_t>(upload.size);
  // Backends with tiled layouts say so when asked; on CPU an upload is always row-major.
  const Layout layout = upload.client->is_cpu && !IsPacked(upload.type) ? Layout::kRowMajor : Layout::kUnknown;
  napi_value handle = MakeBufferHandle(env, upload.client, pjrt, upload.device, bytes, layout);
  ReportExternalBytes(env, bytes + kBufferOverhead);
  return handle;
}

Layout KnownLayout(Buffer* buffer) {
  if (buffer->layout == Layout::kUnknown) buffer->layout = LayoutOf(buffer->client->api, buffer->pjrt);
  return buffer->layout;
}

bool GetShape(napi_env env, Buffer* buffer, PJRT_Buffer_Type* type, std::vector<int64_t>* dims) {
  const PJRT_Api* api = buffer->client->api;
  PJRT_ARGS(PJRT_Buffer_ElementType_Args, element);
  PJRT_ARGS(PJRT_Buffer_Dimensions_Args, dimensions);
  element.buffer = dimensions.buffer = buffer->pjrt;
  CALL_OR_RETURN(env, api, PJRT_Buffer_ElementType, &element, false);
  CALL_OR_RETURN(env, api, PJRT_Buffer_Dimensions, &dimensions, false);
  *type = element.type;
  dims->assign(dimensions.dims, dimensions.dims + dimensions.num_dims);
  return true;
}

namespace {

const void* HostPointer(napi_env env, Buffer* buffer) {
  PJRT_ARGS(PJRT_Buffer_UnsafePointer_Args, args);
  args.buffer = buffer->pjrt;
  if (ThrowIfError(env, buffer->client->api, buffer->client->api->PJRT_Buffer_UnsafePointer(&args))) return nullptr;
  return reinterpret_cast<const void*>(args.buffer_pointer);
}

// Copies dense elements in the order of `minor_to_major` to row-major ones.
void CopyPermuted(char* dst, const char* src, size_t item, const std::vector<int64_t>& dims,
                  const int64_t* minor_to_major) {
  const size_t rank = dims.size();
  std::vector<size_t> strides(rank), index(rank);
  size_t stride = item, count = 1;
  for (size_t i = 0; i < rank; i++) {
    strides[minor_to_major[i]] = stride;
    stride *= dims[minor_to_major[i]];
    count *= dims[i];
  }
  size_t offset = 0;
  for (size_t n = 0; n < count; n++, dst += item) {
    std::memcpy(dst, src + offset, item);
    for (size_t d = rank; d-- > 0;) {
      offset += strides[d];
      if (++index[d] < static_cast<size_t>(dims[d])) break;
      offset -= strides[d] * dims[d];
      index[d] = 0;
    }
  }
}

// Reads a ready buffer of the CPU whose dimensions lie in another order: some plugins ignore the layout asked for.
bool ReadPermuted(napi_env env, Buffer* buffer, void* dst, const void* src) {
  const PJRT_Api* api = buffer->client->api;
  PJRT_Buffer_Type type;
  std::vector<int64_t> dims;
  PJRT_ARGS(PJRT_Buffer_GetMemoryLayout_Args, layout);
  layout.buffer = buffer->pjrt;
  if (!GetShape(env, buffer, &type, &dims)) return false;
  if (ThrowIfError(env, api, api->PJRT_Buffer_GetMemoryLayout(&layout))) return false;
  CopyPermuted(static_cast<char*>(dst), static_cast<const char*>(src), ItemSize(type), dims,
               layout.layout.tiled.minor_to_major);
  return true;
}

}  // namespace

PJRT_Event* StartCopyToHost(napi_env env, Buffer* buffer, void* dst, size_t size) {
  const PJRT_Api* api = buffer->client->api;
  PJRT_Buffer_Type type;
  std::vector<int64_t> dims;
  if (!GetShape(env, buffer, &type, &dims)) return nullptr;
  // Without a layout the copy would keep the device's.
  std::vector<int64_t> minor_to_major(dims.size());
  for (size_t i = 0; i < dims.size(); i++) minor_to_major[i] = static_cast<int64_t>(dims.size() - 1 - i);
  PJRT_ARGS(PJRT_Buffer_MemoryLayout, layout);
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  layout.tiled.minor_to_major = minor_to_major.data();
  layout.tiled.minor_to_major_size = minor_to_major.size();
  PJRT_ARGS(PJRT_Buffer_ToHostBuffer_Args, args);
  args.src = buffer->pjrt;
  args.host_layout = &layout;
  args.dst = dst;
  args.dst_size = size;
  CALL_OR_RETURN(env, api, PJRT_Buffer_ToHostBuffer, &args, nullptr);
  return args.event;
}

bool ReadNow(napi_env env, Buffer* buffer, void* dst) {
  const PJRT_Api* api = buffer->client->api;
  const bool is_direct = buffer->client->is_cpu && KnownLayout(buffer) != Layout::kOther;
  if (buffer->bytes > 0 && !is_direct) {
    PJRT_Event* event = StartCopyToHost(env, buffer, dst, buffer->bytes);
    return event && AwaitAndFree(env, api, event);
  }
  PJRT_Event* ready = ReadyEvent(env, buffer);
  if (!ready || !AwaitAndFree(env, api, ready)) return false;
  if (buffer->bytes == 0) return true;
  const void* src = HostPointer(env, buffer);
  if (!src) return false;
  if (buffer->layout == Layout::kPermuted) return ReadPermuted(env, buffer, dst, src);
  std::memcpy(dst, src, buffer->bytes);
  return true;
}

bool CheckReadSize(napi_env env, const char* fn, const Buffer* buffer, size_t size) {
  if (static_cast<size_t>(buffer->bytes) == size) return true;
  ThrowInvalid(env, std::string(fn) + "(): expected a destination of " + std::to_string(buffer->bytes) +
                        " bytes, got " + std::to_string(size));
  return false;
}

namespace {

// upload(client, device, data, type, dims)
napi_value UploadCopy(napi_env env, napi_callback_info info) {
  Upload upload;
  PJRT_Client_BufferFromHostBuffer_Args args;
  if (!ParseUpload(env, info, &upload)) return nullptr;
  if (!StartUpload(env, upload, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, &args)) return nullptr;
  FreeEvent(upload.client->api, args.done_with_host_buffer);
  return MakeUploadedHandle(env, upload, args.buffer);
}

// read(buffer, dst): blocks until the value is there.
napi_value Read(napi_env env, napi_callback_info info) {
  Args<2> args(env, info);
  Buffer* buffer = GetBuffer(env, args[0], "read");
  void* dst;
  size_t size;
  if (!buffer || !GetBytes(env, args[1], "read(): destination", &dst, &size)) return nullptr;
  if (CheckReadSize(env, "read", buffer, size)) ReadNow(env, buffer, dst);
  return nullptr;
}

// ready(buffer): blocks until the value is there or has failed.
napi_value Ready(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Buffer* buffer = GetBuffer(env, args[0], "ready");
  if (!buffer) return nullptr;
  if (PJRT_Event* ready = ReadyEvent(env, buffer)) AwaitAndFree(env, buffer->client->api, ready);
  return nullptr;
}

// isReady(buffer)
napi_value IsReady(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Buffer* buffer = GetBuffer(env, args[0], "isReady");
  PJRT_Event* ready = buffer ? ReadyEvent(env, buffer) : nullptr;
  if (!ready) return nullptr;
  PJRT_ARGS(PJRT_Event_IsReady_Args, is_ready);
  is_ready.event = ready;
  PJRT_Error* error = buffer->client->api->PJRT_Event_IsReady(&is_ready);
  FreeEvent(buffer->client->api, ready);
  if (ThrowIfError(env, buffer->client->api, error)) return nullptr;
  return MakeBool(env, is_ready.is_ready);
}

// remove(buffer): frees the device memory now; harmless when repeated.
napi_value Remove(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Buffer* buffer = Unwrap<Buffer>(env, args[0]);
  if (!buffer) return ThrowInvalid(env, "delete(): expected a buffer, got " + Describe(env, args[0]));
  ReleaseBuffer(env, buffer, Gone::kDisposed);
  return nullptr;
}

// isDeleted(buffer): also true for a donated one.
napi_value IsDeleted(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Buffer* buffer = Unwrap<Buffer>(env, args[0]);
  if (!buffer) return ThrowInvalid(env, "isDeleted(): expected a buffer, got " + Describe(env, args[0]));
  return MakeBool(env, buffer->pjrt == nullptr);
}

// bufferInfo(buffer): { type, dims, device, bytes }
napi_value BufferInfo(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Buffer* buffer = GetBuffer(env, args[0], "bufferInfo");
  PJRT_Buffer_Type type;
  std::vector<int64_t> dims;
  if (!buffer || !GetShape(env, buffer, &type, &dims)) return nullptr;
  napi_value result = nullptr, shape = nullptr;
  napi_create_object(env, &result);
  napi_create_array_with_length(env, dims.size(), &shape);
  for (size_t i = 0; i < dims.size(); i++) napi_set_element(env, shape, i, MakeNumber(env, dims[i]));
  Set(env, result, "type", MakeNumber(env, type));
  Set(env, result, "dims", shape);
  Set(env, result, "device", MakeNumber(env, buffer->device));
  Set(env, result, "bytes", MakeNumber(env, buffer->bytes));
  return result;
}

// copyToDevice(buffer, device)
napi_value CopyToDevice(napi_env env, napi_callback_info info) {
  Args<2> args(env, info);
  Buffer* buffer = GetBuffer(env, args[0], "copyToDevice");
  int64_t device;
  if (!buffer || !GetInt(env, args[1], "copyToDevice(): device", &device)) return nullptr;
  Client* client = buffer->client;
  if (device < 0 || device >= static_cast<int64_t>(client->devices.size())) {
    return ThrowInvalid(env, "copyToDevice(): expected a device below " + std::to_string(client->devices.size()) +
                                 ", got " + std::to_string(device));
  }
  PJRT_ARGS(PJRT_Buffer_CopyToDevice_Args, copy);
  copy.buffer = buffer->pjrt;
  copy.dst_device = client->devices[device];
  CALL_OR_RETURN(env, client->api, PJRT_Buffer_CopyToDevice, &copy, nullptr);
  napi_value handle = MakeBufferHandle(env, client, copy.dst_buffer, static_cast<int32_t>(device), buffer->bytes,
                                       Layout::kUnknown);
  ReportExternalBytes(env, buffer->bytes + kBufferOverhead);
  return handle;
}

}  // namespace

void ExportBuffer(napi_env env, napi_value exports) {
  Export(env, exports, "upload", UploadCopy);
  Export(env, exports, "read", Read);
  Export(env, exports, "ready", Ready);
  Export(env, exports, "isReady", IsReady);
  Export(env, exports, "remove", Remove);
  Export(env, exports, "isDeleted", IsDeleted);
  Export(env, exports, "bufferInfo", BufferInfo);
  Export(env, exports, "copyToDevice", CopyToDevice);
}

}  // namespace tt
