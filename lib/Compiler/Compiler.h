//===- Compiler.h - from a spec to an artefact ------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_COMPILER_COMPILER_H
#define STEEP_LIB_COMPILER_COMPILER_H

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>

namespace steepc {

/// What --emit asks for instead of an artefact.
enum class Stage { Optim, Geo, Block, LLVM, Asm, Obj, PTX, Cubin };

struct CompileOptions {
  std::string spec;              ///< path of the .mlir file
  std::string parameters;        ///< path; empty: the spec has optim.parameter
  std::string target = "native"; ///< see parseTargets()
  std::string name;              ///< of the artefact; empty: the spec's
  std::string onlyRule;          ///< see keepOnlyRule(); empty: all of the spec
  std::string onlyGroup;         ///< with it: which group that uses the rule
  /// The artefact's folder; with `emit`, a file, where "" or "-" is `out`.
  std::string output;
  std::optional<Stage> emit;
  std::string dumpStages;    ///< folder for the IR of every stage, or empty
  bool explain = false;      ///< print the routing table to `out`
  std::string remarksFilter; ///< print remarks of passes of these categories
};

/// The error was reported as an MLIR diagnostic, with its place.
class Reported : public llvm::ErrorInfo<Reported> {
public:
  static char ID;
  void log(llvm::raw_ostream &os) const override { os << "reported"; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }
};

/// Compiles. On an error nothing is written, except stages that were dumped.
/// The process must have one thread (see generateCode()).
llvm::Error compile(const CompileOptions &options, llvm::raw_ostream &out);

} // namespace steepc

#endif // STEEP_LIB_COMPILER_COMPILER_H
