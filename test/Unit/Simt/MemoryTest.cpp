//===- MemoryTest.cpp - global memory and its parts -----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Memory.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>

using namespace steep::simt;

namespace {

struct Allocated {
  explicit Allocated(std::size_t bytes)
      : p(static_cast<char *>(GlobalMemory::instance().allocate(bytes))) {}
  ~Allocated() { GlobalMemory::instance().release(p); }
  char *p;
};

TEST(GlobalMemory, IsAlignedAndNotANumber) {
  Allocated memory(1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.p) % 256, 0u);
  float value;
  std::memcpy(&value, memory.p + 996, 4);
  EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(GlobalMemory::instance().allocate(0), nullptr);
  EXPECT_EQ(GlobalMemory::instance().allocate(~std::size_t(0) - 5), nullptr);
}

TEST(GlobalMemory, FindsWhatLiesInAnAllocation) {
  GlobalMemory &memory = GlobalMemory::instance();
  Allocated a(1000);
  EXPECT_TRUE(memory.contains(a.p, 1000));
  EXPECT_TRUE(memory.contains(a.p + 999, 1));
  EXPECT_FALSE(memory.contains(a.p, 1001));
  EXPECT_FALSE(memory.contains(a.p + 1000, 1));
  EXPECT_FALSE(memory.contains(a.p - 1, 1));
  EXPECT_FALSE(memory.release(a.p + 1));
}

TEST(GlobalMemory, ReachesOnlyThePartOfADeclaredGroup) {
  GlobalMemory &memory = GlobalMemory::instance();
  Allocated a(1024);
  ASSERT_TRUE(memory.declare("part", a.p + 256, 100, 256, 3));
  Range range;
  // From the first part's beginning, an address in the third.
  ASSERT_TRUE(memory.reach(a.p + 256, a.p + 800, range));
  EXPECT_EQ(range.begin, a.p + 768);
  EXPECT_EQ(range.bytes, 100u);
  EXPECT_EQ(range.name, "part");
  EXPECT_TRUE(range.contains(a.p + 864, 4));
  EXPECT_FALSE(range.contains(a.p + 865, 4));
  // A pointer to the allocation itself reaches all of it.
  ASSERT_TRUE(memory.reach(a.p, a.p + 800, range));
  EXPECT_EQ(range.bytes, 1024u);
  // Laid out anew, the old parts are gone.
  ASSERT_TRUE(memory.declare("whole", a.p + 256, 700, 0, 1));
  ASSERT_TRUE(memory.reach(a.p + 256, a.p + 800, range));
  EXPECT_EQ(range.bytes, 700u);
}

TEST(GlobalMemory, RefusesPartsThatOverlapOrLeave) {
  GlobalMemory &memory = GlobalMemory::instance();
  Allocated a(1024);
  EXPECT_FALSE(memory.declare("x", a.p, 300, 256, 2));
  EXPECT_FALSE(memory.declare("x", a.p, 256, 256, 5));
  EXPECT_FALSE(memory.declare("x", a.p + 1, 1024, 0, 1));
  EXPECT_FALSE(memory.declare("x", a.p, 1, ~std::size_t(0) / 2, 3));
  EXPECT_TRUE(memory.declare("x", a.p, 256, 256, 4));
}

TEST(SharedWindow, LiesBelowTwoGibibytes) {
  SharedWindow first, second;
  for (SharedWindow *window : {&first, &second}) {
    auto address = reinterpret_cast<std::uintptr_t>(window->begin());
    ASSERT_NE(address, 0u);
    EXPECT_EQ(address % SharedWindow::kBytes, 0u);
    EXPECT_LT(address + SharedWindow::kBytes, std::uintptr_t(1) << 31);
  }
  EXPECT_FALSE(first.contains(second.begin()));
}

} // namespace
