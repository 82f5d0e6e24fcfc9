//===- Memory.h - global memory and shared windows --------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_MEMORY_H
#define STEEP_RUNTIME_DEVICES_SIMT_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace steep::simt {

/// Bytes that a kernel may reach through a pointer to their beginning.
struct Range {
  char *begin = nullptr;
  std::size_t bytes = 0;
  std::string name;

  bool contains(const char *p, std::size_t size) const {
    return p >= begin && size <= bytes &&
           static_cast<std::size_t>(p - begin) <= bytes - size;
  }
};

/// The device's global memory: every allocation ends at a page that may not
/// be touched (up to the 256 bytes that allocations are aligned to), and is
/// filled with 0xff, so that floats not written are NaN.
class GlobalMemory {
public:
  static GlobalMemory &instance();

  /// Null where the system has no more.
  void *allocate(std::size_t bytes);
  /// False for a pointer that allocate() did not return.
  bool release(void *pointer);
  /// Whether all of the bytes lie in one allocation.
  bool contains(const void *pointer, std::size_t bytes) const;

  /// Memory that something else owns: a module's variables.
  void adopt(void *pointer, std::size_t bytes, const std::string &name);
  void disown(void *pointer);

  /// Divides an allocation: from now on a pointer to `pointer` + k * stride
  /// reaches `bytes` bytes of one of the `count` equal parts, not what lies
  /// between or behind them. False where that is not inside one allocation.
  /// 0 bytes take back the division that begins at `pointer`, where one does.
  bool declare(const std::string &name, void *pointer, std::size_t bytes,
               std::size_t stride, std::size_t count);

  /// The allocation that holds `p`; false if none does.
  bool find(const char *p, Range &range) const;
  /// The same for what a pointer `base` may reach: the part that `p` lies in
  /// if `base` points into a declared group, otherwise the allocation.
  /// `base` null: any allocation or part.
  bool reach(const char *base, const char *p, Range &range) const;

private:
  struct Group {
    std::string name;
    char *begin;
    std::size_t bytes, stride, count;
  };
  struct Allocation {
    Range range;
    void *mapping = nullptr; ///< Null for adopted memory.
    std::size_t mapped = 0;
    std::vector<Group> groups;
  };
  const Allocation *locate(const char *p) const;

  mutable std::mutex mutex;
  std::map<const char *, Allocation> allocations;
  std::uint64_t made = 0;
};

/// Shared memory of one block: 256 KiB below 2 GiB and aligned to their size,
/// so that 32-bit shared addresses and the 18 bits of a matrix descriptor are
/// what they are on a GPU. Nothing else lies close to it.
class SharedWindow {
public:
  static constexpr std::size_t kBytes = 256 * 1024;

  SharedWindow();
  ~SharedWindow();
  SharedWindow(const SharedWindow &) = delete;
  SharedWindow &operator=(const SharedWindow &) = delete;

  /// Null if the system has no room below 2 GiB.
  char *begin() const { return window; }
  bool contains(const void *p) const {
    return p >= window && p < window + kBytes;
  }

private:
  char *window = nullptr;
  void *mapping = nullptr;
};

} // namespace steep::simt

#endif // STEEP_RUNTIME_DEVICES_SIMT_MEMORY_H
