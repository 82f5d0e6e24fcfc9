//===- OptimDialect.cpp - registration of the optim dialect ---------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Optim/Optim.h"

using namespace mlir;
using namespace mlir::optim;

#include "dialects/Optim/OptimDialect.cpp.inc"

void OptimDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Optim/OptimOps.cpp.inc"
      >();
  registerAttributes();
  registerTypes();
}
