//===- Suggest.cpp - what a wrong name may have meant ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Suggest.h"

using namespace mlir;

std::string geo::suggest(StringRef name, ArrayRef<StringRef> known,
                         StringRef prefix) {
  // Near: at most every third letter is another one.
  unsigned most = std::max<unsigned>(1, name.size() / 3), least = most + 1;
  StringRef nearest;
  for (StringRef other : known) {
    unsigned distance = name.edit_distance(other, true, most);
    if (distance < least) {
      least = distance;
      nearest = other;
    }
  }
  if (!nearest.empty())
    return ("; did you mean '" + prefix + nearest + "'?").str();
  std::string text = "; expected ";
  for (auto [i, other] : llvm::enumerate(known)) {
    if (i > 0)
      text += i + 1 < known.size() ? ", " : " or ";
    text += (prefix + other).str();
  }
  return text;
}

Attribute geo::refuseAttribute(DialectAsmParser &parser, StringRef dialect,
                               StringRef name, ArrayRef<StringRef> known) {
  std::string prefix = ("#" + dialect + ".").str();
  parser.emitError(parser.getNameLoc(), "unknown attribute '")
      << prefix << name << "'" << suggest(name, known, prefix);
  return {};
}

ParseResult geo::refuseOperation(OpAsmParser &parser, OperationState &result) {
  StringRef dialect = result.name.getDialectNamespace();
  SmallVector<StringRef> known;
  for (RegisteredOperationName op :
       parser.getContext()->getRegisteredOperations())
    if (op.getDialectNamespace() == dialect)
      known.push_back(op.stripDialect());
  llvm::sort(known);
  return parser.emitError(parser.getNameLoc(), "is unknown")
         << suggest(result.name.stripDialect(), known, (dialect + ".").str());
}
