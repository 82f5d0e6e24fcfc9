//===- GPU.h - which GPUs the kernels are compiled for ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_GPU_H
#define STEEP_LIB_TARGET_GPU_H

#include "lib/Target/CPU.h"

namespace steepc {

/// What a multiprocessor of an architecture holds (CUDA C++ Programming Guide,
/// "Technical Specifications per Compute Capability").
struct GPULimits {
  int64_t warps;       ///< resident at once
  int64_t blocks;      ///< resident at once
  int64_t sharedBytes; ///< shared memory
  int64_t blockShared; ///< shared memory that one block may have
};

/// One GPU architecture, as `--target` names it.
struct GPU {
  std::string name;     ///< "sm_90a", LLVM's and ptxas's name
  std::string features; ///< for LLVM, which aborts where the PTX version is low
  int64_t capability;   ///< 90: compute capability 9.0
  bool exact;           ///< runs on this capability alone (the a of sm_90a)
  int64_t ptxVersion;   ///< 80: PTX ISA 8.0, the least that it needs
  GPULimits limits;
};

/// The parts of a target list.
struct Targets {
  CPU cpu;
  std::vector<GPU> gpus;
};

/// Reads `sm_80`, `sm_90a`, ... A name that is not known is an error that lists
/// those that are.
llvm::Expected<GPU> parseGPU(llvm::StringRef text);

/// Reads a list of at most one CPU (see parseCPU(); `native` where there is
/// none) and any number of GPUs, with commas between.
/// A list of at most one CPU, or `none`, and of GPUs.
llvm::Expected<Targets> parseTargets(llvm::StringRef text);

/// The part of a multiprocessor's warps that can be resident at once, from 0 to
/// 1, for a kernel of `threads` threads a block.
double occupancy(const GPU &gpu, int64_t threads, int64_t registers,
                 int64_t sharedBytes);

/// Makes LLVM's NVPTX target known; cheap when repeated.
void initializeNVPTX();

} // namespace steepc

#endif // STEEP_LIB_TARGET_GPU_H
