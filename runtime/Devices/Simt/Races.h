//===- Races.h - accesses that nothing orders -------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two accesses to the same bytes, at least one of them a write and not both
// atomic, are a race unless the second lane knows of the first (Clocks.h).
// Lanes of other blocks are known through atomics: a lane that has executed
// a fence and then an atomic tells whoever uses the same address atomically
// later. That is coarser than the memory model (it counts for the whole of
// both blocks), so that it misses races rather than invents them.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_RACES_H
#define STEEP_RUNTIME_DEVICES_SIMT_RACES_H

#include "runtime/Devices/Simt/Block.h"

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

namespace steep::simt {

enum class Access : std::uint8_t {
  Read,
  Write,
  Atomic,     ///< Reads and writes; never races with another atomic access.
  AsyncWrite, ///< A copy that is issued and not there yet.
  ProxyRead,  ///< By the tensor core, from shared memory.
};

/// An access, remembered. `block` counts from 1; 0: none.
struct Event {
  const Site *site = nullptr;
  std::uint32_t block = 0, epoch = 0, tick = 0;
  std::uint16_t lane = 0;
  bool atomic = false;
};

/// What is remembered of some bytes: the last write, and the first and the
/// last reader since. With more than two readers one in the middle can be
/// missed.
struct Trace {
  Event write, firstRead, lastRead;
};

/// Which blocks know of which, in one launch.
class BlockOrder {
public:
  void startBlock(std::uint32_t block);
  bool knows(std::uint32_t block) const { return known.count(block) != 0; }
  /// The current block uses `address` atomically; `releases` if it lets others
  /// know what it did before.
  void atomic(const char *address, bool releases);

private:
  std::uint32_t current = 0;
  std::unordered_set<std::uint32_t> known;
  std::unordered_map<const char *, std::unordered_set<std::uint32_t>> told;
};

class Races {
public:
  Races(Block &block, BlockOrder &order) : block(block), order(order) {}

  /// Reports a race of this access with what `trace` remembers, and remembers
  /// the access. `where` names the bytes in a report. Writing what is there
  /// already (`same`) is no race with who wrote it: compilers let all lanes
  /// store a value that all of them have.
  template <typename Where>
  void access(Trace &trace, Lane &lane, const Site &site, Access kind,
              bool same, Where where) {
    const Event *other = conflict(trace, lane, kind, same);
    if (other)
      report(*other, lane, site, kind, where());
    remember(trace, lane, site, kind);
  }
  void remember(Trace &trace, Lane &lane, const Site &site, Access kind);

private:
  const Event *conflict(const Trace &trace, const Lane &lane, Access kind,
                        bool same) const;
  bool isKnown(const Event &event, const Lane &lane) const;
  void report(const Event &other, Lane &lane, const Site &site, Access kind,
              const std::string &where);

  Block &block;
  BlockOrder &order;
};

} // namespace steep::simt

#endif // STEEP_RUNTIME_DEVICES_SIMT_RACES_H
