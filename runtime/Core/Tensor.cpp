//===- Tensor.cpp - dense tensors in host memory --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Tensor.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/Memory.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace steep {

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

namespace {
struct DTypeInfo {
  const char *name;
  std::size_t size;
  uint8_t dlCode;
};
} // namespace

/// In the order of the enumeration.
static constexpr std::array<DTypeInfo, 17> dtypeTable = {{
    {"BOOL", 1, 6},
    {"U8", 1, 1},
    {"I8", 1, 0},
    {"F8_E5M2", 1, 12},
    {"F8_E4M3", 1, 10},
    {"F8_E8M0", 1, 14},
    {"I16", 2, 0},
    {"U16", 2, 1},
    {"F16", 2, 2},
    {"BF16", 2, 4},
    {"I32", 4, 0},
    {"U32", 4, 1},
    {"F32", 4, 2},
    {"I64", 8, 0},
    {"U64", 8, 1},
    {"F64", 8, 2},
    {"C64", 8, 5},
}};
static_assert(static_cast<std::size_t>(DType::C64) + 1 == dtypeTable.size());

static const DTypeInfo &info(DType dtype) {
  return dtypeTable.at(static_cast<std::size_t>(dtype));
}

std::size_t sizeOf(DType dtype) { return info(dtype).size; }

const char *nameOf(DType dtype) { return info(dtype).name; }

std::optional<DType> dtypeNamed(std::string_view name) {
  for (std::size_t i = 0; i < dtypeTable.size(); ++i)
    if (name == dtypeTable[i].name)
      return static_cast<DType>(i);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

std::optional<int64_t> elementCount(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      return std::nullopt;
  return count;
}

std::string shapeString(const std::vector<int64_t> &shape) {
  std::string result = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    result += (i ? ", " : "") + std::to_string(shape[i]);
  return result + "]";
}

//===----------------------------------------------------------------------===//
// Tensor
//===----------------------------------------------------------------------===//

/// Never null, also for no bytes at all.
static std::shared_ptr<std::byte> allocate(std::size_t bytes) {
  void *memory = allocateAligned(bytes);
  if (!memory)
    fail("cannot allocate {} bytes for a tensor", bytes);
  return {static_cast<std::byte *>(memory), [](std::byte *p) { std::free(p); }};
}

Tensor::Tensor(DType dtype, std::vector<int64_t> shape)
    : type(dtype), sizes(std::move(shape)) {
  std::optional<int64_t> count = elementCount(sizes);
  int64_t total = 0;
  // Room for the rounding of allocate() is part of what must fit.
  if (!count ||
      __builtin_mul_overflow(*count, static_cast<int64_t>(sizeOf(dtype)),
                             &total) ||
      total > std::numeric_limits<int64_t>::max() - 64)
    fail("shape {} of {} is not possible: sizes must not be negative and all "
         "bytes must fit in 63 bits",
         shapeString(sizes), nameOf(dtype));
  elements = *count;
  memory = allocate(bytes());
  fillZero();
}

template <typename T> static T *typed(const Tensor &tensor, DType expected) {
  if (tensor.empty())
    fail("an empty tensor was used where {} was expected", nameOf(expected));
  if (tensor.dtype() != expected)
    fail("a tensor of {} was used where {} was expected",
         nameOf(tensor.dtype()), nameOf(expected));
  return static_cast<T *>(tensor.data());
}

float *Tensor::f32() const { return typed<float>(*this, DType::F32); }
double *Tensor::f64() const { return typed<double>(*this, DType::F64); }
int32_t *Tensor::i32() const { return typed<int32_t>(*this, DType::I32); }

Tensor Tensor::clone() const {
  Tensor copy = *this;
  if (memory) {
    copy.memory = allocate(bytes());
    std::memcpy(copy.memory.get(), memory.get(), bytes());
  }
  return copy;
}

void Tensor::fillZero() {
  if (memory)
    std::memset(memory.get(), 0, bytes());
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

static float fromBF16(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

static float fromF16(uint16_t bits) {
  int exponent = (bits >> 10) & 0x1f;
  int fraction = bits & 0x3ff;
  float value;
  if (exponent == 0x1f)
    value = fraction ? std::numeric_limits<float>::quiet_NaN()
                     : std::numeric_limits<float>::infinity();
  else if (exponent == 0)
    value = std::ldexp(static_cast<float>(fraction), -24);
  else
    value = std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
  return bits & 0x8000 ? -value : value;
}

template <typename To> static void convert(const Tensor &from, To *to) {
  auto each = [&](auto *values, auto &&read) {
    for (int64_t i = 0, e = from.count(); i < e; ++i)
      to[i] = static_cast<To>(read(values[i]));
  };
  auto same = [](auto value) { return value; };
  switch (from.dtype()) {
  case DType::F32:
    return each(static_cast<const float *>(from.data()), same);
  case DType::F64:
    return each(static_cast<const double *>(from.data()), same);
  case DType::BF16:
    return each(static_cast<const uint16_t *>(from.data()), fromBF16);
  case DType::F16:
    return each(static_cast<const uint16_t *>(from.data()), fromF16);
  default:
    fail("a tensor of {} was used where F32, F64, BF16 or F16 was expected",
         nameOf(from.dtype()));
  }
}

Tensor Tensor::toF64() const {
  Tensor result(DType::F64, sizes);
  convert(*this, result.f64());
  return result;
}

Tensor Tensor::toF32() const {
  Tensor result(DType::F32, sizes);
  convert(*this, result.f32());
  return result;
}

DLTensor view(const Tensor &tensor) {
  DLTensor result = {};
  result.data = tensor.data();
  result.device.device_type = kDLCPU;
  result.ndim = static_cast<int32_t>(tensor.rank());
  result.dtype.code = info(tensor.dtype()).dlCode;
  result.dtype.bits = static_cast<uint8_t>(8 * sizeOf(tensor.dtype()));
  result.dtype.lanes = 1;
  // Artefacts only read shapes; DLPack's struct has no const.
  result.shape = const_cast<int64_t *>(tensor.shape().data());
  return result;
}

} // namespace steep
