//===- PtxReportTest.cpp - reports on PTX texts -------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Simt/PtxTest.h"

#include <gtest/gtest.h>

using namespace steep::simt::test;

namespace {

TEST(PtxText, ReportsNameTheLineOfTheText) {
  // The kernel's text begins with 16 lines; the store goes one element too far.
  PtxRun run = runText(kernelText("st.global.u32 [%out+8], %t;"), {}, 1);
  EXPECT_NE(run.error.find("text.ptx:17"), std::string::npos) << run.error;
  PtxRun shared = runText(kernelText(".shared .b32 a[2], b[2];\n"
                                     "mov.u32 %r0, a;\nadd.u32 %r0, %r0, 8;\n"
                                     "st.shared.u32 [%r0], 1;\n"
                                     "st.shared.u32 [b], 1;"),
                          {}, 1);
  EXPECT_NE(shared.error, "") << "a pointer to `a` must not reach into `b`";
}

TEST(PtxText, BarriersOfAllWaitForThreadsThatHaveNotReturned) {
  // 50 of 64 threads hand a number to each other, twice.
  auto exchange = [](const std::string &barrier) {
    std::string meet = "bar.sync " + barrier + ";\n";
    return runText(kernelText("setp.ge.u32 %p0, %t, 50;\n@%p0 ret;\n"
                              "mul.wide.u32 %rd0, %t, 8;\n"
                              "add.s64 %rd1, %out, %rd0;\n"
                              "sub.s64 %rd2, %out, %rd0;\n"
                              "cvt.u64.u32 %rd3, %t;\n"
                              "st.global.u64 [%rd1], %rd3;\n" +
                              meet + "ld.global.u64 %rd4, [%rd2+392];\n" +
                              meet + "st.global.u64 [%rd1], %rd4;"),
                   {}, 50, 64);
  };
  PtxRun all = exchange("0");
  EXPECT_EQ(all.error, "");
  for (unsigned t = 0; t < all.values.size(); ++t)
    EXPECT_EQ(all.values[t], 49 - t);
  PtxRun counted = exchange("0, 64");
  EXPECT_NE(counted.error.find("no thread can go on"), std::string::npos)
      << counted.error;
}

} // namespace
