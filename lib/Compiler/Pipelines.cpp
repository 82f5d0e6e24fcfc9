//===- Pipelines.cpp - from a spec to machine code, level by level --------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Compiler/Pipelines.h"

#include "passes/Block/Passes.h"
#include "passes/CPU/Passes.h"
#include "passes/Geo/Passes.h"
#include "passes/NVPTX/Passes.h"
#include "passes/Optim/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace steepc;

void steepc::buildBindPipeline(OpPassManager &pm) {
  // Parameters first get their group, so that every later message can name
  // both; batching comes last because it compares instantiated functions.
  pm.addPass(optim::createBindParameters());
  pm.addPass(optim::createInstantiateRules());
  pm.addPass(optim::createBatchParameters());
}

void steepc::buildGeometryPipeline(OpPassManager &pm,
                                   const PipelineOptions &options) {
  pm.addPass(optim::createVerifyBound());
  // Laws before expansions: what facts make redundant must be seen while it is
  // still one op.
  pm.addNestedPass<func::FuncOp>(geo::createRelaxRowDiameter());
  pm.addNestedPass<func::FuncOp>(geo::createInferCentering());
  pm.addPass(createCanonicalizerPass());
  if (options.carryMeans)
    pm.addPass(geo::createCarryMeans());
  pm.addNestedPass<func::FuncOp>(
      geo::createExpandSpectral(geo::ExpandSpectralOptions{options.padTo}));
  pm.addNestedPass<func::FuncOp>(geo::createExpandCentering());
  // An increment that two results share is computed once; dead values would
  // become kernels.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void steepc::buildBlockPipeline(OpPassManager &pm,
                                const PipelineOptions &options) {
  // What products multiply lies as their loops want it: panels as wide as the
  // part of a result that stays in registers.
  block::FormKernelsOptions kernels;
  kernels.panel = 3 * options.lanes;
  kernels.amx = options.amx;
  pm.addPass(block::createFormKernels(kernels));
  // Decide, then do: what is decided stands in the IR from here on.
  pm.addNestedPass<func::FuncOp>(block::createSelectConfig(
      {"cpu", options.lanes, options.registers, options.l2, options.amx}));
  pm.addNestedPass<func::FuncOp>(block::createLowerProducts({options.dotBF16}));
  pm.addNestedPass<func::FuncOp>(block::createTile());
  // Vectors before memory: sums over a row are registers then. The other way
  // round they are buffers.
  pm.addNestedPass<func::FuncOp>(block::createVectorize());
  // It cleans up after itself; the whole canonicaliser would inline a grid of
  // one block.
  pm.addPass(block::createBufferize());
  pm.addPass(block::createChainKernels());
  pm.addPass(block::createVerify());
}

void steepc::buildCPUPipeline(OpPassManager &pm,
                              const PipelineOptions &options) {
  if (!options.fma)
    pm.addNestedPass<func::FuncOp>(block::createSplitFMA());
  pm.addNestedPass<func::FuncOp>(block::createPrefetchRows());
  pm.addPass(block::createBlockToCPU());
  block::buildLowerToLLVM(pm);
}

void steepc::buildGPUPipeline(OpPassManager &pm,
                              const PipelineOptions &options) {
  // Tensor cores want bf16 in memory: products read half the bytes, and copy
  // them as they are.
  pm.addNestedPass<func::FuncOp>(geo::createRoundOperands());
  // A GPU has no host inside: ops that only its solvers compute are refused.
  block::FormKernelsOptions kernels;
  kernels.hostKernels = false;
  kernels.target = options.gpu;
  pm.addPass(block::createFormKernels(kernels));
  // Threads evaluate geometries from their definitions, so those come before
  // the decisions, and nothing is tiled.
  pm.addNestedPass<func::FuncOp>(geo::createConvertGeoToLinalg());
  block::SelectConfigOptions select;
  select.target = "nvptx";
  pm.addNestedPass<func::FuncOp>(block::createSelectConfig(select));
  pm.addPass(block::createBlockToGPU());
}

