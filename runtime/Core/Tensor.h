//===- Tensor.h - dense tensors in host memory ------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_CORE_TENSOR_H
#define STEEP_RUNTIME_CORE_TENSOR_H

#include "steep/steep.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steep {

/// Element types that safetensors files hold and the runtime knows by size.
enum class DType {
  BOOL,
  U8,
  I8,
  F8_E5M2,
  F8_E4M3,
  F8_E8M0,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  I64,
  U64,
  F64,
  C64
};

/// Bytes of one element.
std::size_t sizeOf(DType dtype);
/// The safetensors name, "F32".
const char *nameOf(DType dtype);
/// The type of that name, if it is one of the above.
std::optional<DType> dtypeNamed(std::string_view name);
/// The product of the sizes (1 for none), or nothing where one is negative or
/// the product does not fit.
std::optional<int64_t> elementCount(const std::vector<int64_t> &shape);

/// A dense, row-major tensor that owns 64-byte aligned memory. Copies share
/// the memory (as handles do); clone() makes new memory.
class Tensor {
public:
  Tensor() = default;
  /// Zero-filled. Throws Error where a size is negative or the product
  /// overflows.
  Tensor(DType dtype, std::vector<int64_t> shape);

  DType dtype() const { return type; }
  const std::vector<int64_t> &shape() const { return sizes; }
  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int64_t dim(int64_t i) const { return sizes.at(i); }
  /// Number of elements; 1 for rank 0.
  int64_t count() const { return elements; }
  std::size_t bytes() const {
    return static_cast<std::size_t>(elements) * sizeOf(type);
  }
  bool empty() const { return !memory; }

  void *data() const { return memory.get(); }
  /// Typed access; throws Error where the element type differs.
  float *f32() const;
  double *f64() const;
  int32_t *i32() const;

  Tensor clone() const;
  void fillZero();
  /// A copy with elements converted to float64 (from F32, F64, BF16, F16).
  Tensor toF64() const;
  /// A copy with elements converted to float32.
  Tensor toF32() const;

private:
  DType type = DType::F32;
  std::vector<int64_t> sizes;
  int64_t elements = 0;
  std::shared_ptr<std::byte> memory;
};

/// "[512, 2048]".
std::string shapeString(const std::vector<int64_t> &shape);

/// A DLTensor that refers to the memory and the shape of a Tensor, which must
/// outlive it and stay where it is.
DLTensor view(const Tensor &tensor);

} // namespace steep

#endif // STEEP_RUNTIME_CORE_TENSOR_H
