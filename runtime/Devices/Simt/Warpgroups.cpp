//===- Warpgroups.cpp - wgmma ---------------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix descriptors: PTX ISA, "Matrix Descriptor Format" and the canonical
// layouts of shared memory. A descriptor names the address of the tile, two
// strides and a swizzle, by which 16-byte units of an address are exchanged.
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Block.h"
#include "runtime/Devices/Simt/Products.h"
#include "runtime/Devices/Simt/Shadow.h"
#include "runtime/Devices/Simt/SmallFloats.h"

#include <cstring>
#include <vector>

namespace steep::simt {

namespace {
/// One operand's tile in shared memory.
struct Tile {
  std::uint32_t start, leading, stride;
  std::uint32_t span;    ///< Bytes that are contiguous: 16, 32, 64 or 128.
  std::uint32_t swizzle; ///< Bits of the unit's number that are exchanged.
  bool transposed;       ///< The outer index (m or n) is the contiguous one.

  Tile(std::uint64_t descriptor, bool transposed)
      : start((descriptor & 0x3fff) << 4),
        leading((descriptor >> 16 & 0x3fff) << 4),
        stride((descriptor >> 32 & 0x3fff) << 4), transposed(transposed) {
    static const std::uint32_t spans[] = {16, 128, 64, 32};
    span = spans[descriptor >> 62];
    swizzle = span / 16 - 1;
  }

  /// Where in the window element (outer, k) is, of `size` bytes.
  std::uint32_t offset(std::uint32_t outer, std::uint32_t k,
                       std::uint32_t size) const {
    std::uint32_t address = start;
    if (!transposed) {
      std::uint32_t bytes = k * size;
      address += outer / 8 * stride + outer % 8 * span;
      // Without swizzle the next 16 bytes of k are a core matrix further.
      address += swizzle ? bytes : bytes / 16 * leading + bytes % 16;
    } else {
      std::uint32_t bytes = outer * size;
      std::uint32_t far = swizzle ? leading : stride;
      std::uint32_t next = swizzle ? stride : leading;
      address += bytes / span * far + bytes % span;
      address += k / 8 * next + k % 8 * span;
    }
    return address ^ ((address >> 7 & swizzle) << 4);
  }
};
} // namespace

static float element(const char *p, WarpgroupShape::Type type) {
  if (type == WarpgroupShape::TF32) {
    std::uint32_t bits;
    std::memcpy(&bits, p, 4);
    return floatOf(bits & 0xffffe000);
  }
  std::uint16_t bits;
  std::memcpy(&bits, p, 2);
  return type == WarpgroupShape::BF16 ? brainToFloat(bits) : halfToFloat(bits);
}

/// Reads a tile: rows of `outer`, k columns, or turned for B.
static bool readTile(Block &block, Lane &lane, const Tile &tile,
                     unsigned outers, WarpgroupShape shape, float sign,
                     float *to, unsigned outerStep, unsigned kStep) {
  unsigned size = shape.type == WarpgroupShape::TF32 ? 4 : 2;
  for (unsigned outer = 0; outer < outers; ++outer)
    for (unsigned k = 0; k < shape.k(); ++k) {
      std::uint32_t offset = tile.offset(outer, k, size);
      const char *address = block.shared() + offset;
      if (offset + size > block.sharedBytes()) {
        block.report(lane, *lane.site,
                     "the matrix descriptor reaches offset " +
                         std::to_string(offset) + " of " +
                         std::to_string(block.sharedBytes()) +
                         " bytes of shared memory",
                     true);
        return false;
      }
      if (block.shadow) {
        block.shadow->access(lane, *lane.site, address, nullptr, size,
                             Access::ProxyRead);
        block.shadow->hold(lane, *lane.site, address, size);
      }
      if (block.isStopped())
        return false;
      to[outer * outerStep + k * kStep] = sign * element(address, shape.type);
    }
  return true;
}

/// (accumulators..., A, B, scale D, scale A, scale B [, transpose A, B])
static void product(Block &block, Lane &lane, std::uint32_t) {
  WarpgroupShape shape = WarpgroupShape::unpack(lane.site->immediate);
  unsigned registers = shape.n / 2;
  Lane *group = &block.lane(lane.index / 128 * 128);
  const std::uint64_t *tail = lane.operands + registers;
  for (unsigned l = 0; l < 128; ++l)
    if (group[l].operands[registers] != tail[0] ||
        group[l].operands[registers + 1] != tail[1])
      return block.report(group[l], *lane.site,
                          "matrix descriptors differ within the warpgroup",
                          true);
  bool accumulates = tail[2] & 1;
  auto sign = [&](unsigned i) {
    return static_cast<std::int32_t>(tail[i]) < 0 ? -1.0f : 1.0f;
  };
  bool turns = shape.type != WarpgroupShape::TF32;
  Tile tileA(tail[0], turns && tail[5]), tileB(tail[1], turns && tail[6]);
  unsigned k = shape.k(), n = shape.n;
  std::vector<float> a(64 * k), b(k * n), d(64 * n);
  if (!readTile(block, lane, tileA, 64, shape, sign(3), a.data(), k, 1) ||
      !readTile(block, lane, tileB, n, shape, sign(4), b.data(), 1, n))
    return;
  // Warp w of the group holds rows 16 w and on, as four mma.m16n8 side by
  // side would.
  auto place = [&](unsigned l, unsigned r) -> float & {
    unsigned row = 16 * (l / 32) + l % 32 / 4 + 8 * (r / 2 % 2);
    return d[row * n + 8 * (r / 4) + l % 4 * 2 + r % 2];
  };
  if (accumulates)
    for (unsigned l = 0; l < 128; ++l)
      for (unsigned r = 0; r < registers; ++r)
        place(l, r) = floatOf(static_cast<std::uint32_t>(group[l].operands[r]));
  accumulate(a.data(), b.data(), d.data(), 64, n, k);
  for (unsigned l = 0; l < 128; ++l)
    for (unsigned r = 0; r < registers; ++r)
      group[l].results[r] = bitsOf(place(l, r));
}

// Products are complete when they are issued; only what they read stays held
// until it is waited for.

static void fence(Block &, Lane &, std::uint32_t) {}

static void commit(Block &block, Lane &lane, std::uint32_t) {
  if (block.shadow)
    block.shadow->commitHeld(lane);
}

static void wait(Block &block, Lane &lane, std::uint32_t) {
  if (block.shadow)
    block.shadow->releaseHeld(lane, lane.operands[0]);
}

const Operation warpgroupProduct = {"wgmma", Gather::Warpgroup, true, -1,
                                    product};

OperationTable warpgroupOperations() {
#define WARPGROUP(NAME, FUNCTION)                                              \
  static const Operation NAME = {"wgmma." #NAME, Gather::Warpgroup, true, -1,  \
                                 FUNCTION}
  WARPGROUP(order, fence);
  WARPGROUP(commit_group, commit);
  WARPGROUP(wait_group, wait);
#undef WARPGROUP
  return {{"wgmma.fence.sync.aligned", &order, 0},
          {"wgmma.commit_group.sync.aligned", &commit_group, 0},
          {"wgmma.wait_group.sync.aligned", &wait_group, 0}};
}

} // namespace steep::simt
