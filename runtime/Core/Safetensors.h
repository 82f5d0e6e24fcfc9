//===- Safetensors.h - safetensors files ------------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format: a little-endian u64 N, N bytes of JSON, then the data, without
// holes or overlap. Everything that a header claims is checked before it is
// used: the reader is meant for files that nobody vouches for.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_CORE_SAFETENSORS_H
#define STEEP_RUNTIME_CORE_SAFETENSORS_H

#include "runtime/Core/Tensor.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace steep {

/// One entry of a header.
struct SafetensorsEntry {
  DType dtype;
  std::vector<int64_t> shape;
  uint64_t begin; ///< relative to the start of the data
  uint64_t end;
};

/// A file whose header has been read and checked whole; tensors are read when
/// asked for. All errors are steep::Error and name the file.
class SafetensorsFile {
public:
  static SafetensorsFile open(const std::string &path);

  const std::string &path() const { return file; }
  const std::map<std::string, SafetensorsEntry> &entries() const {
    return index;
  }
  const std::map<std::string, std::string> &metadata() const { return meta; }
  bool contains(const std::string &name) const {
    return index.count(name) != 0;
  }
  /// Throws Error where there is no such tensor.
  Tensor load(const std::string &name) const;
  /// The metadata value; throws Error where there is none.
  const std::string &metadataAt(const std::string &key) const;

private:
  std::string file;
  uint64_t dataStart = 0;
  std::map<std::string, SafetensorsEntry> index;
  std::map<std::string, std::string> meta;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Writes a whole file or nothing (temporary file, fsync, rename). Tensors are
/// laid out by descending alignment, then by name, as the reference writer
/// does.
void writeSafetensors(const std::string &path, const NamedTensors &tensors,
                      const std::map<std::string, std::string> &metadata = {});

} // namespace steep

#endif // STEEP_RUNTIME_CORE_SAFETENSORS_H
