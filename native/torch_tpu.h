// What the files of this addon share: the structs behind handles, and helpers for arguments and errors.
//
// A handle is a napi external that points to one of these structs. Every struct begins with a magic number, so a wrong
// handle is an Error, not a crash. Structs are freed by the external's finalizer only, never earlier: a disposed handle
// still points to valid memory. Finalizers are basic (NAPI_VERSION_EXPERIMENTAL): V8 runs them during garbage collection,
// on the thread of the environment, so reference counts need no locks.
#pragma once

#include <node_api.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "pjrt_c_api.h"

namespace tt {

// Declares an argument struct of the PJRT C API with its struct_size set.
#define PJRT_ARGS(type, name) \
  type name{};                \
  name.struct_size = type##_STRUCT_SIZE

// Whether the plugin's function table reaches as far as `fn`.
#define HAS_FN(api, fn) \
  ((api)->struct_size >= offsetof(PJRT_Api, fn) + sizeof(void*) && (api)->fn != nullptr)

// Calls an optional function: throws UNIMPLEMENTED if the plugin is too old to have it, its error if it fails.
#define CALL_OR_RETURN(env, api, fn, args, result)                                       \
  do {                                                                                   \
    if (!HAS_FN(api, fn)) {                                                              \
      tt::Throw(env, PJRT_Error_Code_UNIMPLEMENTED, #fn ": this plugin does not have it"); \
      return result;                                                                     \
    }                                                                                    \
    if (tt::ThrowIfError(env, api, (api)->fn(args))) return result;                      \
  } while (0)

struct Completions;  // async.cc

// A loaded plugin. Never unloaded: PJRT plugins start threads that outlive any client.
struct Plugin {
  static constexpr uint64_t kMagic = 0x7074742d706c7567;
  uint64_t magic = kMagic;
  const PJRT_Api* api = nullptr;
  std::string path;
};

struct DeviceMemory {
  int64_t live = 0;
  int64_t peak = 0;
  int64_t buffers = 0;
};

struct Client {
  static constexpr uint64_t kMagic = 0x7074742d636c6e74;
  uint64_t magic = kMagic;
  const PJRT_Api* api = nullptr;
  PJRT_Client* pjrt = nullptr;
  int64_t refs = 1;
  bool disposed = false;
  bool is_cpu = false;
  std::vector<PJRT_Device*> devices;  // addressable, in the plugin's order
  std::vector<DeviceMemory> memory;   // one for each of `devices`

  void Retain() { ++refs; }
  void Release();
  // Index in `devices`; -1 if it is not addressable.
  int IndexOf(const PJRT_Device* device) const;
};

// How elements lie in memory. kPermuted: dense, but in another order of dimensions. kOther: tiled or packed.
enum class Layout : uint8_t { kUnknown, kRowMajor, kPermuted, kOther };
enum class Gone : uint8_t { kNo, kDisposed, kDonated };

struct Buffer {
  static constexpr uint64_t kMagic = 0x7074742d62756666;
  uint64_t magic = kMagic;
  PJRT_Buffer* pjrt = nullptr;  // null once disposed or donated
  Client* client = nullptr;
  int64_t bytes = 0;
  int32_t device = 0;
  Layout layout = Layout::kUnknown;
  Gone gone = Gone::kNo;
};

struct Topology {
  static constexpr uint64_t kMagic = 0x7074742d746f706f;
  uint64_t magic = kMagic;
  const PJRT_Api* api = nullptr;
  PJRT_TopologyDescription* pjrt = nullptr;
  Client* client = nullptr;  // whose topology it is, if it is a client's
  bool owned = true;
  bool disposed = false;
};

struct Output {
  int64_t bytes = 0;
  PJRT_Buffer_Type type = PJRT_Buffer_Type_INVALID;
  std::vector<int64_t> dims;
  Layout layout = Layout::kUnknown;  // known after the first execution
};

// A compiled program; `loaded` and `client` are null if it was compiled for a topology.
struct Executable {
  static constexpr uint64_t kMagic = 0x7074742d65786563;
  uint64_t magic = kMagic;
  const PJRT_Api* api = nullptr;
  PJRT_Executable* pjrt = nullptr;  // null once disposed
  PJRT_LoadedExecutable* loaded = nullptr;
  Client* client = nullptr;
  std::vector<Output> outputs;
  std::vector<int32_t> devices;  // indices of addressable devices, in the order of execution
  int64_t output_bytes = 0;      // of all outputs of one device
  bool may_donate = true;
  bool layouts_known = false;
};

// ---- errors.cc

// Throws the JavaScript error for a PJRT code. Returns null, for `return Throw(...)`.
napi_value Throw(napi_env env, int code, const std::string& message);
// Throws INVALID_ARGUMENT.
napi_value ThrowInvalid(napi_env env, const std::string& message);
// Makes the error without throwing it.
napi_value MakeError(napi_env env, int code, const std::string& message);
// Throws and frees `error`; false if it is null.
bool ThrowIfError(napi_env env, const PJRT_Api* api, PJRT_Error* error);
// Takes code and message out of an error and frees it. Any thread.
struct Failure {
  int code = 0;
  std::string message;
};
Failure TakeError(const PJRT_Api* api, PJRT_Error* error);
// Blocks until `event` is ready, frees it, throws its error. True if all is well.
bool AwaitAndFree(napi_env env, const PJRT_Api* api, PJRT_Event* event);
void FreeEvent(const PJRT_Api* api, PJRT_Event* event);
napi_value SetErrorFactory(napi_env env, napi_callback_info info);

// ---- values.cc

struct EnvData {
  napi_ref error_factory = nullptr;
  bool stops_timers = false;  // plugin.cc
  std::shared_ptr<Completions> completions;
};
EnvData* GetEnvData(napi_env env);

// What `typeof` says, for messages.
std::string Describe(napi_env env, napi_value value);
// The arguments of a call; missing ones are undefined.
template <size_t N>
struct Args {
  size_t count = N;
  napi_value at[N];
  Args(napi_env env, napi_callback_info info) { napi_get_cb_info(env, info, &count, at, nullptr, nullptr); }
  napi_value operator[](size_t i) const { return at[i]; }
};
bool GetString(napi_env env, napi_value value, const char* what, std::string* out);
bool GetInt(napi_env env, napi_value value, const char* what, int64_t* out);
bool GetInts(napi_env env, napi_value value, const char* what, std::vector<int64_t>* out);
// The bytes of any ArrayBufferView. They stay valid while the view is referenced and not detached.
bool GetBytes(napi_env env, napi_value value, const char* what, void** data, size_t* size);
bool IsNullish(napi_env env, napi_value value);

napi_value MakeString(napi_env env, const char* data, size_t size);
napi_value MakeString(napi_env env, const std::string& text);
napi_value MakeNumber(napi_env env, double value);
napi_value MakeBool(napi_env env, bool value);
napi_value MakeBytes(napi_env env, const void* data, size_t size);  // Uint8Array
napi_value MakeNamedValues(napi_env env, const PJRT_NamedValue* values, size_t count);
void Set(napi_env env, napi_value object, const char* name, napi_value value);

// Options given as [[name, string | number | boolean | number[]], ...].
struct NamedValues {
  std::vector<PJRT_NamedValue> values;
  bool Read(napi_env env, napi_value list);

 private:
  std::vector<std::unique_ptr<std::string>> strings_;
  std::vector<std::unique_ptr<std::vector<int64_t>>> lists_;
};

// The struct behind a handle, or null if `value` is no handle of this kind.
template <typename T>
T* Unwrap(napi_env env, napi_value value) {
  void* data = nullptr;
  if (napi_get_value_external(env, value, &data) != napi_ok || data == nullptr) return nullptr;
  uint64_t magic;
  std::memcpy(&magic, data, sizeof magic);
  return magic == T::kMagic ? static_cast<T*>(data) : nullptr;
}

// The same, but throws. `fn` is the name of the JavaScript function.
Plugin* GetPlugin(napi_env env, napi_value value, const char* fn);
Client* GetClient(napi_env env, napi_value value, const char* fn);  // not disposed
Buffer* GetBuffer(napi_env env, napi_value value, const char* fn);  // not disposed, not donated
Executable* GetExecutable(napi_env env, napi_value value, const char* fn);  // not disposed
Topology* GetTopology(napi_env env, napi_value value, const char* fn);      // not disposed

// ---- client.cc

napi_value MakeDeviceDescription(napi_env env, const PJRT_Api* api, PJRT_DeviceDescription* device);

// ---- buffer.cc

// Throws for a buffer that is gone. Returns null.
napi_value ThrowGone(napi_env env, const char* fn, const Buffer* buffer);
// A handle that owns `pjrt`. Counts the buffer; the caller reports `bytes + kBufferOverhead` to V8.
napi_value MakeBufferHandle(napi_env env, Client* client, PJRT_Buffer* pjrt, int32_t device, int64_t bytes,
                            Layout layout);
// Frees the device memory as soon as what runs now no longer needs it. The handle stays valid.
void ReleaseBuffer(node_api_basic_env env, Buffer* buffer, Gone why);
void ReportExternalBytes(node_api_basic_env env, int64_t change);
Layout LayoutOf(const PJRT_Api* api, PJRT_Buffer* buffer);
int64_t ByteSize(PJRT_Buffer_Type type, const int64_t* dims, size_t num_dims);
PJRT_Event* ReadyEvent(napi_env env, Buffer* buffer);  // null if it threw
// The layout, asked for if it is not known. On CPU, row-major and permuted elements can be read through a pointer.
Layout KnownLayout(Buffer* buffer);
// Blocks until the value is there. False if it threw.
bool ReadNow(napi_env env, Buffer* buffer, void* dst);
// Starts a row-major copy; null if it threw.
PJRT_Event* StartCopyToHost(napi_env env, Buffer* buffer, void* dst, size_t size);
bool CheckReadSize(napi_env env, const char* fn, const Buffer* buffer, size_t size);

// The arguments (client, device, data, type, dims) of an upload, checked.
constexpr uint32_t kMaxRank = 64;
struct Upload {
  Client* client = nullptr;
  napi_value view = nullptr;
  void* data = nullptr;
  size_t size = 0;
  PJRT_Buffer_Type type = PJRT_Buffer_Type_INVALID;
  int32_t device = 0;
  uint32_t rank = 0;
  int64_t dims[kMaxRank];
};
bool ParseUpload(napi_env env, napi_callback_info info, Upload* upload);
bool StartUpload(napi_env env, const Upload& upload, PJRT_HostBufferSemantics semantics,
                 PJRT_Client_BufferFromHostBuffer_Args* args);
napi_value MakeUploadedHandle(napi_env env, const Upload& upload, PJRT_Buffer* pjrt);

// What a buffer costs this process besides its elements, so that many small ones are collected too.
constexpr int64_t kBufferOverhead = 512;

// ---- executable.cc

// The arguments (client, program, options) of compile and deserialize, copied.
struct ProgramArgs {
  Client* client = nullptr;
  std::string code;
  std::string options;
};
bool ParseProgram(napi_env env, napi_callback_info info, const char* fn, bool is_text, ProgramArgs* out);
// Any thread. Null error: `loaded` is set.
PJRT_Error* CompileProgram(Client* client, const std::string& text, const std::string& options,
                           PJRT_LoadedExecutable** loaded);
PJRT_Error* LoadProgram(Client* client, const std::string& bytes, const std::string& options,
                        PJRT_LoadedExecutable** loaded);
// A handle that owns `loaded` and `executable`; either may be null. Null if it threw.
napi_value MakeExecutableHandle(napi_env env, const PJRT_Api* api, Client* client, PJRT_LoadedExecutable* loaded,
                                PJRT_Executable* executable);

// ---- topology.cc

bool ParseTopologyProgram(napi_env env, napi_callback_info info, Topology** topology, ProgramArgs* out);
// Any thread. Null error: `executable` is set.
PJRT_Error* CompileForTopology(Topology* topology, const std::string& text, const std::string& options,
                               PJRT_Executable** executable);

// ---- registration: each file adds its functions to the addon's exports

void Export(napi_env env, napi_value exports, const char* name, napi_callback fn);
void ExportPlugin(napi_env env, napi_value exports);
void ExportClient(napi_env env, napi_value exports);
void ExportBuffer(napi_env env, napi_value exports);
void ExportExecutable(napi_env env, napi_value exports);
void ExportExecute(napi_env env, napi_value exports);
void ExportAsync(napi_env env, napi_value exports);
void ExportTopology(napi_env env, napi_value exports);

}  // namespace tt
