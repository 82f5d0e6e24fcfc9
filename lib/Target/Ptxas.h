//===- Ptxas.h - from PTX to machine code -----------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_PTXAS_H
#define STEEP_LIB_TARGET_PTXAS_H

#include "lib/Target/GPU.h"

#include <optional>

namespace steepc {

/// What STEEP_CUDA says to do without a toolkit.
inline constexpr llvm::StringLiteral noToolkit = "none";

/// NVIDIA's toolkit, or as much of it as is there. It is looked for in
/// $STEEP_CUDA, and where that is not set in ../cuda from the running program's
/// folder (tools/fetch-cuda.sh), in $CUDA_HOME and in $CUDA_PATH.
/// Returns the path of a file in it, or an empty string.
std::string findInToolkit(llvm::StringRef file);

/// ptxas of the toolkit, or, where STEEP_CUDA is not set, of PATH.
struct Ptxas {
  std::string program;
  std::string version;    ///< "13.0.88"
  unsigned seconds = 600; ///< how long it may take: $STEEP_PTXAS_SECONDS
};

/// None is no error unless STEEP_CUDA asks for one; one that cannot say its
/// version always is.
llvm::Expected<std::optional<Ptxas>> findPtxas();

/// What one kernel takes of a multiprocessor, as ptxas says.
struct KernelResources {
  std::string name;
  int64_t registers = 0, stackBytes = 0, spillStores = 0, spillLoads = 0;
  int64_t sharedBytes = 0; ///< declared by the kernel
};

struct Cubin {
  std::string bytes;
  std::vector<KernelResources> kernels;
};

/// Reads the log of ptxas -v.
std::vector<KernelResources> parsePtxasLog(llvm::StringRef log);

/// Assembles, or takes the result from the cache ($XDG_CACHE_HOME/steep/cubin,
/// else ~/.cache/steep/cubin), where it is found by a digest of all that
/// decides it. Where ptxas fails, takes too long or writes no ELF file, the
/// error has a command that shows it again; the PTX, steep-`name`-*.ptx, then
/// stays in the system's temporary folder.
llvm::Expected<Cubin> assemble(const Ptxas &ptxas, const GPU &gpu,
                               llvm::StringRef ptx, llvm::StringRef name);

} // namespace steepc

#endif // STEEP_LIB_TARGET_PTXAS_H
