//===- Pipelines.h - from a spec to machine code, level by level *- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each build function takes a module from one level to the next
// (docs/levels.md).
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_COMPILER_PIPELINES_H
#define STEEP_LIB_COMPILER_PIPELINES_H

#include "mlir/Pass/PassManager.h"

namespace steepc {

/// What passes may know of the target.
struct PipelineOptions {
  /// 32-bit floats of a native vector: 16 with AVX-512, 8 with AVX2, else 4.
  int64_t lanes = 16;
  /// Vector registers: 32 with AVX-512, else 16.
  int64_t registers = 32;
  /// Bytes of a core's second-level cache.
  int64_t l2 = 1024 * 1024;
  /// Sides of Newton-Schulz's matrices are rounded up to multiples of this.
  int64_t padTo = 32;
  /// Whether the GPU has wgmma: sm_90a alone.
  bool wgmma = false;
  /// Whether there are fused multiply-adds; without, each product is rounded
  /// before it is added.
  bool fma = true;
  /// Whether pairs of BF16 are multiplied and added to FP32.
  bool dotBF16 = false;
  /// Whether tiles of BF16 are multiplied and added to FP32 (AMX).
  bool amx = false;
  /// Whether mean rows of states become states, so that projections need no
  /// pass of their own. Functions for GPUs have none: a step there takes the
  /// gradient's norm alone. All targets of an artefact have the same states.
  bool carryMeans = true;
  /// The GPU's name, for errors.
  std::string gpu = "";
};

/// Spec to bound: every parameter has its function on tensors of static shape.
void buildBindPipeline(mlir::OpPassManager &pm);
/// Bound to geometry: what facts license is left out, spectral is expanded.
void buildGeometryPipeline(mlir::OpPassManager &pm,
                           const PipelineOptions &options = {});
/// Geometry to block: steps and kernels, in place, verified.
void buildBlockPipeline(mlir::OpPassManager &pm,
                        const PipelineOptions &options = {});
/// Block to the LLVM dialect: kernels that run a range of their blocks. Erases
/// the steps: read them before.
void buildCPUPipeline(mlir::OpPassManager &pm,
                      const PipelineOptions &options = {});

/// Geometry to kernels for GPUs: steps and kernels with their grids, from which
/// lib/Target reads its plan. Kernels are not tiled.
void buildGPUPipeline(mlir::OpPassManager &pm,
                      const PipelineOptions &options = {});
/// From there to the LLVM dialect, one thread's program a kernel. Erases the
/// steps: read them before.
void buildNVPTXPipeline(mlir::OpPassManager &pm,
                        const PipelineOptions &options = {});

/// Registers `steep-to-geo`, `steep-to-block`, `steep-to-cpu`, `steep-to-gpu`
/// and `steep-to-nvptx`, each of which starts at the spec, and the steps
/// between two levels: `steep-spec-to-bound`, `steep-bound-to-geo`,
/// `steep-geo-to-block`, `steep-block-to-cpu`, `steep-geo-to-gpu` and
/// `steep-gpu-to-nvptx`.
void registerPipelines();

} // namespace steepc

#endif // STEEP_LIB_COMPILER_PIPELINES_H
