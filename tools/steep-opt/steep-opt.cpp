//===- steep-opt.cpp - optimizer driver of Steep's dialects ---------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Block/Block.h"
#include "dialects/Geo/Geo.h"
#include "dialects/Optim/Optim.h"
#include "lib/Compiler/Pipelines.h"
#include "passes/Block/Passes.h"
#include "passes/CPU/Passes.h"
#include "passes/Geo/Passes.h"
#include "passes/NVPTX/Passes.h"
#include "passes/Optim/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

// The one translation unit that includes InitAll*: they cost most of a build.
int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  registry.insert<mlir::optim::OptimDialect, mlir::geo::GeoDialect,
                  mlir::block::BlockDialect>();
  mlir::optim::registerOptimPasses();
  mlir::geo::registerGeoPasses();
  mlir::block::registerBlockPasses();
  mlir::block::registerCPUPasses();
  mlir::block::registerLowerToLLVM();
  mlir::block::registerNVPTXPasses();
  mlir::block::registerLowerToNVVM();
  steepc::registerPipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Steep's optimizer driver\n", registry));
}
