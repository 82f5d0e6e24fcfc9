//===- Levels.cpp - what a pass of the lower levels may be given ----------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Block/Levels.h"

#include "passes/Block/Placement.h"

using namespace mlir;
using namespace mlir::block;

bool block::isUpdate(func::FuncOp func) {
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (func.getArgAttr(i, roleAttrName) &&
        isa<TensorType>(func.getArgumentTypes()[i]))
      return true;
  return false;
}

LogicalResult block::checkBound(ModuleOp module) {
  // By name: this room knows what `optim` leaves on functions, not its ops.
  for (Operation &spec : module.getOps()) {
    if (spec.getName().getStringRef() != "optim.spec")
      continue;
    for (Operation &op : spec.getRegion(0).front())
      if (op.getName().getStringRef() == "optim.group")
        return op.emitOpError("is not bound to parameters: expected a module "
                              "at the bound level or below, as "
                              "--steep-spec-to-bound gives it");
  }
  return success();
}

LogicalResult block::checkBlocks(ModuleOp module) {
  if (failed(checkBound(module)))
    return failure();
  for (auto func : module.getOps<func::FuncOp>())
    if (isUpdate(func))
      return func.emitOpError("@")
             << func.getSymName()
             << " is an update on tensors: expected a module at the block "
                "level, as --steep-geo-to-block gives it";
  return success();
}
