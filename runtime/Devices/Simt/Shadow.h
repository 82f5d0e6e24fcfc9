//===- Shadow.h - what happened to each byte of memory ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checks of a checked program. Each byte of shared memory and each four
// bytes of global memory remember who wrote and read them last; an access is
// a race if it conflicts with one that it does not know of (see Clocks.h).
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_SHADOW_H
#define STEEP_RUNTIME_DEVICES_SIMT_SHADOW_H

#include "runtime/Devices/Simt/Block.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace steep::simt {

enum class Access : std::uint8_t {
  Read,
  Write,
  Atomic,     ///< Never races with another atomic access.
  AsyncWrite, ///< A copy that is issued and not there yet.
  ProxyRead,  ///< By the tensor core, from shared memory.
};

class GlobalShadow;

class Shadow {
public:
  Shadow(Block &block, GlobalShadow &global);
  ~Shadow();
  void startBlock();

  /// Checks one access; `base` is the pointer that the address was made from,
  /// or null where it is not known. Stops the block if the access cannot be
  /// made.
  void access(Lane &lane, const Site &site, const char *address,
              const char *base, std::uint64_t bytes, Access kind);
  /// An asynchronous copy by the lane has arrived.
  void landed(Lane &lane, const Site &site, const char *address,
              std::uint32_t bytes);
  /// A fence of the lane that other blocks may rely on.
  void fence(Lane &lane);

private:
  Block &block;
  GlobalShadow &global;
};

class GlobalShadow {
public:
};

} // namespace steep::simt

#endif // STEEP_RUNTIME_DEVICES_SIMT_SHADOW_H
