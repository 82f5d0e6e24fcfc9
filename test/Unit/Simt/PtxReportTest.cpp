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

} // namespace
