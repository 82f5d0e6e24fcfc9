//===- Parameters.cpp - the model whose optimizer is compiled -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files come from anywhere: lengths are checked before they are used, products
// for overflow, and what a format forbids (duplicate keys, holes, overlaps) is
// refused rather than understood somehow.
//
//===----------------------------------------------------------------------===//
#include "lib/Compiler/Parameters.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

using nlohmann::json;

namespace steepc {

/// The longest header that the format allows, and more JSON than any model has.
static constexpr uint64_t headerLimit = 100'000'000;
static constexpr int deepest = 16;
static constexpr uint64_t mostElements = uint64_t(1) << 48;
static constexpr size_t longestName = 4096;

namespace {

/// What goes wrong in this file travels as an exception to readParameters().
struct Refusal {
  std::string message;
};

class File {
public:
  explicit File(const std::string &path)
      : handle(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status;
    if (handle < 0 || fstat(handle, &status) != 0)
      throw Refusal{std::string("cannot be read: ") + strerror(errno)};
    if (!S_ISREG(status.st_mode)) {
      close(handle);
      throw Refusal{"expected a regular file"};
    }
    size = uint64_t(status.st_size);
  }
  ~File() { close(handle); }
  File(const File &) = delete;

  std::string read(uint64_t offset, uint64_t count) const {
    std::string bytes(count, 0);
    uint64_t done = 0;
    while (done < count) {
      ssize_t got =
          pread(handle, &bytes[done], count - done, off_t(offset + done));
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        throw Refusal{"cannot be read to its end"};
      done += uint64_t(got);
    }
    return bytes;
  }

  uint64_t size = 0;

private:
  int handle;
};

} // namespace

template <typename... Args>
[[noreturn]] static void refuse(const char *format, Args &&...args) {
  throw Refusal{llvm::formatv(format, std::forward<Args>(args)...).str()};
}

/// A name from a file, on one line.
static std::string quoteName(llvm::StringRef name) {
  std::string text = "\"";
  for (unsigned char c : name.take_front(200))
    if (c < 0x20 || c == 0x7f || c == '"' || c == '\\')
      text += std::string("\\x") + llvm::hexdigit(c >> 4, true) +
              llvm::hexdigit(c & 15, true);
    else
      text += char(c);
  return text + (name.size() > 200 ? "...\"" : "\"");
}

/// Parses JSON; a key that occurs twice is refused, since readers differ in
/// which one they take.
static json parseJSON(const std::string &text) {
  std::vector<std::set<std::string>> keys;
  auto check = [&](int depth, json::parse_event_t event, json &value) {
    if (depth > deepest)
      refuse("is nested deeper than {0} levels", deepest);
    if (event == json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == json::parse_event_t::key &&
             !keys.back().insert(value.get<std::string>()).second)
      refuse("has the key {0} twice", quoteName(value.get<std::string>()));
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::exception &error) {
    llvm::StringRef what = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, ..."
    refuse("is not JSON: {0}", what.substr(what.find("] ") + 2));
  }
}

static const json &member(const json &object, const char *key,
                          const std::string &where) {
  auto found = object.find(key);
  if (found == object.end())
    refuse("{0}: expected the key \"{1}\"", where, key);
  return *found;
}

/// One line of JSON, short.
static std::string shown(const json &value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 60) + "..." : text;
}

static void checkName(llvm::StringRef name) {
  if (name.empty() || name.size() > longestName || name.contains('\0'))
    refuse("tensor {0}: expected a name of 1 to {1} bytes, none of them zero",
           quoteName(name), longestName);
}

/// Extents of any rank, with a size in bytes that fits.
static std::vector<int64_t> readExtents(const json &value,
                                        const std::string &where) {
  if (!value.is_array())
    refuse("{0}: expected \"shape\" to be a list of integers, got {1}", where,
           shown(value));
  std::vector<int64_t> shape;
  uint64_t elements = 1;
  for (const json &extent : value) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > mostElements)
      refuse("{0}: expected extents of 0 to 2^48 in \"shape\", got {1}", where,
             shown(extent));
    shape.push_back(extent.get<int64_t>());
    uint64_t factor = extent.get<uint64_t>();
    if (factor > 0 && elements > mostElements / factor)
      refuse("{0}: the shape {1} has too many elements", where, shown(value));
    elements *= factor;
  }
  return shape;
}

