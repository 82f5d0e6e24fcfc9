//===- TensorTest.cpp - tests of runtime/Core/Tensor ----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Tensor.h"

#include "test/Unit/Core/TestSupport.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace steep;

TEST(Tensor, IsZeroFilledAndAligned) {
  Tensor tensor(DType::F32, {3, 5});
  EXPECT_EQ(tensor.count(), 15);
  EXPECT_EQ(tensor.bytes(), 60u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u);
  for (int i = 0; i < 15; ++i)
    EXPECT_EQ(tensor.f32()[i], 0.0f);
}

TEST(Tensor, CopiesShareAndClonesDoNot) {
  Tensor tensor(DType::F32, {2});
  Tensor copy = tensor, clone = tensor.clone();
  tensor.f32()[1] = 7;
  EXPECT_EQ(copy.f32()[1], 7.0f);
  EXPECT_EQ(clone.f32()[1], 0.0f);
  EXPECT_EQ(clone.shape(), tensor.shape());
}

TEST(Tensor, RankZeroHasOneElementAndSizeZeroHasNone) {
  EXPECT_EQ(Tensor(DType::F64, {}).count(), 1);
  Tensor none(DType::F64, {4, 0});
  EXPECT_EQ(none.count(), 0);
  EXPECT_FALSE(none.empty());
  EXPECT_TRUE(Tensor().empty());
  EXPECT_EQ(Tensor().count(), 0);
}

TEST(Tensor, RefusesImpossibleShapes) {
  EXPECT_ERROR(Tensor(DType::F32, {2, -1}), "shape [2, -1] of F32");
  EXPECT_ERROR(Tensor(DType::U8, {int64_t(1) << 62, 4}), "must fit in 63 bits");
  EXPECT_ERROR(Tensor(DType::F64, {int64_t(1) << 60}), "must fit in 63 bits");
}

TEST(Tensor, RefusesTheWrongType) {
  EXPECT_ERROR(Tensor(DType::I32, {1}).f32(),
               "a tensor of I32 was used where F32 was expected");
  EXPECT_ERROR(Tensor().f64(), "an empty tensor was used");
  EXPECT_ERROR(Tensor(DType::U8, {1}).toF32(), "a tensor of U8 was used");
}

TEST(Tensor, KnowsNamesAndSizes) {
  for (const char *name :
       {"BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "I16", "U16",
        "F16", "BF16", "I32", "U32", "F32", "I64", "U64", "F64", "C64"}) {
    ASSERT_TRUE(dtypeNamed(name)) << name;
    EXPECT_STREQ(nameOf(*dtypeNamed(name)), name);
  }
  EXPECT_FALSE(dtypeNamed("f32"));
  EXPECT_EQ(sizeOf(DType::BF16), 2u);
  EXPECT_EQ(sizeOf(DType::C64), 8u);
}

static Tensor halves(DType dtype, std::vector<uint16_t> bits) {
  Tensor tensor(dtype, {static_cast<int64_t>(bits.size())});
  std::memcpy(tensor.data(), bits.data(), tensor.bytes());
  return tensor;
}

TEST(Tensor, ConvertsHalfPrecision) {
  Tensor half = halves(DType::F16, {0x3c00, 0xc000, 0x0001, 0x03ff, 0x0400,
                                    0x7bff, 0xfc00, 0x8000, 0x7e00});
  double expected[] = {1,
                       -2,
                       std::ldexp(1.0, -24),
                       std::ldexp(1023.0, -24),
                       std::ldexp(1.0, -14),
                       65504,
                       -std::numeric_limits<double>::infinity(),
                       0};
  Tensor wide = half.toF64();
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(wide.f64()[i], expected[i]) << i;
  EXPECT_TRUE(std::signbit(wide.f64()[7]));
  EXPECT_TRUE(std::isnan(wide.f64()[8]));

  Tensor brain = halves(DType::BF16, {0x3f80, 0xc000, 0x7f80, 0x4049});
  EXPECT_EQ(brain.toF32().f32()[0], 1.0f);
  EXPECT_EQ(brain.toF32().f32()[1], -2.0f);
  EXPECT_TRUE(std::isinf(brain.toF32().f32()[2]));
  EXPECT_EQ(brain.toF32().f32()[3], 3.140625f);
}

TEST(Tensor, ViewsShareMemoryAndShape) {
  Tensor tensor(DType::BF16, {3, 4});
  DLTensor dl = view(tensor);
  EXPECT_EQ(dl.data, tensor.data());
  EXPECT_EQ(dl.device.device_type, kDLCPU);
  EXPECT_EQ(dl.ndim, 2);
  EXPECT_EQ(dl.shape[1], 4);
  EXPECT_EQ(dl.dtype.code, kDLBfloat);
  EXPECT_EQ(dl.dtype.bits, 16);
  EXPECT_EQ(dl.strides, nullptr);
}

TEST(Quote, KeepsMessagesOnOneLine) {
  EXPECT_EQ(quote("a\nb\x01\x7f"), "'a\\nb\\x01\\x7f'");
  EXPECT_EQ(quote(std::string(300, 'x')).size(), 205u);
}
