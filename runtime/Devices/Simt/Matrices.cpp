//===- Matrices.cpp - ldmatrix and mma.sync -------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fragment layouts: PTX ISA, "Matrix Fragments for mma.m16n8k*". With
// g = lane / 4 and q = lane % 4, registers hold
//
//   A, 16 bits   row g + 8 (r % 2), columns 2 q + 8 (r / 2) and the next
//   B, 16 bits   rows 2 q + 8 r and the next, column g
//   A, tf32      row g + 8 (r % 2), column q + 4 (r / 2)
//   B, tf32      row q + 4 r, column g
//   C            row g + 8 (r / 2), column 2 q + r % 2
//
// Products are summed in the order of k by fused multiply-adds in FP32. The
// hardware's order and rounding are its own.
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Block.h"
#include "runtime/Devices/Simt/Products.h"
#include "runtime/Devices/Simt/Shadow.h"
#include "runtime/Devices/Simt/SmallFloats.h"

#include <cstring>

namespace steep::simt {

//===----------------------------------------------------------------------===//
// ldmatrix
//===----------------------------------------------------------------------===//

static constexpr std::uint32_t kTransposed = 1u << 8;

/// (address of a row): lanes 8 i to 8 i + 7 name the rows of matrix i.
static void loadMatrices(Block &block, Lane &lane, std::uint32_t) {
  Lane *warp = block.warpLanes(lane);
  unsigned matrices = lane.site->immediate & 0xff;
  bool transposed = lane.site->immediate & kTransposed;
  for (unsigned m = 0; m < matrices; ++m) {
    std::uint16_t rows[8][8];
    for (unsigned r = 0; r < 8; ++r) {
      Lane &owner = warp[m * 8 + r];
      auto *address = reinterpret_cast<const char *>(owner.operands[0]);
      if (owner.operands[0] % 16 || !block.isShared(address))
        return block.report(owner, *owner.site,
                            "a row of ldmatrix is 16 aligned bytes of shared "
                            "memory, not " +
                                hex(owner.operands[0]),
                            true);
      if (block.shadow)
        block.shadow->access(owner, *owner.site, address, nullptr, 16,
                             Access::Read);
      if (block.isStopped())
        return;
      std::memcpy(rows[r], address, 16);
    }
    for (unsigned l = 0; l < 32; ++l) {
      unsigned i = l / 4, j = l % 4 * 2;
      std::uint32_t low = transposed ? rows[j][i] : rows[i][j];
      std::uint32_t high = transposed ? rows[j + 1][i] : rows[i][j + 1];
      warp[l].results[m] = low | high << 16;
    }
  }
}

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

namespace {
struct HalfFormat {
  static float low(std::uint64_t bits) { return halfToFloat(bits & 0xffff); }
  static float high(std::uint64_t bits) {
    return halfToFloat(bits >> 16 & 0xffff);
  }
};
struct BrainFormat {
  static float low(std::uint64_t bits) {
    return floatOf(static_cast<std::uint32_t>(bits) << 16);
  }
  static float high(std::uint64_t bits) {
    return floatOf(static_cast<std::uint32_t>(bits) & 0xffff0000);
  }
};
} // namespace

/// The hardware reads the upper 19 bits of a tf32 operand.
static float tf32(std::uint64_t bits) {
  return floatOf(static_cast<std::uint32_t>(bits) & 0xffffe000);
}

/// Fills A (16 x k) and B (k x 8); returns the registers that they take.
template <typename Format>
static unsigned unpack16(const Lane *warp, unsigned k, float *a, float *b) {
  unsigned forA = k / 4, forB = k / 8;
  for (unsigned l = 0; l < 32; ++l) {
    const std::uint64_t *registers = warp[l].operands;
    unsigned g = l / 4, q = l % 4;
    for (unsigned r = 0; r < forA; ++r) {
      float *to = a + (g + 8 * (r % 2)) * k + 2 * q + 8 * (r / 2);
      to[0] = Format::low(registers[r]);
      to[1] = Format::high(registers[r]);
    }
    for (unsigned r = 0; r < forB; ++r) {
      float *to = b + (2 * q + 8 * r) * 8 + g;
      to[0] = Format::low(registers[forA + r]);
      to[8] = Format::high(registers[forA + r]);
    }
  }
  return forA + forB;
}

static unsigned unpackTf32(const Lane *warp, unsigned k, float *a, float *b) {
  unsigned forA = k / 2, forB = k / 4;
  for (unsigned l = 0; l < 32; ++l) {
    const std::uint64_t *registers = warp[l].operands;
    unsigned g = l / 4, q = l % 4;
    for (unsigned r = 0; r < forA; ++r)
      a[(g + 8 * (r % 2)) * k + q + 4 * (r / 2)] = tf32(registers[r]);
    for (unsigned r = 0; r < forB; ++r)
      b[(q + 4 * r) * 8 + g] = tf32(registers[forA + r]);
  }
  return forA + forB;
}

using Unpack = unsigned (*)(const Lane *, unsigned, float *, float *);

/// (A registers, B registers, C registers) to D registers.
template <Unpack unpack, unsigned k>
static void multiply(Block &block, Lane &lane, std::uint32_t) {
  Lane *warp = block.warpLanes(lane);
  alignas(32) float a[16 * k], b[k * 8], c[16 * 8];
  unsigned first = unpack(warp, k, a, b);
  auto place = [&](unsigned l, unsigned r) -> float & {
    return c[(l / 4 + 8 * (r / 2)) * 8 + l % 4 * 2 + r % 2];
  };
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned r = 0; r < 4; ++r)
      place(l, r) =
          floatOf(static_cast<std::uint32_t>(warp[l].operands[first + r]));
  accumulate(a, b, c, 16, 8, k);
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned r = 0; r < 4; ++r)
      warp[l].results[r] = bitsOf(place(l, r));
}

