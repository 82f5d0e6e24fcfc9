//===- Parameters.h - the model whose optimizer is compiled -----*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_COMPILER_PARAMETERS_H
#define STEEP_LIB_COMPILER_PARAMETERS_H

#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace steepc {

struct TensorSpec {
  std::string name;
  std::vector<int64_t> shape;
  std::string aliases; ///< the tensor whose storage this one shares, or empty
};

/// Reads the names and shapes of a model: the header of a .safetensors file
/// (sorted by name), or JSON, {"tensors": [{"name", "shape", "dtype"
/// [, "aliases"]}]} (as listed). A file that is not exactly so is an error that
/// names the file, the tensor and what was expected.
llvm::Expected<std::vector<TensorSpec>> readParameters(llvm::StringRef path);

} // namespace steepc

#endif // STEEP_LIB_COMPILER_PARAMETERS_H
