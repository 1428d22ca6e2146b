// What takes time: compiling in threads of the pool, and reading or waiting without blocking the event loop.
#include "torch_tpu.h"

#include <condition_variable>
#include <mutex>

namespace tt {

// ---- events: PJRT calls back on its own threads; a threadsafe function brings what is done to JavaScript's

namespace {
struct Pending;
}

struct Completions {
  std::mutex mutex;
  std::condition_variable changed;
  bool closed = false;        // the environment is gone: `wake` must not be called
  int64_t writing = 0;        // copies into memory that the environment owns
  std::vector<Pending*> done;
  napi_threadsafe_function wake = nullptr;
  int64_t awaited = 0;  // promises; while there are any, the process stays alive. JavaScript's thread only
};

namespace {

struct Pending {
  std::shared_ptr<Completions> completions;
  const PJRT_Api* api = nullptr;
  PJRT_Event* event = nullptr;
  napi_deferred deferred = nullptr;
  napi_ref value = nullptr;  // what a promise resolves to, or what must live until then
  bool is_writing = false;
  bool failed = false;
  Failure failure;
};

// Any thread.
void OnReady(PJRT_Error* error, void* data) {
  Pending* pending = static_cast<Pending*>(data);
  std::shared_ptr<Completions> completions = pending->completions;
  if (error) {
    pending->failed = true;
    pending->failure = TakeError(pending->api, error);
  }
  std::lock_guard<std::mutex> lock(completions->mutex);
  if (pending->is_writing) completions->writing--;
  completions->changed.notify_all();
  if (completions->closed) {
    FreeEvent(pending->api, pending->event);
    delete pending;
    return;
  }
  completions->done.push_back(pending);
  napi_call_threadsafe_function(completions->wake, nullptr, napi_tsfn_nonblocking);
}

void Settle(napi_env env, Pending* pending) {
  FreeEvent(pending->api, pending->event);
  napi_value value = nullptr;
  if (pending->value) {
    napi_get_reference_value(env, pending->value, &value);
    napi_delete_reference(env, pending->value);
  }
  if (!value) napi_get_undefined(env, &value);
  if (pending->deferred) {
    if (pending->failed) {
      napi_reject_deferred(env, pending->deferred, MakeError(env, pending->failure.code, pending->failure.message));
    } else {
      napi_resolve_deferred(env, pending->deferred, value);
    }
    if (--pending->completions->awaited == 0) napi_unref_threadsafe_function(env, pending->completions->wake);
  }
  delete pending;
}

void SettleAll(napi_env env, napi_value, void* context, void*) {
  Completions* completions = static_cast<Completions*>(context);
  std::vector<Pending*> done;
  {
    std::lock_guard<std::mutex> lock(completions->mutex);
    done.swap(completions->done);
  }
  if (!env) return;  // the environment is going down
  for (Pending* pending : done) Settle(env, pending);
}

// Runs before the environment frees its memory.
void CloseCompletions(void* data) {
  auto* owner = static_cast<std::shared_ptr<Completions>*>(data);
  {
    std::unique_lock<std::mutex> lock((*owner)->mutex);
    (*owner)->closed = true;
    (*owner)->changed.wait(lock, [&] { return (*owner)->writing == 0; });
    for (Pending* pending : (*owner)->done) {
      FreeEvent(pending->api, pending->event);
      delete pending;
    }
    (*owner)->done.clear();
  }
  delete owner;
}

// Calls back when `event` is ready. With a promise, returns it; `value` is what it resolves to.
napi_value Await(napi_env env, const PJRT_Api* api, PJRT_Event* event, napi_value value, bool is_writing,
                 bool with_promise) {
  Pending* pending = new Pending();
  pending->completions = GetEnvData(env)->completions;
  pending->api = api;
  pending->event = event;
  pending->is_writing = is_writing;
  if (value) napi_create_reference(env, value, 1, &pending->value);
  napi_value promise = nullptr;
  if (with_promise) {
    const napi_status status = napi_create_promise(env, &pending->deferred, &promise);
    if (status != napi_ok) pending->deferred = nullptr;  // a worker that is being terminated
    else if (pending->completions->awaited++ == 0) napi_ref_threadsafe_function(env, pending->completions->wake);
  }
  if (is_writing) {
    std::lock_guard<std::mutex> lock(pending->completions->mutex);
    pending->completions->writing++;
  }
  PJRT_ARGS(PJRT_Event_OnReady_Args, args);
  args.event = event;
  args.callback = OnReady;
  args.user_arg = pending;
  // Should the plugin refuse, the event is awaited here instead.
  if (PJRT_Error* error = api->PJRT_Event_OnReady(&args)) {
    TakeError(api, error);
    PJRT_ARGS(PJRT_Event_Await_Args, await);
    await.event = event;
    OnReady(api->PJRT_Event_Await(&await), pending);
  }
  return promise;
}

napi_value Rejected(napi_env env) {
  napi_value error = nullptr, promise = nullptr;
  napi_deferred deferred = nullptr;
  napi_get_and_clear_last_exception(env, &error);
  napi_create_promise(env, &deferred, &promise);
  napi_reject_deferred(env, deferred, error);
  return promise;
}

napi_value Resolved(napi_env env, napi_value value) {
  napi_value promise = nullptr;
  napi_deferred deferred = nullptr;
  napi_create_promise(env, &deferred, &promise);
  napi_resolve_deferred(env, deferred, value);
  return promise;
}

// readAsync(buffer): Promise<Uint8Array>. The array is new: nobody can detach it while it is written.
napi_value ReadAsync(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Buffer* buffer = GetBuffer(env, args[0], "read");
  if (!buffer) return Rejected(env);
  void* memory = nullptr;
  napi_value array_buffer = nullptr, bytes = nullptr;
  const size_t size = static_cast<size_t>(buffer->bytes);
  if (napi_create_arraybuffer(env, size, &memory, &array_buffer) != napi_ok) {
    Throw(env, PJRT_Error_Code_RESOURCE_EXHAUSTED, "read(): could not allocate " + std::to_string(size) + " bytes");
    return Rejected(env);
  }
  if (napi_create_typedarray(env, napi_uint8_array, size, array_buffer, 0, &bytes) != napi_ok) return nullptr;
  if (buffer->client->is_cpu && KnownLayout(buffer) == Layout::kPermuted) {  // rare: see ReadPermuted
    return ReadNow(env, buffer, memory) ? Resolved(env, bytes) : Rejected(env);
  }
  PJRT_Event* event = size > 0 ? StartCopyToHost(env, buffer, memory, size) : ReadyEvent(env, buffer);
  if (!event) return Rejected(env);
  return Await(env, buffer->client->api, event, bytes, size > 0, true);
}

// readyAsync(buffer): Promise<undefined>
napi_value ReadyAsync(napi_env env, napi_callback_info info) {
  Args<1> args(env, info);
  Buffer* buffer = GetBuffer(env, args[0], "ready");
  PJRT_Event* event = buffer ? ReadyEvent(env, buffer) : nullptr;
  if (!event) return Rejected(env);
  return Await(env, buffer->client->api, event, nullptr, false, true);
}

// uploadZeroCopy(client, device, data, type, dims): keeps `data` alive as long as the buffer may use its memory.
napi_value UploadZeroCopy(napi_env env, napi_callback_info info) {
  Upload upload;
  PJRT_Client_BufferFromHostBuffer_Args args;
  if (!ParseUpload(env, info, &upload)) return nullptr;
  if (!StartUpload(env, upload, PJRT_HostBufferSemantics_kImmutableZeroCopy, &args)) return nullptr;
  napi_value handle = MakeUploadedHandle(env, upload, args.buffer);
  if (args.done_with_host_buffer) {
    Await(env, upload.client->api, args.done_with_host_buffer, upload.view, false, false);
  }
  return handle;
}

// ---- compiling

struct Job {
  napi_async_work work = nullptr;
  napi_deferred deferred = nullptr;
  napi_ref owner = nullptr;  // the client's or topology's handle
  ProgramArgs program;
  Topology* topology = nullptr;
  bool is_text = true;
  PJRT_LoadedExecutable* loaded = nullptr;
  PJRT_Executable* executable = nullptr;
  bool failed = false;
  Failure failure;

