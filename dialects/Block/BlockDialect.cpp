//===- BlockDialect.cpp - the block dialect -------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Block/Block.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::block;

/// Parses and prints `[1, 2]`; an absent list is empty.
static ParseResult parseSizes(AsmParser &parser,
                              SmallVectorImpl<int64_t> &sizes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(sizes.emplace_back());
  });
}

static void printSizes(AsmPrinter &printer, ArrayRef<int64_t> sizes) {
  printer << '[';
  llvm::interleaveComma(sizes, printer);
  printer << ']';
}

#include "dialects/Block/BlockDialect.cpp.inc"
#include "dialects/Block/BlockEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Block/BlockAttrs.cpp.inc"

void BlockDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Block/BlockAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// #block.config
//===----------------------------------------------------------------------===//

LogicalResult ConfigAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t rows, int64_t chunk,
                                 ArrayRef<int64_t> tile,
                                 ArrayRef<int64_t> micro, ArrayRef<int64_t> amx,
                                 int64_t lanes, int64_t warps, int64_t stages,
                                 int64_t maxnreg, Dot dot) {
  // Zero is how an absent key is stored.
  std::pair<StringRef, int64_t> sizes[] = {
      {"rows", rows},   {"chunk", chunk},   {"lanes", lanes},
      {"warps", warps}, {"stages", stages}, {"maxnreg", maxnreg}};
  for (auto [name, value] : sizes)
    if (value < 0)
      return emitError() << "expected " << name << " to be positive, got "
                         << value;
  for (auto [name, list] :
       {std::pair(StringRef("tile"), tile),
        std::pair(StringRef("micro"), micro), std::pair(StringRef("amx"), amx)})
    for (int64_t value : list)
      if (value <= 0)
        return emitError() << "expected the sizes of " << name
                           << " to be positive, got " << value;
  if (!tile.empty() && tile.size() != 2 && tile.size() != 3)
    return emitError() << "expected tile to hold 2 or 3 sizes, got "
                       << tile.size();
  if (!micro.empty() && micro.size() != 2)
    return emitError() << "expected micro to hold 2 sizes, got "
                       << micro.size();
  if (!amx.empty() && amx.size() != 3)
    return emitError() << "expected amx to hold 3 sizes, got " << amx.size();
  if (!amx.empty() &&
      (micro.empty() || micro[0] % amx[0] != 0 || micro[1] % amx[1] != 0))
    return emitError() << "expected micro to be made of the " << amx[0] << " x "
                       << amx[1] << " parts of amx";
  if (rows && !tile.empty())
    return emitError() << "expected rows or tile, got both";
  if (!micro.empty() && tile.empty())
    return emitError() << "expected micro only beside tile";
  for (auto [name, value] :
       {std::pair(StringRef("lanes"), lanes), {StringRef("warps"), warps}})
    if (value && !llvm::isPowerOf2_64(value))
      return emitError() << "expected " << name << " to be a power of two, got "
                         << value;
  if (maxnreg > 255)
    return emitError() << "expected maxnreg to be at most 255, got " << maxnreg;
  return success();
}

//===----------------------------------------------------------------------===//
// Attributes on functions
//===----------------------------------------------------------------------===//

LogicalResult BlockDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if (!isa<FunctionOpInterface>(op))
    return op->emitOpError()
           << "has '" << name << "', which belongs on a function";
  if (name == kernelAttrName || name == stepAttrName || name == tableAttrName ||
      name == singleAttrName) {
    if (!isa<UnitAttr>(value))
      return op->emitOpError()
             << "expected '" << name << "' to be a unit, got " << value;
    return success();
  }
  if (name == configAttrName) {
    if (!isa<ConfigAttr>(value))
      return op->emitOpError() << "expected '" << name
                               << "' to be a #block.config, got " << value;
    return success();
  }
  if (name == gridAttrName || name == sharedAttrName || name == groupAttrName) {
    auto grid = dyn_cast<IntegerAttr>(value);
    if (!grid || !grid.getType().isInteger(64) || grid.getInt() < 1)
      return op->emitOpError()
             << "expected '" << name << "' to be a positive i64, got " << value;
    return success();
  }
  if (name == hostAttrName || name == opAttrName) {
    auto text = dyn_cast<StringAttr>(value);
    if (!text || text.empty())
      return op->emitOpError()
             << "expected '" << name << "' to be a name, got " << value;
    return success();
  }
  return op->emitOpError() << "has unknown attribute '" << name << "'";
}
