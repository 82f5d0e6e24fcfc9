//===- steep-opt.cpp - optimizer driver of Steep's dialects ---------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Block/Block.h"
#include "lib/Compiler/Pipelines.h"
#include "passes/Block/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#if STEEP_HAVE_SteepGeo
#include "dialects/Geo/Geo.h"
#endif
#if STEEP_HAVE_SteepOptim
#include "dialects/Optim/Optim.h"
#endif
#if STEEP_HAVE_SteepGeoPasses
#include "passes/Geo/Passes.h"
#endif
#if STEEP_HAVE_SteepOptimPasses
#include "passes/Optim/Passes.h"
#endif
#if STEEP_HAVE_SteepCPUPasses
#include "passes/CPU/Passes.h"
#endif

// The one translation unit that includes InitAll*: they cost most of a build.
int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  registry.insert<mlir::block::BlockDialect>();
  mlir::block::registerBlockPasses();
#if STEEP_HAVE_SteepGeo
  registry.insert<mlir::geo::GeoDialect>();
#endif
#if STEEP_HAVE_SteepOptim
  registry.insert<mlir::optim::OptimDialect>();
#endif
#if STEEP_HAVE_SteepGeoPasses
  mlir::geo::registerGeoPasses();
#endif
#if STEEP_HAVE_SteepOptimPasses
  mlir::optim::registerOptimPasses();
#endif
#if STEEP_HAVE_SteepCPUPasses
  mlir::block::registerCPUPasses();
  mlir::block::registerLowerToLLVM();
#endif
  steepc::registerPipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Steep's optimizer driver\n", registry));
}
