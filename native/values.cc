// JavaScript values to C++ and back.
#include "torch_tpu.h"

#include <cmath>

namespace tt {

EnvData* GetEnvData(napi_env env) {
  void* data = nullptr;
  napi_get_instance_data(env, &data);
  return static_cast<EnvData*>(data);
}

std::string Describe(napi_env env, napi_value value) {
  static const char* const kNames[] = {"undefined", "null",   "a boolean", "a number",   "a string",
                                       "a symbol",  "an object", "a function", "an external", "a bigint"};
  napi_valuetype type;
  if (napi_typeof(env, value, &type) != napi_ok) return "nothing";
  if (type != napi_external) return kNames[type];
  if (Unwrap<Buffer>(env, value)) return "a buffer";
  if (Unwrap<Executable>(env, value)) return "an executable";
  if (Unwrap<Client>(env, value)) return "a client";
  if (Unwrap<Plugin>(env, value)) return "a plugin";
  if (Unwrap<Topology>(env, value)) return "a topology";
  return "a handle of something else";
}

static bool Fail(napi_env env, const char* what, const char* expected, napi_value value) {
  ThrowInvalid(env, std::string(what) + ": expected " + expected + ", got " + Describe(env, value));
  return false;
}

bool IsNullish(napi_env env, napi_value value) {
  napi_valuetype type;
  return napi_typeof(env, value, &type) != napi_ok || type == napi_undefined || type == napi_null;
}

bool GetString(napi_env env, napi_value value, const char* what, std::string* out) {
  size_t size = 0;
  if (napi_get_value_string_utf8(env, value, nullptr, 0, &size) != napi_ok) return Fail(env, what, "a string", value);
  out->resize(size);
  napi_get_value_string_utf8(env, value, &(*out)[0], size + 1, &size);
  return true;
}

bool GetInt(napi_env env, napi_value value, const char* what, int64_t* out) {
  double number;
  if (napi_get_value_double(env, value, &number) == napi_ok && std::fabs(number) <= 9007199254740991.0 &&
      std::floor(number) == number) {
    *out = static_cast<int64_t>(number);
    return true;
  }
  return Fail(env, what, "a safe integer", value);
}

bool GetInts(napi_env env, napi_value value, const char* what, std::vector<int64_t>* out) {
  uint32_t count;
  if (napi_get_array_length(env, value, &count) != napi_ok) return Fail(env, what, "an array of integers", value);
  out->resize(count);
  for (uint32_t i = 0; i < count; i++) {
    napi_value item = nullptr;
    if (napi_get_element(env, value, i, &item) != napi_ok || !GetInt(env, item, what, &(*out)[i])) return false;
  }
  return true;
}

bool GetBytes(napi_env env, napi_value value, const char* what, void** data, size_t* size) {
  bool is_view = false;
  if (napi_is_buffer(env, value, &is_view) != napi_ok || !is_view) {
    // Some versions of Node count only typed arrays as buffers.
    if (napi_is_dataview(env, value, &is_view) != napi_ok || !is_view) return Fail(env, what, "an ArrayBufferView", value);
    return napi_get_dataview_info(env, value, size, data, nullptr, nullptr) == napi_ok;
  }
  return napi_get_buffer_info(env, value, data, size) == napi_ok || Fail(env, what, "an ArrayBufferView", value);
}

napi_value MakeString(napi_env env, const char* data, size_t size) {
  napi_value value = nullptr;
  napi_create_string_utf8(env, data ? data : "", size, &value);
  return value;
}

napi_value MakeString(napi_env env, const std::string& text) { return MakeString(env, text.data(), text.size()); }

napi_value MakeNumber(napi_env env, double number) {
  napi_value value = nullptr;
  napi_create_double(env, number, &value);
  return value;
}

napi_value MakeBool(napi_env env, bool truth) {
  napi_value value = nullptr;
  napi_get_boolean(env, truth, &value);
  return value;
}

napi_value MakeBytes(napi_env env, const void* data, size_t size) {
  void* memory = nullptr;
  napi_value array_buffer = nullptr, value = nullptr;
  if (napi_create_arraybuffer(env, size, &memory, &array_buffer) != napi_ok) {
    return Throw(env, PJRT_Error_Code_RESOURCE_EXHAUSTED, "could not allocate " + std::to_string(size) + " bytes");
  }
  if (size > 0) std::memcpy(memory, data, size);
  napi_create_typedarray(env, napi_uint8_array, size, array_buffer, 0, &value);
  return value;
}

void Set(napi_env env, napi_value object, const char* name, napi_value value) {
  napi_set_named_property(env, object, name, value);
}

// Integers that a number cannot hold become bigints.
static napi_value MakeInt64(napi_env env, int64_t number) {
  napi_value value = nullptr;
  if (number >= -9007199254740991 && number <= 9007199254740991) return MakeNumber(env, static_cast<double>(number));
  napi_create_bigint_int64(env, number, &value);
  return value;
}

static napi_value MakeNamedValue(napi_env env, const PJRT_NamedValue& named) {
  napi_value value = nullptr;
  switch (named.type) {
    case PJRT_NamedValue_kString:
      return MakeString(env, named.string_value, named.value_size);
    case PJRT_NamedValue_kInt64:
      return MakeInt64(env, named.int64_value);
    case PJRT_NamedValue_kFloat:
      return MakeNumber(env, named.float_value);
    case PJRT_NamedValue_kBool:
      return MakeBool(env, named.bool_value);
    case PJRT_NamedValue_kInt64List:
      napi_create_array_with_length(env, named.value_size, &value);
      for (size_t i = 0; i < named.value_size; i++) {
        napi_set_element(env, value, i, MakeInt64(env, named.int64_array_value[i]));
      }
      return value;
  }
  napi_get_null(env, &value);
  return value;
}

napi_value MakeNamedValues(napi_env env, const PJRT_NamedValue* values, size_t count) {
  napi_value object = nullptr;
  napi_create_object(env, &object);
  for (size_t i = 0; i < count; i++) {
    napi_set_property(env, object, MakeString(env, values[i].name, values[i].name_size), MakeNamedValue(env, values[i]));
  }
  return object;
}

bool NamedValues::Read(napi_env env, napi_value list) {
  if (IsNullish(env, list)) return true;
  uint32_t count;
  if (napi_get_array_length(env, list, &count) != napi_ok) return Fail(env, "options", "an array", list);
  for (uint32_t i = 0; i < count; i++) {
    napi_value pair = nullptr, key = nullptr, value = nullptr;
    strings_.push_back(std::make_unique<std::string>());
    std::string* name = strings_.back().get();
    if (napi_get_element(env, list, i, &pair) != napi_ok || napi_get_element(env, pair, 0, &key) != napi_ok ||
        napi_get_element(env, pair, 1, &value) != napi_ok || !GetString(env, key, "option", name)) {
      return Fail(env, "options", "pairs of name and value", list);
    }
    PJRT_NamedValue named{};
    named.struct_size = PJRT_NamedValue_STRUCT_SIZE;
    named.name = name->c_str();
    named.name_size = name->size();
    named.value_size = 1;
    napi_valuetype type;
    napi_typeof(env, value, &type);
    bool is_array = false;
    napi_is_array(env, value, &is_array);
    double number = 0;
    if (is_array) {
      lists_.push_back(std::make_unique<std::vector<int64_t>>());
      if (!GetInts(env, value, name->c_str(), lists_.back().get())) return false;
      named.type = PJRT_NamedValue_kInt64List;
      named.int64_array_value = lists_.back()->data();
      named.value_size = lists_.back()->size();
    } else if (type == napi_string) {
      strings_.push_back(std::make_unique<std::string>());
      GetString(env, value, name->c_str(), strings_.back().get());
      named.type = PJRT_NamedValue_kString;
      named.string_value = strings_.back()->c_str();
      named.value_size = strings_.back()->size();
    } else if (type == napi_boolean) {
      named.type = PJRT_NamedValue_kBool;
      napi_get_value_bool(env, value, &named.bool_value);
    } else if (napi_get_value_double(env, value, &number) == napi_ok) {
      bool is_int = std::floor(number) == number;
      named.type = is_int ? PJRT_NamedValue_kInt64 : PJRT_NamedValue_kFloat;
      if (is_int) named.int64_value = static_cast<int64_t>(number);
      else named.float_value = static_cast<float>(number);
    } else {
      return Fail(env, name->c_str(), "a string, number, boolean or array of integers", value);
    }
    values.push_back(named);
  }
  return true;
}

static std::string Expected(napi_env env, const char* fn, const char* what, napi_value value) {
  return std::string(fn) + "(): expected " + what + ", got " + Describe(env, value);
}

Plugin* GetPlugin(napi_env env, napi_value value, const char* fn) {
  Plugin* plugin = Unwrap<Plugin>(env, value);
  if (!plugin) ThrowInvalid(env, Expected(env, fn, "a plugin", value));
  return plugin;
}

Client* GetClient(napi_env env, napi_value value, const char* fn) {
  Client* client = Unwrap<Client>(env, value);
  if (!client) ThrowInvalid(env, Expected(env, fn, "a client", value));
  else if (client->disposed) ThrowInvalid(env, std::string(fn) + "(): expected a live client, got a disposed one");
  else return client;
  return nullptr;
}

Buffer* GetBuffer(napi_env env, napi_value value, const char* fn) {
  Buffer* buffer = Unwrap<Buffer>(env, value);
  if (!buffer) ThrowInvalid(env, Expected(env, fn, "a buffer", value));
  else if (!buffer->pjrt) ThrowGone(env, fn, buffer);
  else return buffer;
  return nullptr;
}

Executable* GetExecutable(napi_env env, napi_value value, const char* fn) {
  Executable* executable = Unwrap<Executable>(env, value);
  if (!executable) ThrowInvalid(env, Expected(env, fn, "an executable", value));
  else if (!executable->pjrt) ThrowInvalid(env, std::string(fn) + "(): expected a live executable, got a disposed one");
  else return executable;
  return nullptr;
}

Topology* GetTopology(napi_env env, napi_value value, const char* fn) {
  Topology* topology = Unwrap<Topology>(env, value);
  if (!topology) ThrowInvalid(env, Expected(env, fn, "a topology", value));
  else if (topology->disposed) ThrowInvalid(env, std::string(fn) + "(): expected a live topology, got a disposed one");
  else return topology;
  return nullptr;
}

}  // namespace tt
