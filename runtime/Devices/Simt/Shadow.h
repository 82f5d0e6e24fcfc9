//===- Shadow.h - what happened to each byte of memory ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checks of a checked program: bounds, alignment, and what each byte of
// shared memory and of global memory remember.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_SHADOW_H
#define STEEP_RUNTIME_DEVICES_SIMT_SHADOW_H

#include "runtime/Devices/Simt/Memory.h"
#include "runtime/Devices/Simt/Races.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace steep::simt {

/// Global memory's traces in one launch; blocks run one after the other.
class GlobalShadow {
public:
  explicit GlobalShadow(std::uint32_t granule) : granule(granule) {}

  Trace &trace(const char *address);

  BlockOrder order;
  /// Bytes that share a trace (Kernel::globalGranule).
  const std::uintptr_t granule;

private:
  static constexpr std::uintptr_t kPage = 1024;
  std::unordered_map<std::uintptr_t, std::unique_ptr<Trace[]>> pages;
  std::uintptr_t lastPage = ~std::uintptr_t(0);
  Trace *last = nullptr;
};

class Shadow {
public:
  Shadow(Block &block, GlobalShadow &global);
  void startBlock();

  /// Checks one access; `base` is the pointer that the address was made from,
  /// or null where it is not known, and `value` what is about to be written,
  /// or null. Stops the block if the access cannot be made.
  void access(Lane &lane, const Site &site, const char *address,
              const char *base, std::uint64_t bytes, Access kind,
              const char *value = nullptr);
  /// An asynchronous copy by the lane has arrived.
  void landed(Lane &lane, const Site &site, const char *address,
              std::uint32_t bytes);
  /// A fence of the lane that other blocks may rely on.
  void fence(Lane &lane);

  /// wgmma of the lane's warpgroup reads these bytes; what was read before a
  /// commit is a group, and a wait releases all groups but the newest `left`.
  void hold(const Lane &lane, const Site &site, const char *address,
            std::uint32_t bytes);
  void commitHeld(const Lane &lane);
  void releaseHeld(const Lane &lane, std::uint64_t left);

private:
  struct Cell {
    Trace trace;
    /// The block, counted from 1, that all of this is about.
    std::uint32_t block = 0;
    /// Written; the destination of a copy that has not landed.
    bool initialised = false, inFlight = false;
    /// Products in flight that read the byte, and one of them.
    std::uint16_t holders = 0;
    const Site *holder = nullptr;
  };
  struct Held {
    std::vector<std::uint32_t> open;
    std::deque<std::vector<std::uint32_t>> committed;
  };
  struct Reach {
    const char *base = nullptr;
    Range range;
  };

  void accessShared(Lane &lane, const Site &site, const char *address,
                    std::uint64_t bytes, Access kind, const char *value);
  void accessGlobal(Lane &lane, const Site &site, const char *address,
                    const char *base, std::uint64_t bytes, Access kind,
                    const char *value);
  bool checkState(Cell &cell, std::uint32_t offset, Lane &lane,
                  const Site &site, Access kind);
  void checkProxy(const Cell &cell, std::uint32_t offset, Lane &lane,
                  const Site &site);
  const Range *reach(const Site &site, const char *base, const char *address,
                     std::uint64_t bytes);

  Block &block;
  GlobalShadow &global;
  Races races;
  std::vector<Cell> cells; ///< One a granule (Kernel::sharedGranule).
  std::unordered_map<const Site *, Reach> reached;
  /// Lanes whose last fence is younger than their last release.
  std::vector<bool> fenced;
  std::vector<Held> held; ///< By warpgroup.
  std::uint32_t granule;
  std::uint32_t generation = 0;
};

} // namespace steep::simt

#endif // STEEP_RUNTIME_DEVICES_SIMT_SHADOW_H
