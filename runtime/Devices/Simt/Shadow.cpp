//===- Shadow.cpp - what happened to each byte of memory ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Shadow.h"

namespace steep::simt {

Shadow::Shadow(Block &block, GlobalShadow &global)
    : block(block), global(global) {}
Shadow::~Shadow() = default;
void Shadow::startBlock() {}
void Shadow::access(Lane &, const Site &, const char *, const char *,
                    std::uint64_t, Access) {}
void Shadow::landed(Lane &, const Site &, const char *, std::uint32_t) {}
void Shadow::fence(Lane &) {}

} // namespace steep::simt
