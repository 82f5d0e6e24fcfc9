//===- Memory.h - memory for large arrays -----------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_CORE_MEMORY_H
#define STEEP_RUNTIME_CORE_MEMORY_H

#include <cstddef>

namespace steep {

/// At least one byte and at least 64-byte aligned; `alignment` is a power of
/// two. Large arrays ask for huge pages: what reads several matrices at once
/// otherwise waits for page tables, a fifth of its time on processors seen.
/// Null where there is no memory. Freed by std::free.
void *allocateAligned(std::size_t bytes, std::size_t alignment = 64);

} // namespace steep

#endif // STEEP_RUNTIME_CORE_MEMORY_H
