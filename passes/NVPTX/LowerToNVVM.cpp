//===- LowerToNVVM.cpp - from threads' programs to the LLVM dialect -------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/NVPTX/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void block::buildLowerToNVVM(OpPassManager &manager) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addPass(createSCFToControlFlowPass());
  // Memory is reached by pointers already, so there is no memref to lower.
  manager.addPass(createConvertVectorToLLVMPass());
  // sqrt becomes llvm.intr.sqrt, which NVPTX rounds correctly; libdevice would
  // not.
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  // What LLVM has no intrinsic for (wgmma) becomes inline assembly.
  manager.addPass(createConvertNVVMToLLVMPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
}

void block::registerLowerToNVVM() {
  PassPipelineRegistration<>(
      "block-lower-to-nvvm",
      "lower GPU kernels (llvm.func) to the LLVM dialect",
      [](OpPassManager &manager) { buildLowerToNVVM(manager); });
}
