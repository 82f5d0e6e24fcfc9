//===- Diagnostics.cpp - how MLIR's errors are printed --------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Compiler/Diagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace steepc {

Diagnostics::Diagnostics(llvm::SourceMgr &sources, MLIRContext &context)
    : withSource(sources, &context, llvm::errs()),
      engine(context.getDiagEngine()) {
  context.printOpOnDiagnostic(false);
  // The newest handler is asked first; what it declines goes to `withSource`.
  id = engine.registerHandler(
      [this](Diagnostic &diagnostic) { return handle(diagnostic); });
}

Diagnostics::~Diagnostics() { engine.eraseHandler(id); }

static StringRef wordFor(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  return "error";
}

/// Where in which file, or an empty location.
static FileLineColLoc fileOf(Location location) {
  FileLineColLoc found;
  location->walk([&](Location inner) {
    found = dyn_cast<FileLineColLoc>(inner);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

/// Names in a message come from files: one line stays one line.
static std::string oneLine(StringRef text) {
  std::string line;
  for (unsigned char c : text)
    if (c < 0x20 || c == 0x7f)
      line += std::string("\\x") + llvm::hexdigit(c >> 4, true) +
              llvm::hexdigit(c & 15, true);
    else
      line += char(c);
  return line;
}

static void printLine(Diagnostic &diagnostic) {
  std::string place;
  if (auto name = dyn_cast<NameLoc>(diagnostic.getLocation()))
    place = name.getName().str() + ": ";
  llvm::errs() << "steepc: " << wordFor(diagnostic.getSeverity()) << ": "
               << oneLine(place + diagnostic.str()) << "\n";
}

LogicalResult Diagnostics::handle(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
    ++errors;
  if (fileOf(diagnostic.getLocation()))
    return failure();
  printLine(diagnostic);
  for (Diagnostic &note : diagnostic.getNotes())
    printLine(note);
  return success();
}

} // namespace steepc
