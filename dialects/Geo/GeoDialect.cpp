//===- GeoDialect.cpp - the geo dialect and its attributes ----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "dialects/Geo/Suggest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::geo;

#include "dialects/Geo/GeoDialect.cpp.inc"
#include "dialects/Geo/GeoEnums.cpp.inc"
#include "dialects/Geo/GeoInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Geo/GeoAttrs.cpp.inc"

void GeoDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Geo/GeoAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Geo/GeoOps.cpp.inc"
      >();
}

Operation *GeoDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                           Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

//===----------------------------------------------------------------------===//
// Names that the dialect does not have
//===----------------------------------------------------------------------===//

Attribute GeoDialect::parseAttribute(DialectAsmParser &parser,
                                     Type type) const {
  StringRef name;
  Attribute attribute;
  if (generatedAttributeParser(parser, &name, type, attribute).has_value())
    return attribute;
  return refuseAttribute(parser, getNamespace(), name,
                         {ZeroColumnSumAttr::getMnemonic(),
                          ShiftInvariantAttr::getMnemonic(),
                          DotAttr::getMnemonic()});
}

void GeoDialect::printAttribute(Attribute attribute,
                                DialectAsmPrinter &printer) const {
  (void)generatedAttributePrinter(attribute, printer);
}

std::optional<Dialect::ParseOpHook>
GeoDialect::getParseOperationHook(StringRef) const {
  return ParseOpHook(refuseOperation);
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

bool mlir::geo::isFact(Attribute attribute) {
  return isa<ZeroColumnSumAttr, ShiftInvariantAttr>(attribute);
}

LogicalResult GeoDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  if (name == factsAttrName)
    return op->emitOpError("has '")
           << name << "', which belongs to function arguments";
  if (name == guaranteeAttrName) {
    auto ratio = dyn_cast<FloatAttr>(attribute.getValue());
    if (ratio && ratio.getType().isF64() && ratio.getValueAsDouble() > 0 &&
        ratio.getValueAsDouble() <= 1)
      return success();
    return op->emitOpError("expected '")
           << name << "' to be an f64 in (0, 1], but got "
           << attribute.getValue();
  }
  if (name == symmetricAttrName) {
    if (isa<UnitAttr>(attribute.getValue()))
      return success();
    return op->emitOpError("expected '")
           << name << "' to be a unit attribute, but got "
           << attribute.getValue();
  }
  if (name != dotAttrName)
    return op->emitOpError("has unknown attribute '") << name << "'";
  if (!isa<DotAttr>(attribute.getValue()))
    return op->emitOpError("expected '")
           << name << "' to be a #geo.dot, but got " << attribute.getValue();
  return success();
}

LogicalResult GeoDialect::verifyRegionArgAttribute(Operation *op,
                                                   unsigned regionIndex,
                                                   unsigned argIndex,
                                                   NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  auto fail = [&] { return op->emitOpError("argument #") << argIndex << ": "; };
  if (name != factsAttrName)
    return fail() << "unknown attribute '" << name << "', expected '"
                  << factsAttrName << "'";
  auto facts = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!facts)
    return fail() << "expected '" << name << "' to be an array of facts";
  for (Attribute fact : facts)
    if (!isFact(fact))
      return fail() << "expected a fact (#geo.zero_column_sum, "
                       "#geo.shift_invariant), but got "
                    << fact;
  Type type = op->getRegion(regionIndex).empty()
                  ? cast<FunctionOpInterface>(op).getArgumentTypes()[argIndex]
                  : op->getRegion(regionIndex).getArgument(argIndex).getType();
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasRank() || shaped.getRank() != 2)
    return fail() << "expected a matrix to have facts, but got " << type;
  return success();
}
