//===- Arena.h - memory that a caller hands over ----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_GEOMETRY_ORACLE_ARENA_H
#define STEEP_RUNTIME_GEOMETRY_ORACLE_ARENA_H

#include <stdint.h>

namespace steep::oracle {

/// Cuts arrays, 64-byte aligned, from one piece of memory. Without memory it
/// only counts: the code that lays memory out also says how much it needs.
class Arena {
public:
  explicit Arena(void *memory = nullptr) : memory(memory) {}

  template <typename T> T *take(int64_t count) {
    const int64_t at = used;
    used += (count * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
    return memory ? reinterpret_cast<T *>(static_cast<char *>(memory) + at)
                  : nullptr;
  }
  int64_t bytes() const { return used; }

private:
  void *memory;
  int64_t used = 0;
};

constexpr int64_t roundUp(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

} // namespace steep::oracle

#endif // STEEP_RUNTIME_GEOMETRY_ORACLE_ARENA_H
