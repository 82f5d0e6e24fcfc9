//===- Geo.h - the geo dialect ----------------------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_GEO_GEO_H
#define STEEP_DIALECTS_GEO_GEO_H

#include "lib/Schedules/Schedules.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/TilingInterface.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

#include "dialects/Geo/GeoDialect.h.inc"
#include "dialects/Geo/GeoEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Geo/GeoAttrs.h.inc"

#include "dialects/Geo/GeoInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Geo/GeoOps.h.inc"

namespace mlir::geo {

/// Whether `attribute` may stand in a list of facts.
bool isFact(Attribute attribute);

/// Whether the argument's `geo.facts` hold a fact of this class.
template <typename FactAttr>
bool hasFact(FunctionOpInterface function, unsigned argument) {
  auto facts =
      function.getArgAttrOfType<ArrayAttr>(argument, GeoDialect::factsAttrName);
  return facts && llvm::any_of(facts, llvm::IsaPred<FactAttr>);
}

} // namespace mlir::geo

#endif // STEEP_DIALECTS_GEO_GEO_H
