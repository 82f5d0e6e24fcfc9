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

/// Checks an `optim.*` attribute of a function's argument or result.
static LogicalResult verifySignatureAttr(Operation *op, NamedAttribute attr) {
  StringRef name = attr.getName().getValue();
  auto value = dyn_cast<StringAttr>(attr.getValue());
  auto fail = [&]() -> InFlightDiagnostic {
    return op->emitOpError("expected '") << name << "' to be ";
  };
  if (name == kRoleAttr) {
    if (!value ||
        !llvm::is_contained({"weight", "gradient", "state", "lr", "wd", "clip",
                             "step", "update", "squares", "gradient_mean",
                             "measure", "workspace"},
                            value.getValue()))
      return fail() << "the role of an argument or result, but got "
                    << attr.getValue();
  } else if (name == kConventionAttr) {
    if (!value || !llvm::is_contained({"sum", "ema", "adam", "mean", "other"},
                                      value.getValue()))
      return fail() << "\"sum\", \"ema\", \"adam\", \"mean\" or \"other\", but "
                       "got "
                    << attr.getValue();
  } else if (name == kBetaAttr) {
    auto beta = dyn_cast<FloatAttr>(attr.getValue());
    if (!beta || !beta.getType().isF64())
      return fail() << "a number of type f64, but got " << attr.getValue();
  } else if (name == kStateAttr) {
    if (!value || value.empty())
      return fail() << "the name of a state, but got " << attr.getValue();
  } else {
    return op->emitOpError("has an unknown attribute '")
           << name << "' on an argument or result";
  }
  return success();
}

LogicalResult OptimDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                     unsigned,
                                                     NamedAttribute attr) {
  return verifySignatureAttr(op, attr);
}

LogicalResult OptimDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                        unsigned,
                                                        NamedAttribute attr) {
  return verifySignatureAttr(op, attr);
}
