//===- Assembly.cpp - inline assembly that stands for an operation --------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR has no intrinsic for some instructions and writes them as inline PTX.
// What follows are the texts that it writes; anything else is refused.
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Operations.h"
#include "runtime/Devices/Simt/Retarget.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Regex.h"

using namespace llvm;

namespace steep::simt {

/// { .reg .pred p; setp.ne.b32 p, $S, 0;
///   wgmma.mma_async.sync.aligned.m64nNk16.f32.T.T {...}, ..., p, ...; }
static bool findProduct(StringRef text, std::size_t operands, Site &site) {
  static const Regex pattern("wgmma\\.mma_async\\.sync\\.aligned\\.m64n([0-9]+)"
                             "k([0-9]+)\\.f32\\.(f16|bf16|tf32)\\.(f16|bf16|"
                             "tf32) ");
  SmallVector<StringRef, 5> match;
  if (!pattern.match(text, &match) || match[3] != match[4])
    return false;
  WarpgroupShape shape;
  unsigned k = 0;
  if (match[1].getAsInteger(10, shape.n) || match[2].getAsInteger(10, k) ||
      shape.n % 8 || shape.n < 8 || shape.n > 256)
    return false;
  shape.type = StringSwitch<WarpgroupShape::Type>(match[3])
                   .Case("f16", WarpgroupShape::F16)
                   .Case("bf16", WarpgroupShape::BF16)
                   .Default(WarpgroupShape::TF32);
  // Accumulators, two descriptors, three scales and, of 16 bits, two
  // transpositions; A in registers has more.
  std::size_t expected =
      shape.n / 2 + (shape.type == WarpgroupShape::TF32 ? 5 : 7);
  if (k != shape.k() || operands != expected ||
      text.count("wgmma.mma_async") != 1)
    return false;
  site.operation = &warpgroupProduct;
  site.immediate = shape.pack();
  return true;
}

/// The loop around mbarrier.try_wait.parity.
static bool findParityWait(StringRef text, Site &site) {
  if (!text.contains("mbarrier.try_wait.parity.shared.b64 P1, [$0], $1, $2;") ||
      !text.contains("bra.uni LAB_WAIT"))
    return false;
  site.operation = &waitForParity;
  return true;
}

bool findAssembly(StringRef text, std::size_t operands, Site &site) {
  std::string normal;
  for (char c : text)
    if (!isspace(static_cast<unsigned char>(c)))
      normal += c;
    else if (!normal.empty() && normal.back() != ' ')
      normal += ' ';
  return findProduct(normal, operands, site) || findParityWait(normal, site);
}

} // namespace steep::simt