/// What an optimizer can be compiled for.
static TensorSpec toSpec(const std::string &name, const json &dtype,
                         const std::vector<int64_t> &shape) {
  std::string where = "tensor " + quoteName(name);
  if (dtype != "F32")
    refuse("{0}: expected dtype \"F32\", got {1}", where, shown(dtype));
  if (shape.size() < 2)
    refuse("{0}: expected a matrix, got a tensor of rank {1}", where,
           shape.size());
  for (int64_t extent : shape)
    if (extent < 1)
      refuse("{0}: expected at least one element, got {1:$[x]}", where,
             llvm::make_range(shape.begin(), shape.end()));
  return {name, shape, ""};
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static std::vector<TensorSpec> readList(const File &file) {
  if (file.size > headerLimit)
    refuse("is larger than {0} bytes", headerLimit);
  json root = parseJSON(file.read(0, file.size));
  if (!root.is_object() || !root.contains("tensors") ||
      !root["tensors"].is_array())
    refuse("expected {{\"tensors\": [...]}");
  std::vector<TensorSpec> specs;
  for (const json &entry : root["tensors"]) {
    std::string where = "tensor " + std::to_string(specs.size());
    if (!entry.is_object())
      refuse("{0}: expected an object, got {1}", where, shown(entry));
    const json &name = member(entry, "name", where);
    if (!name.is_string())
      refuse("{0}: expected \"name\" to be a string, got {1}", where,
             shown(name));
    checkName(name.get<std::string>());
    where = "tensor " + quoteName(name.get<std::string>());
    // A misspelt "aliases" would make a tied weight a parameter of its own.
    for (const auto &item : entry.items())
      if (item.key() != "name" && item.key() != "shape" &&
          item.key() != "dtype" && item.key() != "aliases")
        refuse("{0}: unknown key {1}; expected \"name\", \"shape\", "
               "\"dtype\" and, for tied weights, \"aliases\"",
               where, quoteName(item.key()));
    specs.push_back(toSpec(name.get<std::string>(),
                           member(entry, "dtype", where),
                           readExtents(member(entry, "shape", where), where)));
    if (auto aliases = entry.find("aliases"); aliases != entry.end()) {
      if (!aliases->is_string() || aliases->get<std::string>().empty())
        refuse("{0}: expected \"aliases\" to be the name of a tensor, got {1}",
               where, shown(*aliases));
      specs.back().aliases = aliases->get<std::string>();
    }
  }
  return specs;
}

//===----------------------------------------------------------------------===//
// safetensors
//===----------------------------------------------------------------------===//

/// Bits of an element; 0 where the format does not know the type.
static uint64_t bitsOf(const json &dtype) {
  static const std::pair<const char *, uint64_t> known[] = {
      {"BOOL", 8},    {"U8", 8},          {"I8", 8},         {"F8_E5M2", 8},
      {"F8_E4M3", 8}, {"F8_E8M0", 8},     {"I16", 16},       {"U16", 16},
      {"F16", 16},    {"BF16", 16},       {"I32", 32},       {"U32", 32},
      {"F32", 32},    {"F64", 64},        {"I64", 64},       {"U64", 64},
      {"C64", 64},    {"F8_E5M2FNUZ", 8}, {"F8_E4M3FNUZ", 8}};
  for (auto [name, bits] : known)
    if (dtype == name)
      return bits;
  return 0;
}

static void checkMetadata(const json &metadata) {
  if (!metadata.is_object())
    refuse("expected \"__metadata__\" to be an object, got {0}",
           shown(metadata));
  for (const auto &entry : metadata.items())
    if (!entry.value().is_string())
      refuse("expected \"__metadata__\" to hold strings, got {0}",
             shown(entry.value()));
}

namespace {
struct Span {
  uint64_t begin, end;
  std::string where;
};
} // namespace

static Span readSpan(const json &entry, const std::vector<int64_t> &shape,
                     const std::string &where) {
  const json &dtype = member(entry, "dtype", where);
  const json &offsets = member(entry, "data_offsets", where);
  uint64_t bits = bitsOf(dtype);
  if (bits == 0)
    refuse("{0}: unknown dtype {1}", where, shown(dtype));
  if (!offsets.is_array() || offsets.size() != 2 ||
      !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned() ||
      offsets[0].get<uint64_t>() > offsets[1].get<uint64_t>())
    refuse("{0}: expected \"data_offsets\" [begin, end], got {1}", where,
           shown(offsets));
  uint64_t bytes = bits / 8;
  for (int64_t extent : shape)
    bytes *= uint64_t(extent); // readExtents() has bounded the product
  Span span{offsets[0].get<uint64_t>(), offsets[1].get<uint64_t>(), where};
  if (span.end - span.begin != bytes)
    refuse("{0}: expected {1} bytes for its shape and type, got {2}", where,
           bytes, span.end - span.begin);
  return span;
}

static std::vector<TensorSpec> readHeader(const File &file) {
  if (file.size < 8)
    refuse("is no safetensors file: it has {0} bytes", file.size);
  std::string prefix = file.read(0, 8);
  uint64_t length = llvm::support::endian::read64le(prefix.data());
  if (length < 2 || length > headerLimit || length > file.size - 8)
    refuse("is no safetensors file: a header of {0} bytes in a file of {1}",
           length, file.size);
  std::string text = file.read(8, length);
  if (text[0] != '{')
    refuse("is no safetensors file: expected '{{' at byte 8");
  json root = parseJSON(text);
  std::vector<TensorSpec> specs;
  std::vector<Span> spans;
  for (const auto &item : root.items()) { // sorted by name
    if (item.key() == "__metadata__") {
      checkMetadata(item.value());
      continue;
    }
    checkName(item.key());
    std::string where = "tensor " + quoteName(item.key());
    if (!item.value().is_object())
      refuse("{0}: expected an object, got {1}", where, shown(item.value()));
    std::vector<int64_t> shape =
        readExtents(member(item.value(), "shape", where), where);
    spans.push_back(readSpan(item.value(), shape, where));
    specs.push_back(
        toSpec(item.key(), member(item.value(), "dtype", where), shape));
  }
  std::sort(spans.begin(), spans.end(), [](const Span &a, const Span &b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t reached = 0;
  for (const Span &span : spans) {
    if (span.begin != reached)
      refuse("{0}: expected its data to begin at {1}, where the tensor before "
             "ends, got {2}",
             span.where, reached, span.begin);
    reached = span.end;
  }
  if (reached != file.size - 8 - length)
    refuse("the tensors end at byte {0} of {1} bytes of data", reached,
           file.size - 8 - length);
  return specs;
}

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

static void checkNames(const std::vector<TensorSpec> &specs) {
  std::set<std::string> names;
  if (specs.empty())
    refuse("holds no tensor");
  for (const TensorSpec &spec : specs)
    if (!names.insert(spec.name).second)
      refuse("has the tensor {0} twice", quoteName(spec.name));
}

llvm::Expected<std::vector<TensorSpec>> readParameters(llvm::StringRef path) {
  bool isList = path.ends_with(".json");
  if (!isList && !path.ends_with(".safetensors"))
    return llvm::createStringError("--params " + path +
                                   ": expected a .safetensors or .json file");
  try {
    File file(path.str());
    std::vector<TensorSpec> specs = isList ? readList(file) : readHeader(file);
    checkNames(specs);
    return specs;
  } catch (const Refusal &refusal) {
    return llvm::createStringError("--params " + path + ": " + refusal.message);
  }
}

} // namespace steepc
