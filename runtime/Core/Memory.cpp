//===- Memory.cpp - memory for large arrays -------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Core/Memory.h"

#include <algorithm>
#include <cstdlib>
#include <sys/mman.h>

void *steep::allocateAligned(std::size_t bytes, std::size_t alignment) {
  constexpr std::size_t line = 64, hugePage = std::size_t(2) << 20;
  const std::size_t rounded = std::max((bytes + line - 1) / line * line, line);
  const bool isLarge = bytes >= 2 * hugePage;
  void *memory = nullptr;
  if (posix_memalign(&memory,
                     std::max({line, alignment, isLarge ? hugePage : line}),
                     rounded) != 0)
    return nullptr;
  // A wish: where it is not granted, pages are small.
  if (isLarge)
    madvise(memory, rounded / hugePage * hugePage, MADV_HUGEPAGE);
  return memory;
}
