//===- Diagnostics.h - how MLIR's errors are printed ------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_COMPILER_DIAGNOSTICS_H
#define STEEP_LIB_COMPILER_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

namespace steepc {

/// Prints diagnostics with a place in the spec as MLIR does, with the line and
/// a caret, and others as one line that says where the thing came from.
class Diagnostics {
public:
  Diagnostics(llvm::SourceMgr &sources, mlir::MLIRContext &context);
  ~Diagnostics();

  int errorCount() const { return errors; }

private:
  mlir::LogicalResult handle(mlir::Diagnostic &diagnostic);

  mlir::SourceMgrDiagnosticHandler withSource;
  mlir::DiagnosticEngine &engine;
  mlir::DiagnosticEngine::HandlerID id;
  int errors = 0;
};

} // namespace steepc

#endif // STEEP_LIB_COMPILER_DIAGNOSTICS_H