/// The same with C and D in half precision, two to a register.
template <unsigned k>
static void multiplyToHalf(Block &block, Lane &lane, std::uint32_t) {
  Lane *warp = block.warpLanes(lane);
  alignas(32) float a[16 * k], b[k * 8], c[16 * 8];
  unsigned first = unpack16<HalfFormat>(warp, k, a, b);
  auto place = [&](unsigned l, unsigned r) {
    return c + (l / 4 + 8 * r) * 8 + l % 4 * 2;
  };
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned r = 0; r < 2; ++r) {
      place(l, r)[0] = HalfFormat::low(warp[l].operands[first + r]);
      place(l, r)[1] = HalfFormat::high(warp[l].operands[first + r]);
    }
  accumulate(a, b, c, 16, 8, k);
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned r = 0; r < 2; ++r)
      warp[l].results[r] =
          floatToHalf(place(l, r)[0]) |
          static_cast<std::uint32_t>(floatToHalf(place(l, r)[1])) << 16;
}

OperationTable matrixOperations() {
#define WARP(NAME, ...)                                                        \
  static const Operation NAME = {#NAME, Gather::Warp, true, -1, __VA_ARGS__}
  WARP(ldmatrix, loadMatrices);
  WARP(half16, multiply<unpack16<HalfFormat>, 16>);
  WARP(half8, multiply<unpack16<HalfFormat>, 8>);
  WARP(brain16, multiply<unpack16<BrainFormat>, 16>);
  WARP(brain8, multiply<unpack16<BrainFormat>, 8>);
  WARP(tensor8, multiply<unpackTf32, 8>);
  WARP(tensor4, multiply<unpackTf32, 4>);
  WARP(halfToHalf16, multiplyToHalf<16>);
  WARP(halfToHalf8, multiplyToHalf<8>);
#undef WARP
  return {
      {"ldmatrix.sync.aligned.m8n8.x1.b16", &ldmatrix, 1},
      {"ldmatrix.sync.aligned.m8n8.x2.b16", &ldmatrix, 2},
      {"ldmatrix.sync.aligned.m8n8.x4.b16", &ldmatrix, 4},
      {"ldmatrix.sync.aligned.m8n8.x1.trans.b16", &ldmatrix, 1 | kTransposed},
      {"ldmatrix.sync.aligned.m8n8.x2.trans.b16", &ldmatrix, 2 | kTransposed},
      {"ldmatrix.sync.aligned.m8n8.x4.trans.b16", &ldmatrix, 4 | kTransposed},
      {"mma.m16n8k16.row.col.f32.f32", &half16, 0},
      {"mma.m16n8k8.row.col.f32.f32", &half8, 0},
      {"mma.m16n8k16.row.col.f16.f16", &halfToHalf16, 0},
      {"mma.m16n8k8.row.col.f16.f16", &halfToHalf8, 0},
      {"mma.m16n8k16.row.col.bf16", &brain16, 0},
      {"mma.m16n8k8.row.col.bf16", &brain8, 0},
      {"mma.m16n8k8.row.col.tf32", &tensor8, 0},
      {"mma.m16n8k4.row.col.tf32", &tensor4, 0},
  };
}

} // namespace steep::simt