void steepc::buildNVPTXPipeline(OpPassManager &pm,
                                const PipelineOptions &options) {
  pm.addPass(block::createDistributeRows());
  pm.addPass(block::createLowerMatmul({options.wgmma}));
  block::buildLowerToNVVM(pm);
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

namespace {
/// The same options as text, for steep-opt.
struct TextOptions : PassPipelineOptions<TextOptions> {
  Option<int64_t> lanes{*this, "lanes",
                        llvm::cl::desc("32-bit floats of a native vector"),
                        llvm::cl::init(PipelineOptions().lanes)};
  Option<int64_t> registers{*this, "registers",
                            llvm::cl::desc("vector registers"),
                            llvm::cl::init(PipelineOptions().registers)};
  Option<int64_t> l2{*this, "l2",
                     llvm::cl::desc("bytes of a core's second-level cache"),
                     llvm::cl::init(PipelineOptions().l2)};
  Option<int64_t> padTo{
      *this, "pad-to",
      llvm::cl::desc("what sides of Newton-Schulz's matrices are multiples of"),
      llvm::cl::init(PipelineOptions().padTo)};
  Option<bool> wgmma{*this, "wgmma",
                     llvm::cl::desc("the target has wgmma (sm_90a)"),
                     llvm::cl::init(PipelineOptions().wgmma)};
  Option<bool> fma{*this, "fma",
                   llvm::cl::desc("whether there are fused multiply-adds"),
                   llvm::cl::init(PipelineOptions().fma)};
  Option<bool> dotBF16{*this, "dot-bf16",
                       llvm::cl::desc("whether pairs of BF16 are multiplied "
                                      "and added to FP32"),
                       llvm::cl::init(PipelineOptions().dotBF16)};
  Option<bool> carryMeans{
      *this, "carry-means",
      llvm::cl::desc("whether mean rows of states become states (on CPUs)"),
      llvm::cl::init(PipelineOptions().carryMeans)};
  Option<bool> amx{*this, "amx",
                   llvm::cl::desc("whether tiles of BF16 are multiplied (AMX)"),
                   llvm::cl::init(PipelineOptions().amx)};

  PipelineOptions get() const {
    return {lanes, registers, l2, padTo, wgmma, fma, dotBF16, amx, carryMeans};
  }
};
} // namespace

static void buildToGeometry(OpPassManager &pm, const PipelineOptions &options) {
  buildBindPipeline(pm);
  buildGeometryPipeline(pm, options);
}

static void buildToBlock(OpPassManager &pm, const PipelineOptions &options) {
  buildToGeometry(pm, options);
  buildBlockPipeline(pm, options);
}

static void buildToCPU(OpPassManager &pm, const PipelineOptions &options) {
  buildToBlock(pm, options);
  buildCPUPipeline(pm, options);
}

static void buildToGPU(OpPassManager &pm, const PipelineOptions &options) {
  PipelineOptions geometry = options;
  geometry.carryMeans = false;
  buildToGeometry(pm, geometry);
  buildGPUPipeline(pm, options);
}

static void buildToNVPTX(OpPassManager &pm, const PipelineOptions &options) {
  buildToGPU(pm, options);
  buildNVPTXPipeline(pm, options);
}

static void add(StringRef name, StringRef text,
                void (*build)(OpPassManager &, const PipelineOptions &)) {
  PassPipelineRegistration<TextOptions>(
      name, text, [build](OpPassManager &pm, const TextOptions &options) {
        build(pm, options.get());
      });
}

void steepc::registerPipelines() {
  add("steep-to-geo", "from a spec to geometries on static tensors",
      buildToGeometry);
  add("steep-to-block", "from a spec to steps and kernels in place",
      buildToBlock);
  add("steep-to-cpu", "from a spec to CPU kernels in the LLVM dialect",
      buildToCPU);
  add("steep-to-gpu", "from a spec to steps and kernels for GPUs", buildToGPU);
  add("steep-to-nvptx", "from a spec to GPU kernels in the LLVM dialect",
      buildToNVPTX);
  // One level at a time: each takes what the one before gives.
  PassPipelineRegistration<>("steep-spec-to-bound",
                             "from a spec to rules bound to its parameters",
                             buildBindPipeline);
  add("steep-bound-to-geo",
      "from bound rules to geometries whose products are spelled out",
      buildGeometryPipeline);
  add("steep-geo-to-block", "from geometries to steps and kernels in place",
      buildBlockPipeline);
  add("steep-block-to-cpu",
      "from steps and kernels to CPU kernels in the LLVM dialect",
      buildCPUPipeline);
  add("steep-geo-to-gpu", "from geometries to steps and kernels for GPUs",
      buildGPUPipeline);
  add("steep-gpu-to-nvptx",
      "from kernels for GPUs to one thread's programs in the LLVM dialect",
      buildNVPTXPipeline);
}
