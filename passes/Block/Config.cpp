//===- Config.cpp - the decisions about a kernel --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Block/Config.h"

using namespace mlir;
using namespace mlir::block;

FailureOr<ConfigAttr> block::getConfig(func::FuncOp kernel) {
  auto config = kernel->getAttrOfType<ConfigAttr>(BlockDialect::configAttrName);
  if (config)
    return config;
  return kernel.emitOpError("expected a kernel to have a #block.config, which "
                            "block-select-config gives it");
}
