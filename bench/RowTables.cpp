//===- RowTables.cpp - which loops go with which target -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bench/RowTwins.h"

#include <string>

namespace steep::bench {
extern const RowTwins nativeTwins, avx2Twins, baselineTwins;
const RowTwins &rowTwins(const char *target) {
  const std::string name = target;
  if (name.rfind("x86-64-v3", 0) == 0)
    return avx2Twins;
  return name == "x86-64" || name.rfind("x86-64-v2", 0) == 0 ? baselineTwins
                                                             : nativeTwins;
}
} // namespace steep::bench
