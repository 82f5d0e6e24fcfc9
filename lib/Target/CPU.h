//===- CPU.h - which processor the kernels are compiled for -----*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_CPU_H
#define STEEP_LIB_TARGET_CPU_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace steepc {

/// A feature that compiled kernels may use, and where cpuid reports it.
struct CPUFeature {
  const char *llvmName;
  const char *cpuinfoName; ///< as in the flags of /proc/cpuinfo
  uint32_t leaf, subleaf;
  int reg; ///< 0 eax, 1 ebx, 2 ecx, 3 edx
  int bit;
  uint32_t xcr0; ///< register state the operating system must save
};

/// One x86-64 processor, as `--target` names it.
struct CPU {
  /// Whether kernels are made for it; else a GPU has all of them, and this is
  /// what the host code runs on.
  bool hasKernels = true;
  std::string triple;
  std::string cpu;      ///< LLVM's name
  std::string features; ///< LLVM's feature string, for the kernels
  /// What must be present to run; kernels use nothing beyond it.
  std::vector<const CPUFeature *> required;
  int64_t lanes = 4; ///< floats in a vector register
  /// Bytes of a second-level cache as processors with these features have.
  int64_t l2 = 512 * 1024;

  /// Whether a feature, by LLVM's name, is required.
  bool has(llvm::StringRef name) const;
  /// Whether kernels may multiply tiles of BF16; the borders of products are
  /// AVX512-BF16's.
  bool hasAMX() const {
    return has("amx-tile") && has("amx-bf16") && has("avx512bf16");
  }
  /// Requires no AMX: no kernel uses it. LLVM chooses it for nothing by itself,
  /// and processes have to ask the operating system for it.
  void dropAMX();
};

/// Reads `x86-64[-v2|-v3|-v4]`, `native` or an LLVM CPU name, each followed by
/// any number of `+feature`. Everything that LLVM would abort on is an error
/// here, which says what was expected.
llvm::Expected<CPU> parseCPU(llvm::StringRef text);

/// Makes LLVM's x86 target known; cheap when repeated.
void initializeX86();

} // namespace steepc

#endif // STEEP_LIB_TARGET_CPU_H
