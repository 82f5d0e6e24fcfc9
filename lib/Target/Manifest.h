//===- Manifest.h - what an artefact says of itself -------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_MANIFEST_H
#define STEEP_LIB_TARGET_MANIFEST_H

#include "lib/Target/CPU.h"
#include "lib/Target/DeviceCode.h"

namespace steepc {

/// Bytes that any program must move for one step of this batch: weight and
/// states read and written, the gradient read twice, since the norm of all
/// gradients is known only after the first time.
double leastBytes(const Plan &plan, const Batch &batch);

/// Bytes and operations of the compiled kernels, for all matrices of a batch,
/// the norm included.
double movedBytes(const Plan &plan, const Batch &batch);
double operations(const Plan &plan, const Batch &batch);

/// NAME.json, as documented in docs/manifest.md. The same plan gives the same
/// bytes.
std::string writeManifest(const Plan &plan, const CPU &cpu,
                          llvm::ArrayRef<GPUCode> gpus,
                          llvm::StringRef specSha256, bool hasLibrary);

/// The name of a GPU's file: NAME.sm_90a.ptx.
std::string gpuFileName(const Plan &plan, const GPU &gpu,
                        llvm::StringRef ending);

/// The files of GPUs that a manifest names; none where it is no manifest.
std::vector<std::string> listGPUFiles(llvm::StringRef manifest);

/// The shortest decimal number that reads back as `value`.
std::string shortestNumber(double value);

} // namespace steepc

#endif // STEEP_LIB_TARGET_MANIFEST_H