  const PJRT_Api* api() const { return topology ? topology->api : program.client->api; }
};

// A thread of the pool.
void RunJob(napi_env, void* data) {
  Job* job = static_cast<Job*>(data);
  const ProgramArgs& program = job->program;
  PJRT_Error* error =
      job->topology  ? CompileForTopology(job->topology, program.code, program.options, &job->executable)
      : job->is_text ? CompileProgram(program.client, program.code, program.options, &job->loaded)
                     : LoadProgram(program.client, program.code, program.options, &job->loaded);
  if (error) {
    job->failed = true;
    job->failure = TakeError(job->api(), error);
  }
}

void FinishJob(napi_env env, napi_status status, void* data) {
  Job* job = static_cast<Job*>(data);
  if (status == napi_cancelled) {
    job->failed = true;
    job->failure = {PJRT_Error_Code_CANCELLED, "compile(): cancelled"};
  }
  napi_value handle = nullptr;
  if (!job->failed) {
    handle = MakeExecutableHandle(env, job->api(), job->program.client, job->loaded, job->executable);
  }
  if (handle) {
    napi_resolve_deferred(env, job->deferred, handle);
  } else {
    napi_value error = nullptr;
    bool pending = false;
    napi_is_exception_pending(env, &pending);
    if (pending) napi_get_and_clear_last_exception(env, &error);
    else error = MakeError(env, job->failure.code, job->failure.message);
    napi_reject_deferred(env, job->deferred, error);
  }
  napi_delete_reference(env, job->owner);
  napi_delete_async_work(env, job->work);
  delete job;
}

napi_value StartJob(napi_env env, napi_callback_info info, std::unique_ptr<Job> job) {
  Args<1> args(env, info);
  napi_value promise = nullptr, name = MakeString(env, std::string("torch-tpu compile"));
  if (napi_create_promise(env, &job->deferred, &promise) != napi_ok) return nullptr;  // a worker being terminated
  napi_create_reference(env, args[0], 1, &job->owner);
  Job* owned = job.release();
  napi_create_async_work(env, nullptr, name, RunJob, FinishJob, owned, &owned->work);
  napi_queue_async_work(env, owned->work);
  return promise;
}

// compileAsync(client, mlir, options): Promise
napi_value CompileAsync(napi_env env, napi_callback_info info) {
  auto job = std::make_unique<Job>();
  if (!ParseProgram(env, info, "compile", true, &job->program)) return Rejected(env);
  return StartJob(env, info, std::move(job));
}

// deserializeAsync(client, bytes, options): Promise
napi_value DeserializeAsync(napi_env env, napi_callback_info info) {
  auto job = std::make_unique<Job>();
  job->is_text = false;
  if (!ParseProgram(env, info, "deserialize", false, &job->program)) return Rejected(env);
  return StartJob(env, info, std::move(job));
}

// compileForTopologyAsync(topology, mlir, options): Promise
napi_value CompileForTopologyAsync(napi_env env, napi_callback_info info) {
  auto job = std::make_unique<Job>();
  if (!ParseTopologyProgram(env, info, &job->topology, &job->program)) return Rejected(env);
  return StartJob(env, info, std::move(job));
}

}  // namespace

void ExportAsync(napi_env env, napi_value exports) {
  auto completions = std::make_shared<Completions>();
  GetEnvData(env)->completions = completions;
  napi_create_threadsafe_function(env, nullptr, nullptr, MakeString(env, std::string("torch-tpu")), 0, 1, nullptr, nullptr,
                                  completions.get(), SettleAll, &completions->wake);
  napi_unref_threadsafe_function(env, completions->wake);
  // Cleanup hooks run in reverse order: this one before that of the threadsafe function.
  napi_add_env_cleanup_hook(env, CloseCompletions, new std::shared_ptr<Completions>(completions));
  Export(env, exports, "readAsync", ReadAsync);
  Export(env, exports, "readyAsync", ReadyAsync);
  Export(env, exports, "uploadZeroCopy", UploadZeroCopy);
  Export(env, exports, "compileAsync", CompileAsync);
  Export(env, exports, "deserializeAsync", DeserializeAsync);
  Export(env, exports, "compileForTopologyAsync", CompileForTopologyAsync);
}

}  // namespace tt
