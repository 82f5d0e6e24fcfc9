//===- Safetensors.cpp - safetensors files --------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Safetensors.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"
#include "runtime/Core/RandomAccessFile.h"
#include "runtime/Core/SafetensorsHeader.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace steep {

/// The largest header that the format allows.
static constexpr uint64_t headerLimit = 100'000'000;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static uint64_t littleEndian64(const unsigned char *bytes) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i)
    value = value << 8 | bytes[i];
  return value;
}

/// The data must be covered by the tensors without a hole or an overlap.
static void checkCoverage(const std::string &path,
                          const std::map<std::string, SafetensorsEntry> &index,
                          uint64_t dataBytes) {
  using Item = const std::pair<const std::string, SafetensorsEntry>;
  std::vector<Item *> order;
  order.reserve(index.size());
  for (Item &item : index)
    order.push_back(&item);
  std::sort(order.begin(), order.end(), [](Item *a, Item *b) {
    return std::pair(a->second.begin, a->second.end) <
           std::pair(b->second.begin, b->second.end);
  });
  uint64_t covered = 0;
  for (Item *item : order) {
    if (item->second.begin != covered)
      fail("{}: tensor {} begins at byte {} of the data, where {} is expected "
           "(no holes, no overlap)",
           quote(path), quote(item->first), item->second.begin, covered);
    covered = item->second.end;
  }
  if (covered != dataBytes)
    fail("{}: its tensors have {} bytes of data, but {} bytes follow the "
         "header",
         quote(path), covered, dataBytes);
}

SafetensorsFile SafetensorsFile::open(const std::string &path) {
  RandomAccessFile file(path);
  if (file.size() < 8)
    fail("{}: it has {} bytes, too few for a safetensors file", quote(path),
         file.size());
  unsigned char length[8];
  file.read(length, sizeof length, 0);
  uint64_t headerBytes = littleEndian64(length);
  if (headerBytes > headerLimit)
    fail("{}: its header claims {} bytes, and at most {} are allowed",
         quote(path), headerBytes, headerLimit);
  if (headerBytes > file.size() - 8)
    fail("{}: its header claims {} bytes, but only {} bytes follow",
         quote(path), headerBytes, file.size() - 8);
  std::string header(headerBytes, '\0');
  file.read(header.data(), headerBytes, 8);

  SafetensorsFile result;
  result.file = path;
  result.dataStart = 8 + headerBytes;
  detail::parseSafetensorsHeader(path, header, result.index, result.meta);
  checkCoverage(path, result.index, file.size() - result.dataStart);
  return result;
}

Tensor SafetensorsFile::load(const std::string &name) const {
  auto found = index.find(name);
  if (found == index.end())
    fail("{}: it has no tensor {}", quote(file), quote(name));
  const SafetensorsEntry &entry = found->second;
  RandomAccessFile data(file);
  if (data.size() < dataStart || data.size() - dataStart < entry.end)
    fail("cannot read {}: it became shorter while it was read", quote(file));
  Tensor tensor(entry.dtype, entry.shape);
  data.read(tensor.data(), tensor.bytes(), dataStart + entry.begin);
  return tensor;
}

const std::string &SafetensorsFile::metadataAt(const std::string &key) const {
  auto found = meta.find(key);
  if (found == meta.end())
    fail("{}: its metadata has no {}", quote(file), quote(key));
  return found->second;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Pointers to the tensors, in the order in which the file holds them.
static std::vector<const NamedTensors::value_type *>
layOut(const std::string &path, const NamedTensors &tensors) {
  std::vector<const NamedTensors::value_type *> order;
  for (const auto &item : tensors) {
    if (item.second.empty())
      fail("cannot write {}: tensor {} is empty", quote(path),
           quote(item.first));
    if (item.first == "__metadata__")
      fail("cannot write {}: the name '__metadata__' is reserved", quote(path));
    order.push_back(&item);
  }
  std::sort(order.begin(), order.end(), [](const auto *a, const auto *b) {
    std::size_t sizeA = sizeOf(a->second.dtype());
    std::size_t sizeB = sizeOf(b->second.dtype());
    return sizeA != sizeB ? sizeA > sizeB : a->first < b->first;
  });
  return order;
}

void writeSafetensors(const std::string &path, const NamedTensors &tensors,
                      const std::map<std::string, std::string> &metadata) {
  auto order = layOut(path, tensors);
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t end = 0;
  for (const auto *item : order) {
    if (header.contains(item->first))
      fail("cannot write {}: two tensors are called {}", quote(path),
           quote(item->first));
    uint64_t begin = end;
    end += item->second.bytes();
    header[item->first] = {{"dtype", nameOf(item->second.dtype())},
                           {"shape", item->second.shape()},
                           {"data_offsets", {begin, end}}};
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::type_error &) {
    fail("cannot write {}: a name or a metadata value is not UTF-8",
         quote(path));
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > headerLimit)
    fail("cannot write {}: its header would have {} bytes, and at most {} are "
         "allowed",
         quote(path), text.size(), headerLimit);

  writeFile(path, [&](const auto &append) {
    unsigned char length[8];
    for (int i = 0; i < 8; ++i)
      length[i] = static_cast<unsigned char>(text.size() >> (8 * i));
    append(length, sizeof length);
    append(text.data(), text.size());
    for (const auto *item : order)
      append(item->second.data(), item->second.bytes());
  });
}

} // namespace steep
